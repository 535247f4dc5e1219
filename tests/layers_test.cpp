// The shape of the source tree: which file may include which. A new file is put into its layer here, and a new
// third-party header enters through one file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace regtune {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// From the bottom up. A file includes its own header and what stands in a layer below its own, never beside it:
// so there is no circle, and a layer can be read without those above it.
const std::vector<Names>& layers() {
  static const std::vector<Names> table{
      // db: the results
      {"types", "error", "file_system", "gpu_limits", "process_mark", "regtune"},
      {"cache_path", "occupancy", "tuned_policy"},
      {"record"},
      {"earlier_run", "key", "sqlite"},
      {"answer", "columns", "ladder", "schema"},
      {"code_columns", "stored_code"},
      {"answer_rows", "record_rows", "trial_rows"},
      {"c_answer", "cache_file", "past_rows", "run_rows"},
      {"answer_index", "salvage", "transfer", "upkeep"},
      {"c_api", "lookup", "store"},
      // tuner: what stands on nothing of the tuner
      {"authors_bound",
       "bench",
       "cap_plateaus",
       "child_program",
       "cli_values",
       "compile_budget",
       "compiler_reply",
       "data_file",
       "levers",
       "did_you_mean",
       "dynamic_library",
       "element_type",
       "elf",
       "exit_codes",
       "expression",
       "from_ptx",
       "json_fields",
       "nvcc_command",
       "occupancy_text",
       "option_groups",
       "parameter_role",
       "policy",
       "ptx_text",
       "ptxas_report",
       "scratch_folder",
       "source_scan",
       "source_tag",
       "stand_ins",
       "statistics",
       "interruption",
       "terminal",
       "timing_text",
       "toml_library",
       "toolkit",
       "toolkit_headers",
       "markup",
       "occupancy_staircase",
       "process_cpu",
       "launch_table",
       "supervisor_socket",
       "injected_library"},
      // other people's interfaces and formats
      {"cuda_status", "guess", "npy", "progress", "snapshot_plan", "subcommands", "tensor_map", "texture", "worker"},
      {"driver_library", "launch_description", "watched_program"},
      {"cli_help", "completion", "description_rules", "driver"},
      {"buffer_init", "driver_memory", "driver_objects", "launch_data", "man_page", "module_variables", "options_page",
       "own_code", "snapshot_memory", "toml_text"},
      {"toml_reader"},
      {"captured_text", "exact_number", "toml_argument"},
      {"config_file", "toml_description"},
      {"cli_options", "compile_usage", "cubin", "description", "description_text", "fork_server", "gnu_extensions",
       "macro_expansion", "measure_json", "ncu", "nvcc", "nvcc_text", "nvml", "nvrtc", "size_arguments", "source_items",
       "template_deduction", "throttle_watch", "svg_plot"},
      // the stages, in the order in which they build on each other
      {"code_equality", "compile_commands", "launched_instances", "macros", "nvjitlink", "ptxas", "race_field",
       "record_json", "shared_spilling", "signature", "static_facts"},
      {"argument_plan", "budget_text", "carried_ptx", "device_slice", "installation", "kernel_body", "launch_listing",
       "source_patch", "template_arguments"},
      {"confirmation", "doctor_command", "handle_plan", "source"},
      {"compile_request", "link_options"},
      {"compilers"},
      {"compile", "compile_order", "inference", "kernel_choice", "search_space", "workload"},
      {"captured_launch", "device_text", "source_choices", "sweep", "workload_message"},
      {"device_buffers", "device_sampling", "captured_case", "compile_identity", "offered_kernel", "snapshot_buffers",
       "sweep_caps", "tuned_launches"},
      {"awaited_launch", "case_folder", "device_server"},
      {"adopted_worker", "case_source", "device_worker"},
      {"bundled_codes", "capture_command", "collapse", "decide", "device", "instances", "kept_codes", "measure"},
      {"bundle", "compilation", "counters", "exported_budget", "file_wide_cap", "past_runs", "recorded_series",
       "referee", "run_claim", "run_log", "study_scope", "distinct_codes"},
      {"code_table"},
      {"entrants", "export_json", "nvcc_builds", "target", "time_plot", "exchange", "record_csv", "record_diff",
       "record_input"},
      {"tuned_file", "tuning_plan", "diff_command"},
      {"analyze_command", "check_command", "init_command", "lookup_command", "report", "show_source_command", "tune"},
      {"analysis_report", "bundle_command", "db_command", "explain", "export_text", "replay_command", "verify_command",
       "chart_frame", "diff_text", "run_command"},
      {"export_patch", "file_tuning", "html_codes_table", "registers_chart", "report_words", "samples_chart",
       "staircase_chart"},
      {"export_command", "run_details"},
      {"html_report"},
      {"run_files"},
      {"report_command"},
      {"cli_requests"},
      {"cli"},
      {"main"},
      // jit: on what opens CUDA's libraries and on the results; nothing of regtune stands on it
      {"regtune_jit", "compiled_code"},
      {"tuned_functions"},
      {"jit_api"},
      // inject: what goes into watched programs, on what launches and measures; nothing of regtune stands on it
      {"driver_functions", "hooks", "inside"},
      {"adopted_device", "allocations", "exported", "images", "interposition", "launch", "supervisor_link"},
      {"hooks_memory", "hooks_nvrtc", "kernels"},
      {"hooks_modules", "launch_timer", "offered_launch"},
      {"replacement"},
      {"launch_watch"},
      {"hooks_launch"},
  };
  return table;
}
constexpr std::size_t kFirstTunerLayer = 10;

const Names kMadeByTheBuild{"device_code_cu", "html_report_css", "html_report_js", "schema_sql", "stand_ins_cuh"};

struct ThirdParty {
  std::string header;  // its whole name, or its folder with a slash
  Names files;         // the only ones that may include it
};

const std::vector<ThirdParty> kThirdParties{
    // A hook has the type of what it stands for.
    {"cuda.h",
     {"tuner/driver_library.hpp", "inject/allocations.hpp", "inject/driver_functions.hpp", "inject/exported.hpp",
      "inject/images.hpp", "inject/kernels.hpp", "inject/launch.hpp", "inject/replacement.hpp"}},
    {"nvrtc.h", {"tuner/nvrtc.cpp", "inject/hooks_nvrtc.cpp"}},
    {"nvJitLink.h", {"tuner/nvjitlink.cpp"}},
    {"nvml.h", {"tuner/nvml.cpp"}},
    {"sqlite3.h", {"db/sqlite.cpp"}},
    {"boost/", {"tuner/cli_options.cpp"}},
    {"toml++/", {"tuner/toml_library.hpp"}},
    {"lua.hpp", {"tuner/expression.cpp"}},
    {"zstd.h", {"tuner/data_file.cpp"}},
    {"lua.h", {}},
    {"dlfcn.h", {"tuner/dynamic_library.cpp", "inject/driver_functions.hpp"}},
    {"link.h", {"tuner/dynamic_library.cpp"}},
    {"cuda_runtime.h", {}},  // the driver's interface is the one that is used
    {"cuda_runtime_api.h", {}},
};

struct File {
  std::string path;  // "tuner/cli.cpp"
  std::string module;
  Names quoted;       // "store.hpp"
  Names angled;       // "boost/program_options.hpp"
  std::string first;  // of all of them
  bool once = false;  // #pragma once
};

void read_includes(File& file, const fs::path& path) {
  std::ifstream text(path);
  for (std::string line; std::getline(text, line);) {
    std::string bare;
    std::copy_if(line.begin(), line.end(), std::back_inserter(bare), [](char c) { return c != ' ' && c != '\t'; });
    file.once = file.once || bare == "#pragmaonce";
    if (bare.rfind("#include", 0) != 0 || bare.size() < 10) continue;
    const bool quoted = bare[8] == '"';
    const std::string name = bare.substr(9, bare.find(quoted ? '"' : '>', 9) - 9);
    (quoted ? file.quoted : file.angled).push_back(name);
    if (file.first.empty()) file.first = name;
  }
}

const std::vector<File>& files() {
  static const std::vector<File> found = [] {
    std::vector<File> all;
    const fs::path root = REGTUNE_SOURCE_FOLDER;
    for (const char* folder : {"db", "tuner", "jit", "inject"}) {
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        const std::string extension = entry.path().extension().string();
        if (extension != ".hpp" && extension != ".cpp" && extension != ".h" && extension != ".c") continue;
        File file{
            entry.path().lexically_relative(root).generic_string(), entry.path().stem().string(), {}, {}, "", false};
        read_includes(file, entry.path());
        all.push_back(file);
      }
    }
    return all;
  }();
  return found;
}

std::string module_of(const std::string& header) {
  return fs::path(header).stem().string();
}
bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<std::size_t> layer_of(const std::string& module) {
  for (std::size_t i = 0; i < layers().size(); ++i)
    if (has(layers()[i], module)) return i;
  return {};
}

TEST(Layers, TheTreeIsWhereItIsLookedFor) {
  EXPECT_GT(files().size(), 60u);
  const auto cli =
      std::find_if(files().begin(), files().end(), [](const File& f) { return f.path == "tuner/cli_options.cpp"; });
  ASSERT_NE(cli, files().end());
  EXPECT_TRUE(has(cli->quoted, "cli_options.hpp"));
  EXPECT_TRUE(has(cli->angled, "boost/program_options.hpp"));
}

TEST(Layers, EveryFileHasItsPlace) {
  for (const File& file : files()) {
    const std::optional<std::size_t> layer = layer_of(file.module);
    ASSERT_TRUE(layer) << file.path << " is in no layer of tests/layers_test.cpp: put it into one";
    EXPECT_EQ(*layer < kFirstTunerLayer, file.path.rfind("db/", 0) == 0) << file.path;
  }
}

TEST(Layers, IncludesPointDownOnly) {
  for (const File& file : files()) {
    for (const std::string& header : file.quoted) {
      const std::string module = module_of(header);
      if (module == file.module || has(kMadeByTheBuild, module)) continue;
      const auto below = layer_of(module);
      ASSERT_TRUE(below) << file.path << " includes \"" << header << "\", which is in no layer";
      EXPECT_LT(*below, layer_of(file.module).value_or(0))
          << file.path << " includes \"" << header << "\", which does not stand below it";
    }
  }
}

// So that compiling the source shows that the header compiles alone: tests/CMakeLists.txt leaves such headers out of
// those for which it compiles a file of their own.
TEST(Layers, ASourceIncludesItsOwnHeaderBeforeAllElse) {
  const fs::path root = REGTUNE_SOURCE_FOLDER;
  std::size_t seen = 0;
  for (const File& file : files()) {
    if (!file.path.ends_with(".cpp")) continue;
    const std::string header = file.module + ".hpp";
    const bool is_public = fs::exists(root / "db/include/regtune" / header) && file.path.starts_with("db/");
    if (!is_public && !fs::exists((root / file.path).parent_path() / header)) continue;
    EXPECT_EQ(file.first, is_public ? "regtune/" + header : header) << file.path;
    ++seen;
  }
  EXPECT_GT(seen, 150u);
}

TEST(Layers, HeadersMayBeIncludedTwice) {
  for (const File& file : files()) EXPECT_TRUE(file.once || !file.path.ends_with(".hpp")) << file.path;
}

TEST(Layers, TheResultsNeverIncludeTheTuner) {
  for (const File& file : files()) {
    if (file.path.rfind("db/", 0) != 0) continue;
    for (const std::string& header : file.quoted)
      EXPECT_FALSE(fs::exists(fs::path(REGTUNE_SOURCE_FOLDER) / "tuner" / header)) << file.path << ": " << header;
  }
}

// A program that runs kernels gets no compiler pool, no Lua and no command line with it: only these are in its library.
TEST(Layers, TheJitHelperStandsOnFewFilesOfTheTuner) {
  const Names built{"compiler_reply",  "budget_text", "cuda_status", "driver",          "driver_library",
                    "dynamic_library", "macros",      "nvrtc",       "shared_spilling", "source_scan",
                    "source_tag",      "stand_ins",   "toolkit"};
  for (const File& file : files()) {
    const bool is_jit = file.path.rfind("jit/", 0) == 0;
    for (const std::string& header : file.quoted) {
      const std::string module = module_of(header);
      const bool of_jit = fs::exists(fs::path(REGTUNE_SOURCE_FOLDER) / "jit" / header) ||
                          fs::exists(fs::path(REGTUNE_SOURCE_FOLDER) / "jit/include" / header);
      EXPECT_TRUE(is_jit || !of_jit) << file.path << ": " << header;
      if (!is_jit && !(file.path.rfind("tuner/", 0) == 0 && has(built, file.module))) continue;
      if (of_jit || has(kMadeByTheBuild, module)) continue;
      const bool of_tuner = fs::exists(fs::path(REGTUNE_SOURCE_FOLDER) / "tuner" / header);
      EXPECT_TRUE(!of_tuner || has(built, module)) << file.path << ": " << header;
    }
  }
}

// It is loaded into programs that nobody knows: no compiler, no cache and no command line go there with it.
TEST(Layers, TheInjectedLibraryStandsOnFewFilesOfTheTuner) {
  const Names built{"adopted_worker",  "device_sampling", "device_server",    "driver",
                    "driver_memory",   "dynamic_library", "element_type",     "from_ptx",
                    "interruption",    "measure_json",    "module_variables", "nvml",
                    "own_code",        "policy",          "record_json",      "snapshot_buffers",
                    "snapshot_memory", "toolkit",         "worker",           "workload_message"};
  // Of these it takes types alone, whose functions are not linked in.
  const Names declared{"argument_plan", "bench",
                       "buffer_init",   "cubin",
                       "cuda_status",   "driver_library",
                       "expression",    "json_fields",
                       "launch_data",   "launch_description",
                       "launch_table",  "signature",
                       "snapshot_plan", "supervisor_socket",
                       "tensor_map",    "texture",
                       "workload"};
  const fs::path root = REGTUNE_SOURCE_FOLDER;
  for (const File& file : files()) {
    const bool is_injected = file.path.starts_with("inject/");
    const bool goes_in = has(built, file.module) || (has(declared, file.module) && file.path.ends_with(".hpp"));
    for (const std::string& header : file.quoted) {
      EXPECT_TRUE(is_injected || !fs::exists(root / "inject" / header)) << file.path << ": " << header;
      if (!is_injected && !(file.path.starts_with("tuner/") && goes_in)) continue;
      EXPECT_FALSE(fs::exists(root / "jit" / header)) << file.path << ": " << header;
      if (!fs::exists(root / "tuner" / header)) continue;
      EXPECT_TRUE(has(built, module_of(header)) || has(declared, module_of(header))) << file.path << ": " << header;
    }
  }
}

// A program that only looks results up links SQLite and nothing else.
TEST(Layers, TheResultsIncludeSqliteAndTheSystemOnly) {
  for (const File& file : files()) {
    if (file.path.rfind("db/", 0) != 0) continue;
    for (const std::string& header : file.angled) {
      const bool standard = header.find_first_of("./") == std::string::npos;
      const bool system = header == "unistd.h" || header == "fcntl.h" || header == "time.h" || header == "stddef.h" ||
                          header == "stdint.h" || header.rfind("sys/", 0) == 0;
      EXPECT_TRUE(standard || system || header == "sqlite3.h" || header == "xxhash.h") << file.path << ": " << header;
    }
  }
}

TEST(Layers, EachThirdPartyEntersThroughItsOneFile) {
  std::map<std::string, int> seen;
  for (const File& file : files()) {
    for (const std::string& header : file.angled) {
      for (const ThirdParty& third : kThirdParties) {
        if (header != third.header && !(third.header.back() == '/' && header.rfind(third.header, 0) == 0)) continue;
        EXPECT_TRUE(has(third.files, file.path)) << file.path << " includes <" << header << ">";
        ++seen[third.header];
      }
    }
    for (const std::string& header : file.quoted)
      for (const ThirdParty& third : kThirdParties)
        EXPECT_FALSE(header == third.header) << file.path << " includes \"" << header << "\" in quotes";
  }
  for (const char* header : {"cuda.h", "nvrtc.h", "sqlite3.h", "boost/", "toml++/", "lua.hpp", "zstd.h"})
    EXPECT_GE(seen[header], 1) << header << ": is it spelled otherwise now?";
}

}  // namespace
}  // namespace regtune
