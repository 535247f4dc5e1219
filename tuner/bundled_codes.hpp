#pragma once
// Machine code in memory, from where it was compiled to where it is timed: all that a sweep of one unit came to, and
// which of it plain compilation was seen to give. Knows neither files nor compilers.
#include <optional>
#include <string>
#include <vector>

#include "sweep.hpp"

namespace regtune {

struct BundledCode {
  Way way = Way::plain;
  std::string kernel;  // mangled, as its author calls it
  BuildCode code;
};

class BundledCodes final : public CodeKeeper {
 public:
  BundledCodes() = default;
  BundledCodes(CompiledCode first, std::vector<BundledCode> codes)
      : first_(std::move(first)), codes_(std::move(codes)) {}

  std::optional<CompiledCode> first(Way way) override;
  void keep_first(Way way, const CompiledCode& code) override;
  // By the plain way, also what was linked, if plain compilation gave that very code for another budget.
  std::optional<BuildCode> find(Way way, const std::string& kernel, const Build& build) override;
  void keep(Way way, const std::string& kernel, const BuildCode& code) override;
  void forget(Way way, const std::string& kernel) override;

  const std::optional<CompiledCode>& first_code() const { return first_; }
  const std::vector<BundledCode>& codes() const { return codes_; }

 private:
  const BundledCode* find_exactly(Way way, const std::string& kernel, const Build& build) const;

  std::optional<CompiledCode> first_;
  std::vector<BundledCode> codes_;
};

}  // namespace regtune
