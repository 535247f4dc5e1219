#include "source_tag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>

#include "key.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

// The name between quotes or angle brackets where the line is an #include of a literal name.
std::optional<std::string> included_name(std::string_view line) {
  const auto skip_blanks = [&line] {
    const auto first = line.find_first_not_of(" \t");
    line.remove_prefix(first == std::string_view::npos ? line.size() : first);
  };
  skip_blanks();
  if (!line.starts_with('#')) return {};
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include")) return {};
  line.remove_prefix(7);
  skip_blanks();
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return {};
  const auto end = line.find(line[0] == '"' ? '"' : '>', 1);
  if (end == std::string_view::npos) return {};
  return std::string(line.substr(1, end - 1));
}

// Finds every file that `text` includes and that is the author's own: found beside the including
// file or in an author's include folder. Toolkit headers come with the compiler, whose build is in the key.
// `visit`: called with the name as it is written, the file and its text.
using IncludeVisitor = std::function<void(const std::string&, const fs::path&, const std::string&)>;
void visit_includes(const IncludeVisitor& visit, const std::string& text, const fs::path& folder,
                    const std::vector<std::string>& include_folders, std::set<fs::path>& seen) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto name = included_name(std::string_view(text).substr(at, end - at));
    at = end + 1;
    if (!name) continue;
    std::vector<fs::path> candidates{folder / *name};
    for (const std::string& include : include_folders) candidates.push_back(fs::path(include) / *name);
    for (const fs::path& candidate : candidates) {
      const auto included = read_text(candidate);
      if (!included) continue;
      if (seen.insert(fs::weakly_canonical(candidate)).second) {
        visit(*name, candidate, *included);
        visit_includes(visit, *included, candidate.parent_path(), include_folders, seen);
      }
      break;
    }
  }
}

void visit_all(const TaggedSource& source, const IncludeVisitor& visit) {
  std::set<fs::path> seen;
  const std::vector<std::string>& options = source.options.options;
  std::vector<std::string> folders = source.include_folders;
  for (std::string& folder : values_of(options, {"-I", "--include-path"})) folders.push_back(std::move(folder));
  visit_includes(visit, source.text, source.path.parent_path(), folders, seen);
  for (const std::string& file : values_of(options, {"-include", "--pre-include"}))
    visit_includes(visit, fmt::format("#include \"{}\"", file), "", folders, seen);
}

int parse_cap(const std::string& text, const std::string& option) {
  int cap = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), cap);
  if (failure != std::errc() || end != text.data() + text.size() || cap < 0)
    throw Error(ErrorKind::usage,
                fmt::format("compiler option {}: '{}' is not a number of registers; write -maxrregcount=64, say",
                            option, text));
  return cap;
}

// Options that regtune decides itself, each with what to write instead.
void refuse_own_options(const std::string& option) {
  for (const std::string_view name : {"-arch", "--gpu-architecture", "-gencode", "--generate-code"})
    if (option == name || option.starts_with(std::string(name) + "="))
      throw Error(
          ErrorKind::usage,
          fmt::format("compiler option {}: the architecture is the GPU's; leave it out, or give --arch sm_XX", option));
  for (const std::string_view name :
       {"-rdc", "--relocatable-device-code", "-dc", "--device-c", "-dlto", "--dlink-time-opt"})
    if (option == name || option.starts_with(std::string(name) + "="))
      throw Error(
          ErrorKind::usage,
          fmt::format("compiler option {}: a kernel is tuned as a whole program; leave the option out", option));
}

}  // namespace

std::optional<std::string> read_text(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_regular_file(path, failure)) return {};
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> values_of(const std::vector<std::string>& options, std::initializer_list<std::string> names) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < options.size(); ++i) {
    for (const std::string& name : names) {
      const std::string& option = options[i];
      if (option == name && i + 1 < options.size())
        values.push_back(options[i + 1]);
      else if (option.starts_with(name + "="))
        values.push_back(option.substr(name.size() + 1));
      else if (name == "-I" && option.starts_with(name) && option.size() > name.size())
        values.push_back(option.substr(name.size()));
    }
  }
  return values;
}

AuthorOptions author_options(const std::vector<std::string>& given) {
  AuthorOptions author;
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::string name = given[i].substr(0, given[i].find('='));
    if (name == "-maxrregcount" || name == "--maxrregcount") {
      const bool joined = name.size() < given[i].size();
      if (!joined && i + 1 == given.size())
        throw Error(ErrorKind::usage,
                    "compiler option -maxrregcount: the number of registers is missing; write -maxrregcount=64, say");
      author.cap = parse_cap(joined ? given[i].substr(name.size() + 1) : given[i + 1], name);
      if (!joined) ++i;
    } else {
      refuse_own_options(given[i]);
      author.options.push_back(given[i]);
    }
  }
  return author;
}

std::vector<fs::path> included_files(const TaggedSource& source) {
  std::vector<fs::path> files;
  visit_all(source, [&](const std::string&, const fs::path& file, const std::string&) { files.push_back(file); });
  return files;
}

std::string source_tag(const TaggedSource& source) {
  FieldHash hash;
  hash.add("text", source.text);
  visit_all(source, [&](const std::string& name, const fs::path&, const std::string& text) {
    hash.add("included", name).add("text", text);
  });
  for (const std::string& option : source.options.options) hash.add("option", option);
  hash.add("author cap", std::to_string(source.options.cap));
  for (const std::string& expression : source.name_expressions) hash.add("name expression", expression);
  return hash.hex();
}

}  // namespace regtune
