#pragma once
// What a launch description says of one argument, from its TOML: a number, or a table that describes a buffer, a number
// of a given type, a structure, an array, a file, a texture or a tensor map. Which keys go together is checked here,
// what they hold by the plan of the workload.
#include <string>

#include "launch_description.hpp"
#include "toml_reader.hpp"

namespace regtune {

// Each throws Error(bad_description). `name`: the parameter's or the variable's.
ArgumentDescription argument_of(const TomlReader& reader, const std::string& name, const toml::node& node);
ArgumentDescription global_of(const TomlReader& reader, const std::string& name, const toml::node& node);

}  // namespace regtune
