#include "bundled_codes.hpp"

#include <algorithm>

namespace regtune {

// Which kernels there are is the same by either way.
std::optional<CompiledCode> BundledCodes::first(Way) {
  return first_;
}

void BundledCodes::keep_first(Way, const CompiledCode& code) {
  first_ = code;
}

const BundledCode* BundledCodes::find_exactly(Way way, const std::string& kernel, const Build& build) const {
  const auto found = std::find_if(codes_.begin(), codes_.end(), [&](const BundledCode& kept) {
    return kept.way == way && kept.kernel == kernel && kept.code.build == build;
  });
  return found == codes_.end() ? nullptr : &*found;
}

std::optional<BuildCode> BundledCodes::find(Way way, const std::string& kernel, const Build& build) {
  const BundledCode* found = find_exactly(way, kernel, build);
  if (!found && way == Way::plain) {
    const BundledCode* linked = find_exactly(Way::linked, kernel, build);
    const bool is_plain_code =
        linked && linked->code.facts && std::any_of(codes_.begin(), codes_.end(), [&](const BundledCode& kept) {
          return kept.way == Way::plain && kept.kernel == kernel && kept.code.facts &&
                 kept.code.facts->code_hash == linked->code.facts->code_hash;
        });
    if (is_plain_code) found = linked;
  }
  if (!found) return {};
  BuildCode code = found->code;
  code.kept = true;
  return code;
}

void BundledCodes::keep(Way way, const std::string& kernel, const BuildCode& code) {
  std::erase_if(codes_, [&](const BundledCode& kept) {
    return kept.way == way && kept.kernel == kernel && kept.code.build == code.build;
  });
  codes_.push_back({way, kernel, code});
}

void BundledCodes::forget(Way way, const std::string& kernel) {
  std::erase_if(codes_, [&](const BundledCode& kept) { return kept.way == way && kept.kernel == kernel; });
}

}  // namespace regtune
