#include "compile.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cassert>
#include <map>

#include "compilers.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr double kShortJobS = 0.05;
constexpr double kGraceS = 2;  // nvcc is stopped by the worker itself, which can then say so
constexpr double kIdentityLimitMs = 60000;
// A job that waits in a channel must fit into its buffer: else we would wait in send() for a worker that waits in
// its own for us to read.
constexpr std::size_t kLargestAheadBytes = 32 * 1024;

Message job_message(const CompileJob& job) {
  Message message = request_message(job.request);
  if (job.link_options) message["link_options"] = *job.link_options;
  message["keep_lto_ir"] = job.others_link_it;
  return message;
}

// What a job sends to a worker, but for a few words.
std::size_t text_bytes(const CompileJob& job) {
  const auto* of_nvrtc = std::get_if<NvrtcRequest>(&job.request);
  return of_nvrtc ? of_nvrtc->source.size() : std::get<NvccRequest>(job.request).text.size();
}

CompilerIdentity identity_from(const Message& reply, FrontEnd front_end) {
  return {reply.at("name"),
          reply.at("library_path"),
          reply.at("architectures"),
          reply.at("include_folders"),
          reply.at("fixed_options"),
          reply.at("precompiles_headers"),
          reply.at("linker"),
          reply.at("why_no_linker"),
          reply.at("linker_takes_no_cache"),
          front_end};
}

CompiledCode code_from(const Message& reply, int id) {
  CompiledCode code;
  code.id = id;
  code.compiled = reply.at("compiled");
  code.cubin = bytes_of(reply.at("cubin"));
  code.log = bytes_of(reply.at("log"));
  code.lowered_names = reply.at("lowered_names");
  code.seconds = reply.at("seconds");
  code.link_seconds = reply.at("link_seconds");
  if (!code.compiled) code.failure = code.log;
  return code;
}

}  // namespace

CompilePool::CompilePool(int processes, double limit_s, std::string nvcc_file)
    : processes_(processes), limit_s_(limit_s), nvcc_file_(std::move(nvcc_file)), server_(compile_server()) {}

std::string CompilePool::header_folder(NvrtcOutput output) const {
  if (scratch_.path().empty()) return "";
  const std::filesystem::path folder = scratch_.path() / (output == NvrtcOutput::lto_ir ? "lto" : "plain");
  std::error_code failure;
  std::filesystem::create_directory(folder, failure);
  return failure ? "" : folder.string();
}

const CompilerIdentity& CompilePool::identity() {
  if (identity_) return *identity_;
  std::string how;
  const std::optional<Message> reply = server_.ask({{"identify", true}}, kIdentityLimitMs, how);
  if (!reply)
    throw Error(ErrorKind::no_toolkit,
                fmt::format("loading NVRTC failed: its process {}; is the CUDA toolkit complete?", how));
  if (reply->contains("failure")) throw Error(ErrorKind::no_toolkit, reply->at("failure").get<std::string>());
  identity_ = identity_from(*reply, FrontEnd::nvrtc);
  return *identity_;
}

const CompilerIdentity* CompilePool::nvcc() {
  if (!nvcc_looked_for_) {
    nvcc_looked_for_ = true;
    std::string how;
    const std::optional<Message> reply =
        server_.ask({{"identify_nvcc", true}, {"nvcc_file", nvcc_file_}}, kIdentityLimitMs, how);
    if (!reply)
      why_no_nvcc_ = fmt::format("looking for nvcc failed: the process that looked {}", how);
    else if (reply->contains("failure"))
      why_no_nvcc_ = reply->at("failure").get<std::string>();
    else
      nvcc_ = identity_from(*reply, FrontEnd::nvcc);
  }
  return nvcc_ ? &*nvcc_ : nullptr;
}

const CompilerIdentity& CompilePool::identity(FrontEnd front_end) {
  if (front_end == FrontEnd::nvrtc) return identity();
  if (const CompilerIdentity* found = nvcc()) return *found;
  throw Error(ErrorKind::no_toolkit, why_no_nvcc_);
}

CompileJob CompilePool::with_limits(CompileJob job) const {
  if (auto* of_nvcc = std::get_if<NvccRequest>(&job.request)) {
    assert(nvcc_ && "a unit of nvcc's is made of its identity");
    of_nvcc->program = nvcc_->library_path;
    of_nvcc->limit_s = limit_s_;
    of_nvcc->scratch_folder = scratch_.path().string();
  }
  return job;
}

CompiledCode CompilePool::prepare(CompileJob job) {
  job = with_limits(std::move(job));
  assert(server_slot_.jobs.empty() && "the server's next answer would be that job's");
  std::string how;
  const std::optional<Message> reply = server_.ask(job_message(job), limit_s_of(job) * 1000, how);
  if (reply) {
    account(*reply);
    return code_from(*reply, job.id);
  }
  CompiledCode code;
  code.id = job.id;
  code.failure = "the compiler's process " + how;
  return code;
}

double CompilePool::limit_s_of(const CompileJob& job) const {
  return limit_s_ + (std::holds_alternative<NvccRequest>(job.request) ? kGraceS : 0);
}

void CompilePool::submit(CompileJob job) {
  job = with_limits(std::move(job));
  if (job.in_server)
    waiting_for_server_.push_back(std::move(job));
  else
    waiting_.push_back(std::move(job));
}

void CompilePool::submit_next(CompileJob job) {
  assert(!job.in_server);
  waiting_.push_front(with_limits(std::move(job)));
}

std::size_t CompilePool::unfinished() const {
  std::size_t given = server_slot_.jobs.size();
  for (const Slot& slot : slots_) given += slot.jobs.size();
  return waiting_.size() + waiting_for_server_.size() + given;
}

Channel& CompilePool::channel_of(Slot& slot) {
  return &slot == &server_slot_ ? server_.channel() : slot.worker.channel;
}

void CompilePool::give(Slot& slot, CompileJob job) {
  if (slot.jobs.empty()) slot.started = Clock::now();
  slot.jobs.push_back(std::move(job));
  // A send that fails shows as a closed channel when the answer is collected.
  channel_of(slot).send(job_message(slot.jobs.back()));
}

void CompilePool::feed() {
  // The server forks between its own jobs only.
  while (slots_.size() < std::min(waiting_.size(), static_cast<std::size_t>(processes_)) && server_slot_.jobs.empty())
    slots_.push_back({server_.spawn(), {}, {}});
  // While many wait some go ahead to each worker, which would idle while we are busy elsewhere: more of the short ones.
  // While few wait, one at a time, so that none waits behind a slow one while other workers have nothing left.
  const bool are_short = answered_ == 0 || usage_.cpu_s / static_cast<double>(answered_) < kShortJobS;
  const std::size_t many = waiting_.size() / (2 * static_cast<std::size_t>(processes_));
  const std::size_t most = are_short ? 4 : waiting_.size() >= static_cast<std::size_t>(processes_) ? 2 : 1;
  const std::size_t depth = std::clamp<std::size_t>(are_short ? many : most, 1, most);
  for (std::size_t filled = 0; filled < depth; ++filled)
    for (Slot& slot : slots_)
      if (slot.jobs.size() <= filled && !waiting_.empty() &&
          (filled == 0 || text_bytes(waiting_.front()) <= kLargestAheadBytes)) {
        give(slot, std::move(waiting_.front()));
        waiting_.pop_front();
      }
  if (server_slot_.jobs.empty() && !waiting_for_server_.empty()) {
    give(server_slot_, std::move(waiting_for_server_.front()));
    waiting_for_server_.pop_front();
  }
}

std::optional<CompiledCode> CompilePool::next(Deadline deadline) {
  const auto limit_of = [this](const Slot& slot) {
    return slot.started +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s_of(slot.jobs.front())));
  };
  while (unfinished() > 0) {
    feed();
    std::vector<pollfd> descriptors;
    std::vector<Slot*> busy;
    auto wake = deadline.value_or(Clock::time_point::max());
    const auto watch = [&](Slot& slot) {
      if (slot.jobs.empty()) return;
      descriptors.push_back({channel_of(slot).descriptor(), POLLIN, 0});
      busy.push_back(&slot);
      wake = std::min(wake, limit_of(slot));
    };
    for (Slot& slot : slots_) watch(slot);
    watch(server_slot_);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake - Clock::now()).count();
    const int ready =
        poll(descriptors.data(), descriptors.size(), static_cast<int>(std::clamp<long long>(left, 0, 1 << 30)));
    for (std::size_t i = 0; ready > 0 && i < descriptors.size(); ++i)
      if (descriptors[i].revents != 0) return collect(*busy[i]);
    for (Slot* slot : busy)
      if (Clock::now() >= limit_of(*slot))
        return lost(*slot, fmt::format("compiling took longer than {:g} s and was stopped", limit_s_));
    if (deadline && Clock::now() >= *deadline) return {};
  }
  return {};
}

void CompilePool::account(const Message& reply) {
  usage_.cpu_s += reply.at("cpu_s").get<double>();
  ++answered_;
  double& peak = peak_mib_of_[reply.at("pid").get<pid_t>()];
  usage_.peak_mib += reply.at("peak_mib").get<double>() - peak;
  peak = reply.at("peak_mib").get<double>();
}

CompiledCode CompilePool::collect(Slot& slot) {
  const Channel::Received received = channel_of(slot).receive(after_ms(limit_s_ * 1000));
  if (received.state != Channel::State::message) return lost(slot, "");
  CompiledCode code = code_from(received.message, slot.jobs.front().id);
  account(received.message);
  slot.jobs.pop_front();
  slot.started = Clock::now();
  feed();
  return code;
}

void CompilePool::abandon() {
  waiting_.clear();
  waiting_for_server_.clear();
  for (Slot& slot : slots_)
    if (!slot.jobs.empty()) ForkServer::abandon(slot.worker);
  std::erase_if(slots_, [](const Slot& slot) { return !slot.jobs.empty(); });
}

// Its first job is lost; the others go back to the queue. `how`: why it is ended; empty: it ended by itself.
CompiledCode CompilePool::lost(Slot& slot, const std::string& how) {
  CompiledCode code;
  code.id = slot.jobs.front().id;
  slot.jobs.pop_front();
  const auto take_back = [this](Slot& from) {
    for (CompileJob& job : from.jobs) waiting_.push_front(std::move(job));
    from.jobs.clear();
  };
  std::string ended;
  if (&slot == &server_slot_) {
    // Its workers die with it, and what they were at is compiled again by others.
    for (Slot& orphan : slots_) take_back(orphan);
    slots_.clear();
    ended = server_.restart();
  } else {
    take_back(slot);
    if (server_slot_.jobs.empty()) {
      ended = server_.end(slot.worker);
    } else {
      ForkServer::abandon(slot.worker);
      ended = "ended before it answered";
    }
    slots_.erase(slots_.begin() + (&slot - slots_.data()));
  }
  code.failure = how.empty() ? fmt::format("the compiler's process {}", ended) : how;
  return code;
}

}  // namespace regtune
