#include "description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "description_rules.hpp"
#include "regtune/error.hpp"
#include "source_scan.hpp"
#include "toml_description.hpp"

namespace regtune {
namespace {

constexpr std::size_t max_combinations = 64;  // of the macros' values; each gets the whole register space

// A comment that holds a description: where its TOML begins and ends, and in which line it begins.
struct DescriptionComment {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t line = 1;
  bool closed = false;
};

// "/*regtune" and then a blank; or, since it is easily typed, "/* regtune" alone on its line.
std::optional<DescriptionComment> description_comment(std::string_view text, const Token& token) {
  constexpr std::string_view word = "regtune";
  const std::string_view comment = text.substr(token.offset, token.length);
  if (token.kind != TokenKind::comment || !comment.starts_with("/*")) return std::nullopt;
  const bool closed = comment.size() >= 4 && comment.ends_with("*/");
  const std::string_view inside = comment.substr(2, comment.size() - (closed ? 4 : 2));
  const std::size_t at = inside.find_first_not_of(" \t");
  if (at == std::string_view::npos || !inside.substr(at).starts_with(word)) return std::nullopt;
  const std::string_view toml = inside.substr(at + word.size());
  const std::size_t next = toml.find_first_not_of(" \t");
  const bool alone = next == std::string_view::npos || toml[next] == '\n' || toml[next] == '\r';
  if (!alone && (at != 0 || next == 0)) return std::nullopt;
  const std::size_t begin = token.offset + 2 + at + word.size();
  return DescriptionComment{begin, begin + toml.size(), static_cast<std::size_t>(token.line), closed};
}

std::vector<DescriptionComment> description_comments(std::string_view source_text) {
  std::vector<DescriptionComment> found;
  for (const Token& token : tokenize(source_text)) {
    if (const auto comment = description_comment(source_text, token)) found.push_back(*comment);
  }
  return found;
}

std::string side_file_text(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw Error(ErrorKind::bad_description, fmt::format("{}: not a regular file; name a TOML file", path.string()));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxDescriptionBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    throw Error(ErrorKind::file_not_found, fmt::format("{}: cannot be read; check its permissions", path.string()));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::pair<std::string, std::string> name_and_value(const std::string& flag, const std::string& text,
                                                   std::string_view example) {
  const std::size_t equals = text.find('=');
  const std::string name(trimmed(std::string_view(text).substr(0, equals)));
  if (equals == std::string::npos || name.empty())
    refuse({flag}, fmt::format("{} has no name and value; write {} {}", in_quotes(text), flag, example));
  return {name, std::string(trimmed(std::string_view(text).substr(equals + 1)))};
}

ArgumentDescription argument_flag(const std::string& flag) {
  const auto [name, value] = name_and_value("--arg", flag, "a=2.5 or --arg 'in={buffer=\"n\"}'");
  const std::string place = "--arg " + printable(name);
  ArgumentDescription result;
  if (!value.starts_with('{')) {
    result.parameter = name;
    result.origin = {place};
    result.scalar = Expression{value, {place}};
    return result;
  }
  result = argument_from_toml(name, value, place);
  // What is typed in a shell is relative to the shell's folder, not to the source's.
  constexpr std::string_view file = "file:";
  if (result.init.starts_with(file)) {
    result.init = std::string(file) + std::filesystem::absolute(result.init.substr(file.size())).string();
  }
  return result;
}

TunedName tune_flag(const std::string& flag) {
  const auto [name, values] = name_and_value("--tune", flag, "UNROLL=1,2,4,8");
  TunedName macro{name, {}, {"--tune " + printable(name)}};
  check_macro_name(name, macro.origin);
  for (const std::string_view value : split(values, ',')) {
    if (value.empty()) refuse(macro.origin, "a value is missing; write --tune UNROLL=1,2,4,8");
    add_macro_value(macro, std::string(value));
  }
  return macro;
}

std::string without_blanks(std::string name) {
  std::erase_if(name, [](char c) { return c == ' ' || c == '\t'; });
  return name;
}

// "ns::scale<4, float>" -> "scale"
std::string bare_name(const std::string& kernel) {
  const std::string name = without_blanks(kernel.substr(0, kernel.find_first_of("<(")));
  const std::size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

void check_tune(const LaunchDescription& description) {
  std::size_t combinations = 1;
  std::string product;
  for (const TunedName& macro : description.tune) {
    const auto names_it = [&](const SizeDescription& size) { return size.name == macro.name; };
    if (std::any_of(description.sizes.begin(), description.sizes.end(), names_it))
      refuse(macro.origin,
             fmt::format("{} is a size too, and an expression that names it would be ambiguous; rename one",
                         in_quotes(macro.name)));
    product += fmt::format("{}{}", product.empty() ? "" : " x ", macro.values.size());
    combinations *= macro.values.size();
    if (combinations > max_combinations)
      refuse(macro.origin, fmt::format("{} combinations of values are more than {}, and each gets the whole register "
                                       "space; leave out values",
                                       product, max_combinations));
    if (std::count(description.block_macros.begin(), description.block_macros.end(), macro.name) > 0)
      refuse(macro.origin, fmt::format("{} is the block_macro too; leave it out here, for its values are the blocks",
                                       in_quotes(macro.name)));
  }
}

void check_blocks_have_macros(const LaunchDescription& description) {
  const std::size_t named = description.block_macros.size();
  if (named == 0 || description.blocks.empty()) return;
  // The author's block, the first, is compiled as the source stands.
  for (auto block = std::next(description.blocks.begin()); block != description.blocks.end(); ++block) {
    if ((named < 2 && block->y > 1) || (named < 3 && block->z > 1))
      refuse(description.block_macro_origin,
             fmt::format("a block of {} x {} x {} needs a macro for each dimension; write block_macro = [\"BX\", "
                         "\"BY\"]",
                         block->x, block->y, block->z));
  }
}

void set_base_folder(LaunchDescription& description, const std::filesystem::path& folder) {
  description.base_folder = folder;
  for (LaunchDescription& kernel : description.kernels) kernel.base_folder = folder;
}

void set_size(std::vector<SizeDescription>& sizes, std::size_t& added, SizeDescription size) {
  const auto same = std::find_if(sizes.begin(), sizes.end(), [&](const auto& old) { return old.name == size.name; });
  if (same != sizes.end()) {
    *same = std::move(size);
    return;
  }
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(added++), std::move(size));
}

}  // namespace

std::filesystem::path side_file_of(const std::filesystem::path& source_path) {
  std::filesystem::path side_path = source_path;
  return side_path.replace_extension("regtune.toml");
}

bool has_description(const std::filesystem::path& source_path, std::string_view source_text) {
  std::error_code ignored;
  return !description_comments(source_text).empty() || std::filesystem::exists(side_file_of(source_path), ignored);
}

LaunchDescription read_description(const std::filesystem::path& source_path, std::string_view source_text) {
  const std::vector<DescriptionComment> found = description_comments(source_text);
  const std::filesystem::path side_path = side_file_of(source_path);
  std::error_code ignored;
  const bool has_side_file = std::filesystem::exists(side_path, ignored);
  LaunchDescription result;
  if (!found.empty()) {
    const DescriptionComment& comment = found.front();
    const Origin origin{fmt::format("{}:{}", source_path.string(), comment.line)};
    if (found.size() > 1) {
      refuse(origin, fmt::format("a second description begins in line {}; keep one", found[1].line));
    }
    if (has_side_file) {
      refuse(origin, fmt::format("there is also {}; keep one of the two descriptions", side_path.string()));
    }
    if (!comment.closed) refuse(origin, "the description has no end; close it with */");
    result = description_from_toml(source_text.substr(comment.begin, comment.end - comment.begin), source_path.string(),
                                   comment.line - 1);
  } else if (has_side_file) {
    result = description_from_toml(side_file_text(side_path), side_path.string(), 0);
  }
  set_base_folder(result, source_path.parent_path());
  return result;
}

LaunchDescription read_description_file(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    throw Error(ErrorKind::file_not_found,
                fmt::format("--description {}: there is no such file; regtune init writes one", file.string()));
  LaunchDescription result = description_from_toml(side_file_text(file), file.string(), 0);
  set_base_folder(result, file.parent_path());
  return result;
}

LaunchDescription description_of_kernel(LaunchDescription description, const std::optional<std::string>& kernel,
                                        bool one_of_several) {
  std::vector<LaunchDescription> own = std::exchange(description.kernels, {});
  if (!kernel) return description;
  const std::string wanted = without_blanks(*kernel);
  for (const bool bare : {false, true})
    for (LaunchDescription& one : own)
      if (bare ? bare_name(*one.kernel) == bare_name(wanted) : without_blanks(*one.kernel) == wanted)
        return std::move(one);
  if (!one_of_several || !description.kernel || bare_name(*description.kernel) == bare_name(wanted)) return description;
  LaunchDescription silent;
  silent.options = std::move(description.options);
  silent.nvcc_options = std::move(description.nvcc_options);
  silent.include_folders = std::move(description.include_folders);
  silent.seed = description.seed;
  silent.base_folder = std::move(description.base_folder);
  return silent;
}

LaunchDescription with_flags(LaunchDescription description, const DescriptionFlags& flags) {
  if (flags.kernel) description.kernel = flags.kernel;
  std::size_t added = 0;
  for (const std::string& flag : flags.sizes) {
    const auto [name, value] = name_and_value("--set", flag, "n=1024");
    const Origin origin{"--set " + printable(name)};
    check_size_name(name, origin);
    set_size(description.sizes, added, {name, {value, origin}});
  }
  if (flags.block) {
    description.blocks.clear();
    for (const std::string_view part : split(*flags.block, ',')) {
      add_block(description.blocks, parse_block(part, {"--block"}));
    }
  }
  if (flags.grid) description.grid = Expression{*flags.grid, {"--grid"}};
  if (flags.dynamic_shared_bytes)
    description.dynamic_shared_bytes = Expression{*flags.dynamic_shared_bytes, {"--shared"}};
  for (const std::string& flag : flags.arguments) {
    ArgumentDescription argument = argument_flag(flag);
    std::erase_if(description.arguments, [&](const auto& old) { return old.parameter == argument.parameter; });
    description.arguments.push_back(std::move(argument));
  }
  description.options.insert(description.options.end(), flags.options.begin(), flags.options.end());
  description.nvcc_options.insert(description.nvcc_options.end(), flags.nvcc_options.begin(), flags.nvcc_options.end());
  for (const std::string& define : flags.defines) description.options.push_back("-D" + define);
  for (const std::string& file : flags.pre_included_files)
    description.options.push_back("--pre-include=" + std::filesystem::absolute(file).string());
  for (const std::string& folder : flags.include_folders) {
    description.include_folders.push_back(std::filesystem::absolute(folder));
  }
  if (flags.seed) description.seed = flags.seed;
  for (const std::string& flag : flags.tune) {
    TunedName macro = tune_flag(flag);
    std::erase_if(description.tune, [&](const auto& old) { return old.name == macro.name; });
    description.tune.push_back(std::move(macro));
  }
  for (const std::string& flag : flags.metrics) {
    const auto [name, value] = name_and_value("--metric", flag, "'bytes=8*n'");
    const Origin origin{"--metric " + printable(name)};
    if (name != "bytes" && name != "flops")
      refuse(origin, fmt::format("{} is neither bytes nor flops; write --metric 'bytes=8*n' or --metric 'flops=2*n'",
                                 in_quotes(name)));
    (name == "bytes" ? description.bytes : description.flops) = Expression{value, origin};
  }
  check_tune(description);
  check_blocks_have_macros(description);
  return description;
}

}  // namespace regtune
