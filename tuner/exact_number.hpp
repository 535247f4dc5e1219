#pragma once
// Bytes of a C type as the shortest number that a launch description turns into exactly those bytes again. What no
// number gives (a NaN's payload, an integer of 64 bits without a sign) has none.
#include <optional>
#include <string>
#include <string_view>

#include "element_type.hpp"

namespace regtune {

std::optional<std::string> exact_number(ElementType type, std::string_view bytes);

}  // namespace regtune
