#include "cli_requests.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>

#include "levers.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

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

Levers levers_value(const CliValues& values) {
  const std::optional<std::string> list = values.text("levers");
  return list ? levers_from(*list) : Levers{};
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

CompilerWish compiler_wish(const CliValues& values) {
  CompilerWish wish;
  wish.nvcc_file = values.text("nvcc").value_or("");
  const std::optional<std::string> name = values.text("compiler");
  if (!name) return wish;
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

// What all have in common that compile a source.
template <class Request>
Request source_request(const CliValues& values, const std::string& source,
                       const CompilerArguments& compiler_arguments) {
  Request request;
  request.source = source;
  request.flags = description_flags(values, compiler_arguments);
  request.compiler = compiler_wish(values);
  request.device = values.integer("device").value_or(0);
  request.compile_limit_s = compile_limit_value(values);
  return request;
}

// What a study and a check have in common.
template <class Request>
Request study_request(const CliValues& values, const CompilerArguments& compiler_arguments) {
  auto request = source_request<Request>(values, values.subject(), compiler_arguments);
  request.architectures = values.text("arch");
  request.jobs = jobs_value(values);
  return request;
}

ExportFormat export_format(const CliValues& values) {
  const std::optional<std::string> name = values.text("format");
  const std::optional<std::string> file = values.text("output");
  if (name) return export_format_from_string(*name).value();
  if (values.flag("patch")) return ExportFormat::patch;
  if (values.flag("json")) return ExportFormat::json;
  return (file ? format_of_file(*file) : std::nullopt).value_or(ExportFormat::header);
}

}  // namespace

ReportStyle report_style(const CliValues& values) {
  ReportStyle style;
  style.all_rows = values.flag("all");
  style.plot = !values.flag("no-plot");
  const std::string color = values.text("color").value_or("auto");
  if (color != "auto") style.color = color == "always" ? Color::always : Color::never;
  return style;
}

bool explain_value(const CliValues& values) {
  if (!values.flag("explain")) return false;
  if (values.flag("json") && values.is_from_config("explain")) return false;
  if (values.flag("json"))
    throw Error(ErrorKind::usage, "--explain is text; leave it out, for --json holds all that it says");
  return true;
}

ShowSourceRequest show_source_request(const CliValues& values, const CompilerArguments& compiler_arguments) {
  auto request = source_request<ShowSourceRequest>(values, values.subject(), compiler_arguments);
  request.architecture = values.text("arch");
  return request;
}

TuneRequest tune_request(const CliValues& values, const std::string& source,
                         const CompilerArguments& compiler_arguments) {
  auto request = source_request<TuneRequest>(values, source, compiler_arguments);
  request.architecture = values.text("arch");
  request.jobs = jobs_value(values);
  request.counters = values.flag("counters");
  request.levers = levers_value(values);
  request.rename = !values.flag("no-rename");
  request.retry_quarantined = values.flag("retry-quarantined");
  request.compile_budget_s = compile_budget_value(values);
  request.every_cap = values.flag("every-cap");
  request.cache = values.text("cache");
  request.measure.margin = values.number_in("margin", 0, 50).value() / 100;
  request.measure.budget_s = budget_value(values);
  request.measure.timeout_ms = values.number_in("timeout", 0.01, 1e5).value() * 1000;
  request.measure.cold = values.flag("cold");
  request.measure.never_restore = values.flag("no-restore");
  request.confirm_by_nvcc = values.text("confirm").has_value();
  return request;
}

WatchCommand watch_command(const CliValues& values, const std::vector<std::string>& program) {
  if (program.empty())
    throw Error(ErrorKind::usage, "the program is missing; write regtune run [options] -- PROGRAM [arguments]");
  WatchCommand command;
  RunRequest& request = command.request;
  request.program = program;
  request.kernel = values.text("kernel");
  if (const auto source = values.text("source")) request.source = *source;
  request.launch = static_cast<int>(values.count("launch").value_or(1));
  request.in_process = values.flag("in-process");
  request.apply = values.flag("apply");
  request.relative_tolerance = values.number_in("rtol", 0, 1).value();
  request.absolute_tolerance = values.number_in("atol", 0, 1e300).value();
  if (request.launch < 1) throw Error(ErrorKind::usage, "--launch counts from 1; write --launch 1 for the first");
  if (request.apply && request.tunes())
    throw Error(ErrorKind::usage,
                "--apply uses what is stored, and tunes nothing; leave it out, or --kernel and "
                "--source");
  if (values.flag("json") && !values.text("output"))
    throw Error(ErrorKind::usage, "--json wants -o FILE, for standard output is the program's; write -o run.json, say");
  CompilerArguments compiler;
  compiler.kept = values.list("option");
  request.tuning = tune_request(values, request.source.value_or("").string(), compiler);
  if (const auto file = values.text("output")) command.output = *file;
  command.style = report_style(values);
  command.files = run_files(values, 1);
  return command;
}

CaptureRequest capture_request(const CliValues& values, const std::vector<std::string>& program) {
  CaptureRequest request;
  request.program = program;
  request.kernel = values.text("kernel");
  if (const auto source = values.text("source")) request.source = *source;
  request.launch = static_cast<int>(values.count("launch").value_or(1));
  request.folder = values.text("output").value_or("");
  request.include_folders = values.list("include-dir");
  request.options = values.list("option");
  for (const std::string& define : values.list("define")) request.options.push_back("-D" + define);
  request.relative_tolerance = values.number_in("rtol", 0, 1).value();
  request.absolute_tolerance = values.number_in("atol", 0, 1e300).value();
  if (program.empty() || request.folder.empty() || (!request.kernel && !request.source))
    throw Error(ErrorKind::usage,
                "capture takes a kernel, a folder and a program; write regtune capture -k NAME -o FOLDER -- PROGRAM "
                "[arguments]");
  if (request.launch < 1) throw Error(ErrorKind::usage, "--launch counts from 1; write --launch 1 for the first");
  return request;
}

AnalyzeCommand analyze_command(const CliValues& values, const CompilerArguments& compiler_arguments) {
  AnalyzeCommand command{study_request<AnalyzeRequest>(values, compiler_arguments), {}};
  command.request.compile_budget_s = compile_budget_value(values);
  command.request.every_cap = values.flag("every-cap");
  command.request.cache = values.text("cache");
  command.style = report_style(values);
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
  auto request = source_request<InitRequest>(values, values.subject(), compiler_arguments);
  request.architecture = values.text("arch");
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
  request.device = values.integer("device").value_or(0);
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
  command.style = report_style(values);
  return command;
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

ReportRequest report_request(const CliValues& values) {
  return {values.subjects(), values.list("set"), values.text("gpu"), values.text("cache"), values.text("output")};
}

DiffRequest diff_request(const CliValues& values) {
  return {values.subjects(), values.list("set"), values.text("gpu"), values.text("cache")};
}

RunFiles run_files(const CliValues& values, std::size_t sources) {
  for (const char* option : {"record", "export-t4", "export-kernel-tuner"})
    if (const std::optional<std::string> file = values.text(option); file && sources > 1)
      throw Error(ErrorKind::usage, fmt::format("--{} {} holds one run, and there are {} files; tune them one by one",
                                                option, *file, sources));
  return {values.text("record"), values.text("report"), values.text("export-t4"), values.text("export-kernel-tuner"),
          values.text("csv")};
}

BundleRequest bundle_request(const CliValues& values, const CompilerArguments& compiler_arguments) {
  BundleRequest request = study_request<BundleRequest>(values, compiler_arguments);
  request.levers = levers_value(values);
  request.rename = !values.flag("no-rename");
  request.every_cap = values.flag("every-cap");
  request.file = values.text("output");
  return request;
}

DbRequest import_request(const CliValues& values) {
  DbRequest request;
  request.arguments = values.subjects();
  request.cache = values.text("cache");
  request.verb = DbVerb::merge;
  return request;
}

DbRequest db_request(const CliValues& values) {
  DbRequest request;
  request.arguments = values.subjects();
  request.cache = values.text("cache");
  request.verb = db_verb_from_string(request.arguments.front());
  request.arguments.erase(request.arguments.begin());
  request.older_than_days = values.count("older-than");
  request.codes = values.flag("codes");
  const bool takes_arguments = request.verb != DbVerb::prune && request.verb != DbVerb::vacuum;
  if (!takes_arguments && !request.arguments.empty())
    throw Error(ErrorKind::usage, fmt::format("regtune db {}: is about the cache, which --cache names; leave out {}",
                                              values.subject(), fmt::join(request.arguments, " ")));
  if (request.verb != DbVerb::prune && (request.older_than_days || request.codes))
    throw Error(ErrorKind::usage, "--older-than and --codes belong to regtune db prune; leave them out");
  return request;
}

}  // namespace regtune
