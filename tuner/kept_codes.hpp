#pragma once
// Machine code from earlier runs: what a source, a compiler and an architecture gave for a build. A second run
// compiles nothing. Without a cache everything is a miss.
#include <map>
#include <optional>
#include <string>

#include "store.hpp"
#include "sweep.hpp"

namespace regtune {

class KeptCodes final : public CodeKeeper {
 public:
  // Both may be shared with others; `store` may be nullptr. `source`: source_hash of the unit.
  KeptCodes(Store* store, const CompileUnit& unit, const CompilerIdentity& compiler);

  std::optional<CompiledCode> first(Way way) override;
  void keep_first(Way way, const CompiledCode& code) override;
  std::optional<BuildCode> find(Way way, const std::string& kernel, const Build& build) override;
  void keep(Way way, const std::string& kernel, const BuildCode& code) override;
  void forget(Way way, const std::string& kernel) override;

  std::size_t hits() const { return hits_; }

 private:
  CompileKey key(Way way, const std::string& kernel) const;

  Store* store_;
  CompileKey plain_;  // of plain NVRTC, without the kernel
  std::string linker_;
  std::optional<Way> loaded_;  // what results_ holds
  std::string loaded_kernel_;
  std::vector<KeptResult> results_;
  std::size_t hits_ = 0;
};

}  // namespace regtune
