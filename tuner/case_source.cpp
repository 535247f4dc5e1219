#include "case_source.hpp"

#include <fmt/format.h>

#include <algorithm>

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

bool lies_in(const fs::path& file, const fs::path& folder) {
  const fs::path relative = fs::weakly_canonical(file).lexically_relative(fs::weakly_canonical(folder));
  return !relative.empty() && *relative.begin() != "..";
}

fs::path place_in(const fs::path& file, const fs::path& folder) {
  return fs::weakly_canonical(file).lexically_relative(fs::weakly_canonical(folder));
}

}  // namespace

CaseSource copy_source(const fs::path& source_file, const std::vector<std::string>& include_folders,
                       const std::vector<std::string>& options, const fs::path& folder) {
  const Source source = read_source(source_file);
  CaseSource copied{source_name(source.path), options, {}, {}};
  write_case_file(folder / copied.file, source.text);
  const fs::path home = source.path.parent_path().empty() ? fs::path(".") : source.path.parent_path();
  // Beside the source, or in the first -I folder that has it; each of these becomes a folder of the case.
  std::vector<fs::path> homes{home};
  homes.insert(homes.end(), include_folders.begin(), include_folders.end());
  std::vector<bool> is_used(homes.size());
  for (const fs::path& file : included_files({source.text, source.path, include_folders, {options, 0}, {}})) {
    const auto of = std::find_if(homes.begin(), homes.end(), [&](const fs::path& one) { return lies_in(file, one); });
    if (of == homes.end()) {
      copied.notes.push_back(
          fmt::format("{} lies outside the source's folder and those of -I, and is not copied; the "
                      "case can be compiled where it is found alone",
                      file.string()));
      continue;
    }
    const auto number = static_cast<std::size_t>(of - homes.begin());
    is_used[number] = true;
    const fs::path into = number == 0 ? folder : folder / fmt::format("include{}", number);
    write_case_file(into / place_in(file, *of), read_text(file).value_or(""));
  }
  for (std::size_t i = 1; i < homes.size(); ++i)
    if (is_used[i]) copied.include_folders.emplace_back(fmt::format("include{}", i));
  return copied;
}

CaseSource keep_program_source(const Message& source, const fs::path& folder) {
  ProgramSourceFile written = write_program_source(source, folder);
  const std::string name = source_name(written.file);
  if (written.file.filename() != name) fs::rename(written.file, folder / name);
  // The headers lie beside the source, where they are looked for anyway.
  std::erase(written.options, "-I" + folder.string());
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
