#include "compile.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cassert>
#include <map>

#include "compilers.hpp"
#include "interruption.hpp"
#include "key.hpp"
#include "process_cpu.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr double kNoticedIdleness = 0.02;  // of a job's time
constexpr double kMostAhead = 3;
constexpr double kGraceS = 2;  // a compiler's program is stopped by the worker itself, which can then say so
constexpr double kLoadingLimitMs = 60000;
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
  if (const auto* of_nvrtc = std::get_if<NvrtcRequest>(&job.request)) return of_nvrtc->source.size();
  if (const auto* of_ptxas = std::get_if<PtxasRequest>(&job.request)) return of_ptxas->text.size();
  return std::get<NvccRequest>(job.request).text.size();
}

CompiledCode code_from(const Message& reply, int id) {
  CompiledCode code;
  code.id = id;
  code.compiled = reply.at("compiled");
  code.cubin = bytes_of(reply.at("cubin"));
  code.log = bytes_of(reply.at("log"));
  code.lowered_names = reply.at("lowered_names").get<std::vector<std::string>>();
  code.seconds = reply.at("ended_s").get<double>() - reply.at("begun_s").get<double>();
  code.link_seconds = reply.at("link_seconds");
  if (!code.compiled) code.failure = code.log;
  return code;
}

}  // namespace

CompilePool::CompilePool(int processes, double limit_s, std::string nvcc_file)
    : processes_(processes), limit_s_(limit_s), nvcc_file_(std::move(nvcc_file)), server_(compile_server()) {}

CompilePool::CompilePool(CompilerIdentity compiler, std::map<std::string, CompiledCode> made) : CompilePool(1, 1) {
  made_ = std::move(made);
  for (CompilerProgram* program : {&nvcc_, &ptxas_}) *program = {true, {}, {}, "everything was compiled elsewhere"};
  if (compiler.front_end == FrontEnd::nvcc) nvcc_.found = compiler;
  if (compiler.front_end == FrontEnd::ptxas) ptxas_.found = compiler;
  identity_ = std::move(compiler);
}

std::string CompilePool::made_key(const NvrtcRequest& request) {
  FieldHash hash;
  hash.add("source", request.source);
  for (const std::string& expression : request.name_expressions) hash.add("name expression", expression);
  return hash.hex();
}

CompiledCode CompilePool::made_elsewhere(const CompileJob& job) const {
  CompiledCode code;
  const auto* request = std::get_if<NvrtcRequest>(&job.request);
  const auto found = request ? made_->find(made_key(*request)) : made_->end();
  if (found != made_->end()) code = found->second;
  if (found == made_->end()) code.failure = "it was not compiled elsewhere, and there is no compiler here";
  code.id = job.id;
  return code;
}

std::string CompilePool::header_folder(NvrtcOutput output) const {
  if (scratch_.path().empty()) return "";
  const std::filesystem::path folder = scratch_.path() / (output == NvrtcOutput::lto_ir ? "lto" : "plain");
  std::error_code failure;
  std::filesystem::create_directory(folder, failure);
  return failure ? "" : folder.string();
}

CompileJob CompilePool::with_limits(CompileJob job) const {
  if (auto* of_nvcc = std::get_if<NvccRequest>(&job.request)) {
    assert(nvcc_.found && "a unit of nvcc's is made of its identity");
    of_nvcc->program = nvcc_.found->library_path;
    of_nvcc->limit_s = limit_s_;
    of_nvcc->scratch_folder = scratch_.path().string();
  }
  if (auto* of_ptxas = std::get_if<PtxasRequest>(&job.request)) {
    assert(ptxas_.found && "likewise");
    of_ptxas->program = ptxas_.found->library_path;
    of_ptxas->limit_s = limit_s_;
    of_ptxas->scratch_folder = scratch_.path().string();
  }
  return job;
}

CompiledCode CompilePool::prepare(CompileJob job) {
  if (made_) return made_elsewhere(job);
  job = with_limits(std::move(job));
  server_has_linker_ = server_has_linker_ || job.link_options;
  assert(server_slot_.jobs.empty() && "the server's next answer would be that job's");
  std::string how;
  const auto given = Clock::now();
  const std::optional<Message> reply = server_.ask(job_message(job), limit_s_of(job) * 1000, how);
  if (reply) {
    usage_.add_answer(*reply, job.id, given);
    return code_from(*reply, job.id);
  }
  server_has_linker_ = false;  // it is another one
  CompiledCode code;
  code.id = job.id;
  code.failure = "the compiler's process " + how;
  return code;
}

double CompilePool::limit_s_of(const CompileJob& job) const {
  return limit_s_ + (std::holds_alternative<NvrtcRequest>(job.request) ? 0 : kGraceS);
}

void CompilePool::submit(CompileJob job) {
  if (made_) return answer(job.asker, made_elsewhere(job));
  job = with_limits(std::move(job));
  if (job.in_server)
    waiting_for_server_.push_back(std::move(job));
  else
    waiting_.push_back(std::move(job));
}

void CompilePool::submit_next(CompileJob job) {
  assert(!job.in_server);
  if (made_) return answer(job.asker, made_elsewhere(job));
  waiting_.push_front(with_limits(std::move(job)));
}

std::size_t CompilePool::unfinished(Asker asker) const {
  const auto answered = answered_.find(asker);
  std::size_t count = answered == answered_.end() ? 0 : answered->second.size();
  const auto add = [&](const CompileJob& job) { count += job.asker == asker ? 1 : 0; };
  for (const CompileJob& job : waiting_) add(job);
  for (const CompileJob& job : waiting_for_server_) add(job);
  for (const GivenJob& given : server_slot_.jobs) add(given.job);
  for (const Slot& slot : slots_)
    for (const GivenJob& given : slot.jobs) add(given.job);
  return count;
}

Channel& CompilePool::channel_of(Slot& slot) {
  return &slot == &server_slot_ ? server_.channel() : slot.worker.channel;
}

void CompilePool::give(Slot& slot, CompileJob job) {
  if (slot.jobs.empty()) slot.started = Clock::now();
  slot.jobs.push_back({std::move(job), Clock::now()});
  // A send that fails shows as a closed channel when the answer is collected.
  channel_of(slot).send(job_message(slot.jobs.back().job));
}

// As many as there are jobs for, each with its job as soon as it is there. The server forks between its own jobs only;
// it is asked for all of them at once, so that it is at the next one while the last one is given its job.
void CompilePool::fork_workers() {
  const auto most = static_cast<std::size_t>(processes_);
  if (waiting_.empty() || slots_.size() >= most || !server_slot_.jobs.empty()) return;
  load_linker_in_server();
  const std::size_t forks = std::min(most - slots_.size(), waiting_.size());
  for (std::size_t i = 0; i < forks; ++i) server_.begin_spawn();
  for (std::size_t i = 0; i < forks; ++i) {
    slots_.push_back({server_.finish_spawn(), {}, {}});
    give_first(slots_.back());
  }
}

// Where the first link is a worker's, because the text that all caps share was kept from an earlier run: else every
// worker would load it.
void CompilePool::load_linker_in_server() {
  const bool links = std::any_of(waiting_.begin(), waiting_.end(), [](const auto& job) { return job.link_options; });
  if (!links || server_has_linker_) return;
  std::string how;  // a worker will say it again
  server_has_linker_ = server_.ask({{"load_linker", true}}, kLoadingLimitMs, how).has_value();
}

// What a worker gets beyond the job that it is at, so that it does not idle while the caller is elsewhere: nothing
// while the caller is back at once, for what is ahead in one worker cannot go to another that has nothing left, and
// what is urgent waits behind it; else what it may get through in that time.
std::size_t CompilePool::jobs_ahead() const {
  if (usage_.spans().empty()) return 0;
  const double mean_job_s = usage_.answered_cpu_s() / static_cast<double>(usage_.spans().size());
  if (absence_s_ < kNoticedIdleness * mean_job_s) return 0;
  const double most = std::min(1 + absence_s_ / std::max(mean_job_s, 1e-3), kMostAhead);
  return std::min(static_cast<std::size_t>(most), waiting_.size() / (2 * static_cast<std::size_t>(processes_)));
}

void CompilePool::give_first(Slot& slot) {
  give(slot, std::move(waiting_.front()));
  waiting_.pop_front();
}

void CompilePool::feed() {
  for (Slot& slot : slots_)
    if (slot.jobs.empty() && !waiting_.empty()) give_first(slot);
  fork_workers();
  const std::size_t ahead = jobs_ahead();
  for (std::size_t filled = 1; filled <= ahead; ++filled)
    for (Slot& slot : slots_)
      if (slot.jobs.size() <= filled && !waiting_.empty() && text_bytes(waiting_.front()) <= kLargestAheadBytes)
        give_first(slot);
  if (server_slot_.jobs.empty() && !waiting_for_server_.empty()) {
    give(server_slot_, std::move(waiting_for_server_.front()));
    waiting_for_server_.pop_front();
  }
}

int CompilePool::processes_for(Asker asker) const {
  const auto taken = std::count_if(slots_.begin(), slots_.end(), [asker](const Slot& slot) {
    return !slot.jobs.empty() && slot.jobs.front().job.asker != asker;
  });
  return processes_ - static_cast<int>(taken);
}

std::optional<CompiledCode> CompilePool::next(Deadline deadline, Asker asker) {
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  // Half the last one and half those before it.
  if (left_) absence_s_ = (absence_s_ + seconds(Clock::now() - *left_)) / 2;
  std::optional<CompiledCode> code = wait(deadline, asker);
  left_ = Clock::now();
  return code;
}

void CompilePool::answer(Asker asker, CompiledCode code) {
  answered_[asker].push_back(std::move(code));
}

std::optional<CompiledCode> CompilePool::take_answered(Asker asker) {
  std::deque<CompiledCode>& answered = answered_[asker];
  if (answered.empty()) return {};
  CompiledCode code = std::move(answered.front());
  answered.pop_front();
  return code;
}

std::optional<CompiledCode> CompilePool::wait(Deadline deadline, Asker asker) {
  const auto limit_of = [this](const Slot& slot) {
    return slot.started + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(limit_s_of(slot.jobs.front().job)));
  };
  while (unfinished(asker) > 0) {
    stop_if_interrupted();
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
    if (!answered_[asker].empty()) wake = Clock::now();  // a look at who has answered since
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake - Clock::now()).count();
    const int ready = poll(descriptors.data(), descriptors.size(),
                           until_next_look(static_cast<int>(std::clamp<long long>(left, 0, 1 << 30))));
    std::vector<Slot*> has_answered;
    for (std::size_t i = 0; ready > 0 && i < descriptors.size(); ++i)
      if (descriptors[i].revents != 0) has_answered.push_back(busy[i]);
    const auto late =
        std::find_if(busy.begin(), busy.end(), [&](Slot* slot) { return Clock::now() >= limit_of(*slot); });
    // After either there may be other slots.
    if (!has_answered.empty())
      collect(has_answered);
    else if (late != busy.end())
      lose_first(**late, fmt::format("compiling took longer than {:g} s and was stopped", limit_s_));
    if (std::optional<CompiledCode> code = take_answered(asker)) return code;
    if (deadline && Clock::now() >= *deadline) return {};
  }
  return {};
}

// All of them before the caller has the first: compilations of about one length end together, and a worker would wait
// for its next job while the caller is at what the others brought. Whoever died comes first, for the others may be its
// workers.
void CompilePool::collect(const std::vector<Slot*>& ready) {
  for (Slot* slot : ready) {
    const Channel::Received received = channel_of(*slot).receive(after_ms(limit_s_ * 1000));
    if (received.state != Channel::State::message) return lose_first(*slot, "");
    const GivenJob& given = slot->jobs.front();
    answer(given.job.asker, code_from(received.message, given.job.id));
    usage_.add_answer(received.message, given.job.id, given.given);
    slot->jobs.pop_front();
    slot->started = Clock::now();
    if (slot != &server_slot_ && slot->jobs.empty() && !waiting_.empty()) give_first(*slot);
  }
  feed();
}

CompileCpu CompilePool::cpu() const {
  CompileCpu cpu{process_cpu_seconds(server_.pid()).value_or(0), usage_.ended_cpu_s()};
  for (const Slot& slot : slots_) cpu.workers_s += process_cpu_seconds(slot.worker.pid).value_or(0);
  return cpu;
}

// Of a worker that is about to be ended, or has died and is not reaped yet.
void CompilePool::account_end(const Slot& slot) {
  usage_.add_end(slot.worker.pid);
  if (slot.jobs.empty()) return;
  const GivenJob& given = slot.jobs.front();
  usage_.add_cut_short(slot.worker.pid, given.job.id, given.given, slot.started);
}

void CompilePool::abandon() {
  give_up([](const CompileJob& job) { return job.asker == Asker::sweep; });
  std::erase_if(waiting_for_server_, [](const CompileJob& job) { return job.asker == Asker::sweep; });
  answered_[Asker::sweep].clear();
}

void CompilePool::drop(int id) {
  give_up([id](const CompileJob& job) { return job.asker == Asker::sweep && job.id == id; });
  std::erase_if(answered_[Asker::sweep], [id](const CompiledCode& code) { return code.id == id; });
}

// Jobs that wait, and the processes that have one: what else these were given waits again.
void CompilePool::give_up(const std::function<bool(const CompileJob&)>& is_given_up) {
  std::erase_if(waiting_, is_given_up);
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    const bool has_one = std::any_of(slot->jobs.begin(), slot->jobs.end(),
                                     [&](const GivenJob& given) { return is_given_up(given.job); });
    if (!has_one) {
      ++slot;
      continue;
    }
    account_end(*slot);
    for (auto given = slot->jobs.rbegin(); given != slot->jobs.rend(); ++given)
      if (!is_given_up(given->job)) waiting_.push_front(std::move(given->job));
    ForkServer::abandon(slot->worker);
    slot = slots_.erase(slot);
  }
}

// Its first job is lost; the others go back to the queue. `how`: why it is ended; empty: it ended by itself.
void CompilePool::lose_first(Slot& slot, const std::string& how) {
  CompiledCode code;
  code.id = slot.jobs.front().job.id;
  const Asker asker = slot.jobs.front().job.asker;
  if (&slot != &server_slot_) account_end(slot);
  slot.jobs.pop_front();
  const auto take_back = [this](Slot& from) {
    for (GivenJob& given : from.jobs) waiting_.push_front(std::move(given.job));
    from.jobs.clear();
  };
  std::string ended;
  if (&slot == &server_slot_) {
    // Its workers die with it, and what they were at is compiled again by others.
    for (Slot& orphan : slots_) {
      account_end(orphan);
      take_back(orphan);
    }
    slots_.clear();
    server_has_linker_ = false;
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
  answer(asker, std::move(code));
}

}  // namespace regtune
