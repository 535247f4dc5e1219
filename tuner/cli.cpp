#include "cli.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sched.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "regtune/error.hpp"
#include "study_scope.hpp"

namespace regtune {
namespace {

namespace po = boost::program_options;
using Arguments = std::vector<std::string>;

constexpr const char* kUsage = R"(usage: regtune KERNEL.cu [options] [-- compiler options]
       regtune analyze KERNEL.cu [--arch sm_75,sm_90|all] [options] [-- compiler options]
       regtune check KERNEL.cu [--arch sm_75,sm_90|all] [--baseline FILE] [options] [-- compiler options]
       regtune init KERNEL.cu [--print] [options] [-- compiler options]
       regtune lookup KERNEL [--set n=VALUE ...] [--gpu NAME] [--cache FILE]
       regtune verify KERNEL [--set n=VALUE ...] [options]
       regtune replay FILE [options]
       regtune COMMAND --help

How many registers should this kernel get? regtune compiles KERNEL.cu under every register cap and every
launch bound, times each distinct code on the GPU, checks every output, and stores the fastest budget.

  regtune kernels/decay_wide.cu
  regtune k.cu --set n=1<<24 --block 128,256 --grid 'ceil_div(n, block)' --arg n=n
)";

// The cores this process may use, which may be fewer than the machine has.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

po::options_description general_options() {
  po::options_description options("General");
  options.add_options()                                           //
      ("json", po::bool_switch(), "one JSON document on stdout")  //
      ("quiet,q", po::bool_switch(), "no progress on stderr")     //
      ("cache", po::value<std::string>()->value_name("FILE"),
       "the cache (default: $REGTUNE_CACHE, else regtune/regtune.db in the XDG cache folder)")            //
      ("device", po::value<int>()->default_value(0)->value_name("N"), "GPU, after CUDA_VISIBLE_DEVICES")  //
      ("help,h", po::bool_switch(), "this text");
  return options;
}

constexpr const char* kOneKernel = "kernel, or template-id 'sgemm<128, float>'";
constexpr const char* kSeveralKernels = "kernel, or template-id; several: all, 'decay*'";

po::options_description launch_options(const char* kernel) {
  po::options_description options("Launch (each wins over the launch description of the source)");
  options.add_options()                                                                                     //
      ("kernel,k", po::value<std::string>()->value_name("NAME"), kernel)                                    //
      ("set", po::value<Arguments>()->composing()->value_name("NAME=EXPR"), "a size: n=1<<24")              //
      ("block", po::value<std::string>()->value_name("LIST"), "128,256 or 32x8,16x16; the first is yours")  //
      ("grid", po::value<std::string>()->value_name("EXPR"), "'ceil_div(n, block)'; up to three")           //
      ("shared", po::value<std::string>()->value_name("EXPR"), "dynamic shared memory, bytes")              //
      ("arg", po::value<Arguments>()->composing()->value_name("NAME=VALUE"),
       "a=2.5, or out={buffer=\"n\", init=\"uniform(0,1)\"}")  //
      ("tune", po::value<Arguments>()->composing()->value_name("NAME=LIST"),
       "values of a macro or template argument, each with every budget: UNROLL=1,2,4,8")  //
      ("seed", po::value<std::uint64_t>()->value_name("N"), "of random data and of the order of launches");
  return options;
}

// `arch`: how --arch is given, and what it stands for.
po::options_description compile_options(const char* arch, const std::string& meaning) {
  po::options_description options("Compile (what stands behind -- goes to the compiler as it is)");
  options.add_options()                                                                                    //
      ("include,I", po::value<Arguments>()->composing()->value_name("DIR"), "include folder")              //
      ("define,D", po::value<Arguments>()->composing()->value_name("NAME[=X]"), "macro")                   //
      ("arch", po::value<std::string>()->value_name(arch), meaning.c_str())                                //
      ("jobs,j", po::value<int>()->value_name("N"), "compilers side by side (default: the usable cores)")  //
      ("compile-limit", po::value<double>()->default_value(600)->value_name("S"), "seconds for one compilation");
  return options;
}

// Of a sweep over the budgets: what limits and what explains it.
void add_sweep_options(po::options_description& options) {
  options.add_options()  //
      ("compile-budget", po::value<double>()->value_name("S"),
       "seconds of compiling: the author's code, bounds and the caps at which occupancy changes come first, and "
       "what is left out is told (default: everything)")  //
      ("every-cap", po::bool_switch(),
       "compile also those caps whose code is taken to be that of the caps around them, which have one code")  //
      ("explain", po::bool_switch(), "also a line for each variant: what became of it, and why");
}

po::options_description compile_options() {
  return compile_options("sm_XX",
                         fmt::format("architecture (default: the GPU's; {} without one)", kDefaultArchitecture));
}

po::options_description compile_options_for_several() {
  return compile_options("LIST", fmt::format("architectures, sm_75,sm_90 or all (default: the GPU's; {} without one)",
                                             kDefaultArchitecture));
}

po::options_description check_options() {
  po::options_description options("Check (what breaks one of these is a breach)");
  options.add_options()  //
      ("max-spill-bytes", po::value<int>()->value_name("N"),
       "stores and loads together, per thread (default: 0, or the baseline's where one is given)")     //
      ("max-registers", po::value<int>()->value_name("N"), "per thread")                               //
      ("min-occupancy", po::value<double>()->value_name("X"), "0 to 1, with the first block")          //
      ("max-stack-bytes", po::value<int>()->value_name("N"), "per thread")                             //
      ("baseline", po::value<std::string>()->value_name("FILE"), "no kernel may be worse than there")  //
      ("write-baseline", po::value<std::string>()->value_name("FILE"), "write one, unless there is a breach");
  return options;
}

// What is swept besides the register budgets.
po::options_description sweep_options() {
  po::options_description options("Sweep");
  options.add_options()  //
      ("counters", po::bool_switch(),
       "read the GPU's counters for the finalists: executed spills, achieved occupancy, bytes moved (takes ncu)")  //
      ("levers", po::bool_switch(), "also ptxas --register-usage-level 0 and 10 under every cap")                  //
      ("no-rename", po::bool_switch(), "do not try the kernel under a name that makes ptxas allocate otherwise");
  add_sweep_options(options);
  return options;
}

po::options_description measure_options() {
  po::options_description options("Measure");
  options.add_options()                                                                                        //
      ("margin", po::value<double>()->default_value(0.5)->value_name("%"), "differences below this are none")  //
      ("budget", po::value<double>()->default_value(60)->value_name("S"), "seconds of GPU time")               //
      ("timeout", po::value<double>()->default_value(10)->value_name("S"), "seconds for one launch")           //
      ("metric", po::value<Arguments>()->composing()->value_name("NAME=EXPR"),
       "bytes=8*n or flops=2*n, of one launch: adds GB/s or GFLOP/s")                                       //
      ("cold", po::bool_switch(), "flush the L2 cache before each timed launch")                            //
      ("no-restore", po::bool_switch(), "each timed launch finds what the one before left in the buffers")  //
      ("record", po::value<std::string>()->value_name("FILE"), "write the whole run as JSON")               //
      ("retry-quarantined", po::bool_switch(), "launch again what faulted or hung in an earlier run")       //
      ("all", po::bool_switch(), "every distinct code in the table");
  return options;
}

// Long names whole, no guessing of abbreviations: --kern may mean something else in the next version.
constexpr int kStyle = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;

po::variables_map parse(const Arguments& arguments, const po::options_description& visible, const char* positional) {
  po::options_description all;
  all.add(visible).add_options()(positional, po::value<Arguments>());
  po::positional_options_description positions;
  positions.add(positional, -1);
  po::variables_map values;
  try {
    po::store(po::command_line_parser(arguments).options(all).positional(positions).style(kStyle).run(), values);
    po::notify(values);
  } catch (const po::error& failure) {
    throw Error(ErrorKind::usage, fmt::format("{}; regtune --help lists the options", failure.what()));
  }
  return values;
}

template <class T>
std::optional<T> optional_value(const po::variables_map& values, const char* name) {
  if (values.count(name) == 0) return {};
  return values[name].as<T>();
}

Arguments list_value(const po::variables_map& values, const char* name) {
  return optional_value<Arguments>(values, name).value_or(Arguments{});
}

std::string only_positional(const po::variables_map& values, const char* name, const char* what) {
  const Arguments given = list_value(values, name);
  if (given.empty()) throw Error(ErrorKind::usage, fmt::format("{} is missing\n\n{}", what, kUsage));
  if (given.size() > 1)
    throw Error(ErrorKind::usage,
                fmt::format("one {} at a time, and there are {}: {}", what, given.size(), fmt::join(given, " ")));
  return given.front();
}

double in_range(const po::variables_map& values, const char* name, double low, double high) {
  const double value = values[name].as<double>();
  if (!(value >= low && value <= high))
    throw Error(ErrorKind::usage, fmt::format("--{} {}: must lie between {} and {}", name, value, low, high));
  return value;
}

std::string help_text(const po::options_description& options) {
  return fmt::format("{}{}", kUsage, fmt::streamed(options));
}

DescriptionFlags description_flags(const po::variables_map& values, const Arguments& compiler_arguments) {
  return {optional_value<std::string>(values, "kernel"),
          list_value(values, "set"),
          optional_value<std::string>(values, "block"),
          optional_value<std::string>(values, "grid"),
          optional_value<std::string>(values, "shared"),
          list_value(values, "arg"),
          compiler_arguments,
          list_value(values, "include"),
          list_value(values, "define"),
          optional_value<std::uint64_t>(values, "seed"),
          list_value(values, "tune"),
          list_value(values, "metric")};
}

int jobs_value(const po::variables_map& values) {
  const int jobs = optional_value<int>(values, "jobs").value_or(usable_cores());
  if (jobs < 1 || jobs > 1024)
    throw Error(ErrorKind::usage, fmt::format("--jobs {}: must lie between 1 and 1024", jobs));
  return jobs;
}

std::optional<double> compile_budget_value(const po::variables_map& values) {
  if (values.count("compile-budget") == 0) return {};
  return in_range(values, "compile-budget", 0, 1e7);
}

bool explain_value(const po::variables_map& values) {
  if (!values["explain"].as<bool>()) return false;
  if (values["json"].as<bool>())
    throw Error(ErrorKind::usage, "--explain is text; the document that --json gives holds all that it says");
  return true;
}

TuneCommand tune_command(const po::variables_map& values, const Arguments& compiler_arguments) {
  TuneCommand command;
  TuneRequest& request = command.request;
  request.source = only_positional(values, "source", "KERNEL.cu");
  request.flags = description_flags(values, compiler_arguments);
  request.architecture = optional_value<std::string>(values, "arch");
  request.device = values["device"].as<int>();
  request.jobs = jobs_value(values);
  request.counters = values["counters"].as<bool>();
  request.levers = values["levers"].as<bool>();
  request.rename = !values["no-rename"].as<bool>();
  request.compile_limit_s = in_range(values, "compile-limit", 0.1, 1e6);
  request.retry_quarantined = values["retry-quarantined"].as<bool>();
  request.compile_budget_s = compile_budget_value(values);
  request.every_cap = values["every-cap"].as<bool>();
  request.cache = optional_value<std::string>(values, "cache");
  request.measure.margin = in_range(values, "margin", 0, 50) / 100;
  request.measure.budget_s = in_range(values, "budget", 0, 1e6);
  request.measure.timeout_ms = in_range(values, "timeout", 0.01, 1e5) * 1000;
  request.measure.cold = values["cold"].as<bool>();
  request.measure.never_restore = values["no-restore"].as<bool>();
  command.style.all_rows = values["all"].as<bool>();
  command.record_file = optional_value<std::string>(values, "record");
  return command;
}

// What a study and a check have in common.
template <class Request>
Request study_request(const po::variables_map& values, const Arguments& compiler_arguments) {
  Request request;
  request.source = only_positional(values, "source", "KERNEL.cu");
  request.flags = description_flags(values, compiler_arguments);
  request.architectures = optional_value<std::string>(values, "arch");
  request.device = values["device"].as<int>();
  request.jobs = jobs_value(values);
  request.compile_limit_s = in_range(values, "compile-limit", 0.1, 1e6);
  return request;
}

Command parse_init(const Arguments& own, const Arguments& behind) {
  po::options_description options;
  po::options_description of_init("Init");
  of_init.add_options()("print", po::bool_switch(), "show it as a comment block for the source, and write no file");
  options.add(launch_options(kOneKernel)).add(compile_options()).add(of_init).add(general_options());
  const po::variables_map values = parse(own, options, "source");
  Command command;
  command.json = values["json"].as<bool>();
  command.quiet = values["quiet"].as<bool>();
  if (values["help"].as<bool>()) {
    command.what = ShowText{help_text(options)};
    return command;
  }
  InitRequest request;
  request.source = only_positional(values, "source", "KERNEL.cu");
  request.flags = description_flags(values, behind);
  request.architecture = optional_value<std::string>(values, "arch");
  request.device = values["device"].as<int>();
  request.compile_limit_s = in_range(values, "compile-limit", 0.1, 1e6);
  request.print = values["print"].as<bool>();
  command.what = request;
  return command;
}

std::optional<int> count_value(const po::variables_map& values, const char* name) {
  const std::optional<int> value = optional_value<int>(values, name);
  if (value && *value < 0) throw Error(ErrorKind::usage, fmt::format("--{} {}: must not be negative", name, *value));
  return value;
}

AnalyzeCommand analyze_command(const po::variables_map& values, const Arguments& compiler_arguments) {
  AnalyzeCommand command{study_request<AnalyzeRequest>(values, compiler_arguments), {}};
  command.request.compile_budget_s = compile_budget_value(values);
  command.request.every_cap = values["every-cap"].as<bool>();
  command.request.cache = optional_value<std::string>(values, "cache");
  command.style.all_rows = values["all"].as<bool>();
  return command;
}

CheckRequest check_request(const po::variables_map& values, const Arguments& compiler_arguments) {
  CheckRequest request = study_request<CheckRequest>(values, compiler_arguments);
  request.baseline = optional_value<std::string>(values, "baseline");
  request.write_baseline = optional_value<std::string>(values, "write-baseline");
  request.limits.max_spill_bytes = count_value(values, "max-spill-bytes");
  request.limits.max_registers = count_value(values, "max-registers");
  request.limits.max_stack_bytes = count_value(values, "max-stack-bytes");
  // Spills that a baseline holds are accepted ones.
  if (!request.limits.max_spill_bytes && !request.baseline && !request.write_baseline)
    request.limits.max_spill_bytes = 0;
  if (values.count("min-occupancy") > 0) request.limits.min_occupancy = in_range(values, "min-occupancy", 0, 1);
  return request;
}

Command parse_study(bool is_check, const Arguments& own, const Arguments& behind) {
  po::options_description options;
  options.add(launch_options(kSeveralKernels)).add(compile_options_for_several());
  if (is_check) {
    options.add(check_options());
  } else {
    po::options_description study("Study");
    study.add_options()("all", po::bool_switch(), "every distinct code in the table");
    add_sweep_options(study);
    options.add(study);
  }
  options.add(general_options());
  const po::variables_map values = parse(own, options, "source");
  Command command;
  command.json = values["json"].as<bool>();
  command.quiet = values["quiet"].as<bool>();
  command.explain = !is_check && explain_value(values);
  if (values["help"].as<bool>())
    command.what = ShowText{help_text(options)};
  else if (is_check)
    command.what = check_request(values, behind);
  else
    command.what = analyze_command(values, behind);
  return command;
}

// Only what was given: the rest is as it was recorded.
std::optional<double> given_in_range(const po::variables_map& values, const char* name, double low, double high) {
  if (values.count(name) == 0) return {};
  return in_range(values, name, low, high);
}

Command parse_replay(const Arguments& own) {
  po::options_description options("Replay (default: as recorded)");
  options.add_options()                                                                                   //
      ("margin", po::value<double>()->value_name("%"), "differences below this are none")                 //
      ("confidence", po::value<double>()->value_name("%"), "of the verdict")                              //
      ("budget", po::value<double>()->value_name("S"), "seconds of GPU time, of those that the run had")  //
      ("all", po::bool_switch(), "every distinct code in the table")                                      //
      ("json", po::bool_switch(), "one JSON document on stdout")                                          //
      ("quiet,q", po::bool_switch(), "no talk on stderr")                                                 //
      ("help,h", po::bool_switch(), "this text");
  const po::variables_map values = parse(own, options, "file");
  Command command;
  command.json = values["json"].as<bool>();
  command.quiet = values["quiet"].as<bool>();
  if (values["help"].as<bool>()) {
    command.what = ShowText{help_text(options)};
    return command;
  }
  ReplayCommand replay;
  replay.request.file = only_positional(values, "file", "FILE");
  replay.request.budget_s = given_in_range(values, "budget", 0, 1e6);
  if (const auto margin = given_in_range(values, "margin", 0, 50)) replay.request.margin = *margin / 100;
  if (const auto confidence = given_in_range(values, "confidence", 50, 99.9999))
    replay.request.confidence = *confidence / 100;
  replay.style.all_rows = values["all"].as<bool>();
  command.what = replay;
  return command;
}

// The launch is the one that is stored; what no file says of it must be said again.
Command parse_verify(const Arguments& own) {
  po::options_description options("Verify");
  options.add_options()  //
      ("set", po::value<Arguments>()->composing()->value_name("NAME=EXPR"),
       "all sizes of the stored answer: n=1<<24")                                                           //
      ("budget", po::value<double>()->default_value(60)->value_name("S"), "seconds of GPU time")            //
      ("block", po::value<std::string>()->value_name("LIST"), "as given when it was tuned")                 //
      ("grid", po::value<std::string>()->value_name("EXPR"), "as given when it was tuned")                  //
      ("shared", po::value<std::string>()->value_name("EXPR"), "as given when it was tuned")                //
      ("arg", po::value<Arguments>()->composing()->value_name("NAME=VALUE"), "as given when it was tuned")  //
      ("include,I", po::value<Arguments>()->composing()->value_name("DIR"), "include folder")               //
      ("jobs,j", po::value<int>()->value_name("N"), "compilers side by side (default: the usable cores)");
  options.add(general_options());
  const po::variables_map values = parse(own, options, "name");
  Command command;
  command.json = values["json"].as<bool>();
  command.quiet = values["quiet"].as<bool>();
  if (values["help"].as<bool>()) {
    command.what = ShowText{help_text(options)};
    return command;
  }
  VerifyRequest request;
  request.kernel = only_positional(values, "name", "KERNEL");
  request.flags.sizes = list_value(values, "set");
  request.flags.block = optional_value<std::string>(values, "block");
  request.flags.grid = optional_value<std::string>(values, "grid");
  request.flags.dynamic_shared_bytes = optional_value<std::string>(values, "shared");
  request.flags.arguments = list_value(values, "arg");
  request.flags.include_folders = list_value(values, "include");
  request.cache = optional_value<std::string>(values, "cache");
  request.device = values["device"].as<int>();
  request.jobs = jobs_value(values);
  request.budget_s = in_range(values, "budget", 0, 1e6);
  command.what = request;
  return command;
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
  const bool lookup = !own.empty() && own.front() == "lookup";
  if (lookup) own.erase(own.begin());
  if (!lookup && !own.empty() && own.front() == "--version")
    return {false, false, ShowText{"regtune " REGTUNE_VERSION "\n"}};

  if (!own.empty() && (own.front() == "analyze" || own.front() == "check")) {
    const bool is_check = own.front() == "check";
    own.erase(own.begin());
    return parse_study(is_check, own, behind);
  }

  if (!own.empty() && own.front() == "init") {
    own.erase(own.begin());
    return parse_init(own, behind);
  }

  if (!own.empty() && (own.front() == "replay" || own.front() == "verify")) {
    const std::string name = own.front();
    if (!behind.empty())
      throw Error(ErrorKind::usage,
                  fmt::format("regtune {} takes no compiler options: {}", name, fmt::join(behind, " ")));
    own.erase(own.begin());
    return name == "replay" ? parse_replay(own) : parse_verify(own);
  }

  Command command;
  if (lookup) {
    if (!behind.empty())
      throw Error(ErrorKind::usage, fmt::format("regtune lookup compiles nothing and takes no compiler options: {}",
                                                fmt::join(behind, " ")));
    po::options_description options = general_options();
    options.add_options()                                                                         //
        ("set", po::value<Arguments>()->composing()->value_name("NAME=EXPR"), "a size: n=1<<24")  //
        ("gpu", po::value<std::string>()->value_name("NAME"), "GPU (default: this machine's)")    //
        ("explain", po::bool_switch(), "also a line for each variant: what became of it, and why");
    const po::variables_map values = parse(own, options, "name");
    command.json = values["json"].as<bool>();
    command.quiet = values["quiet"].as<bool>();
    command.explain = explain_value(values);
    if (values["help"].as<bool>())
      command.what = ShowText{help_text(options)};
    else
      command.what = LookupRequest{only_positional(values, "name", "KERNEL"), list_value(values, "set"),
                                   optional_value<std::string>(values, "gpu"),
                                   optional_value<std::string>(values, "cache"), values["device"].as<int>()};
    return command;
  }
  po::options_description options;
  options.add(launch_options(kOneKernel))
      .add(compile_options())
      .add(sweep_options())
      .add(measure_options())
      .add(general_options());
  const po::variables_map values = parse(own, options, "source");
  command.json = values["json"].as<bool>();
  command.quiet = values["quiet"].as<bool>();
  command.explain = explain_value(values);
  if (own.empty() || values["help"].as<bool>())
    command.what = ShowText{help_text(options)};
  else
    command.what = tune_command(values, behind);
  return command;
}

}  // namespace regtune
