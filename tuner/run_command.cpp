#include "run_command.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "awaited_launch.hpp"
#include "cache_path.hpp"
#include "carried_ptx.hpp"
#include "from_ptx.hpp"
#include "offered_kernel.hpp"
#include "regtune/error.hpp"
#include "scratch_folder.hpp"
#include "signature.hpp"
#include "source.hpp"
#include "terminal.hpp"
#include "tuned_launches.hpp"
#include "watched_program.hpp"

namespace regtune {
namespace {

class Watch {
 public:
  // `launches`: what may be applied; nullptr: nothing.
  Watch(const RunRequest& request, WatchedProgram& program, TunedLaunches* launches, Progress& progress)
      : request_(request),
        program_(program),
        progress_(progress),
        launches_(launches),
        awaited_({request.kernel, request.source, request.launch, true, "tuned"}) {}

  void answer(int process, const Message& question) {
    const std::string what = question.at("ask");
    if (what == "launch") at_launch(process, question);
    if (what != "kernel" && what != "code") return;
    // The program waits for the answer, and runs on whatever becomes of the cache.
    Message answer = Message::object();
    try {
      answer = what == "kernel" ? about_kernel(process, question) : code_for(process, question);
    } catch (const Error& failure) {
      note(failure.what());
    }
    program_.channel(process).send(answer);
  }

  RunResult result(int exit_code) {
    for (int process = 0; process < program_.processes(); ++process)
      listing_.add_counts(process, program_.table(process));
    result_.exit_code = exit_code;
    result_.kernels = listing_.kernels();
    for (const ListedKernel& kernel : result_.kernels) add_applied(kernel);
    note_what_was_not_tuned();
    return std::move(result_);
  }

 private:
  Message about_kernel(int process, const Message& question) {
    const ToldKernel kernel = told_kernel(question);
    listing_.add_kernel(process, kernel);
    gpus_[process] = question.at("gpu");
    if (launches_) {
      const auto integers = launches_->integers(kernel.name, kernel.image, gpus_[process]);
      return integers ? Message{{"interest", "replace"}} : Message{{"interest", "none"}};
    }
    if (!request_.tunes()) return {{"interest", "none"}};
    std::string why_not;
    Message interest = awaited_.interest(kernel, question, why_not);
    if (!why_not.empty()) note(std::move(why_not));
    return interest;
  }

  void at_launch(int process, const Message& offer) {
    Channel& channel = program_.channel(process);
    const ToldKernel* const kernel = listing_.find(process, offer.at("number"));
    // Another process may have come first: what one has tuned serves all.
    if (kernel && awaited_.take()) {
      try {
        tune_launch(channel, *kernel, offer);
      } catch (const Error& failure) {
        note(fmt::format("{} was not tuned: {}{}", demangle(kernel->name), failure.what(), advice_for(failure)));
      }
    }
    let_go_on(channel);
  }

  // A replay has the program's memory, and nothing else that is the program's.
  std::string advice_for(const Error& failure) const {
    if (is_ptx_ && failure.kind() == ErrorKind::bad_launch)
      return ". It was made of the PTX that the program carries, which need not be what the program runs (#if "
             "__CUDA_ARCH__, say): then give --source FILE.cu";
    const bool may_be_replay = failure.kind() == ErrorKind::gpu_failed && !request_.in_process;
    return may_be_replay ? ". Textures and the host's memory are not there in the process that replays the launch; "
                           "--in-process makes it in the program itself"
                         : "";
  }

  // In the program's own context it first puts everything back, and says so.
  void let_go_on(Channel& channel) {
    channel.send({{"do", "go on"}});
    while (std::exchange(works_in_program_, false)) {
      const Channel::Received last = channel.receive();
      if (last.state != Channel::State::message) return;
      works_in_program_ = !last.message.contains("ok") && !last.message.contains("failure");
      if (last.message.contains("failure"))
        note("the program's memory could not be put back, so that its results are not to be trusted: " +
             last.message.at("failure").get<std::string>() + "; run it again without --in-process");
    }
  }

  void tune_launch(Channel& channel, const ToldKernel& kernel, const Message& offer) {
    const ScratchFolder folder;
    CapturedLaunch captured = awaited_.captured(kernel, offer, request_.program.front());
    captured.memory.absolute_tolerance = request_.absolute_tolerance;
    captured.memory.relative_tolerance = request_.relative_tolerance;
    captured.variables = [&channel](const std::vector<std::string>& names) { return take_variables(channel, names); };
    if (!request_.in_process) captured.launched = [&channel] { let_launch(channel); };
    captured.source_is_certain = !request_.source && awaited_.program_source(kernel.name);
    TuneRequest tuning = request_.tuning;
    tuning.device = kernel.device;
    tuning.flags.kernel = kernel_name(kernel.name);
    if (request_.source) {
      tuning.source = *request_.source;
    } else if (const Message* const program_source = awaited_.program_source(kernel.name)) {
      const ProgramSourceFile written = write_program_source(*program_source, folder.path());
      tuning.source = written.file;
      tuning.source_called = written.called;
      tuning.flags.options.insert(tuning.flags.options.end(), written.options.begin(), written.options.end());
    } else {
      use_carried_ptx(channel, kernel, captured, tuning);
    }
    progress_.stage(
        fmt::format("launch {} of {}: copying the program's memory", request_.launch, kernel_name(kernel.name)));
    take_memory(channel, captured, !request_.in_process);
    const DescriptorOwner owner(captured.memory.descriptor);
    if (request_.in_process) {
      captured.context = &channel;
      works_in_program_ = channel.send({{"do", "serve"}});
    }
    tuning.captured = &captured;
    result_.tuned = tune(tuning, progress_);
    compare_registers(kernel, result_.tuned->record);
  }

  // Neither source nor NVRTC: the PTX that the kernel was loaded from, or that lies beside what it was loaded from.
  void use_carried_ptx(Channel& channel, const ToldKernel& kernel, CapturedLaunch& captured, TuneRequest& tuning) {
    const std::string architecture = fmt::format("sm_{}{}", kernel.compute_major, kernel.compute_minor);
    CarriedPtx ptx = carried_ptx(take_image(channel), kernel.name, architecture);
    const std::string program = std::filesystem::path(request_.program.front()).filename().string();
    tuning.text = Source{program + ".carried.ptx", std::move(ptx.text)};
    tuning.source = tuning.text->path;
    tuning.flags.kernel = kernel.name;
    captured.source_is_certain = ptx.is_all_there_is;
    is_ptx_ = true;
    progress_.note(fmt::format("regtune: {} is tuned by the PTX for {} that {} carries; {}", demangle(kernel.name),
                               ptx.target, request_.program.front(), kFromPtx));
  }

  // What the program runs was compiled by its own compiler.
  void compare_registers(const ToldKernel& kernel, const TuningRecord& record) {
    const auto& facts = record.trials.front().facts;
    if (!facts || facts->registers_per_thread == kernel.registers_per_thread) return;
    if (is_from_ptx(record))
      return note(fmt::format(
          "the program's own code has {} registers, and {} gives the PTX that it carries {}: it runs machine code of "
          "its "
          "own (a cubin in the fat binary, or what the driver made of the PTX), and gains are over this PTX's code",
          kernel.registers_per_thread, record.compiler, facts->registers_per_thread));
    note(
        fmt::format("the program's own code has {} registers, and {} gives the author's text {}: other versions or "
                    "options (see --option) make other codes, and gains are over the latter",
                    kernel.registers_per_thread, record.compiler, facts->registers_per_thread));
  }

  Message code_for(int process, const Message& question) {
    const ToldKernel* const kernel = listing_.find(process, question.at("number"));
    if (!kernel) return {{"none", "unknown"}};
    const CapturedLaunch launch = offered_launch(with_defaults(question));
    const std::string& gpu = gpus_[process];
    Message answer = Message::object();
    Message integers = Message::array();
    for (const IntegerPlace& place :
         launches_->integers(kernel->name, kernel->image, gpu).value_or(std::vector<IntegerPlace>{}))
      integers.push_back({place.offset_bytes, place.size_bytes});
    answer["integers"] = integers;
    std::string why_not;
    const std::optional<TunedLaunch> tuned =
        launches_->find(kernel->name, kernel->image, gpu, launch.shape, launch.memory.parameter_block, why_not);
    if (!tuned) {
      answer["none"] = why_not;
      return answer;
    }
    speedups_[kernel->name] = tuned->speedup;
    if (tuned->from_ptx) from_ptx_.insert(kernel->name);
    answer["cubin"] = binary(tuned->cubin);
    answer["entry"] = tuned->entry;
    answer["variables"] = tuned->constants;
    return answer;
  }

  static Message with_defaults(Message question) {
    question["cooperative"] = false;
    question["cluster"] = nullptr;
    question["host_pointers"] = 0;
    return question;
  }

  void add_applied(const ListedKernel& kernel) {
    const auto speedup = speedups_.find(kernel.told.name);
    if (kernel.replaced == 0 || speedup == speedups_.end()) return;
    double replaced_ms = 0;
    for (const ListedShape& shape : kernel.shapes) replaced_ms += shape.replaced_ms;
    result_.applied.push_back({kernel.signature, kernel.replaced, speedup->second, from_ptx_.contains(kernel.told.name),
                               replaced_ms * (speedup->second - 1)});
  }

  // A kernel that was asked for, and why nothing came of it.
  void note_what_was_not_tuned() {
    if (auto nothing = why_nothing_was_seen(result_.kernels)) note(std::move(*nothing));
    if (!request_.tunes()) return;
    if (auto why_not = awaited_.why_not(result_.kernels)) note(std::move(*why_not));
  }

  void note(std::string text) { result_.notes.push_back(std::move(text)); }

  const RunRequest& request_;
  WatchedProgram& program_;
  Progress& progress_;
  TunedLaunches* launches_;
  LaunchListing listing_;
  RunResult result_;
  AwaitedLaunch awaited_;
  std::map<int, std::string> gpus_;         // the model, by process
  std::map<std::string, double> speedups_;  // of what was applied, by mangled name
  std::set<std::string> from_ptx_;          // of that, what was tuned by PTX
  bool is_ptx_ = false;                     // of a tuning: there is no source
  bool works_in_program_ = false;           // the launches of a tuning are made there
};

std::string applied_text(const std::vector<AppliedKernel>& applied) {
  std::string text;
  for (const AppliedKernel& kernel : applied)
    text += fmt::format("{}: {} launches with tuned code ({:.3f}x as it was measured{}), about {:.3g} ms saved\n",
                        kernel.signature, kernel.launches, kernel.speedup, kernel.from_ptx ? ", from PTX" : "",
                        kernel.saved_ms);
  return text.empty() ? "no launch was made with tuned code: nothing stored serves this program's launches\n" : text;
}

}  // namespace

RunResult run_program_watched(const RunRequest& request, Progress& progress) {
  // What cannot be used is told before the program runs for nothing.
  if (request.source) static_cast<void>(read_source(*request.source));
  std::optional<TunedLaunches> launches;
  if (request.apply) launches.emplace(request.tuning.cache.value_or(default_cache_path()));
  const bool needs_code = request.tunes() && !request.source;
  WatchedProgram program({request.program, needs_code, needs_code});
  Watch watch(request, program, launches ? &*launches : nullptr, progress);
  while (const std::optional<WatchedProgram::Question> question = program.next())
    watch.answer(question->process, question->message);
  return watch.result(program.exit_code());
}

std::string run_text(const RunRequest& request, const RunResult& result, int columns) {
  if (request.apply) return fitted(applied_text(result.applied), columns);
  if (request.tunes() || result.kernels.empty()) return "";
  return listing_text(result.kernels, columns);
}

nlohmann::json run_json(const RunResult& result) {
  nlohmann::json applied = nlohmann::json::array();
  for (const AppliedKernel& kernel : result.applied)
    applied.push_back({{"signature", kernel.signature},
                       {"launches", kernel.launches},
                       {"speedup", kernel.speedup},
                       {"from_ptx", kernel.from_ptx},
                       {"saved_ms", kernel.saved_ms}});
  return {{"exit_code", result.exit_code},
          {"kernels", listing_json(result.kernels)},
          {"applied", applied},
          {"notes", result.notes}};
}

}  // namespace regtune
