#include "config_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "regtune/error.hpp"
#include "toml_library.hpp"
#include "toml_text.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& file, std::size_t line, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}:{}: {}. --no-config leaves the file unread", file.string(), line, why));
}

std::size_t line_of(const toml::node& node) {
  return node.source().begin.line;
}

// One word as the command line would have it; empty for a table, a list or a date.
std::optional<std::string> word_of(const toml::node& node) {
  if (const auto text = node.value<std::string>(); text && node.is_string()) return *text;
  if (node.is_integer()) return fmt::format("{}", node.value<std::int64_t>().value());
  if (node.is_floating_point()) return fmt::format("{}", node.value<double>().value());
  return {};
}

ConfigEntry entry_of(const fs::path& file, const std::string& command, const std::string& option,
                     const toml::node& node) {
  ConfigEntry entry{command, option, {}, {}, line_of(node)};
  if (node.is_boolean()) entry.on = node.value<bool>();
  if (entry.on) return entry;
  const auto add = [&](const toml::node& value) {
    const std::optional<std::string> word = word_of(value);
    if (!word) refuse(file, line_of(value), fmt::format("{} takes a string, a number or a list of them", option));
    entry.values.push_back(*word);
  };
  if (const toml::array* all = node.as_array())
    for (const toml::node& value : *all) add(value);
  else
    add(node);
  return entry;
}

}  // namespace

std::optional<fs::path> config_path() {
  const auto variable = [](const char* name) -> const char* {
    const char* value = std::getenv(name);
    return value && *value ? value : nullptr;
  };
  const char* config = variable("XDG_CONFIG_HOME");
  // The XDG specification has relative paths ignored.
  if (config && fs::path(config).is_absolute()) return fs::path(config) / "regtune" / "config.toml";
  if (const char* home = variable("HOME")) return fs::path(home) / ".config" / "regtune" / "config.toml";
  return {};
}

Config config_from_text(const std::string& text, const fs::path& file) {
  if (const auto refusal = why_not_toml(text)) refuse(file, refusal->line, refusal->reason);
  toml::table table;
  try {
    table = toml::parse(text, std::string_view(file.native()));
  } catch (const toml::parse_error& error) {
    refuse(file, error.source().begin.line, fmt::format("not valid TOML: {}", error.description()));
  } catch (const TomlAssertion&) {
    refuse(file, line_of_bad_header(text), "not valid TOML: write [name] at the head of a table");
  }
  Config config{file, {}};
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (const toml::table* of_command = node.as_table())
      for (const auto& [option, value] : *of_command)
        config.entries.push_back(entry_of(file, name, std::string(option.str()), value));
    else
      config.entries.push_back(entry_of(file, "", name, node));
  }
  std::stable_sort(config.entries.begin(), config.entries.end(),
                   [](const ConfigEntry& a, const ConfigEntry& b) { return a.line < b.line; });
  return config;
}

Config read_config(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return {file, {}};
  std::ifstream in(file, std::ios::binary);
  if (!in || fs::is_directory(file, error))
    throw Error(ErrorKind::file_not_found,
                fmt::format("{}: the config file cannot be read; make it readable, or leave it unread with --no-config",
                            file.string()));
  return config_from_text({std::istreambuf_iterator<char>(in), {}}, file);
}

}  // namespace regtune
