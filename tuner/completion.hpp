#pragma once
// The shells' completions, made of the table of commands: a whole script each, that asks the program nothing when it
// runs. `regtune completion bash` prints it, and the build installs it.
#include <optional>
#include <string>

namespace regtune {

// `shell`: bash, zsh or fish. Empty for any other.
std::optional<std::string> completion_of(const std::string& shell);

}  // namespace regtune
