#include "option_groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace regtune {
namespace {

CliOption option(const std::string& name, OptionKind kind, const std::string& value, const std::string& help) {
  CliOption made;
  const std::size_t comma = name.find(',');
  made.name = name.substr(0, comma);
  if (comma != std::string::npos) made.letter = name.at(comma + 1);
  made.kind = kind;
  made.value = value;
  made.help = help;
  return made;
}

CliOption set_option(const std::string& help) {
  return list("set", "NAME=EXPR", help);
}

CliOption jobs_option() {
  return integer("jobs,j", "N", "compilers side by side (default: the usable cores)");
}

CliOption every_cap_option() {
  return flag("every-cap",
              "compile also those caps whose code is taken to be that of the caps around them, which have one code");
}

CliOption compile_budget_option() {
  return number("compile-budget", "S",
                "seconds of compiling: the author's code, bounds and the caps at which occupancy changes come first, "
                "and what is left out is told (default: everything)");
}

CliOption rename_option() {
  return flag("no-rename", "do not try the kernel under a name that makes ptxas allocate otherwise");
}

CliOption levers_option() {
  CliOption levers = text("levers", "LIST",
                          "what else is tried: usage-level (ptxas --register-usage-level 0 and 10 under every cap), "
                          "smem-spill (spilling to shared memory under every bound with both numbers, CUDA 13); "
                          "without LIST both");
  levers.implicit_value = "usage-level,smem-spill";
  return levers;
}

OptionGroup without(OptionGroup group, const std::vector<std::string>& names) {
  std::erase_if(group.options, [&](const CliOption& option) {
    return std::find(names.begin(), names.end(), option.name) != names.end();
  });
  return group;
}

CliOption output_option(const std::string& help) {
  return text("output,o", "FILE", help);
}

}  // namespace

CliOption flag(const std::string& name, const std::string& help) {
  return option(name, OptionKind::flag, "", help);
}

CliOption text(const std::string& name, const std::string& value, const std::string& help) {
  return option(name, OptionKind::text, value, help);
}

CliOption one_of(const std::string& name, std::vector<std::string> choices, const std::string& help) {
  CliOption made = option(name, OptionKind::text, fmt::format("{}", fmt::join(choices, "|")), help);
  made.choices = std::move(choices);
  return made;
}

CliOption list(const std::string& name, const std::string& value, const std::string& help) {
  return option(name, OptionKind::list, value, help);
}

CliOption integer(const std::string& name, const std::string& value, const std::string& help,
                  std::optional<int> default_value) {
  CliOption made = option(name, OptionKind::integer, value, help);
  if (default_value) made.default_value = *default_value;
  return made;
}

CliOption number(const std::string& name, const std::string& value, const std::string& help,
                 std::optional<double> default_value) {
  CliOption made = option(name, OptionKind::number, value, help);
  made.default_value = default_value;
  return made;
}

OptionGroup launch_group(bool several_kernels) {
  return {"Launch (each wins over the launch description of the source)",
          {text("kernel,k", "NAME",
                several_kernels ? "kernel, or template-id; several: all, 'decay*' (tuning takes a list too: a,b)"
                                : "kernel, or template-id 'sgemm<128, float>'"),
           set_option("a size: n=1<<24; tuned at several, one after the other: n=1<<20,1<<24"),
           text("block", "LIST", "128,256 or 32x8,16x16; the first is yours"),
           text("grid", "EXPR", "'ceil_div(n, block)'; up to three"),
           text("shared", "EXPR", "dynamic shared memory, bytes"),
           list("arg", "NAME=VALUE", "a=2.5, or out={buffer=\"n\", init=\"uniform(0,1)\"}"),
           list("tune", "NAME=LIST", "values of a macro or template argument, each with every budget: UNROLL=1,2,4,8"),
           option("seed", OptionKind::wide_integer, "N", "of random data and of the order of launches"),
           text("description", "FILE", "a launch description that stands elsewhere, for a source that is not yours")}};
}

OptionGroup compile_group(bool several_architectures) {
  const CliOption arch =
      several_architectures ? text("arch", "LIST", "architectures, sm_75,sm_90 or all (default: the GPU's, else sm_90)")
                            : text("arch", "sm_XX", "architecture (default: the GPU's, else sm_90)");
  return {"Compile (what stands behind -- goes to the compiler as it is)",
          {list("include-dir,I", "DIR", "include folder"),
           list("include", "FILE", "included in front of the source, as nvcc -include"),
           list("define,D", "NAME[=X]", "macro"),
           text("compile-commands", "FILE", "take the source's options from compile_commands.json"),
           one_of("compiler", {"nvrtc", "nvcc"}, "which (default: NVRTC, and nvcc for what it does not take)"),
           text("nvcc", "FILE", "which nvcc (default: of PATH, CUDA_HOME, /usr/local/cuda)"), arch, jobs_option(),
           number("compile-limit", "S", "seconds for one compilation", 600),
           flag("show-source", "print the text that the compiler is given, and stop")}};
}

// What is swept besides the register budgets.
OptionGroup sweep_group() {
  return {"Sweep",
          {flag("counters",
                "read the GPU's counters for the finalists: executed spills, achieved occupancy, bytes "
                "moved (takes ncu)"),
           levers_option(), rename_option(), compile_budget_option(), every_cap_option()}};
}

OptionGroup study_sweep_group() {
  return {"Sweep", {compile_budget_option(), every_cap_option()}};
}

OptionGroup measure_group() {
  return {"Measure",
          {number("margin", "%", "differences below this are none", 0.5),
           number("budget", "S", "seconds of GPU time", 60), number("timeout", "S", "seconds for one launch", 10),
           one_of("confirm", {"nvcc"}, "also time nvcc's builds of the author's code and the winner"),
           list("metric", "NAME=EXPR", "bytes=8*n or flops=2*n, of one launch: adds GB/s or GFLOP/s"),
           flag("cold", "flush the L2 cache before each timed launch"),
           flag("no-restore", "each timed launch finds what the one before left in the buffers"),
           flag("retry-quarantined", "launch again what faulted or hung in an earlier run"),
           text("record", "FILE", "write the whole run as JSON"),
           text("report", "FILE", "write the run as a page of pictures: HTML, in one file"),
           text("csv", "FILE", "write every variant as a line of CSV"),
           text("export-t4", "FILE", "write the run in the T4 format of autotuners"),
           text("export-kernel-tuner", "FILE", "write the run as a cache file of Kernel Tuner")}};
}

OptionGroup program_group() {
  return {"Program (behind --, as it is; without --kernel or --source it is listed)",
          {text("kernel,k", "NAME", "tune this kernel at one of its launches"),
           text("source", "FILE", "the kernel's source (default: what the program gives to NVRTC, or carries as PTX)"),
           integer("launch", "N", "which of the kernel's launches", 1),
           flag("apply", "make launches with the code that was tuned for exactly them, where some is stored"),
           flag("in-process",
                "launch the variants in the program's own context, where a fault or a hang of one ends the program "
                "(default: in a process beside it, with a copy of its memory)"),
           number("rtol", "X", "floating-point results within X of the author's, relative, are close enough", 0),
           number("atol", "X", "likewise, absolute", 0),
           output_option("write what is told of the launches to FILE (default: standard error); JSON with --json")}};
}

OptionGroup program_compile_group() {
  OptionGroup group = without(compile_group(false), {"arch", "show-source"});
  group.title = "Compile";
  group.options.push_back(list("option", "OPTION", "a compiler's option, as in --option=-use_fast_math"));
  return group;
}

OptionGroup program_sweep_group() {
  return without(sweep_group(), {"counters"});
}

OptionGroup program_measure_group() {
  return without(measure_group(), {"metric", "confirm"});
}

OptionGroup capture_group() {
  return {"Capture (what stands behind -- is run as it is)",
          {text("kernel,k", "NAME", "the kernel whose launch is written down (default: any of the source)"),
           integer("launch", "N", "which of its launches", 1),
           text("source", "FILE", "the kernel's source (default: what the program itself gives to NVRTC)"),
           text("output,o", "FOLDER", "where to, a new folder, which regtune FOLDER then tunes"),
           number("rtol", "X", "floating-point outputs within X of the author's, relative, are close enough", 0),
           number("atol", "X", "likewise, absolute", 0)}};
}

OptionGroup capture_compile_group() {
  return {"Source",
          {list("include-dir,I", "DIR", "headers; those that the source includes are copied"),
           list("define,D", "NAME=X", "a macro of the source"),
           list("option", "OPTION", "a compiler's option, as in --option=-use_fast_math")}};
}

OptionGroup check_group() {
  return {"Check (what breaks one of these is a breach)",
          {integer("max-spill-bytes", "N",
                   "stores and loads together, per thread (default: 0, or the baseline's where one is given)"),
           integer("max-registers", "N", "per thread"), number("min-occupancy", "X", "0 to 1, with the first block"),
           integer("max-stack-bytes", "N", "per thread"), text("baseline", "FILE", "no kernel may be worse than there"),
           text("write-baseline", "FILE", "write one, unless there is a breach")}};
}

OptionGroup init_group() {
  return {"Init", {flag("print", "show it as a comment block for the source, and write no file")}};
}

OptionGroup lookup_group() {
  return {"Look-up",
          {set_option("a size: n=1<<24"),
           text("gpu", "NAME",
                "GPU (default: this machine's); of one that is not stored also its architecture and SMs: 'NVIDIA H100 "
                "PCIe, sm_90, 114 SMs'"),
           flag("explain", "also a line for each variant: what became of it, and why")}};
}

// The launch is the one that is stored.
OptionGroup verify_group() {
  return {"Verify",
          {set_option("a size: n=1<<24 (all of the stored answer; none where there is one answer alone)"),
           number("budget", "S", "seconds of GPU time", 60), jobs_option()}};
}

OptionGroup replay_group() {
  return {"Replay (default: as recorded)",
          {number("margin", "%", "differences below this are none"), number("confidence", "%", "of the verdict"),
           number("budget", "S", "seconds of GPU time, of those that the run had")}};
}

OptionGroup export_group() {
  CliOption format = one_of(
      "format", {"header", "json", "cmake", "patch", "sqlite", "t4", "kernel-tuner", "csv"},
      "header: a C header of macros REGTUNE_BOUNDS_<kernel> (default); json; cmake: caps by source file; patch: a diff "
      "of the sources; sqlite: a cache file of winners with their codes; of one run t4 or kernel-tuner, for other "
      "tuners; "
      "csv: every variant. Without it -o FILE's ending decides");
  format.value = "NAME";
  return {
      "Export (each kernel's budget; RUN.json: as --record wrote it)",
      {format, flag("patch", "short for --format patch"), flag("json", "short for --format json"),
       output_option("write it there (default: standard output)"),
       set_option("all sizes of the runs to choose from: n=1<<24 (default: every size that is stored)"),
       list("weight", "NAME=EXPR:W", "how much a size counts where several are stored: n=1<<20:3 (default: 1 each)"),
       text("gpu", "NAME", "model of GPU (default: of each architecture the one with the newest result)"),
       list("include-dir,I", "DIR", "with --patch: include folder, as given when it was tuned")}};
}

OptionGroup page_group() {
  return {"Page", {output_option("write it there; -: to standard output (default: KERNEL.html)")}};
}

OptionGroup stored_runs_group() {
  return {"Which runs (of each kernel, its sizes, GPU, driver and compiler the newest)",
          {set_option("all sizes of the runs to take: n=1<<24 (default: every size that is stored)"),
           text("gpu", "NAME", "only runs on this model of GPU")}};
}

OptionGroup bundle_group() {
  return {
      "Bundle (a file that `regtune FILE.rtb` times where there is no compiler)",
      {output_option("write it there (default: KERNEL.rtb)"), levers_option(), rename_option(), every_cap_option()}};
}

OptionGroup db_group() {
  return {"Prune",
          {integer("older-than", "DAYS", "also runs that were begun before that many days"),
           flag("codes", "all kept codes, and not only those of other versions of regtune")}};
}

OptionGroup report_group(bool explains) {
  OptionGroup group{
      "Report",
      {flag("all", "every distinct code in the table"), flag("no-plot", "no picture of time over registers"),
       one_of("color", {"auto", "always", "never"}, "auto: on a terminal, unless NO_COLOR is set")}};
  if (explains)
    group.options.insert(group.options.begin() + 1,
                         flag("explain", "also a line for each variant: what became of it, and why"));
  return group;
}

OptionGroup general_group(const std::vector<std::string>& without) {
  OptionGroup group{
      "General",
      {flag("json", "one JSON document on stdout"), flag("quiet,q", "no talk on stderr"),
       flag("verbose,v", "more of it: how long each stage took, and which compiler it was"),
       text("cache", "FILE", "the cache (default: $REGTUNE_CACHE, else regtune/regtune.db in the XDG cache folder)"),
       integer("device", "N", "GPU, after CUDA_VISIBLE_DEVICES", 0), flag("no-config", "leave the config file unread"),
       flag("help,h", "this text")}};
  std::erase_if(group.options, [&](const CliOption& one) {
    return std::find(without.begin(), without.end(), one.name) != without.end();
  });
  return group;
}

}  // namespace regtune
