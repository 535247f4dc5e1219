// What the documents show is what the program does: every command in them is run, and says what stands under it; every
// option that they name exists; every link leads somewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "nvrtc_compile.hpp"
#include "program.hpp"
#include "shell.hpp"
#include "subcommands.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();  // CSV ends its lines so
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> documents() {
  std::vector<std::string> names = {"README.md"};
  for (const auto& entry : fs::directory_iterator(source_folder() / "docs"))
    if (entry.path().extension() == ".md") names.push_back("docs/" + entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

struct Shown {
  std::string command;
  Lines output;
};

// The commands behind "$ " in a document's blocks, and all lines of blocks of the shell, which show no output.
std::vector<Shown> commands_in(const std::string& document) {
  std::vector<Shown> commands;
  std::string block;  // its language
  bool inside = false;
  std::size_t begins = 0;  // the commands before the block
  for (const std::string& line : lines_of(text_of(source_folder() / document))) {
    if (line.starts_with("```")) {
      inside = !inside;
      block = line.substr(3);
      begins = commands.size();
    } else if (inside && block.empty() && line.starts_with("$ ")) {
      commands.push_back({line.substr(2), {}});
    } else if (inside && block == "sh") {
      commands.push_back({line, {"..."}});
    } else if (inside && block.empty() && commands.size() > begins) {
      commands.back().output.push_back(line);
    }
  }
  return commands;
}

// Where the cache is differs from machine to machine, and how many caps were taken and not compiled with the cores that
// had nothing to do.
std::string without_chance(const std::string& line) {
  static const std::regex cache(R"(\| cache .*)");
  static const std::regex taken(R"([0-9]+ (budgets|variants), [0-9]+ caps taken)");
  if (line.starts_with("inferred: ")) return "inferred: ";
  return std::regex_replace(std::regex_replace(line, cache, "| cache"), taken, "$1, caps taken");
}

// Every shown line is said, in that order; where nothing is left out, nothing else is.
testing::AssertionResult says(const std::string& text, const Lines& shown) {
  const Lines said = lines_of(text);
  std::size_t at = 0;
  bool is_whole = true;
  for (const std::string& line : shown) {
    if (line == "...") {
      is_whole = false;
      continue;
    }
    while (at < said.size() && without_chance(said[at]) != without_chance(line)) {
      if (is_whole) return testing::AssertionFailure() << "shown: " << line << "\nsaid:  " << said[at];
      ++at;
    }
    if (at++ == said.size()) return testing::AssertionFailure() << "not said: " << line << "\n" << text;
  }
  if (is_whole && at != said.size()) return testing::AssertionFailure() << "not shown: " << said[at];
  return testing::AssertionSuccess();
}

// The rows and the verdict of a report.
Lines measured_lines(const Lines& report) {
  Lines lines;
  bool is_table = false;
  for (const std::string& line : report) {
    if (line.empty()) is_table = false;
    if (is_table || line.starts_with("best: ") || line.starts_with("no significant gain")) lines.push_back(line);
    if (line.find("vs author's") != std::string::npos) is_table = true;
  }
  return lines;
}

class Documents : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const char* name : {"kernels", "tests", "docs", "examples"})
      fs::create_directory_symlink(source_folder() / name, program_.folder() / name);
    // What the documents call my_kernel.cu and saxpy.cu: nothing is said about their launch.
    program_.write("my_kernel.cu",
                   "__global__ void add(const float* a, const float* b, float* sum, int n) {\n"
                   "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                   "  if (i < n) sum[i] = a[i] + b[i];\n"
                   "}\n");
    program_.write("saxpy.cu",
                   "__global__ void saxpy(const float* x, float* y, float a, int n) {\n"
                   "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                   "  if (i < n) y[i] = a * x[i] + y[i];\n"
                   "}\n");
  }
  // Documents show what is said on stdout, or all that a terminal shows.
  struct Shell {
    int exit_code;
    std::string out;
    std::string all;
  };
  Shell run_shown(const std::string& command) const {
    const std::string folder = program_.folder().string();
    const Said said = run("cd " + folder + " && export REGTUNE_CACHE=" + folder +
                          "/cache.db CUDA_VISIBLE_DEVICES= PATH=" + program_path().parent_path().string() +
                          ":\"$PATH\" && timeout 250 bash -c '" +
                          std::regex_replace(command, std::regex("'"), "'\\''") + "' </dev/null >out.txt");
    const std::string out = text_of(folder + "/out.txt");
    return {said.exit_code, out, said.text + out};
  }
  Program program_{true};
};

// Other compilers give other registers: then it has to work, whatever it says.
bool is_the_shown_compiler() {
  static const bool is = [] {
    try {
      return Nvrtc::open().version().starts_with("13.0");
    } catch (const Error&) {
      return false;
    }
  }();
  return is;
}

TEST_P(Documents, ShowWhatTheProgramSays) {
  static const std::regex tuning(R"(regtune kernels/(\w+)\.cu( .*)?)");
  if (!is_the_shown_compiler()) GTEST_SKIP() << "the documents show NVRTC 13.0, which is not here";
  for (const auto& [command, output] : commands_in(GetParam())) {
    SCOPED_TRACE(command);
    std::smatch match;
    if (command.starts_with("./")) {
      EXPECT_TRUE(fs::exists(source_folder() / command.substr(0, command.find(' '))));
    } else if (std::regex_match(command, match, tuning) && !output.empty()) {
      // It took a GPU: the recorded run behind it says the same.
      const Shell again = run_shown("regtune replay tests/data/h200/" + match[1].str() + ".json");
      ASSERT_EQ(again.exit_code, 0) << again.all;
      Lines shown = {"..."};
      const Lines measured = measured_lines(output);
      EXPECT_GT(measured.size(), 3u);
      shown.insert(shown.end(), measured.begin(), measured.end());
      EXPECT_TRUE(says(again.all, shown));
    } else {
      const Shell said = run_shown(command);
      const bool tunes = command.starts_with("regtune my_kernel.cu");
      EXPECT_NE(said.exit_code, 2) << said.all;
      if (tunes) {
        EXPECT_EQ(said.exit_code, 20) << said.all;
      }
      const testing::AssertionResult on_stdout = says(said.out, output);
      EXPECT_TRUE(on_stdout || says(said.all, output)) << on_stdout.message();
    }
  }
}

// `regtune check k.cu --baseline FILE` in the running text: the command is one, and takes the option.
TEST_P(Documents, NameCommandsAndOptionsThatExist) {
  const std::string text = text_of(source_folder() / GetParam());
  static const std::regex code("`([^`]+)`");
  static const std::regex option("(?:^|\\s)--([a-z][a-z0-9-]*)");
  static const std::set<std::string> of_others = {
      "maxrregcount",           "use_fast_math",   "restrict", "register-usage-level",
      "expt-relaxed-constexpr", "extended-lambda", "no-cache", "gpus"};
  static const std::set<std::string> other_programs = {"cmake", "pip", "cpack", "pkg-config", "cc", "tests", "bench"};
  for (auto it = std::sregex_iterator(text.begin(), text.end(), code); it != std::sregex_iterator(); ++it) {
    std::string words = std::regex_replace((*it)[1].str(), std::regex("\\s+"), " ");
    const std::string first = words.substr(0, words.find_first_of(" /"));
    if (other_programs.contains(first)) continue;
    const Subcommand* command = nullptr;
    if (first == "regtune") {
      const std::string rest = words.size() > 8 ? words.substr(8) : "";
      command = find_subcommand(rest.substr(0, rest.find(' ')));
      if (!command) command = &subcommand(CliCommand::tune);
    }
    words = words.substr(0, words.find(" -- "));
    for (auto o = std::sregex_iterator(words.begin(), words.end(), option); o != std::sregex_iterator(); ++o) {
      const std::string name = (*o)[1].str();
      if (of_others.contains(name) || name == "help" || name == "version") continue;
      const bool exists = command ? find_option(*command, name) != nullptr
                                  : std::any_of(subcommands().begin(), subcommands().end(), [&](const Subcommand& one) {
                                      return find_option(one, name) != nullptr;
                                    });
      EXPECT_TRUE(exists) << "--" << name << " in `" << words << "`";
    }
  }
}

TEST_P(Documents, LinkToWhatIsThere) {
  const fs::path file = source_folder() / GetParam();
  const std::string text = text_of(file);
  static const std::regex link(R"(\]\(([^)#]+)(#[^)]*)?\))");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), link); it != std::sregex_iterator(); ++it) {
    const std::string target = (*it)[1].str();
    EXPECT_TRUE(target.starts_with("http") || fs::exists(file.parent_path() / target)) << target;
  }
}

// The letters of each line that is not blank, without blanks: a picture gives each word its place.
Lines letters_of(const std::string& text) {
  Lines lines;
  for (const std::string& line : lines_of(text)) {
    const std::string letters = std::regex_replace(line, std::regex(" "), "");
    if (!letters.empty()) lines.push_back(letters);
  }
  return lines;
}

std::string text_of_svg(const std::string& svg) {
  std::string text;
  for (const std::string& line : lines_of(svg))
    if (line.starts_with("<text ")) text += std::regex_replace(line, std::regex("<[^>]*>"), "") + "\n";
  for (const auto& [entity, letter] : {std::pair("&lt;", "<"), std::pair("&gt;", ">"), std::pair("&amp;", "&")})
    text = std::regex_replace(text, std::regex(entity), letter);
  return text;
}

class Recordings : public Documents {};

// tests/terminal_recording.py made them, through tmux.
TEST_P(Recordings, ShowWhatTheProgramSays) {
  const std::string columns = GetParam();
  const std::string svg = text_of(source_folder() / "docs/images" / ("terminal_" + columns + ".svg"));
  std::smatch title;
  ASSERT_TRUE(std::regex_search(svg, title, std::regex("<title>(regtune replay [^<]*)</title>")));
  const Shell said = run_shown("COLUMNS=" + columns + " LC_ALL=C.UTF-8 " + title[1].str());
  ASSERT_EQ(said.exit_code, 0) << said.all;
  EXPECT_EQ(letters_of(text_of_svg(svg)), letters_of("$ " + title[1].str() + "\n" + said.out))
      << "record it again: tests/terminal_recording.py " << columns << " docs/images/terminal_" << columns << ".svg '"
      << title[1].str() << "'";
}

INSTANTIATE_TEST_SUITE_P(Terminal, Recordings, testing::Values("80", "160"),
                         [](const testing::TestParamInfo<std::string>& info) { return "Of" + info.param + "Columns"; });

INSTANTIATE_TEST_SUITE_P(All, Documents, testing::ValuesIn(documents()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           const std::string stem = fs::path(info.param).stem().string();
                           return stem;
                         });

}  // namespace
}  // namespace regtune
