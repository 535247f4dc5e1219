#include "cli_options.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <boost/program_options.hpp>

#include "levers.hpp"
#include "regtune/error.hpp"
#include "study_scope.hpp"

namespace regtune {
namespace {

namespace po = boost::program_options;
using Arguments = std::vector<std::string>;

constexpr const char* kUsage = R"(usage: regtune KERNEL.cu [options] [-- compiler options, or a whole nvcc command]
       regtune analyze KERNEL.cu [--arch sm_75,sm_90|all] [options] [-- compiler options]
       regtune check KERNEL.cu [--arch sm_75,sm_90|all] [--baseline FILE] [options] [-- compiler options]
       regtune init KERNEL.cu [--print] [options] [-- compiler options]
       regtune lookup KERNEL [--set n=VALUE ...] [--gpu NAME] [--cache FILE]
       regtune verify KERNEL [--set n=VALUE ...] [options]
       regtune replay FILE [options]
       regtune export [KERNEL ...] [--format header|json|cmake|patch|sqlite] [-o FILE] [options]
       regtune import FILE ...
       regtune db list|show [KERNEL ...] | merge FILE ... | verify [FILE ...] | prune | vacuum
       regtune bundle KERNEL.cu [--arch sm_80,sm_90|all] [-o FILE.rtb] [options] [-- compiler options]
       regtune FILE.rtb [options]
       regtune tag KERNEL.cu [options] [-- compiler options]
       regtune COMMAND --help

How many registers should this kernel get? regtune compiles KERNEL.cu under every register cap and every
launch bound, times each distinct code on the GPU, checks every output, and stores the fastest budget.

  regtune kernels/decay_wide.cu
  regtune k.cu --set n=1<<24 --block 128,256 --grid 'ceil_div(n, block)' --arg n=n
)";

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
constexpr const char* kTunedKernels = "kernel, or template-id; several: all, 'decay*', a,b";

po::options_description launch_options(const char* kernel) {
  po::options_description options("Launch (each wins over the launch description of the source)");
  options.add_options()  //
      ("description", po::value<std::string>()->value_name("FILE"),
       "a launch description that stands elsewhere, for a source that is not yours")  //
      ("kernel,k", po::value<std::string>()->value_name("NAME"), kernel)              //
      ("set", po::value<Arguments>()->composing()->value_name("NAME=EXPR"),
       "a size: n=1<<24; tuned at several, one after the other: n=1<<20,1<<24")                             //
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
  options.add_options()                                                                            //
      ("include-dir,I", po::value<Arguments>()->composing()->value_name("DIR"), "include folder")  //
      ("include", po::value<Arguments>()->composing()->value_name("FILE"),
       "included in front of the source, as nvcc -include")                               //
      ("define,D", po::value<Arguments>()->composing()->value_name("NAME[=X]"), "macro")  //
      ("compile-commands", po::value<std::string>()->value_name("FILE"),
       "take the source's options from compile_commands.json")  //
      ("compiler", po::value<std::string>()->value_name("NAME"),
       "nvrtc or nvcc (default: NVRTC, and nvcc for what it does not take)")  //
      ("nvcc", po::value<std::string>()->value_name("FILE"),
       "which nvcc (default: of PATH, CUDA_HOME, /usr/local/cuda)")                                        //
      ("show-source", po::bool_switch(), "print the text that the compiler is given, and stop")            //
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

constexpr const char* kLeversHelp =
    "what else is tried: usage-level (ptxas --register-usage-level 0 and 10 under every cap), smem-spill (spilling to "
    "shared memory under every bound with both numbers, CUDA 13); without LIST both";

// What is swept besides the register budgets.
po::options_description sweep_options() {
  po::options_description options("Sweep");
  options.add_options()  //
      ("counters", po::bool_switch(),
       "read the GPU's counters for the finalists: executed spills, achieved occupancy, bytes moved (takes ncu)")  //
      ("levers", po::value<std::string>()->implicit_value(kAllLevers)->value_name("LIST"), kLeversHelp)            //
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
      ("confirm", po::value<std::string>()->value_name("nvcc"),
       "also time nvcc's builds of the author's code and the winner")  //
      ("metric", po::value<Arguments>()->composing()->value_name("NAME=EXPR"),
       "bytes=8*n or flops=2*n, of one launch: adds GB/s or GFLOP/s")                                       //
      ("cold", po::bool_switch(), "flush the L2 cache before each timed launch")                            //
      ("no-restore", po::bool_switch(), "each timed launch finds what the one before left in the buffers")  //
      ("record", po::value<std::string>()->value_name("FILE"), "write the whole run as JSON")               //
      ("retry-quarantined", po::bool_switch(), "launch again what faulted or hung in an earlier run")       //
      ("all", po::bool_switch(), "every distinct code in the table");
  return options;
}

po::options_description study_options() {
  po::options_description options("Study");
  options.add_options()("all", po::bool_switch(), "every distinct code in the table");
  add_sweep_options(options);
  return options;
}

po::options_description init_options() {
  po::options_description options("Init");
  options.add_options()("print", po::bool_switch(), "show it as a comment block for the source, and write no file");
  return options;
}

po::options_description lookup_options() {
  po::options_description options("Look-up");
  options.add_options()                                                                         //
      ("set", po::value<Arguments>()->composing()->value_name("NAME=EXPR"), "a size: n=1<<24")  //
      ("gpu", po::value<std::string>()->value_name("NAME"),
       "GPU (default: this machine's); of one that is not stored also its architecture and SMs: "
       "'NVIDIA H100 PCIe, sm_90, 114 SMs'")  //
      ("explain", po::bool_switch(), "also a line for each variant: what became of it, and why");
  return options;
}

po::options_description replay_options() {
  po::options_description options("Replay (default: as recorded)");
  options.add_options()                                                                                   //
      ("margin", po::value<double>()->value_name("%"), "differences below this are none")                 //
      ("confidence", po::value<double>()->value_name("%"), "of the verdict")                              //
      ("budget", po::value<double>()->value_name("S"), "seconds of GPU time, of those that the run had")  //
      ("all", po::bool_switch(), "every distinct code in the table")                                      //
      ("json", po::bool_switch(), "one JSON document on stdout")                                          //
      ("quiet,q", po::bool_switch(), "no talk on stderr")                                                 //
      ("help,h", po::bool_switch(), "this text");
  return options;
}

po::options_description export_options() {
  po::options_description options("Export (each kernel's budget, for a build or another machine)");
  options.add_options()  //
      ("format", po::value<std::string>()->value_name("NAME"),
       "header: a C header of macros REGTUNE_BOUNDS_<kernel> (default); json; cmake: caps by source file; patch: a "
       "diff of the sources; sqlite: a cache file of winners with their codes. Without it -o FILE's ending decides")  //
      ("patch", po::bool_switch(), "short for --format patch")                                                        //
      ("output,o", po::value<std::string>()->value_name("FILE"), "write it there (default: standard output)")         //
      ("set", po::value<Arguments>()->composing()->value_name("NAME=EXPR"),
       "all sizes of the runs to choose from: n=1<<24 (default: every size that is stored)")  //
      ("weight", po::value<Arguments>()->composing()->value_name("NAME=EXPR:W"),
       "how much a size counts where several are stored: n=1<<20:3 (default: 1 each)")  //
      ("gpu", po::value<std::string>()->value_name("NAME"),
       "model of GPU (default: of each architecture the one with the newest result)")  //
      ("include-dir,I", po::value<Arguments>()->composing()->value_name("DIR"),
       "with --patch: include folder, as given when it was tuned")                                  //
      ("json", po::bool_switch(), "short for --format json")                                        //
      ("quiet,q", po::bool_switch(), "no talk on stderr")                                           //
      ("cache", po::value<std::string>()->value_name("FILE"), "the cache (default: as elsewhere)")  //
      ("help,h", po::bool_switch(), "this text");
  return options;
}

// `prunes`: what else db takes.
po::options_description db_options(const char* heading, bool prunes) {
  po::options_description options(heading);
  if (prunes)
    options.add_options()  //
        ("older-than", po::value<int>()->value_name("DAYS"),
         "prune: also runs that were begun before that many days")  //
        ("codes", po::bool_switch(), "prune: all kept codes, and not only those of other versions of regtune");
  options.add_options()                                                                             //
      ("cache", po::value<std::string>()->value_name("FILE"), "the cache (default: as elsewhere)")  //
      ("json", po::bool_switch(), "one JSON document on stdout")                                    //
      ("quiet,q", po::bool_switch(), "no talk on stderr")                                           //
      ("help,h", po::bool_switch(), "this text");
  return options;
}

po::options_description bundle_options() {
  po::options_description options("Bundle (a file that `regtune FILE.rtb` times where there is no compiler)");
  options.add_options()                                                                                          //
      ("output,o", po::value<std::string>()->value_name("FILE"), "write it there (default: KERNEL.rtb)")         //
      ("levers", po::value<std::string>()->implicit_value(kAllLevers)->value_name("LIST"), kLeversHelp)          //
      ("no-rename", po::bool_switch(), "leave out the kernel under a name that makes ptxas allocate otherwise")  //
      ("every-cap", po::bool_switch(), "compile also those caps whose code is taken to be that of those around them");
  return options;
}

// The launch is the one that is stored.
po::options_description verify_options() {
  po::options_description options("Verify");
  options.add_options()  //
      ("set", po::value<Arguments>()->composing()->value_name("NAME=EXPR"),
       "a size: n=1<<24 (all of the stored answer; none where there is one answer alone)")        //
      ("budget", po::value<double>()->default_value(60)->value_name("S"), "seconds of GPU time")  //
      ("jobs,j", po::value<int>()->value_name("N"), "compilers side by side (default: the usable cores)");
  return options;
}

po::options_description options_of(CliCommand command) {
  po::options_description options;
  switch (command) {
    case CliCommand::tune:
      options.add(launch_options(kTunedKernels)).add(compile_options()).add(sweep_options()).add(measure_options());
      break;
    case CliCommand::analyze:
      options.add(launch_options(kSeveralKernels)).add(compile_options_for_several()).add(study_options());
      break;
    case CliCommand::check:
      options.add(launch_options(kSeveralKernels)).add(compile_options_for_several()).add(check_options());
      break;
    case CliCommand::tag:
      options.add(launch_options(kOneKernel)).add(compile_options());
      break;
    case CliCommand::init:
      options.add(launch_options(kOneKernel)).add(compile_options()).add(init_options());
      break;
    case CliCommand::lookup:
      options.add(lookup_options());
      break;
    case CliCommand::verify:
      options.add(verify_options());
      break;
    case CliCommand::replay:
      return replay_options();  // opens no cache and asks no GPU
    case CliCommand::bundle:
      options.add(launch_options(kOneKernel)).add(compile_options_for_several()).add(bundle_options());
      break;
    case CliCommand::db:
      return db_options("A cache file: what it holds, and what it needs", true);
    case CliCommand::import_runs:
      return db_options("Import (cache files, and runs that --record wrote as .json)", false);
    case CliCommand::export_budgets:
      return export_options();  // nor does this ask one
  }
  options.add(general_options());
  return options;
}

struct Subjects {
  const char* what;
  std::size_t least = 1;
  std::size_t most = 1;
};

Subjects subjects_of(CliCommand command) {
  constexpr std::size_t any_number = 10000;
  switch (command) {
    case CliCommand::tune:
    case CliCommand::analyze:
    case CliCommand::check:
    case CliCommand::tag:
    case CliCommand::bundle:
    case CliCommand::init:
      break;
    case CliCommand::lookup:
    case CliCommand::verify:
      return {"KERNEL"};
    case CliCommand::replay:
      return {"FILE"};
    case CliCommand::export_budgets:
      return {"KERNEL", 0, any_number};
    case CliCommand::import_runs:
      return {"FILE", 1, any_number};
    case CliCommand::db:
      return {"list, show, merge, prune, verify or vacuum", 1, any_number};
  }
  return {"KERNEL.cu"};
}

// A name that no option has.
constexpr const char* kSubject = "subject";
constexpr int kStyle = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;

void require_number(const Arguments& given, const Subjects& wanted) {
  if (given.size() < wanted.least)
    throw Error(ErrorKind::usage, fmt::format("{} is missing\n\n{}", wanted.what, kUsage));
  if (given.size() > wanted.most)
    throw Error(ErrorKind::usage, fmt::format("one {} at a time, and there are {}: {}", wanted.what, given.size(),
                                              fmt::join(given, " ")));
}

// Of the types that the tables above name; another one is a mistake there.
CliValues::Value value_of(const po::variable_value& given) {
  const boost::any& value = given.value();
  if (const auto* flag = boost::any_cast<bool>(&value)) return *flag;
  if (const auto* integer = boost::any_cast<int>(&value)) return *integer;
  if (const auto* number = boost::any_cast<double>(&value)) return *number;
  if (const auto* wide = boost::any_cast<std::uint64_t>(&value)) return *wide;
  if (const auto* list = boost::any_cast<Arguments>(&value)) return *list;
  return boost::any_cast<std::string>(value);
}

// Boost takes the value of an option that can do without one from "--levers=LIST" alone.
Arguments with_lists_of_levers(Arguments arguments) {
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] != "--levers" || !reads_as_levers(arguments[i + 1])) continue;
    arguments[i] += "=" + arguments[i + 1];
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return arguments;
}

}  // namespace

std::string help_text(CliCommand command) {
  return fmt::format("{}{}", kUsage, fmt::streamed(options_of(command)));
}

CliValues parse_options(CliCommand command, const Arguments& arguments) {
  po::options_description all;
  all.add(options_of(command)).add_options()(kSubject, po::value<Arguments>());
  po::positional_options_description positions;
  positions.add(kSubject, -1);
  po::variables_map parsed;
  try {
    po::store(
        po::command_line_parser(with_lists_of_levers(arguments)).options(all).positional(positions).style(kStyle).run(),
        parsed);
    po::notify(parsed);
  } catch (const po::error& failure) {
    throw Error(ErrorKind::usage, fmt::format("{}; regtune --help lists the options", failure.what()));
  }
  std::map<std::string, CliValues::Value> values;
  Arguments subjects;
  for (const auto& [name, value] : parsed) {
    if (name == kSubject)
      subjects = value.as<Arguments>();
    else
      values[name] = value_of(value);
  }
  if (!parsed["help"].as<bool>()) require_number(subjects, subjects_of(command));
  return {std::move(values), std::move(subjects)};
}

}  // namespace regtune
