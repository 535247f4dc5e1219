#pragma once
// What a run says of a launch that was caught in a program, as the TOML that is stored with it: whose launch it was, of
// which image, and where the integers stand among its parameters, by which the same launch is known again. Not a
// launch description: nobody can make the launch from it.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regtune {

// An integer among a kernel's parameters.
struct IntegerPlace {
  std::string name;
  std::int64_t offset_bytes = 0;
  std::int64_t size_bytes = 0;
  friend bool operator==(const IntegerPlace&, const IntegerPlace&) = default;
};

struct CapturedFacts {
  std::string program;           // "./app"
  std::int64_t launch = 1;       // which of the kernel's launches
  std::string image;             // hash of what the program loaded; "": not seen
  bool outputs_compared = true;  // all that the launch wrote
  std::vector<IntegerPlace> integers;
  friend bool operator==(const CapturedFacts&, const CapturedFacts&) = default;
};

std::string captured_text(const CapturedFacts& facts);
// Empty for a description of any other kind, and for what cannot be read.
std::optional<CapturedFacts> captured_facts(std::string_view description);

// The value of an integer, its sign kept; 0 where the block is too short. `size_bytes` 1, 2, 4 or 8.
std::int64_t integer_at(std::string_view parameter_block, const IntegerPlace& place);

}  // namespace regtune
