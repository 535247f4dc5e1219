#pragma once
// The library that goes into watched programs, as it was built with this program and lies within it: regtune stays one
// file to copy.
#include <string_view>

namespace regtune {

std::string_view injected_library();

}  // namespace regtune
