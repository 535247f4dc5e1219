#pragma once
// A guess of the inference as a line of a launch description, with its reason, and what to say of it where the guessed
// launch fails.
#include <string>
#include <vector>

namespace regtune {

// One line of a launch description that nobody wrote.
struct Guess {
  std::string key;     // "sizes.n", "block", "args.in"
  std::string value;   // as TOML: "16777216", "{ buffer = \"n\" }"
  std::string reason;  // "the integer n is named like a length"
};

// "args.n = \"n\"": a line of a launch description.
std::string line_of(const Guess& guess);
std::vector<std::string> lines_of(const std::vector<Guess>& guesses);

// What to write instead where a launch on guesses failed: those about a parameter that the failure names, else the
// lengths of buffers and the sizes. Empty without guesses.
std::string advice_for_failure(const std::vector<Guess>& guesses, const std::string& failure);

}  // namespace regtune
