#include "subcommands.hpp"

#include <algorithm>

namespace regtune {
namespace {

constexpr std::size_t kAnyNumber = 10000;

std::vector<Subcommand> table() {
  const std::vector<std::string> no_gpu{"cache", "device"};
  return {
      {CliCommand::tune,
       "tune",
       {"KERNEL.cu", 1, kAnyNumber},
       "KERNEL.cu|FOLDER|FILE.rtb|- ... [options] [-- compiler options, or a whole nvcc command]",
       "time every register budget, store the fastest (the default)",
       "regtune k.cu --set n=1<<24 --block 128,256 --grid 'ceil_div(n, block)'",
       "",
       {launch_group(true), compile_group(false), sweep_group(), measure_group(), report_group(true), general_group()}},
      {CliCommand::analyze,
       "analyze",
       {"KERNEL.cu"},
       "KERNEL.cu [options] [-- compiler options]",
       "registers, spills and occupancy of every budget; no GPU",
       "regtune analyze k.cu --arch sm_80,sm_90 --kernel all",
       "",
       {launch_group(true), compile_group(true), study_sweep_group(), report_group(true), general_group()}},
      {CliCommand::check,
       "check",
       {"KERNEL.cu"},
       "KERNEL.cu [options] [-- compiler options]",
       "fail when a kernel spills or gets worse; for CI",
       "regtune check k.cu --kernel all --baseline registers.json",
       "",
       {launch_group(true), compile_group(true), check_group(), general_group()}},
      {CliCommand::init,
       "init",
       {"KERNEL.cu"},
       "KERNEL.cu [options] [-- compiler options]",
       "write a launch description to start from",
       "regtune init k.cu --print",
       "",
       {launch_group(false), compile_group(false), init_group(), general_group()}},
      {CliCommand::lookup,
       "lookup",
       {"KERNEL"},
       "KERNEL [options]",
       "what is stored for a kernel",
       "regtune lookup decayWide --set n=1<<24",
       "compiles nothing",
       {lookup_group(), general_group()}},
      {CliCommand::verify,
       "verify",
       {"KERNEL"},
       "KERNEL [options]",
       "measure a stored answer again, by an exhaustive referee",
       "regtune verify decayWide --budget 30",
       "compiles with the options that are stored",
       {verify_group(), general_group()}},
      {CliCommand::replay,
       "replay",
       {"FILE"},
       "FILE [options]",
       "decide again from a run that --record wrote",
       "regtune replay run.json --margin 1 --all",
       "compiles nothing",
       {replay_group(), report_group(true), general_group(no_gpu)}},
      {CliCommand::report,
       "report",
       {"KERNEL or FILE", 1, kAnyNumber},
       "KERNEL|RUN.json|CACHE.db[:KERNEL] ... [options]",
       "stored or recorded runs as a page of pictures, side by side",
       "regtune report decayWide -o decay.html",
       "compiles nothing",
       {page_group(), stored_runs_group(), general_group({"json", "device"})}},
      {CliCommand::diff,
       "diff",
       {"KERNEL or FILE", 1, 2},
       "BEFORE [AFTER] [options]   each as regtune report takes it; a KERNEL alone: its two newest runs",
       "what moved between two runs; exit code 1 if anything did",
       "regtune diff before.json after.json",
       "compiles nothing",
       {stored_runs_group(), general_group({"device"})}},
      {CliCommand::export_budgets,
       "export",
       {"KERNEL", 0, kAnyNumber},
       "[KERNEL|RUN.json|CACHE.db ...] [options]",
       "budgets as a header, CMake or patch, runs for other programs",
       "regtune export -o budgets.h",
       "compiles nothing",
       {export_group(), general_group({"json", "device"})}},
      {CliCommand::import_runs,
       "import",
       {"FILE", 1, kAnyNumber},
       "FILE ... [options]",
       "take in other caches, and runs that --record wrote",
       "regtune import other.db run.json",
       "compiles nothing",
       {general_group({"device"})}},
      {CliCommand::db,
       "db",
       {"list, show, merge, prune, verify or vacuum",
        1,
        kAnyNumber,
        {"list", "show", "merge", "prune", "verify", "vacuum"}},
       "list|show [KERNEL ...] | merge FILE ... | verify [FILE ...] | prune | vacuum",
       "look after the cache file",
       "regtune db prune --older-than 90",
       "compiles nothing",
       {db_group(), general_group({"device"})}},
      {CliCommand::bundle,
       "bundle",
       {"KERNEL.cu"},
       "KERNEL.cu [options] [-- compiler options]",
       "compile here, for a GPU where there is no compiler",
       "regtune bundle k.cu --arch sm_80,sm_90 -o k.rtb",
       "",
       {launch_group(false), compile_group(true), bundle_group(), general_group()}},
      {CliCommand::run,
       "run",
       {"", 0, 0},
       "[options] -- PROGRAM [arguments]",
       "list a program's launches, tune one in it, or apply what is tuned",
       "regtune run -k fb --source lulesh.cu -- ./lulesh -s 60",
       "",
       {program_group(), program_compile_group(), program_sweep_group(), program_measure_group(), report_group(true),
        general_group({"device"})}},
      {CliCommand::capture,
       "capture",
       {"", 0, 0},
       "-k NAME -o FOLDER [options] -- PROGRAM [arguments]",
       "write a program's launch down, to tune it elsewhere",
       "regtune capture -k step --launch 3 -o case -- ./app; regtune case",
       "",
       {capture_group(), capture_compile_group(), general_group({"json", "cache", "device"})}},
      {CliCommand::tag,
       "tag",
       {"KERNEL.cu"},
       "KERNEL.cu [options] [-- compiler options]",
       "the hash of a source and all that it includes",
       "regtune tag k.cu -I include",
       "",
       {launch_group(false), compile_group(false), general_group()}},
      {CliCommand::doctor,
       "doctor",
       {"", 0, 0},
       "[options]",
       "what this machine has, what is missing, and its cure",
       "regtune doctor --json",
       "compiles nothing",
       {general_group({"device"})}},
      {CliCommand::completion,
       "completion",
       {"bash, zsh or fish", 1, 1, {"bash", "zsh", "fish"}},
       "bash|zsh|fish",
       "print the completions of a shell",
       "source <(regtune completion bash)",
       "compiles nothing",
       {general_group({"json", "quiet", "verbose", "cache", "device"})}},
      {CliCommand::help,
       "help",
       {"COMMAND", 0, 1, {}},
       "[COMMAND | exit-codes | man]",
       "all options of a command; the exit codes; a man page",
       "regtune help tune",
       "compiles nothing",
       {general_group({"json", "quiet", "verbose", "cache", "device"})}},
  };
}

}  // namespace

const std::vector<Subcommand>& subcommands() {
  static const std::vector<Subcommand> all = table();
  return all;
}

const Subcommand& subcommand(CliCommand id) {
  const auto& all = subcommands();
  return *std::find_if(all.begin(), all.end(), [&](const Subcommand& one) { return one.id == id; });
}

const Subcommand* find_subcommand(const std::string& name) {
  const auto& all = subcommands();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Subcommand& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

const CliOption* find_option(const Subcommand& command, const std::string& name) {
  for (const OptionGroup& group : command.groups)
    for (const CliOption& option : group.options)
      if (option.name == name) return &option;
  return nullptr;
}

}  // namespace regtune
