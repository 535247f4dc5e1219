#pragma once
// The user's config file: what he would otherwise type each time. Holds options by their long names, for all commands
// or, in a table named after it, for one. Knows no option: which exist, and what their values are, is
// cli_options.hpp's.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace regtune {

struct ConfigEntry {
  std::string command;              // the table that it stands in; empty: for every command that has the option
  std::string option;               // "include-dir"
  std::vector<std::string> values;  // several where a list is given; of a boolean none
  std::optional<bool> on;           // a boolean
  std::size_t line = 0;
};

struct Config {
  std::filesystem::path file;
  std::vector<ConfigEntry> entries;  // in the order of the file
};

// $XDG_CONFIG_HOME/regtune/config.toml, else $HOME/.config/regtune/config.toml. Empty where neither is set.
std::optional<std::filesystem::path> config_path();

// A file that is not there has no entries. Throws Error(file_not_found) for one that cannot be read, and Error(usage)
// with the line for one that is no TOML, or nests deeper than that.
Config read_config(const std::filesystem::path& file);
Config config_from_text(const std::string& text, const std::filesystem::path& file);

}  // namespace regtune
