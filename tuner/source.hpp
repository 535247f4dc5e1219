#pragma once
// The author's source and what the compiler is given for each register budget: the same text behind a
// prelude that strips the declared bounds and puts others on every kernel. The file is never edited, no
// kernel is renamed, and every message of the compiler keeps the author's line numbers.
#include <filesystem>
#include <string>
#include <vector>

#include "description.hpp"
#include "nvrtc.hpp"
#include "record.hpp"
#include "regtune/types.hpp"

namespace regtune {

// What the toolchain on this machine is and takes.
struct CompilerIdentity {
  std::string name;  // "NVRTC 13.0.88"
  std::string library_path;
  std::vector<int> architectures;            // 75, 80, ...
  std::vector<std::string> include_folders;  // the toolkit's headers
  // Options of regtune's own that this version knows: a fixed seed for names in anonymous namespaces, and no
  // cache of NVRTC's own, from which a hit comes without ptxas's report.
  std::vector<std::string> fixed_options;
  bool precompiles_headers = false;  // NVRTC 12.8 and later
  std::string linker;                // "nvJitLink 13.0"; empty: there is none
  std::string why_no_linker;         // why it is not there or not used; empty: it is used
  bool linker_takes_no_cache = false;
};

struct Source {
  std::filesystem::path path;  // as given
  std::string text;
};

// Throws Error(file_not_found).
Source read_source(const std::filesystem::path& path);

// The launch description of a source: what its comment, its side file or --description says, with the flags over it,
// checked, and the kernel named by the author's own template arguments. Throws Error(bad_description or bad_launch).
LaunchDescription launch_description(const Source& source, const DescriptionFlags& flags);
// The same of a description that was stored with a run.
LaunchDescription launch_description(const Source& source, LaunchDescription stored);

// One way to compile the kernel: what varies over a sweep.
struct Build {
  RegisterPolicy policy;
  SourceChoice choice = {};
  friend bool operator==(const Build&, const Build&) = default;
};

// Everything a compilation needs but the build.
struct CompileUnit {
  Source source;
  std::vector<std::string> options;           // the author's, without a register cap
  std::vector<std::string> fixed_options;     // the compiler's, see CompilerIdentity
  int author_cap = 0;                         // the author's own -maxrregcount; 0: none
  std::vector<std::string> include_folders;   // the author's, the source's own folder first
  std::vector<std::string> toolkit_folders;   // the toolkit's, searched after them
  std::string architecture;                   // "sm_90"
  std::vector<std::string> name_expressions;  // of a kernel template: the author's instance
  // Where the part of the text ends that only includes headers; the prelude stands behind it, so that the
  // precompiled headers serve every budget. 0: there is no such part, or the kernel may be in a header.
  std::size_t header_end = 0;
  bool precompiles_headers = false;
  // The wanted kernel declares blocks per cluster, the third launch bound, and every budget but __maxnreg__ keeps it.
  bool keeps_cluster = false;
  std::string kernel_name;  // unqualified, as the source spells it; needed by builds that rename it
  // Where the compiler does not take the author's text: its device part with the headers' (device_slice.hpp). Empty:
  // it takes the text as it is.
  std::string device_text;
  std::vector<std::string> launched_instances;  // of kernel templates, as the file itself launches them
  std::vector<std::string> empty_headers;       // named by the toolkit's headers, and not there
  std::vector<std::string> source_notes;        // what is different from the author's text, a sentence each
};

// What is compiled: the author's text, or its device part.
const std::string& compiled_text(const CompileUnit& unit);

// Has that text compiled in the place of the author's. Empty: the author's text again.
void set_device_text(CompileUnit& unit, std::string text, const std::optional<std::string>& wanted_kernel);

// The files of nvcc's -include among the options. A device text holds them, and is compiled without those options.
std::vector<std::string> pre_included_files(const CompileUnit& unit);

// Takes a register cap out of the author's options, and refuses what regtune itself decides (the
// architecture, the kind of output): Error(usage). The toolkit's header folders come after the author's own.
CompileUnit compile_unit(const Source& source, const LaunchDescription& description, const std::string& architecture,
                         const CompilerIdentity& compiler);

// What NVRTC is asked to do for one build. LTO-IR holds no cap: nvJitLink gets it. `header_folder`: where to
// keep and find precompiled headers of this kind of output; empty: nowhere.
NvrtcRequest compile_request(const CompileUnit& unit, const Build& build, NvrtcOutput output,
                             const std::string& header_folder);

// The author's compiler options, without what they say of the build's macros, and those that the build adds;
// without a cap.
std::vector<std::string> options_of(const CompileUnit& unit, const Build& build);

// The cap that the policy puts on the compiler's command line; 0: none.
int cap_of(const CompileUnit& unit, const RegisterPolicy& policy);

// The name that makes ptxas allocate otherwise: "cutlass_" in front of the kernel's own (DESIGN.md, "The
// name"). `mangled` is the kernel's; `name` its unqualified name in the source.
std::string renamed_kernel(const std::string& mangled, const std::string& name);

// 32 hex digits over the text, the text of every file of the author's that it includes, the options and the
// template-ids. With the architecture and the compiler's build, which are keyed beside it, equal exactly when
// the same machine code is to be expected.
std::string source_hash(const CompileUnit& unit);

}  // namespace regtune
