#include "device.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "cubin.hpp"
#include "device_code_cu.hpp"
#include "device_worker.hpp"
#include "record_json.hpp"
#include "regtune/error.hpp"
#include "workload_message.hpp"

namespace regtune {
namespace {

// A driver that has not come up after this long will not; measured start: under a second.
constexpr double kStartLimitMs = 60000;

// Slower than any link between host and GPU is, and than a GPU reads.
constexpr double kCopiedBytesPerMs = 2e6;

double copy_limit_ms(const WorkloadPlan& plan) {
  double bytes = 0;
  if (plan.snapshot)
    for (const SnapshotRange& range : plan.snapshot->ranges) bytes += static_cast<double>(range.bytes);
  return bytes / kCopiedBytesPerMs;
}

constexpr int kMostLayouts = 5;

// How device_code.cu spells an element type.
std::string device_type(ElementType type) {
  if (type == ElementType::f16) return "half_bits";
  if (type == ElementType::bf16) return "bfloat_bits";
  return std::string(to_string(type));
}

std::vector<ElementType> element_types(const WorkloadPlan& plan) {
  std::set<ElementType> types;
  for (const BufferPlan* buffer : buffers_of(plan)) types.insert(buffer->type);
  if (plan.snapshot) {
    types.insert(ElementType::u8);  // what is no whole element of its type
    for (const SnapshotRange& range : plan.snapshot->ranges) types.insert(range.type);
  }
  return {types.begin(), types.end()};
}

// What a kernel of this code may write beside its buffers; nothing where only a test could launch it.
std::vector<CubinVariable> variables_of(const std::string& code) {
  std::vector<CubinVariable> variables;
  try {
    variables = read_cubin(code).variables;
  } catch (const Error&) {
    variables.clear();
  }
  std::erase_if(variables, [](const CubinVariable& variable) { return variable.is_constant; });
  return variables;
}

constexpr const char* kPurposes[] = {"fill", "compare", "show"};

constexpr const char* kServeProfiled = "--serve-profiled";

// Becomes the profiler, which starts this program with our end of the channel. Returns when that fails.
// Without one this program alone, whose memory lies elsewhere than in a fork. `captured_file`: the descriptor of a
// captured program's memory, or -1.
void start_under(const std::vector<std::string>& profiler, const Channel& channel, int ordinal, int captured_file) {
  std::error_code ignored;
  std::vector<std::string> words = profiler;
  words.push_back(std::filesystem::read_symlink("/proc/self/exe", ignored).string());
  words.insert(words.end(), {kServeProfiled, std::to_string(channel.descriptor()), std::to_string(ordinal)});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  fcntl(channel.descriptor(), F_SETFD, 0);  // stays open in the program that is started
  if (captured_file >= 0) fcntl(captured_file, F_SETFD, 0);
  if (const int nowhere = open("/dev/null", O_WRONLY); nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);  // our own output is the report, or JSON
    close(nowhere);
  }
  execv(arguments.front(), arguments.data());
}

}  // namespace

NvrtcRequest device_code_request(const WorkloadPlan& plan, const std::string& architecture,
                                 const CompilerIdentity& compiler) {
  NvrtcRequest request{device_code_cu_text, "device_code.cu", {"--gpu-architecture=" + architecture}, {}};
  request.options.insert(request.options.end(), compiler.fixed_options.begin(), compiler.fixed_options.end());
  for (const ElementType type : element_types(plan))
    for (const char* purpose : kPurposes)
      request.name_expressions.push_back(fmt::format("regtune_{}<{}>", purpose, device_type(type)));
  return request;
}

CompiledCode compile_device_code(CompilePool& pool, const WorkloadPlan& plan, const std::string& architecture) {
  CompiledCode code = pool.prepare({0, device_code_request(plan, architecture, pool.identity()), {}, true});
  if (!code.compiled) throw Error(ErrorKind::internal, "regtune's own device code does not compile: " + code.failure);
  return code;
}

Device::Device(int ordinal, std::vector<std::string> profiler) : ordinal_(ordinal), profiler_(std::move(profiler)) {
  start();
}

Device::Device(Channel& application) : ordinal_(0), application_(&application) {}

std::string Device::how_it_ended() {
  return application_ ? "is gone, or does not answer any more" : worker_->end();
}

void Device::start() {
  worker_ = std::make_unique<Worker>([this](Channel& channel) {
    if (profiler_.empty() && !in_new_layout_)
      serve_device(channel, ordinal_);
    else
      start_under(profiler_, channel, ordinal_, captured_file_);
  });
  asked_ = false;
  loaded_.clear();
}

const std::optional<GpuState>& Device::state() {
  if (asked_) return state_;
  asked_ = true;
  const Channel::Received received = channel().receive(after_ms(kStartLimitMs));
  state_.reset();
  if (received.state != Channel::State::message) {
    why_not_ = application_ ? "the application " + how_it_ended()
                            : fmt::format("the CUDA driver did not start: its process {}", how_it_ended());
  } else if (received.message.contains("no_device")) {
    throw Error(ErrorKind::usage, received.message.at("no_device").get<std::string>());
  } else if (received.message.contains("no_gpu")) {
    why_not_ = received.message.at("no_gpu").get<std::string>();
  } else {
    state_ = received.message.at("gpu").get<GpuState>();
  }
  return state_;
}

Message Device::ask(const Message& request, double limit_ms) {
  channel().send(request);
  const Channel::Received received = channel().receive(after_ms(limit_ms));
  if (received.state == Channel::State::timed_out) return {{"timed_out", limit_ms}};
  if (received.state == Channel::State::closed)
    return {{"faulted", fmt::format("the process that drives the GPU {}", how_it_ended())}};
  if (received.message.contains("failure"))
    throw Error(static_cast<ErrorKind>(received.message.at("kind").get<int>()),
                received.message.at("failure").get<std::string>());
  return received.message;
}

void Device::prepare(const WorkloadPlan& plan, const CompiledCode& device_code, double timeout_ms, bool never_restore) {
  timeout_ms_ = timeout_ms;
  captured_ms_ = copy_limit_ms(plan);
  if (!state()) throw Error(ErrorKind::gpu_failed, fmt::format("GPU {}: {}", ordinal_, why_not_));
  Message functions = Message::object();
  std::size_t next = 0;
  for (const ElementType type : element_types(plan))
    for (const char* purpose : kPurposes)
      functions[std::string(to_string(type))][purpose] = device_code.lowered_names.at(next++);
  plan_request_ = workload_message(plan);
  plan_request_["do"] = "plan";
  plan_request_["device_code"] = binary(device_code.cubin);
  plan_request_["functions"] = functions;
  plan_request_["never_restore"] = never_restore;
  captured_file_ = plan.snapshot ? plan.snapshot->descriptor : -1;
  const Message reply = ask_for_plan();
  if (!reply.contains("ok"))
    throw Error(ErrorKind::gpu_failed,
                fmt::format("making the buffers on the GPU failed; choose smaller sizes, or end what else uses it: {}",
                            reply.dump()));
}

// Whether a captured program's addresses are free depends on where the system has put this process's own memory: a
// process that is started anew has it elsewhere.
Message Device::ask_for_plan() {
  for (int layouts = 1;; ++layouts) {
    try {
      return ask(plan_request_, kStartLimitMs + captured_ms_);
    } catch (const Error& failure) {
      if (captured_file_ < 0 || failure.kind() != ErrorKind::gpu_failed || layouts == kMostLayouts) throw;
    }
    in_new_layout_ = true;
    start();
    if (!state()) throw Error(ErrorKind::gpu_failed, fmt::format("GPU {}: {}", ordinal_, why_not_));
  }
}

void Device::restart(const std::string& why) {
  if (application_)
    throw Error(
        ErrorKind::gpu_failed,
        fmt::format("a candidate was launched in the application itself, and {}: the application's CUDA context is "
                    "lost, and no other code can be tried. Leave out --in-process: such a code costs itself only",
                    why));
  ++restarts_;
  start();
  if (!state())
    throw Error(ErrorKind::gpu_failed,
                "the GPU did not come back after a fault; look at dmesg and nvidia-smi: " + why_not_);
  if (const Message reply = ask_for_plan(); !reply.contains("ok"))
    throw Error(ErrorKind::gpu_failed,
                "making the buffers again after a fault failed; look at dmesg and nvidia-smi: " + reply.dump());
  if (reference_) run_reference();
  if (reference_run_) run_warm_up(warm_up_ms_);
}

// Nothing when it is loaded, else why the driver refused it.
std::optional<Shot> Device::load(const Candidate& candidate) {
  if (loaded_.contains(candidate.id)) return {};
  Message variables = Message::array();
  double variable_bytes = 0;
  for (const CubinVariable& variable : variables_of(candidate.cubin)) {
    variables.push_back(variable.name);
    variable_bytes += static_cast<double>(variable.bytes);
  }
  variables_ms_ = std::max(variables_ms_, variable_bytes / kCopiedBytesPerMs);
  const Message reply = ask({{"do", "load"},
                             {"id", candidate.id},
                             {"kernel", candidate.kernel},
                             {"cubin", binary(candidate.cubin)},
                             {"variables", variables},
                             {"shape", candidate.shape}},
                            kStartLimitMs + variables_ms_);
  if (reply.contains("refused")) return NotLaunchable{reply.at("refused").get<std::string>()};
  if (!reply.contains("ok")) {
    restart("loading it failed");
    return Faulted{"loading it failed: " + reply.dump()};
  }
  loaded_[candidate.id] = true;
  return {};
}

// What the child says to a request about the reference; its failure ends the run.
Message Device::ask_of_reference(Message request) {
  const auto fail = [](const std::string& how) {
    throw Error(ErrorKind::gpu_failed,
                fmt::format("the author's own code does not run with these arguments: {}. Are the buffers long enough "
                            "for the grid, and the sizes right?",
                            how));
  };
  if (const auto refused = load(*reference_)) {
    if (const auto* launchable = std::get_if<NotLaunchable>(&*refused)) fail(launchable->reason);
    fail(std::get<Faulted>(*refused).message);
  }
  request["id"] = reference_->id;
  // There are several launches in it; each may take up to the limit of one in the worst case, but all after the first
  // are as short as that.
  const Message reply = ask(request, 4 * (timeout_ms_ + moving_ms()) + 10000);
  if (reply.contains("refused")) fail(reply.at("refused").get<std::string>());
  if (reply.contains("faulted")) fail(reply.at("faulted").get<std::string>());
  if (reply.contains("timed_out")) fail(fmt::format("it takes longer than --timeout {:.0f} s", timeout_ms_ / 1000));
  return reply;
}

double Device::run_reference() {
  const Message reply = ask_of_reference({{"do", "reference"}});
  written_variables_ = reply.at("written_variables").get<std::map<std::string, bool>>();
  return reply.at("gpu_ms");
}

ReferenceRun Device::run_warm_up(double ms) {
  Message request{{"do", "warm_up"}, {"for_ms", ms}};
  if (reference_run_)
    request["as_before"] = {{"restored", reference_run_->restored},
                            {"launches_per_sample", reference_run_->launches_per_sample},
                            {"sample_mode", to_string(reference_run_->sample_mode)}};
  const Message reply = ask_of_reference(std::move(request));
  return {reply.at("ms"),
          reply.at("launches_per_sample"),
          reply.at("restored"),
          sample_mode_from_string(reply.at("sample_mode").get<std::string>()).value_or(SampleMode::back_to_back),
          reply.at("can_flush"),
          reply.at("launch_overhead_ms"),
          reply.at("timer_resolution_ms"),
          reply.at("gpu_ms")};
}

double Device::set_reference(const Candidate& reference) {
  reference_ = reference;
  reference_run_.reset();
  return run_reference();
}

ReferenceRun Device::warm_up(double ms) {
  const ReferenceRun run = run_warm_up(ms);
  reference_run_ = run;
  warm_up_ms_ = ms;
  // A variant that spills can be ten times slower; a hundred times slower is a hang.
  timeout_ms_ = std::min(timeout_ms_, std::max(1000.0, 100 * run.ms * run.launches_per_sample));
  return run;
}

Shot Device::launch(const char* what, const Candidate& candidate) {
  if (auto refused = load(candidate)) return *refused;
  const Message reply = ask({{"do", what}, {"id", candidate.id}}, timeout_ms_ + moving_ms());
  if (reply.contains("clocks")) {
    const Message& clocks = reply.at("clocks");
    clock_readings_.push_back({clocks.at("sm_mhz"), clocks.at("throttled_by"), clocks.at("cost_us")});
  }
  if (reply.contains("ms")) return reply.at("ms").get<double>();
  if (reply.contains("refused")) return NotLaunchable{reply.at("refused").get<std::string>()};
  if (reply.contains("wrong")) return WrongResult{reply.at("wrong").get<std::string>()};
  if (reply.contains("timed_out")) {
    restart(fmt::format("it took longer than {:.1f} s", timeout_ms_ / 1000));
    return TimedOut{timeout_ms_};
  }
  const std::string fault = reply.at("faulted");
  restart("it faulted: " + fault);
  return Faulted{fault};
}

Shot Device::check(const Candidate& candidate) {
  return launch("check", candidate);
}
Shot Device::sample(const Candidate& candidate) {
  return launch("sample", candidate);
}
Shot Device::sample_cold(const Candidate& candidate) {
  return launch("sample_cold", candidate);
}

Shot Device::launch_once(const Candidate& candidate) {
  return launch("launch", candidate);
}

void Device::finish(double limit_ms) {
  channel().send({{"do", application_ ? "go on" : "end"}});
  channel().receive(after_ms(limit_ms));
}

double Device::copy_bandwidth() {
  const Message reply = ask({{"do", "copy_bandwidth"}}, kStartLimitMs);
  return reply.value("gb_per_s", 0.0);
}

std::optional<int> serve_profiled(const std::vector<std::string>& arguments) {
  if (arguments.size() != 3 || arguments[0] != kServeProfiled) return {};
  const auto number = [](const std::string& text) {
    int value = -1;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  Channel channel(number(arguments[1]));
  serve_device(channel, number(arguments[2]));
  return 0;
}

}  // namespace regtune
