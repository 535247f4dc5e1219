#pragma once
// Device-ready stand-ins for the host's standard headers, which the run-time compiler does not know: <cmath>, <limits>,
// <stdint.h>. They declare what device code can call, under the names that the host's headers give it, with libcu++
// (cuda/std) where that has it; <iostream> and its like are empty. They reach the compiler as headers in memory.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regtune {

// Names and texts, "cstdint" and its text. The first is included by every text that uses the others.
const std::vector<std::pair<std::string, std::string>>& stand_ins();

bool has_stand_in(std::string_view header);

// A stand-in that declares that name: "common_type" -> "type_traits", "uint32_t" -> "stdint.h".
std::optional<std::string> stand_in_that_declares(std::string_view name);

// In front of every text that is given stand-ins: names that nvcc gives every source, and macros that tell versions.
// `cuda_version`: 13000 for CUDA 13.0. `headers`: of the stand-ins, which it includes.
std::string stand_in_prologue(int cuda_version, const std::vector<std::string>& headers);

}  // namespace regtune
