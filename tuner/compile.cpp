#include "compile.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <map>

#include "key.hpp"
#include "nvjitlink.hpp"
#include "regtune/error.hpp"
#include "toolkit.hpp"

namespace regtune {
namespace {

constexpr double kNoticedIdleness = 0.02;  // of a job's time
constexpr double kMostAhead = 3;
constexpr double kIdentityLimitMs = 60000;
constexpr std::size_t kMostKeptTexts = 80;  // 64 choices of macros, and other names of a few
// A job that waits in a channel must fit into its buffer: else we would wait in send() for a worker that waits in
// its own for us to read.
constexpr std::size_t kLargestAheadBytes = 32 * 1024;

Message job_message(const CompileJob& job) {
  Message message{{"source", binary(job.request.source)},
                  {"file_name", job.request.file_name},
                  {"options", job.request.options},
                  {"name_expressions", job.request.name_expressions},
                  {"lto_ir", job.request.output == NvrtcOutput::lto_ir},
                  {"stand_ins", job.request.stand_ins},
                  {"empty_headers", job.request.empty_headers}};
  if (job.link_options) message["link_options"] = *job.link_options;
  message["keep_lto_ir"] = job.others_link_it;
  return message;
}

CompiledCode code_from(const Message& reply, int id) {
  CompiledCode code;
  code.id = id;
  code.compiled = reply.at("compiled");
  code.cubin = bytes_of(reply.at("cubin"));
  code.log = bytes_of(reply.at("log"));
  code.lowered_names = reply.at("lowered_names");
  code.seconds = reply.at("ended_s").get<double>() - reply.at("begun_s").get<double>();
  code.link_seconds = reply.at("link_seconds");
  if (!code.compiled) code.failure = code.log;
  return code;
}

double clock_seconds(std::chrono::steady_clock::time_point at) {
  return std::chrono::duration<double>(at.time_since_epoch()).count();
}

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

double resident_mib() {
  long pages = 0;
  long resident = 0;
  if (FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// Beyond what a fork had from the server when it began: those pages are the server's, and count there.
double peak_mib(double inherited_mib) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return std::max(0.0, static_cast<double>(used.ru_maxrss) / 1024 - inherited_mib);
}

// Compilers and what they made so far. One object in the server's memory, of which every worker has a copy as
// it was at the fork.
class Compilers {
 public:
  // In a fork of the server, before its first job.
  void begin_worker() { inherited_mib_ = resident_mib(); }

  Message answer(const Message& asked) {
    if (asked.contains("identify")) return identify();
    const auto start = std::chrono::steady_clock::now();
    const double cpu_start = cpu_seconds();
    NvrtcRequest request{bytes_of(asked.at("source")),
                         asked.at("file_name"),
                         asked.at("options"),
                         asked.at("name_expressions"),
                         asked.at("lto_ir") ? NvrtcOutput::lto_ir : NvrtcOutput::cubin,
                         asked.at("stand_ins"),
                         asked.at("empty_headers")};
    NvrtcReply reply =
        request.output == NvrtcOutput::lto_ir ? lto_ir(request, asked.at("keep_lto_ir")) : nvrtc().compile(request);
    const auto link_start = std::chrono::steady_clock::now();
    if (reply.compiled && asked.contains("link_options")) link(reply, asked.at("link_options"));
    const auto end = std::chrono::steady_clock::now();
    return {{"compiled", reply.compiled},
            {"cubin", binary(reply.cubin)},
            {"log", binary(reply.log)},  // may quote source lines that are not UTF-8
            {"lowered_names", reply.lowered_names},
            {"begun_s", clock_seconds(start)},
            {"ended_s", clock_seconds(end)},
            {"link_seconds", std::chrono::duration<double>(end - link_start).count()},
            {"cpu_s", cpu_seconds() - cpu_start},
            {"peak_mib", peak_mib(inherited_mib_)},
            {"pid", getpid()}};
  }

 private:
  const Nvrtc& nvrtc() {
    if (!nvrtc_) nvrtc_ = Nvrtc::open();
    return *nvrtc_;
  }

  const std::optional<NvJitLink>& linker() {
    if (!linker_looked_for_) linker_ = NvJitLink::open(why_no_linker_);
    linker_looked_for_ = true;
    return linker_;
  }

  // Made once for each distinct request that others will make too.
  NvrtcReply lto_ir(const NvrtcRequest& request, bool keep) {
    FieldHash hash;
    hash.add("source", request.source);
    for (const std::string& option : request.options) hash.add("option", option);
    for (const std::string& expression : request.name_expressions) hash.add("name expression", expression);
    for (const std::string& header : request.empty_headers) hash.add("empty header", header);
    const std::string key = hash.hex();
    const auto known = made_.find(key);
    if (known != made_.end()) return known->second;
    NvrtcReply reply = nvrtc().compile(request);
    if (keep && made_.size() < kMostKeptTexts) made_[key] = reply;
    return reply;
  }

  void link(NvrtcReply& reply, const std::vector<std::string>& options) {
    LinkReply linked;
    if (linker())
      linked = linker()->link({reply.lto_ir, options});
    else
      linked.log = why_no_linker_;
    reply.compiled = linked.linked;
    reply.cubin = std::move(linked.cubin);
    reply.log = std::move(linked.log);
  }

  Message identify() {
    try {
      std::vector<std::string> folders;
      for (const auto& folder : include_folders(nvrtc().library_path())) folders.push_back(folder.string());
      std::vector<std::string> fixed;
      // Asking costs a compilation: known versions are not asked.
      const bool recent = nvrtc().major() >= 13;
      if (recent || nvrtc().accepts_option("--frandom-seed=regtune")) fixed.emplace_back("--frandom-seed=regtune");
      if (nvrtc().has_own_cache()) fixed.emplace_back("--no-cache");
      Message identity{{"name", "NVRTC " + nvrtc().version()},
                       {"library_path", nvrtc().library_path()},
                       {"architectures", nvrtc().supported_architectures()},
                       {"include_folders", folders},
                       {"fixed_options", fixed},
                       {"precompiles_headers", nvrtc().precompiles_headers()},
                       {"linker", ""},
                       {"why_no_linker", ""},
                       {"linker_takes_no_cache", false}};
      if (linker()) {
        identity["linker"] = "nvJitLink " + linker()->version();
        why_no_linker_ = linker()->cannot_serve(nvrtc()).value_or("");
        identity["linker_takes_no_cache"] = recent || linker()->accepts_option("-no-cache");
      }
      identity["why_no_linker"] = why_no_linker_;
      return identity;
    } catch (const Error& failure) {
      return {{"failure", failure.what()}};
    }
  }

  std::optional<Nvrtc> nvrtc_;
  std::optional<NvJitLink> linker_;
  bool linker_looked_for_ = false;
  std::string why_no_linker_;
  std::map<std::string, NvrtcReply> made_;
  double inherited_mib_ = 0;
};

ForkServer compile_server() {
  const auto compilers = std::make_shared<Compilers>();
  return ForkServer([compilers](const Message& asked) { return compilers->answer(asked); },
                    [compilers](Channel& channel) {
                      compilers->begin_worker();
                      while (true) {
                        const Channel::Received received = channel.receive();
                        if (received.state != Channel::State::message) return;
                        if (!channel.send(compilers->answer(received.message))) return;
                      }
                    });
}

}  // namespace

CompilePool::CompilePool(int processes, double limit_s)
    : processes_(processes), limit_s_(limit_s), server_(compile_server()) {}

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
  identity_ = CompilerIdentity{reply->at("name"),
                               reply->at("library_path"),
                               reply->at("architectures"),
                               reply->at("include_folders"),
                               reply->at("fixed_options"),
                               reply->at("precompiles_headers"),
                               reply->at("linker"),
                               reply->at("why_no_linker"),
                               reply->at("linker_takes_no_cache")};
  return *identity_;
}

CompiledCode CompilePool::prepare(CompileJob job) {
  assert(server_slot_.jobs.empty() && "the server's next answer would be that job's");
  std::string how;
  const auto given = Clock::now();
  const std::optional<Message> reply = server_.ask(job_message(job), limit_s_ * 1000, how);
  if (reply) {
    account(*reply, job.id, given);
    return code_from(*reply, job.id);
  }
  CompiledCode code;
  code.id = job.id;
  code.failure = "the compiler's process " + how;
  return code;
}

void CompilePool::submit(CompileJob job) {
  if (job.in_server)
    waiting_for_server_.push_back(std::move(job));
  else
    waiting_.push_back(std::move(job));
}

void CompilePool::submit_next(CompileJob job) {
  assert(!job.in_server);
  waiting_.push_front(std::move(job));
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
  slot.jobs.push_back({std::move(job), Clock::now()});
  // A send that fails shows as a closed channel when the answer is collected.
  channel_of(slot).send(job_message(slot.jobs.back().job));
}

// A worker without a job, forked if need be; nullptr when all have one. The server forks between its own jobs only.
CompilePool::Slot* CompilePool::idle_slot() {
  for (Slot& slot : slots_)
    if (slot.jobs.empty()) return &slot;
  if (slots_.size() >= static_cast<std::size_t>(processes_) || !server_slot_.jobs.empty()) return nullptr;
  slots_.push_back({server_.spawn(), {}, {}});
  return &slots_.back();
}

// What a worker gets beyond the job that it is at, so that it does not idle while the caller is elsewhere: nothing
// while the caller is back at once, for what is ahead in one worker cannot go to another that has nothing left, and
// what is urgent waits behind it; else what it may get through in that time.
std::size_t CompilePool::jobs_ahead() const {
  if (usage_.spans.empty()) return 0;
  const double mean_job_s = usage_.cpu_s / static_cast<double>(usage_.spans.size());
  if (absence_s_ < kNoticedIdleness * mean_job_s) return 0;
  const double most = std::min(1 + absence_s_ / std::max(mean_job_s, 1e-3), kMostAhead);
  return std::min(static_cast<std::size_t>(most), waiting_.size() / (2 * static_cast<std::size_t>(processes_)));
}

void CompilePool::feed() {
  const auto give_first = [this](Slot& slot) {
    give(slot, std::move(waiting_.front()));
    waiting_.pop_front();
  };
  // A fork takes a while: each worker has its job before the next one is forked.
  while (!waiting_.empty()) {
    Slot* const idle = idle_slot();
    if (!idle) break;
    give_first(*idle);
  }
  const std::size_t ahead = jobs_ahead();
  for (std::size_t filled = 1; filled <= ahead; ++filled)
    for (Slot& slot : slots_)
      if (slot.jobs.size() <= filled && !waiting_.empty() &&
          waiting_.front().request.source.size() <= kLargestAheadBytes)
        give_first(slot);
  if (server_slot_.jobs.empty() && !waiting_for_server_.empty()) {
    give(server_slot_, std::move(waiting_for_server_.front()));
    waiting_for_server_.pop_front();
  }
}

std::optional<CompiledCode> CompilePool::next(Deadline deadline) {
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  // Half the last one and half those before it.
  if (left_) absence_s_ = (absence_s_ + seconds(Clock::now() - *left_)) / 2;
  std::optional<CompiledCode> code = wait(deadline);
  left_ = Clock::now();
  return code;
}

std::optional<CompiledCode> CompilePool::wait(Deadline deadline) {
  const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s_));
  while (unfinished() > 0) {
    feed();
    std::vector<pollfd> descriptors;
    std::vector<Slot*> busy;
    auto wake = deadline.value_or(Clock::time_point::max());
    const auto watch = [&](Slot& slot) {
      if (slot.jobs.empty()) return;
      descriptors.push_back({channel_of(slot).descriptor(), POLLIN, 0});
      busy.push_back(&slot);
      wake = std::min(wake, slot.started + limit);
    };
    for (Slot& slot : slots_) watch(slot);
    watch(server_slot_);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake - Clock::now()).count();
    const int ready =
        poll(descriptors.data(), descriptors.size(), static_cast<int>(std::clamp<long long>(left, 0, 1 << 30)));
    for (std::size_t i = 0; ready > 0 && i < descriptors.size(); ++i)
      if (descriptors[i].revents != 0) return collect(*busy[i]);
    for (Slot* slot : busy)
      if (Clock::now() >= slot->started + limit)
        return lost(*slot, fmt::format("compiling took longer than {:g} s and was stopped", limit_s_));
    if (deadline && Clock::now() >= *deadline) return {};
  }
  return {};
}

void CompilePool::account(const Message& reply, int id, Clock::time_point given) {
  const pid_t process = reply.at("pid").get<pid_t>();
  usage_.cpu_s += reply.at("cpu_s").get<double>();
  usage_.spans.push_back({id, process, clock_seconds(given), reply.at("begun_s").get<double>(),
                          reply.at("ended_s").get<double>(), clock_seconds(Clock::now())});
  double& peak = peak_mib_of_[process];
  usage_.peak_mib += reply.at("peak_mib").get<double>() - peak;
  peak = reply.at("peak_mib").get<double>();
}

CompiledCode CompilePool::collect(Slot& slot) {
  const Channel::Received received = channel_of(slot).receive(after_ms(limit_s_ * 1000));
  if (received.state != Channel::State::message) return lost(slot, "");
  const GivenJob& given = slot.jobs.front();
  CompiledCode code = code_from(received.message, given.job.id);
  account(received.message, given.job.id, given.given);
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
  code.id = slot.jobs.front().job.id;
  slot.jobs.pop_front();
  const auto take_back = [this](Slot& from) {
    for (GivenJob& given : from.jobs) waiting_.push_front(std::move(given.job));
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
