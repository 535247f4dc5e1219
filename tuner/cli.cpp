#include "cli.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "cli_options.hpp"
#include "compile_commands.hpp"
#include "levers.hpp"
#include "nvcc_command.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

using Arguments = std::vector<std::string>;

constexpr double kMostSeconds = 1e6;
constexpr int kMostJobs = 1024;

// The cores this process may use, which may be fewer than the machine has.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

int jobs_value(const CliValues& values) {
  const std::optional<int> jobs = values.integer_in("jobs", 1, kMostJobs);
  return jobs ? *jobs : usable_cores();
}

std::optional<double> compile_budget_value(const CliValues& values) {
  return values.number_in("compile-budget", 0, 1e7);
}

double compile_limit_value(const CliValues& values) {
  return values.number_in("compile-limit", 0.1, kMostSeconds).value();
}

double budget_value(const CliValues& values) {
  return values.number_in("budget", 0, kMostSeconds).value();
}

bool explain_value(const CliValues& values) {
  if (!values.flag("explain")) return false;
  if (values.flag("json"))
    throw Error(ErrorKind::usage, "--explain is text; the document that --json gives holds all that it says");
  return true;
}

CompilerWish compiler_wish(const CliValues& values) {
  CompilerWish wish;
  wish.nvcc_file = values.text("nvcc").value_or("");
  const std::optional<std::string> name = values.text("compiler");
  if (!name) return wish;
  if (*name != "nvrtc" && *name != "nvcc")
    throw Error(ErrorKind::usage, fmt::format("--compiler {}: there are nvrtc and nvcc", *name));
  wish.only = *name == "nvcc" ? FrontEnd::nvcc : FrontEnd::nvrtc;
  return wish;
}

DescriptionFlags description_flags(const CliValues& values, const CompilerArguments& compiler_arguments) {
  DescriptionFlags flags;
  if (const auto file = values.text("description")) flags.file = *file;
  flags.kernel = values.text("kernel");
  flags.sizes = values.list("set");
  flags.block = values.text("block");
  flags.grid = values.text("grid");
  flags.dynamic_shared_bytes = values.text("shared");
  flags.arguments = values.list("arg");
  flags.options = compiler_arguments.kept;
  flags.nvcc_options = compiler_arguments.of_nvcc;
  flags.include_folders = values.list("include-dir");
  flags.pre_included_files = values.list("include");
  flags.defines = values.list("define");
  flags.seed = values.unsigned_integer("seed");
  flags.tune = values.list("tune");
  flags.metrics = values.list("metric");
  return flags;
}

Levers levers_value(const CliValues& values) {
  const std::optional<std::string> list = values.text("levers");
  return list ? levers_from(*list) : Levers{};
}

// Of the options that one compiler was given and the other does not take.
void note_left_out(const std::vector<std::string>& left_out, const char* whose, std::vector<std::string>& notes) {
  if (!left_out.empty())
    notes.push_back(fmt::format("of {} options these are left out: {}", whose, fmt::join(left_out, ", ")));
}

ShowSourceRequest show_source_request(const CliValues& values, const CompilerArguments& compiler_arguments) {
  ShowSourceRequest request;
  request.source = values.subject();
  request.flags = description_flags(values, compiler_arguments);
  request.architecture = values.text("arch");
  request.compiler = compiler_wish(values);
  request.device = values.integer("device").value();
  request.compile_limit_s = compile_limit_value(values);
  return request;
}

TuneCommand tune_command(const CliValues& values, const CompilerArguments& compiler_arguments) {
  TuneCommand command;
  TuneRequest& request = command.request;
  request.source = values.subject();
  request.flags = description_flags(values, compiler_arguments);
  request.architecture = values.text("arch");
  request.compiler = compiler_wish(values);
  request.device = values.integer("device").value();
  request.jobs = jobs_value(values);
  request.counters = values.flag("counters");
  request.levers = levers_value(values);
  request.rename = !values.flag("no-rename");
  request.compile_limit_s = compile_limit_value(values);
  request.retry_quarantined = values.flag("retry-quarantined");
  request.compile_budget_s = compile_budget_value(values);
  request.every_cap = values.flag("every-cap");
  request.cache = values.text("cache");
  request.measure.margin = values.number_in("margin", 0, 50).value() / 100;
  request.measure.budget_s = budget_value(values);
  request.measure.timeout_ms = values.number_in("timeout", 0.01, 1e5).value() * 1000;
  request.measure.cold = values.flag("cold");
  request.measure.never_restore = values.flag("no-restore");
  if (const std::optional<std::string> by = values.text("confirm")) {
    if (*by != "nvcc") throw Error(ErrorKind::usage, fmt::format("--confirm {}: there is nvcc only", *by));
    request.confirm_by_nvcc = true;
  }
  command.style.all_rows = values.flag("all");
  command.record_file = values.text("record");
  return command;
}

// What a study and a check have in common.
template <class Request>
Request study_request(const CliValues& values, const CompilerArguments& compiler_arguments) {
  Request request;
  request.source = values.subject();
  request.flags = description_flags(values, compiler_arguments);
  request.architectures = values.text("arch");
  request.compiler = compiler_wish(values);
  request.device = values.integer("device").value();
  request.jobs = jobs_value(values);
  request.compile_limit_s = compile_limit_value(values);
  return request;
}

AnalyzeCommand analyze_command(const CliValues& values, const CompilerArguments& compiler_arguments) {
  AnalyzeCommand command{study_request<AnalyzeRequest>(values, compiler_arguments), {}};
  command.request.compile_budget_s = compile_budget_value(values);
  command.request.every_cap = values.flag("every-cap");
  command.request.cache = values.text("cache");
  command.style.all_rows = values.flag("all");
  return command;
}

CheckRequest check_request(const CliValues& values, const CompilerArguments& compiler_arguments) {
  CheckRequest request = study_request<CheckRequest>(values, compiler_arguments);
  request.baseline = values.text("baseline");
  request.write_baseline = values.text("write-baseline");
  request.limits.max_spill_bytes = values.count("max-spill-bytes");
  request.limits.max_registers = values.count("max-registers");
  request.limits.max_stack_bytes = values.count("max-stack-bytes");
  // Spills that a baseline holds are accepted ones.
  if (!request.limits.max_spill_bytes && !request.baseline && !request.write_baseline)
    request.limits.max_spill_bytes = 0;
  request.limits.min_occupancy = values.number_in("min-occupancy", 0, 1);
  return request;
}

InitRequest init_request(const CliValues& values, const CompilerArguments& compiler_arguments) {
  InitRequest request;
  request.source = values.subject();
  request.flags = description_flags(values, compiler_arguments);
  request.architecture = values.text("arch");
  request.compiler = compiler_wish(values);
  request.device = values.integer("device").value();
  request.compile_limit_s = compile_limit_value(values);
  request.print = values.flag("print");
  return request;
}

LookupRequest lookup_request(const CliValues& values) {
  return {values.subject(), values.list("set"), values.text("gpu"), values.text("cache"),
          values.integer("device").value()};
}

VerifyRequest verify_request(const CliValues& values) {
  VerifyRequest request;
  request.kernel = values.subject();
  request.sizes = values.list("set");
  request.cache = values.text("cache");
  request.device = values.integer("device").value();
  request.jobs = jobs_value(values);
  request.budget_s = budget_value(values);
  return request;
}

// Only what was given: the rest is as it was recorded.
ReplayCommand replay_command(const CliValues& values) {
  ReplayCommand command;
  command.request.file = values.subject();
  command.request.budget_s = values.number_in("budget", 0, kMostSeconds);
  if (const auto margin = values.number_in("margin", 0, 50)) command.request.margin = *margin / 100;
  if (const auto confidence = values.number_in("confidence", 50, 99.9999))
    command.request.confidence = *confidence / 100;
  command.style.all_rows = values.flag("all");
  return command;
}

ExportFormat export_format(const CliValues& values) {
  const std::optional<std::string> name = values.text("format");
  const std::optional<std::string> file = values.text("output");
  if (name) {
    const std::optional<ExportFormat> format = export_format_from_string(*name);
    if (format) return *format;
    throw Error(ErrorKind::usage, fmt::format("--format {}: there are header, json, cmake, patch and sqlite", *name));
  }
  if (values.flag("patch")) return ExportFormat::patch;
  if (values.flag("json")) return ExportFormat::json;
  return (file ? format_of_file(*file) : std::nullopt).value_or(ExportFormat::header);
}

ExportRequest export_request(const CliValues& values) {
  ExportRequest request;
  request.kernels = values.subjects();
  request.sizes = values.list("set");
  request.gpu = values.text("gpu");
  request.weights = values.list("weight");
  request.format = export_format(values);
  request.file = values.text("output");
  request.cache = values.text("cache");
  request.include_folders = values.list("include-dir");
  if (request.format == ExportFormat::sqlite && !request.file)
    throw Error(ErrorKind::usage, "--format sqlite: say where to write the file by -o FILE");
  return request;
}

BundleRequest bundle_request(const CliValues& values, const CompilerArguments& compiler_arguments) {
  BundleRequest request = study_request<BundleRequest>(values, compiler_arguments);
  request.levers = levers_value(values);
  request.rename = !values.flag("no-rename");
  request.every_cap = values.flag("every-cap");
  request.file = values.text("output");
  return request;
}

DbRequest db_request(const CliValues& values, CliCommand command) {
  DbRequest request;
  request.arguments = values.subjects();
  request.cache = values.text("cache");
  request.verb = DbVerb::merge;
  if (command == CliCommand::import_runs) return request;
  request.verb = db_verb_from_string(request.arguments.front());
  request.arguments.erase(request.arguments.begin());
  request.older_than_days = values.count("older-than");
  request.codes = values.flag("codes");
  const bool takes_arguments = request.verb != DbVerb::prune && request.verb != DbVerb::vacuum;
  if (!takes_arguments && !request.arguments.empty())
    throw Error(ErrorKind::usage, fmt::format("regtune db {}: is about the cache, which --cache names, and not {}",
                                              values.subject(), fmt::join(request.arguments, " ")));
  if (request.verb != DbVerb::prune && (request.older_than_days || request.codes))
    throw Error(ErrorKind::usage, "--older-than and --codes belong to regtune db prune");
  return request;
}

// The command that the first argument names, which is taken away; a kernel's file names none.
CliCommand take_command(Arguments& arguments) {
  constexpr std::pair<const char*, CliCommand> kNamed[] = {{"analyze", CliCommand::analyze},
                                                           {"check", CliCommand::check},
                                                           {"init", CliCommand::init},
                                                           {"lookup", CliCommand::lookup},
                                                           {"verify", CliCommand::verify},
                                                           {"replay", CliCommand::replay},
                                                           {"export", CliCommand::export_budgets},
                                                           {"tag", CliCommand::tag},
                                                           {"bundle", CliCommand::bundle},
                                                           {"db", CliCommand::db},
                                                           {"import", CliCommand::import_runs}};
  for (const auto& [name, command] : kNamed) {
    if (arguments.empty() || arguments.front() != name) continue;
    arguments.erase(arguments.begin());
    return command;
  }
  return CliCommand::tune;
}

void refuse_compiler_options(CliCommand command, const Arguments& behind) {
  if (behind.empty()) return;
  const char* why = "";
  if (command == CliCommand::lookup) why = "lookup compiles nothing and";
  if (command == CliCommand::verify) why = "verify compiles with the options that are stored and";
  if (command == CliCommand::replay) why = "replay compiles nothing and";
  if (command == CliCommand::export_budgets) why = "export compiles nothing and";
  if (command == CliCommand::db) why = "db compiles nothing and";
  if (command == CliCommand::import_runs) why = "import compiles nothing and";
  if (*why == '\0') return;
  throw Error(ErrorKind::usage, fmt::format("regtune {} takes no compiler options: {}", why, fmt::join(behind, " ")));
}

// What stands behind --: options as the compiler takes them, or a whole nvcc command line.
CompilerArguments compiler_arguments(const Arguments& behind, std::vector<std::string>& notes) {
  if (behind.empty() || !is_nvcc(behind.front())) return {behind, {}, {}};
  CompilerArguments translated = from_nvcc({std::next(behind.begin()), behind.end()});
  note_left_out(translated.left_out, "nvcc's", notes);
  return translated;
}

// The build's own options come first, so that what is typed counts where both say something.
void add_compile_commands(CompilerArguments& arguments, const CliValues& values, std::vector<std::string>& notes) {
  const std::optional<std::string> file = values.text("compile-commands");
  if (!file) return;
  const CompilerArguments of_build = from_compile_commands(*file, values.subject());
  note_left_out(of_build.left_out, "the build's", notes);
  arguments.kept.insert(arguments.kept.begin(), of_build.kept.begin(), of_build.kept.end());
  arguments.of_nvcc.insert(arguments.of_nvcc.begin(), of_build.of_nvcc.begin(), of_build.of_nvcc.end());
}

}  // namespace

bool wants_json(const Arguments& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::find(arguments.begin(), end, "--json") != end;
}

Command parse_command_line(const Arguments& arguments) {
  // Boost.Program_options forgets where "--" stood: what follows it is cut off before it looks.
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  Arguments own(arguments.begin(), separator);
  const Arguments behind(separator == arguments.end() ? separator : std::next(separator), arguments.end());
  if (own.empty()) return {false, false, ShowText{help_text(CliCommand::tune)}};
  if (own.front() == "--version") return {false, false, ShowText{"regtune " REGTUNE_VERSION "\n"}};

  const CliCommand which = take_command(own);
  refuse_compiler_options(which, behind);
  Command command;
  CompilerArguments compiler = compiler_arguments(behind, command.notes);
  const CliValues values = parse_options(which, own);
  command.json = values.flag("json");
  command.quiet = values.flag("quiet");
  if (values.flag("help")) {
    command.what = ShowText{help_text(which)};
    return command;
  }
  command.explain = explain_value(values);
  add_compile_commands(compiler, values, command.notes);
  if (values.flag("show-source")) {
    command.what = show_source_request(values, compiler);
    return command;
  }
  switch (which) {
    case CliCommand::tune:
      command.what = tune_command(values, compiler);
      break;
    case CliCommand::analyze:
      command.what = analyze_command(values, compiler);
      break;
    case CliCommand::check:
      command.what = check_request(values, compiler);
      break;
    case CliCommand::init:
      command.what = init_request(values, compiler);
      break;
    case CliCommand::lookup:
      command.what = lookup_request(values);
      break;
    case CliCommand::tag:
      command.what = TagCommand{show_source_request(values, compiler)};
      break;
    case CliCommand::verify:
      command.what = verify_request(values);
      break;
    case CliCommand::replay:
      command.what = replay_command(values);
      break;
    case CliCommand::export_budgets:
      command.what = export_request(values);
      break;
    case CliCommand::db:
    case CliCommand::import_runs:
      command.what = db_request(values, which);
      break;
    case CliCommand::bundle:
      command.what = bundle_request(values, compiler);
      break;
  }
  return command;
}

}  // namespace regtune
