#pragma once
// Every option that any command takes, each written once, in the groups in which a person looks for them. What is made
// of them (the parser, the help, completions, the man page, the keys of the config file) all comes from here, and a
// command takes whole groups (subcommands.hpp). Parses nothing and knows no value of an option.
#include <optional>
#include <string>
#include <vector>

namespace regtune {

enum class OptionKind { flag, text, list, integer, number, wide_integer };

struct CliOption {
  std::string name;    // without dashes: "include-dir"
  char letter = '\0';  // 'I'; none: '\0'
  OptionKind kind = OptionKind::flag;
  std::string value;  // what stands for it in help: "DIR"; empty for a flag
  std::string help;
  std::vector<std::string> choices = {};     // all values that it may have, where these are few words
  std::optional<double> default_value = {};  // of a number or an integer; shown in help
  std::string implicit_value = {};           // of a text: its value where none is given

  bool takes_value() const { return kind != OptionKind::flag; }
};

struct OptionGroup {
  std::string title;
  std::vector<CliOption> options;
};

// "name" or "name,letter".
CliOption flag(const std::string& name, const std::string& help);
CliOption text(const std::string& name, const std::string& value, const std::string& help);
CliOption one_of(const std::string& name, std::vector<std::string> choices, const std::string& help);
// May be given several times.
CliOption list(const std::string& name, const std::string& value, const std::string& help);
CliOption integer(const std::string& name, const std::string& value, const std::string& help,
                  std::optional<int> default_value = {});
CliOption number(const std::string& name, const std::string& value, const std::string& help,
                 std::optional<double> default_value = {});

// The groups. `several`: the command takes several kernels, or several architectures.
OptionGroup launch_group(bool several_kernels);
OptionGroup compile_group(bool several_architectures);
OptionGroup sweep_group();
OptionGroup study_sweep_group();
OptionGroup measure_group();
OptionGroup check_group();
OptionGroup init_group();
OptionGroup lookup_group();
OptionGroup verify_group();
OptionGroup replay_group();
OptionGroup export_group();
OptionGroup page_group();
OptionGroup stored_runs_group();
OptionGroup bundle_group();
OptionGroup db_group();
// Of regtune run: what is done with the program's launches, how the kernel's source is compiled, and how it is timed.
OptionGroup program_group();
OptionGroup program_compile_group();
OptionGroup program_sweep_group();
OptionGroup program_measure_group();
// Of regtune capture: which launch goes where, and what its source needs.
OptionGroup capture_group();
OptionGroup capture_compile_group();
// How a table of codes is shown.
OptionGroup report_group(bool explains);
// What all commands take, but for those of `without`.
OptionGroup general_group(const std::vector<std::string>& without = {});

}  // namespace regtune
