#include "compile_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "regtune/error.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Words = std::vector<std::string>;

constexpr int kMostOptionFiles = 64;  // one may name itself

std::optional<std::string> read_text(const fs::path& file) {
  std::error_code failure;
  if (!fs::is_regular_file(file, failure)) return {};
  std::ifstream in(file, std::ios::binary);
  if (!in) return {};
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) return {};
  return text;
}

fs::path within(const fs::path& folder, const fs::path& path) {
  return path.is_absolute() ? path : folder / path;
}

bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code failure;
  const fs::path first = fs::weakly_canonical(one, failure);
  const fs::path second = failure ? fs::path() : fs::weakly_canonical(other, failure);
  return !failure && first == second;
}

// CMake keeps long lists in files of their own, whose words stand for the option that names them.
Words with_option_files(const Words& words, const fs::path& folder, int& files_left) {
  Words all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    std::string file;
    if ((word == "--options-file" || word == "-optf") && i + 1 < words.size())
      file = words[++i];
    else if (word.starts_with("--options-file=") || word.starts_with("-optf="))
      file = word.substr(word.find('=') + 1);
    else if (word.starts_with('@') && word.size() > 1)
      file = word.substr(1);
    const std::optional<std::string> text =
        file.empty() || files_left == 0 ? std::nullopt : read_text(within(folder, file));
    if (text) {
      const Words inner = with_option_files(shell_words(*text), folder, --files_left);
      all.insert(all.end(), inner.begin(), inner.end());
    } else {
      all.push_back(word);
    }
  }
  return all;
}

// What any compiler means by the same words, in nvcc's.
CompilerArguments from_other_compiler(const Words& words) {
  constexpr std::array<std::string_view, 7> kShared = {"-I", "-isystem", "-iquote", "-D", "-U", "-std", "-include"};
  Words shared;
  CompilerArguments result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto name = std::find_if(kShared.begin(), kShared.end(), [&](std::string_view shared_name) {
      const bool is_joined = shared_name.size() == 2 && word.starts_with(shared_name);
      return word == shared_name || is_joined || word.starts_with(std::string(shared_name) + "=");
    });
    if (name == kShared.end()) {
      if (word.starts_with('-')) result.left_out.push_back(word);
      continue;
    }
    const bool is_apart = word == *name && i + 1 < words.size();
    const std::string option = *name == "-iquote" ? "-I" : std::string(*name);
    if (is_apart) {
      shared.push_back(option);
      shared.push_back(words[++i]);
    } else {
      shared.push_back(option + word.substr(name->size()));
    }
  }
  CompilerArguments kept = from_nvcc(shared);
  result.kept = std::move(kept.kept);
  return result;
}

// Relative to where the build runs.
void make_absolute(std::string& option, const fs::path& folder) {
  for (const std::string_view name : {"--include-path=", "--pre-include="}) {
    if (!option.starts_with(name)) continue;
    const fs::path path = within(folder, option.substr(name.size()));
    std::error_code ignored;
    // A file that is not there is one of the include folders' own.
    if (name == "--include-path=" || fs::exists(path, ignored))
      option = std::string(name) + path.lexically_normal().string();
  }
}

CompilerArguments from_entry(const json& entry, const fs::path& folder) {
  Words words;
  if (entry.contains("arguments"))
    words = entry.at("arguments").get<Words>();
  else
    words = shell_words(entry.at("command").get<std::string>());
  // A launcher such as ccache may stand in front.
  const auto nvcc = std::find_if(words.begin(), words.end(), is_nvcc);
  const bool is_nvccs = nvcc != words.end();
  words.erase(words.begin(), is_nvccs ? std::next(nvcc) : words.begin() + (words.empty() ? 0 : 1));
  int files_left = kMostOptionFiles;
  words = with_option_files(words, folder, files_left);
  CompilerArguments arguments = is_nvccs ? from_nvcc(words) : from_other_compiler(words);
  for (std::string& option : arguments.kept) make_absolute(option, folder);
  return arguments;
}

}  // namespace

Words shell_words(const std::string& command) {
  Words words;
  std::string word;
  bool is_open = false;  // "" is a word
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < command.size() &&
                         (quote == 0 || command[i + 1] == '"' || command[i + 1] == '\\');
    if (escapes) {
      word += command[++i];
      is_open = true;
    } else if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      is_open = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      word += c;
      is_open = true;
    } else if (is_open) {
      words.push_back(std::move(word));
      word.clear();
      is_open = false;
    }
  }
  if (is_open) words.push_back(std::move(word));
  return words;
}

CompilerArguments from_compile_commands(const fs::path& database, const fs::path& source) {
  const std::optional<std::string> text = read_text(database);
  if (!text)
    throw Error(ErrorKind::file_not_found, fmt::format("--compile-commands {}: cannot be read; make one with cmake "
                                                       "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
                                                       database.string()));
  return from_compile_commands_text(*text, database, source);
}

CompilerArguments from_compile_commands_text(const std::string& text, const fs::path& database,
                                             const fs::path& source) {
  try {
    const json entries = json::parse(text);
    if (!entries.is_array()) throw Error(ErrorKind::usage, "it holds no list");
    for (const json& entry : entries) {
      const fs::path folder = within(fs::absolute(database).parent_path(), entry.value("directory", "."));
      if (is_same_file(within(folder, entry.at("file").get<std::string>()), source)) return from_entry(entry, folder);
    }
  } catch (const std::exception& broken) {  // of the JSON library or ours
    throw Error(ErrorKind::usage,
                fmt::format("--compile-commands {}: not a compilation database ({}); make one with cmake "
                            "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
                            database.string(), broken.what()));
  }
  throw Error(ErrorKind::file_not_found,
              fmt::format("--compile-commands {}: it does not say how {} is compiled; is the file part of that build? "
                          "Its options can be given behind -- instead",
                          database.string(), source.string()));
}

}  // namespace regtune
