#pragma once
// The author's source, and all that a compilation of it needs beside the register budget: options, folders, the
// architecture, the instance that is wanted. The file is never edited. What a compiler is then asked for each budget is
// compile_request.hpp's.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "description.hpp"
#include "record.hpp"
#include "regtune/types.hpp"

namespace regtune {

// The compilers, by what they read: CUDA C++, or PTX.
enum class FrontEnd {
  nvrtc,  // in this machine's memory: the default
  nvcc,   // a program of its own, which takes host code too
  ptxas,  // of PTX alone, which nobody else takes
};
std::string_view to_string(FrontEnd front_end);  // "NVRTC", "nvcc", "ptxas"
// Of a compiler's name, as a record has it: "nvcc 13.0.88 with GCC 12.2.0".
FrontEnd front_end_of(std::string_view compiler);

// What the toolchain on this machine is and takes.
struct CompilerIdentity {
  std::string name;                          // "NVRTC 13.0.88", "nvcc 13.0.88 with GCC 12.2.0", "ptxas 13.0.88"
  std::string library_path;                  // nvcc and ptxas: the program's file
  std::vector<int> architectures;            // 75, 80, ...
  std::vector<std::string> include_folders;  // the toolkit's headers
  // Options of regtune's own that this version knows: a fixed seed for names in anonymous namespaces, and no
  // cache of NVRTC's own, from which a hit comes without ptxas's report.
  std::vector<std::string> fixed_options;
  bool precompiles_headers = false;  // NVRTC 12.8 and later
  std::string linker;                // "nvJitLink 13.0"; empty: there is none
  std::string why_no_linker;         // why it is not there or not used; empty: it is used
  bool linker_takes_no_cache = false;
  FrontEnd front_end = FrontEnd::nvrtc;
};

struct Source {
  std::filesystem::path path;  // as given
  std::string text;
};

// What a source that came by standard input is called: in messages, and in what is stored.
inline constexpr const char* kStandardInputName = "stdin.cu";
// "-" is standard input; a folder means the one .cu file in it. Throws Error(file_not_found).
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
  FrontEnd front_end = FrontEnd::nvrtc;
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
  std::string known_hash;  // source_hash, where the files that were included are not there any more; empty: they are
};

// What is compiled: the author's text, or its device part.
const std::string& compiled_text(const CompileUnit& unit);

// Has that text compiled in the place of the author's. Empty: the author's text again.
void set_device_text(CompileUnit& unit, std::string text, const std::optional<std::string>& wanted_kernel);

// The files of nvcc's -include among the options. A device text holds them, and is compiled without those options.
std::vector<std::string> pre_included_files(const CompileUnit& unit);

// The options that this compiler is given for it, the author's register cap among them.
std::vector<std::string> options_given(const LaunchDescription& description, FrontEnd front_end);

// Takes a register cap out of the author's options, and refuses what regtune itself decides (the
// architecture, the kind of output): Error(usage). The toolkit's header folders come after the author's own. PTX has no
// macros and no templates to choose from: Error(bad_description) for a description that names some.
CompileUnit compile_unit(const Source& source, const LaunchDescription& description, const std::string& architecture,
                         const CompilerIdentity& compiler);

// 32 hex digits over the text, the text of every file of the author's that it includes, the options and the
// template-ids. With the architecture and the compiler's build, which are keyed beside it, equal exactly when
// the same machine code is to be expected.
std::string source_hash(const CompileUnit& unit);

}  // namespace regtune
