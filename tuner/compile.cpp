#include "compile.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "regtune/error.hpp"
#include "toolkit.hpp"

namespace regtune {
namespace {

using Clock = std::chrono::steady_clock;

Message binary(const std::string& bytes) {
  return Message::binary(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

// The child: one NVRTC, one request after the other, until the parent closes the channel.
void compile_requests(Channel& channel) {
  std::optional<Nvrtc> nvrtc;
  while (true) {
    const Channel::Received received = channel.receive();
    if (received.state != Channel::State::message) return;
    if (!nvrtc) nvrtc = Nvrtc::open();
    const Message& asked = received.message;
    NvrtcRequest request{asked.at("source"), asked.at("file_name"), asked.at("options"), asked.at("name_expressions")};
    const auto start = Clock::now();
    NvrtcReply reply = nvrtc->compile(request);
    channel.send({{"compiled", reply.compiled},
                  {"cubin", binary(reply.cubin)},
                  {"log", binary(reply.log)},  // may quote source lines that are not UTF-8
                  {"lowered_names", reply.lowered_names},
                  {"seconds", std::chrono::duration<double>(Clock::now() - start).count()}});
  }
}

std::string text_of(const Message& binary_value) {
  const auto& bytes = binary_value.get_binary();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

CompilerIdentity CompilePool::identify() {
  Worker worker([](Channel& channel) {
    try {
      const Nvrtc nvrtc = Nvrtc::open();
      std::vector<std::string> folders;
      for (const auto& folder : include_folders(nvrtc.library_path())) folders.push_back(folder.string());
      std::vector<std::string> fixed;
      if (nvrtc.accepts_option("--frandom-seed=regtune")) fixed.emplace_back("--frandom-seed=regtune");
      if (nvrtc.has_own_cache()) fixed.emplace_back("--no-cache");
      channel.send({{"name", "NVRTC " + nvrtc.version()},
                    {"library_path", nvrtc.library_path()},
                    {"architectures", nvrtc.supported_architectures()},
                    {"include_folders", folders},
                    {"fixed_options", fixed}});
    } catch (const Error& failure) {
      channel.send({{"failure", failure.what()}});
    }
  });
  const Channel::Received received = worker.channel().receive(after_ms(60000));
  if (received.state != Channel::State::message)
    throw Error(ErrorKind::no_toolkit,
                fmt::format("loading NVRTC failed: its process {}; is the CUDA toolkit complete?", worker.end()));
  const Message& reply = received.message;
  if (reply.contains("failure")) throw Error(ErrorKind::no_toolkit, reply.at("failure").get<std::string>());
  return {reply.at("name"), reply.at("library_path"), reply.at("architectures"), reply.at("include_folders"),
          reply.at("fixed_options")};
}

std::size_t CompilePool::unfinished() const {
  return waiting_.size() + static_cast<std::size_t>(std::count_if(slots_.begin(), slots_.end(),
                                                                  [](const Slot& s) { return s.job.has_value(); }));
}

void CompilePool::feed() {
  while (!waiting_.empty()) {
    auto idle = std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return !slot.job; });
    if (idle == slots_.end()) {
      if (static_cast<int>(slots_.size()) >= processes_) return;
      slots_.push_back({Worker(compile_requests), {}, {}});
      idle = std::prev(slots_.end());
    }
    idle->job = std::move(waiting_.front());
    waiting_.pop_front();
    idle->started = Clock::now();
    const NvrtcRequest& request = idle->job->request;
    // A send that fails shows as a closed channel when the answer is collected.
    idle->worker.channel().send({{"source", request.source},
                                 {"file_name", request.file_name},
                                 {"options", request.options},
                                 {"name_expressions", request.name_expressions}});
  }
}

std::optional<CompiledCode> CompilePool::next(Deadline deadline) {
  while (unfinished() > 0) {
    feed();
    std::vector<pollfd> descriptors;
    std::vector<std::size_t> slot_of;
    auto wake = deadline.value_or(Clock::time_point::max());
    const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s_));
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (!slots_[i].job) continue;
      descriptors.push_back({slots_[i].worker.channel().descriptor(), POLLIN, 0});
      slot_of.push_back(i);
      wake = std::min(wake, slots_[i].started + limit);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake - Clock::now()).count();
    const int ready =
        poll(descriptors.data(), descriptors.size(), static_cast<int>(std::clamp<long long>(left, 0, 1 << 30)));
    if (ready > 0) {
      for (std::size_t i = 0; i < descriptors.size(); ++i)
        if (descriptors[i].revents != 0) return collect(slots_[slot_of[i]]);
    }
    for (Slot& slot : slots_)
      if (slot.job && Clock::now() >= slot.started + limit)
        return lost(slot, fmt::format("compiling took longer than {:g} s and was stopped", limit_s_));
    if (deadline && Clock::now() >= *deadline) return {};
  }
  return {};
}

CompiledCode CompilePool::collect(Slot& slot) {
  const Channel::Received received = slot.worker.channel().receive(after_ms(limit_s_ * 1000));
  if (received.state != Channel::State::message)
    return lost(slot, fmt::format("the compiler's process {}", slot.worker.end()));
  const Message& reply = received.message;
  CompiledCode code;
  code.id = slot.job->id;
  code.compiled = reply.at("compiled");
  code.cubin = text_of(reply.at("cubin"));
  code.log = text_of(reply.at("log"));
  code.lowered_names = reply.at("lowered_names");
  code.seconds = reply.at("seconds");
  if (!code.compiled) code.failure = code.log;
  slot.job.reset();
  feed();
  return code;
}

CompiledCode CompilePool::lost(Slot& slot, const std::string& how) {
  CompiledCode code;
  code.id = slot.job->id;
  code.failure = how;
  slot.worker = Worker(compile_requests);
  slot.job.reset();
  return code;
}

}  // namespace regtune
