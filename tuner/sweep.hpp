#pragma once
// Compiles every register budget of the search space and reads back what each came to.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compile.hpp"
#include "record.hpp"
#include "source.hpp"

namespace regtune {

// What one policy compiled to.
struct PolicyCode {
  RegisterPolicy policy;
  std::string cubin;
  std::string log;
  std::optional<StaticFacts> facts;  // without occupancy, which depends on the launch; empty: did not compile
  std::string failure;               // why it did not
};

struct SweepPlan {
  CompileUnit unit;
  std::string kernel;  // mangled
  GpuLimits limits;
};

// Each policy once, in no order; `on_each` is told as they come. `authors_code` was compiled before, to learn
// which kernels there are.
std::vector<PolicyCode> compile_policies(CompilePool& pool, const SweepPlan& plan,
                                         const std::vector<RegisterPolicy>& policies, const CompiledCode& authors_code,
                                         const std::function<void(const PolicyCode&)>& on_each);

}  // namespace regtune
