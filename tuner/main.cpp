// regtune: how many registers should this kernel get? The commands, and how each ends.
#include <fmt/format.h>

#include <fstream>

#include "analysis_report.hpp"
#include "cli.hpp"
#include "device.hpp"
#include "explain.hpp"
#include "file_tuning.hpp"
#include "record_json.hpp"
#include "regtune/error.hpp"
#include "size_arguments.hpp"

namespace {

using namespace regtune;

constexpr int kExitMiss = 1;    // a look-up found nothing
constexpr int kExitNoGpu = 20;  // compiled and analysed, nothing timed

void print_document(const nlohmann::json& document) {
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

int run(const ShowText& show, const Command&) {
  fmt::print("{}", show.text);
  return 0;
}

int run(const ShowSourceRequest& request, const Command& command) {
  const ShownSource shown = show_source(request);
  Progress progress(command.quiet);
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
  std::ofstream out(file);
  out << record.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  if (!out.flush()) throw Error(ErrorKind::usage, "--record " + file.string() + ": cannot be written");
}

TuneResult tune_for(const TuneRequest& request, const std::vector<std::string>& sizes, bool quiet) {
  TuneRequest one = request;
  one.flags.sizes = sizes;
  Progress progress(quiet);
  return tune(one, progress);
}

std::string tuned_text(const TuneResult& result, const TuneCommand& tuning, bool explain) {
  return report_text(result.record, result.stored_in, tuning.style) + (explain ? explanation(result.record) : "");
}

// Several kernels of the file, for each set of sizes.
int run_several(const TuneCommand& tuning, const std::vector<std::vector<std::string>>& sets, const Command& command) {
  TuneRequest request = tuning.request;
  Progress progress(command.quiet);
  const std::vector<std::string> kernels = kernels_meant(request, progress);
  nlohmann::json documents = nlohmann::json::array();
  int exit_code = 0;
  for (const std::vector<std::string>& sizes : sets) {
    request.flags.sizes = sizes;
    const FileTuning file = tune_kernels(request, kernels, progress);
    for (const UntunedKernel& untuned : file.failed) {
      fmt::print(stderr, "regtune: {}: {}\n", untuned.kernel, untuned.failure.what());
      if (exit_code == 0) exit_code = static_cast<int>(untuned.failure.kind());
    }
    const bool timed = file.tuned.front().record.gpu.has_value();
    if (!timed && exit_code == 0) exit_code = kExitNoGpu;
    documents.push_back(file_tuning_json(file));
    if (tuning.record_file) write_record(documents.back(), *tuning.record_file);
    if (command.json) continue;
    for (const TuneResult& result : file.tuned) fmt::print("{}\n", tuned_text(result, tuning, command.explain));
    if (timed) fmt::print("{}", file_wide_text(file.cap));
  }
  if (command.json) print_document(sets.size() == 1 ? documents.front() : documents);
  return exit_code;
}

// One tuning after the other for several sizes: what the first compiles is in the cache for the next.
int run(const TuneCommand& tuning, const Command& command) {
  const std::vector<std::vector<std::string>> sets = size_sets(tuning.request.flags.sizes);
  if (sets.size() > 1 && tuning.record_file)
    throw Error(ErrorKind::usage, "--record holds one run, and --set asks for several");
  if (tuning.request.flags.kernel && means_several_kernels(*tuning.request.flags.kernel))
    return run_several(tuning, sets, command);
  bool timed = true;
  nlohmann::json documents = nlohmann::json::array();
  for (const std::vector<std::string>& sizes : sets) {
    const TuneResult result = tune_for(tuning.request, sizes, command.quiet);
    timed = result.record.gpu.has_value();
    if (tuning.record_file) write_record(record_json(result.record), *tuning.record_file);
    if (command.json)
      documents.push_back(record_json(result.record));
    else
      fmt::print("{}{}", &sizes == &sets.front() ? "" : "\n", tuned_text(result, tuning, command.explain));
  }
  if (command.json) print_document(sets.size() == 1 ? documents.front() : documents);
  return timed ? 0 : kExitNoGpu;
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
  Progress progress(command.quiet);
  for (const std::string& note : answer.notes) progress.note("regtune: " + note);
  if (answer.record && command.json) print_document(lookup_json(answer));
  if (answer.record && !command.json)
    fmt::print("{}{}{}", found_text(answer), answer_text(*answer.record),
               command.explain ? explanation(*answer.record) : "");
  if (!answer.record && command.json) print_document({{"found", false}, {"message", answer.miss}});
  if (!answer.record) fmt::print(stderr, "regtune: {}\n", answer.miss);
  return answer.record ? 0 : kExitMiss;
}

void print_notes(const std::vector<std::string>& notes, const Command& command) {
  Progress progress(command.quiet);
  for (const std::string& note : notes) progress.note("regtune: " + note);
}

int run_of_file(const FileReplay& file, const ReplayCommand& replay, const Command& command) {
  nlohmann::json kernels = nlohmann::json::array();
  for (const Replay& kernel : file.kernels) {
    print_notes(kernel.notes, command);
    kernels.push_back(record_json(kernel.record));
    if (!command.json) fmt::print("{}\n", replay_text(kernel, replay.style));
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
    fmt::print("{}", replay_text(replayed, command_of_replay.style));
  return 0;
}

int run(const VerifyRequest& request, const Command& command) {
  Verification verification;
  {
    Progress progress(command.quiet);
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
    Progress progress(command.quiet);
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
    Progress progress(command.quiet);
    analysis = analyze(study.request, progress);
  }
  if (command.json)
    print_document(analysis_json(analysis));
  else
    fmt::print("{}", analysis_text(analysis, study.style));
  for (const Study& one : analysis.studies)
    if (command.explain && one.failure.empty()) fmt::print("{}", explanation(one.record));
  return 0;
}

int run(const ExportRequest& request, const Command& command) {
  const Exported exported = export_budgets(request);
  Progress progress(command.quiet);
  if (!exported.found) {
    for (const std::string& note : exported.notes) fmt::print(stderr, "regtune: {}\n", note);
    return kExitMiss;
  }
  for (const std::string& note : exported.notes) progress.note("regtune: " + note);
  fmt::print("{}", exported.text);
  return 0;
}

int run(const DbRequest& request, const Command& command) {
  const DbAnswer answer = look_after_db(request);
  if (command.json) print_document(answer.json);
  if (!command.json) fmt::print(answer.found ? stdout : stderr, "{}", answer.text);
  if (!answer.sound) return static_cast<int>(ErrorKind::cache_unusable);
  return answer.found ? 0 : kExitMiss;
}

int run(const BundleRequest& request, const Command& command) {
  BundleResult result;
  {
    Progress progress(command.quiet);
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
    Progress progress(command.quiet);
    result = check(request, progress);
  }
  const CheckFindings& findings = result.findings;
  const bool passed = findings.breaches.empty();
  if (command.json) print_document(check_json(result));
  if (!command.json)
    for (const std::string& breach : findings.breaches) fmt::print("{}: {}\n", result.source, breach);
  Progress progress(command.quiet);
  for (const std::string& note : findings.notes) progress.note(fmt::format("{}: {}", result.source, note));
  if (passed)
    progress.note(fmt::format("{}: {} {} checked, no breach", result.source, result.kernels.size(),
                              result.kernels.size() == 1 ? "code" : "codes"));
  return passed ? 0 : static_cast<int>(ErrorKind::check_failed);
}

int fail(const Error& failure, bool json) {
  fmt::print(stderr, "regtune: {}\n", failure.what());
  const int code = static_cast<int>(failure.kind());
  if (json) print_document({{"error", {{"exit_code", code}, {"message", failure.what()}}}});
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (const std::optional<int> served = serve_profiled(arguments)) return *served;
  try {
    const Command command = parse_command_line(arguments);
    for (const std::string& note : command.notes) Progress(command.quiet).note("regtune: " + note);
    return std::visit([&](const auto& what) { return run(what, command); }, command.what);
  } catch (const Error& failure) {
    return fail(failure, wants_json(arguments));
  } catch (const std::exception& bug) {
    return fail(Error(ErrorKind::internal, fmt::format("internal error: {}", bug.what())), wants_json(arguments));
  }
}
