#pragma once
// Which instances of kernel templates a file itself launches: "sum<float, 4>". What host code hands on as template
// arguments of its own, or keeps in local constants, is followed by name. A template whose arguments the file leaves to
// deduction is given likely ones, and that is told: such an instance is a guess. Nothing is evaluated.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "source_items.hpp"

namespace regtune {

struct LaunchedInstance {
  std::string name;    // "sum<float, 4>"
  std::string kernel;  // "sum"
  bool is_guess = false;
};

struct ScannedText {
  std::string_view text;
  const SourceItems* items = nullptr;
};

// `refusals`: how often the compiler has refused an instance of a kernel; other arguments are guessed then, or none.
std::vector<LaunchedInstance> launched_instances(const std::vector<ScannedText>& texts,
                                                 const std::map<std::string, int>& refusals);

}  // namespace regtune
