#include "case_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "case_folder.hpp"
#include "offered_kernel.hpp"
#include "source.hpp"
#include "source_scan.hpp"
#include "source_tag.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

// "k.cu"; a folder's source is known by that ending.
std::string source_name(const fs::path& file) {
  return file.extension() == ".cu" ? file.filename().string() : file.filename().string() + ".cu";
}

std::string include_name(std::size_t number) {
  return fmt::format("include{}", number);
}

// Relative to the folder; empty: it lies outside.
std::optional<fs::path> place_in(const fs::path& file, const fs::path& folder) {
  fs::path relative = fs::weakly_canonical(file).lexically_relative(fs::weakly_canonical(folder));
  if (relative.empty() || *relative.begin() == "..") return {};
  return relative;
}

}  // namespace

CaseSource copy_source(const fs::path& source_file, const std::vector<std::string>& include_folders,
                       const std::vector<std::string>& options, const fs::path& folder) {
  const Source source = read_source(source_file);
  CaseSource copied{source_name(source.path), options, {}, {}};
  write_case_file(folder / copied.file, source.text);
  const fs::path home = source.path.parent_path().empty() ? fs::path(".") : source.path.parent_path();
  // Beside the source, or in an -I folder; each of these becomes a folder of the case. A file that lies in several is
  // copied into each, for nobody can tell from where else it is included.
  std::vector<fs::path> homes{home};
  homes.insert(homes.end(), include_folders.begin(), include_folders.end());
  std::vector<bool> is_used(homes.size());
  for (const fs::path& file : included_files({source.text, source.path, include_folders, {options, 0}, {}})) {
    bool is_copied = false;
    for (std::size_t i = 0; i < homes.size(); ++i) {
      const std::optional<fs::path> place = place_in(file, homes[i]);
      if (!place) continue;
      write_case_file(folder / (i == 0 ? "" : include_name(i)) / *place, read_text(file).value_or(""));
      is_used[i] = is_copied = true;
    }
    if (!is_copied)
      copied.notes.push_back(
          fmt::format("{} lies outside the source's folder and those of -I, and is not copied; the "
                      "case can be compiled where it is found alone",
                      file.string()));
  }
  for (std::size_t i = 1; i < homes.size(); ++i)
    if (is_used[i]) copied.include_folders.emplace_back(include_name(i));
  return copied;
}

std::string whole_text(const fs::path& source_file, const std::vector<std::string>& include_folders,
                       const std::vector<std::string>& options) {
  const Source source = read_source(source_file);
  std::string text = source.text;
  for (const fs::path& file : included_files({source.text, source.path, include_folders, {options, 0}, {}}))
    text += "\n" + read_text(file).value_or("");
  return text;
}

std::string whole_text(const Message& source) {
  std::string text = bytes_of(source.at("text"));
  for (const Message& header : source.at("headers")) text += "\n" + bytes_of(header.at(1));
  return text;
}

CaseSource keep_program_source(const Message& source, const fs::path& folder) {
  ProgramSourceFile written = write_program_source(source, folder);
  const std::string name = source_name(written.file);
  if (written.file.filename() != name) fs::rename(written.file, folder / name);
  return {name, std::move(written.options), {}, {}};
}

std::vector<std::string> variables_in(std::string_view text) {
  std::vector<std::string> words;
  std::vector<std::string> names;
  for (const Token& token : tokenize(text)) {
    if (token.kind == TokenKind::comment || token.kind == TokenKind::directive) continue;
    const std::string word = spelling(text, token);
    const bool ends = word == ";" || word == "=" || word == "[" || word == "(" || word == "{" || word == "}";
    if (!ends) {
      words.push_back(token.kind == TokenKind::identifier ? word : "");
      continue;
    }
    const bool is_variable = std::any_of(words.begin(), words.end(), [](const std::string& one) {
      return one == "__constant__" || one == "__device__" || one == "__managed__";
    });
    // A parenthesis makes it a function, or an attribute whose variable is not understood.
    if (is_variable && words.size() > 1 && !words.back().empty() && word != "(" && word != "{" && word != "}") {
      names.push_back(words.back());
      names.push_back(fmt::format("_ZL{}{}", words.back().size(), words.back()));
    }
    words.clear();
  }
  return names;
}

}  // namespace regtune
