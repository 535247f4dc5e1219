#include "sweep.hpp"

#include <fmt/format.h>

#include "kernel_choice.hpp"
#include "ptxas_report.hpp"
#include "regtune/error.hpp"
#include "static_facts.hpp"

namespace regtune {
namespace {

PolicyCode policy_code(const SweepPlan& plan, const RegisterPolicy& policy, const CompiledCode& compiled) {
  PolicyCode code{policy, compiled.cubin, compiled.log, {}, compiled.failure};
  if (!compiled.compiled) return code;
  try {
    const Cubin cubin = read_cubin(compiled.cubin);
    const CubinKernel* kernel = find_kernel(cubin, plan.kernel);
    if (!kernel) {
      code.failure = fmt::format("the compiled file holds no {}", plan.kernel);
      return code;
    }
    std::optional<int> option_cap;
    if (std::holds_alternative<AuthorsOwn>(policy) && plan.unit.author_cap != 0) option_cap = plan.unit.author_cap;
    const PtxasReport report = read_ptxas_report(compiled.log);
    code.facts = static_facts(*kernel, report.find(kernel->name), policy, plan.limits, option_cap);
  } catch (const Error& unreadable) {
    code.failure = unreadable.what();
  }
  return code;
}

}  // namespace

std::vector<PolicyCode> compile_policies(CompilePool& pool, const SweepPlan& plan,
                                         const std::vector<RegisterPolicy>& policies, const CompiledCode& authors_code,
                                         const std::function<void(const PolicyCode&)>& on_each) {
  std::vector<PolicyCode> codes;
  const auto keep = [&](const RegisterPolicy& policy, const CompiledCode& compiled) {
    codes.push_back(policy_code(plan, policy, compiled));
    on_each(codes.back());
  };
  for (std::size_t i = 0; i < policies.size(); ++i) {
    if (std::holds_alternative<AuthorsOwn>(policies[i]))
      keep(policies[i], authors_code);
    else
      pool.submit({static_cast<int>(i), compile_request(plan.unit, policies[i])});
  }
  while (const std::optional<CompiledCode> compiled = pool.next())
    keep(policies.at(static_cast<std::size_t>(compiled->id)), *compiled);
  return codes;
}

}  // namespace regtune
