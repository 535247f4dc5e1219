// regtune: how many registers should this kernel get? The commands, and how each ends.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "analysis_report.hpp"
#include "cli.hpp"
#include "device.hpp"
#include "diff_text.hpp"
#include "exit_codes.hpp"
#include "explain.hpp"
#include "file_tuning.hpp"
#include "installation.hpp"
#include "interruption.hpp"
#include "record_json.hpp"
#include "regtune/error.hpp"
#include "size_arguments.hpp"
#include "terminal.hpp"

namespace {

using namespace regtune;

void print_document(const nlohmann::json& document) {
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

// As what it goes to shows it.
ReportStyle shown(ReportStyle style, int descriptor = STDOUT_FILENO) {
  style.columns = terminal_columns(descriptor);
  style.utf8 = is_utf8_locale();
  style.colored = style.color == Color::always || (style.color == Color::automatic && shows_color(descriptor));
  return style;
}

std::string shown_explanation(const TuningRecord& record, const Command& command) {
  return command.explain ? fitted(explanation(record), terminal_columns(STDOUT_FILENO)) : "";
}

int run(const ShowText& show, const Command&) {
  fmt::print("{}", show.text);
  return 0;
}

int run(const ShowVersions&, const Command&) {
  fmt::print("{}", versions_text());
  return 0;
}

int run(const ShowSourceRequest& request, const Command& command) {
  const ShownSource shown = show_source(request);
  Progress progress(command.quiet, command.verbose);
  for (const std::string& note : shown.notes) progress.note("regtune: " + note);
  fmt::print("{}", shown.text);
  return 0;
}

int run(const TagCommand& tag, const Command& command) {
  const std::string hash = source_tag(tag.of);
  if (command.json)
    print_document({{"tag", hash}});
  else
    fmt::print("{}\n", hash);
  return 0;
}

void write_record(const nlohmann::json& record, const std::filesystem::path& file) {
  write_text(file, record.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n", "--record");
}

TuneResult tune_for(const TuneRequest& request, const std::vector<std::string>& sizes, const Command& command) {
  TuneRequest one = request;
  one.flags.sizes = sizes;
  Progress progress(command.quiet, command.verbose);
  return tune(one, progress);
}

nlohmann::json error_json(const Error& failure) {
  return {{"error", {{"exit_code", static_cast<int>(failure.kind())}, {"message", failure.what()}}}};
}

std::string tuned_text(const TuneResult& result, const TuneCommand& tuning, const Command& command) {
  return report_text(result.record, result.stored_in, shown(tuning.style)) + shown_explanation(result.record, command);
}

// What the runs of one command line leave: what --json prints, and what goes into files.
struct Told {
  nlohmann::json documents = nlohmann::json::array();
  std::vector<TuningRecord> runs;
};

// Several kernels of the file with one set of sizes.
int tune_kernels_of(const TuneRequest& request, const std::vector<std::string>& kernels, const TuneCommand& tuning,
                    const Command& command, Told& told) {
  Progress progress(command.quiet, command.verbose);
  const FileTuning file = tune_kernels(request, kernels, progress);
  const bool timed = file.tuned.front().record.gpu.has_value();
  int worst = timed ? 0 : kExitNoGpu;
  for (const UntunedKernel& untuned : file.failed) {
    progress.note(fmt::format("regtune: {}: {}", untuned.kernel, untuned.failure.what()));
    worst = worse_exit_code(worst, static_cast<int>(untuned.failure.kind()));
  }
  const nlohmann::json document = file_tuning_json(file);
  if (tuning.files.record) write_record(document, *tuning.files.record);
  for (const TuneResult& result : file.tuned) told.runs.push_back(result.record);
  if (command.json) told.documents.push_back(document);
  if (command.json) return worst;
  for (const TuneResult& result : file.tuned) fmt::print("{}\n", tuned_text(result, tuning, command));
  if (timed) fmt::print("{}", file_wide_text(file.cap));
  return worst;
}

std::vector<std::string> kernels_of(const TuneRequest& request, const Command& command) {
  if (!request.flags.kernel || !means_several_kernels(*request.flags.kernel)) return {};
  Progress progress(command.quiet, command.verbose);
  return kernels_meant(request, progress);
}

// One tuning after the other for several sizes: what the first compiles is in the cache for the next.
int tune_file(const TuneRequest& request, const TuneCommand& tuning, const Command& command, Told& told) {
  const std::vector<std::vector<std::string>> sets = size_sets(request.flags.sizes);
  check_run_files(tuning.files, sets.size());
  bool timed = true;
  int worst = 0;
  const std::vector<std::string> kernels = kernels_of(request, command);
  for (const std::vector<std::string>& sizes : sets) {
    if (!kernels.empty()) {
      TuneRequest of_sizes = request;
      of_sizes.flags.sizes = sizes;
      worst = worse_exit_code(worst, tune_kernels_of(of_sizes, kernels, tuning, command, told));
      continue;
    }
    TuneResult result = tune_for(request, sizes, command);
    timed = result.record.gpu.has_value();
    if (tuning.files.record) write_record(record_json(result.record), *tuning.files.record);
    if (command.json)
      told.documents.push_back(record_json(result.record));
    else
      fmt::print("{}{}", &sizes == &sets.front() ? "" : "\n", tuned_text(result, tuning, command));
    std::fflush(stdout);
    told.runs.push_back(std::move(result.record));
  }
  return timed ? worst : kExitNoGpu;
}

// Each file for itself: one that cannot be tuned keeps none of the others from it.
int tune_files(const TuneCommand& tuning, const Command& command, Told& told) {
  std::vector<TuneRequest> requests{tuning.request};
  requests.insert(requests.end(), tuning.others.begin(), tuning.others.end());
  int worst = 0;
  for (const TuneRequest& request : requests) {
    if (&request != &requests.front() && !command.json) fmt::print("\n");
    try {
      worst = worse_exit_code(worst, tune_file(request, tuning, command, told));
    } catch (const Error& failure) {
      const std::string source = request.source.string();
      const bool names_it = std::string_view(failure.what()).starts_with(source);
      fmt::print(stderr, "regtune: {}{}\n", names_it ? "" : source + ": ", failure.what());
      nlohmann::json document = error_json(failure);
      document["source"] = request.source.string();
      told.documents.push_back(std::move(document));
      worst = worse_exit_code(worst, static_cast<int>(failure.kind()));
    }
  }
  return worst;
}

int run(const TuneCommand& tuning, const Command& command) {
  Told told;
  const bool is_one = tuning.others.empty();
  const int code = is_one ? tune_file(tuning.request, tuning, command, told) : tune_files(tuning, command, told);
  if (!told.runs.empty()) write_run_files(tuning.files, told.runs);
  if (command.json) print_document(is_one && told.documents.size() == 1 ? told.documents.front() : told.documents);
  return code;
}

// The record, and beside it how it was found.
nlohmann::json lookup_json(const LookupAnswer& answer) {
  nlohmann::json document = record_json(*answer.record);
  document["lookup"] = {{"match", to_string(answer.match)},
                        {"size_distance", answer.size_distance},
                        {"stale", stale_names(answer.stale)},
                        {"cache", answer.file}};
  return document;
}

int run(const LookupRequest& request, const Command& command) {
  const LookupAnswer answer = look_up(request);
  Progress progress(command.quiet, command.verbose);
  for (const std::string& note : answer.notes) progress.note("regtune: " + note);
  if (answer.record && command.json) print_document(lookup_json(answer));
  if (answer.record && !command.json)
    fmt::print("{}{}{}", found_text(answer), answer_text(*answer.record), shown_explanation(*answer.record, command));
  if (!answer.record && command.json) print_document({{"found", false}, {"message", answer.miss}});
  if (!answer.record) fmt::print(stderr, "regtune: {}\n", answer.miss);
  return answer.record ? 0 : kExitMiss;
}

void print_notes(const std::vector<std::string>& notes, const Command& command) {
  Progress progress(command.quiet, command.verbose);
  for (const std::string& note : notes) progress.note("regtune: " + note);
}

int run_of_file(const FileReplay& file, const ReplayCommand& replay, const Command& command) {
  nlohmann::json kernels = nlohmann::json::array();
  for (const Replay& kernel : file.kernels) {
    print_notes(kernel.notes, command);
    kernels.push_back(record_json(kernel.record));
    if (!command.json)
      fmt::print("{}{}\n", replay_text(kernel, shown(replay.style)), shown_explanation(kernel.record, command));
  }
  if (command.json)
    print_document({{"format", "regtune file"},
                    {"format_version", 1},
                    {"kernels", kernels},
                    {"failed", nlohmann::json::array()},
                    {"file_wide_cap", file_wide_json(file.cap)}});
  else
    fmt::print("{}", file_wide_text(file.cap));
  return 0;
}

int run(const ReplayCommand& command_of_replay, const Command& command) {
  if (const std::optional<FileReplay> file = replay_of_file(command_of_replay.request))
    return run_of_file(*file, command_of_replay, command);
  const Replay replayed = replay(command_of_replay.request);
  print_notes(replayed.notes, command);
  if (command.json)
    print_document(record_json(replayed.record));
  else
    fmt::print("{}{}", replay_text(replayed, shown(command_of_replay.style)),
               shown_explanation(replayed.record, command));
  return 0;
}

int run(const VerifyRequest& request, const Command& command) {
  Verification verification;
  {
    Progress progress(command.quiet, command.verbose);
    verification = verify(request, progress);
  }
  if (!verification.stored) {
    if (command.json) print_document({{"found", false}, {"message", verification.miss}});
    fmt::print(stderr, "regtune: {}\n", verification.miss);
    return kExitMiss;
  }
  if (command.json)
    print_document(verification_json(verification));
  else
    fmt::print("{}", verification_text(verification));
  return verification.holds() ? 0 : static_cast<int>(ErrorKind::claim_not_held);
}

int run(const InitRequest& request, const Command& command) {
  InitResult result;
  {
    Progress progress(command.quiet, command.verbose);
    result = init(request, progress);
  }
  if (command.json)
    print_document(init_json(result));
  else
    fmt::print("{}", init_text(result));
  return 0;
}

int run(const AnalyzeCommand& study, const Command& command) {
  Analysis analysis;
  {
    Progress progress(command.quiet, command.verbose);
    analysis = analyze(study.request, progress);
  }
  if (command.json)
    print_document(analysis_json(analysis));
  else
    fmt::print("{}", analysis_text(analysis, shown(study.style)));
  for (const Study& one : analysis.studies)
    if (one.failure.empty()) fmt::print("{}", shown_explanation(one.record, command));
  return 0;
}

int run(const ExportRequest& request, const Command& command) {
  const Exported exported = export_budgets(request);
  Progress progress(command.quiet, command.verbose);
  if (!exported.found) {
    for (const std::string& note : exported.notes) fmt::print(stderr, "regtune: {}\n", note);
    return kExitMiss;
  }
  for (const std::string& note : exported.notes) progress.note("regtune: " + note);
  fmt::print("{}", exported.text);
  return 0;
}

int run(const ReportRequest& request, const Command& command) {
  const Reported reported = report_runs(request);
  Progress progress(command.quiet, command.verbose);
  if (!reported.found) {
    for (const std::string& note : reported.notes) fmt::print(stderr, "regtune: {}\n", note);
    return kExitMiss;
  }
  for (const std::string& note : reported.notes) progress.note("regtune: " + note);
  fmt::print("{}", reported.text);
  return 0;
}

int run(const DiffRequest& request, const Command& command) {
  const DiffResult result = compare_runs(request);
  if (command.json)
    print_document(diff_json(result));
  else
    fmt::print("{}", diff_text(result));
  return result.same() ? 0 : kExitMiss;  // as diff(1): 1 where they differ
}

int run(const DbRequest& request, const Command& command) {
  const DbAnswer answer = look_after_db(request);
  if (command.json) print_document(answer.json);
  if (!command.json) fmt::print(answer.found ? stdout : stderr, "{}", answer.text);
  if (!answer.sound) return static_cast<int>(ErrorKind::cache_unusable);
  return answer.found ? 0 : kExitMiss;
}

int run(const DoctorRequest& request, const Command& command) {
  const Diagnosis diagnosis = examine(request);
  if (command.json)
    print_document(doctor_json(diagnosis));
  else
    fmt::print("{}", fitted(doctor_text(diagnosis), terminal_columns(STDOUT_FILENO)));
  return diagnosis.exit_code;
}

int run(const BundleRequest& request, const Command& command) {
  BundleResult result;
  {
    Progress progress(command.quiet, command.verbose);
    result = make_bundle(request, progress);
  }
  if (command.json)
    print_document({{"file", result.file.string()}, {"bytes", result.bytes}, {"compiler", result.compiler}});
  else
    fmt::print("{}", bundle_text(result));
  return 0;
}

int run(const CheckRequest& request, const Command& command) {
  CheckResult result;
  {
    Progress progress(command.quiet, command.verbose);
    result = check(request, progress);
  }
  const CheckFindings& findings = result.findings;
  const bool passed = findings.breaches.empty();
  if (command.json) print_document(check_json(result));
  if (!command.json)
    for (const std::string& breach : findings.breaches) fmt::print("{}: {}\n", result.source, breach);
  Progress progress(command.quiet, command.verbose);
  for (const std::string& note : findings.notes) progress.note(fmt::format("{}: {}", result.source, note));
  if (passed)
    progress.note(fmt::format("{}: {} {} checked, no breach", result.source, result.kernels.size(),
                              result.kernels.size() == 1 ? "code" : "codes"));
  return passed ? 0 : static_cast<int>(ErrorKind::check_failed);
}

// Standard output is the program's, and so is the exit code.
int run(const WatchCommand& watching, const Command& command) {
  const RunRequest& request = watching.request;
  check_run_files(watching.files, 1);
  RunResult result;
  {
    Progress progress(command.quiet, command.verbose);
    result = run_program_watched(request, progress);
  }
  const int columns = terminal_columns(STDERR_FILENO);
  for (const std::string& note : result.notes) fmt::print(stderr, "{}", fitted("regtune: " + note + "\n", columns));
  std::string told =
      command.json ? run_json(result).dump(2) + "\n" : run_text(request, result, watching.output ? 0 : columns);
  if (result.tuned) {
    const TuningRecord& record = result.tuned->record;
    if (!command.json)
      told += report_text(record, result.tuned->stored_in, shown(watching.style, STDERR_FILENO)) +
              shown_explanation(record, command);
    if (watching.files.record) write_record(record_json(record), *watching.files.record);
    write_run_files(watching.files, {record});
  }
  if (watching.output)
    write_text(*watching.output, told, "-o");
  else
    fmt::print(stderr, "{}", told);
  return result.exit_code;
}

// As above, but where the program ended well and nothing was written, the exit code says why.
int run(const CaptureRequest& request, const Command& command) {
  CaptureResult result;
  {
    Progress progress(command.quiet, command.verbose);
    result = capture(request, progress);
  }
  const int columns = terminal_columns(STDERR_FILENO);
  print_notes(result.notes, command);
  if (result.failure) fmt::print(stderr, "{}", fitted(fmt::format("regtune: {}\n", result.failure->what()), columns));
  if (result.written && !command.quiet)
    fmt::print(stderr, "{}", fitted(capture_text(request, *result.written), columns));
  return result.failure && result.exit_code == 0 ? static_cast<int>(result.failure->kind()) : result.exit_code;
}

int stop(const Interrupted& interrupted) {
  const std::string text =
      fmt::format("regtune: {}: {}\n", interrupted.signal == SIGINT ? "interrupted" : "terminated",
                  interrupted.kept.empty() ? "nothing was stored of this run"
                                           : "run the same command again to go on: " + interrupted.kept);
  fmt::print(stderr, "{}", fitted(text, terminal_columns(STDERR_FILENO)));
  return 128 + interrupted.signal;
}

Config users_config() {
  const std::optional<std::filesystem::path> file = config_path();
  return file ? read_config(*file) : Config{};
}

int fail(const Error& failure, bool json) {
  fmt::print(stderr, "regtune: {}\n", failure.what());
  if (failure.kind() == ErrorKind::internal)
    fmt::print(stderr,
               "This is a bug of regtune: report it with the command line and what regtune doctor --json says.\n");
  if (json) print_document(error_json(failure));
  return static_cast<int>(failure.kind());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (const std::optional<int> served = serve_profiled(arguments)) return *served;
  watch_for_interruption();
  try {
    const Command command = parse_command_line(arguments, users_config);
    for (const std::string& note : command.notes) Progress(command.quiet).note("regtune: " + note);
    return std::visit([&](const auto& what) { return run(what, command); }, command.what);
  } catch (const Interrupted& interrupted) {
    return stop(interrupted);
  } catch (const Error& failure) {
    return fail(failure, wants_json(arguments));
  } catch (const std::exception& bug) {
    return fail(Error(ErrorKind::internal, fmt::format("internal error: {}", bug.what())), wants_json(arguments));
  }
}
