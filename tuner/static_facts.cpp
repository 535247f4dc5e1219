#include "static_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "occupancy.hpp"

namespace regtune {
namespace {

bool has_bound(const CubinKernel& kernel) {
  return kernel.max_threads_per_block > 0 || kernel.required_threads_per_block > 0;
}

// What in the code holds a ceiling that the policy did not ask for. A declared __maxnreg__ leaves no trace in
// the cubin but the ceiling itself.
std::string holder_of_ceiling(const CubinKernel& kernel) {
  if (kernel.required_threads_per_block > 0) {
    return fmt::format("the block size of exactly {} threads that the source declares",
                       kernel.required_threads_per_block);
  }
  if (kernel.max_threads_per_block > 0) {
    return fmt::format("__launch_bounds__ of {} threads in the source", kernel.max_threads_per_block);
  }
  return "something else in the source or the options (__maxnreg__, -maxrregcount)";
}

// Beside a declared block size __maxnreg__ sets the ceiling, even above the block's own (measured: 100 registers for
// 1,024 threads, which cannot be launched when they are used); a ceiling that is the block's own needs no budget.
bool maxnreg_binds(const CubinKernel& kernel, const GpuLimits& limits) {
  return kernel.max_threads_per_block == 0 &&
         kernel.register_ceiling != register_ceiling(limits, {kernel.required_threads_per_block, 0});
}

// `form` is how the cap was asked for: "--maxrregcount=64". `binds`: nothing else in the code sets the ceiling.
Budget budget_of_cap(const CubinKernel& kernel, const GpuLimits& limits, int cap, const std::string& form, bool binds) {
  Budget budget;
  budget.asked = cap;
  const int expected = ceiling_of_cap(limits, cap);
  const int ceiling = kernel.register_ceiling;
  if (ceiling == expected && binds) {
    if (cap < expected) {
      budget.status = BudgetStatus::clamped;
      budget.note = fmt::format("{} was raised to {}, the compiler's minimum", form, expected);
    } else if (cap > expected) {
      budget.status = BudgetStatus::clamped;
      budget.note = fmt::format("{} was lowered to {}, the most a thread can have", form, expected);
    } else if (cap == limits.max_registers_per_thread && !has_bound(kernel)) {
      budget.status = BudgetStatus::inert;
      budget.note = fmt::format("{} is the ceiling without a budget too", cap);
    } else {
      budget.status = BudgetStatus::in_force;
    }
  } else if (ceiling <= expected) {
    budget.status = BudgetStatus::inert;
    budget.note =
        fmt::format("{} does not bind: the ceiling of {} is set by {}", form, ceiling, holder_of_ceiling(kernel));
  } else {
    budget.status = BudgetStatus::overridden;
    budget.note =
        fmt::format("{} is ignored: the ceiling of {} is set by {}", form, ceiling, holder_of_ceiling(kernel));
  }
  return budget;
}

Budget budget_of_bounds(const CubinKernel& kernel, const GpuLimits& limits, const LaunchBounds& bounds) {
  Budget budget;
  budget.asked = register_ceiling(limits, bounds);
  const int ceiling = kernel.register_ceiling;
  if (kernel.max_threads_per_block != bounds.max_threads_per_block) {
    budget.status = BudgetStatus::overridden;
    budget.note = fmt::format("__launch_bounds__ of {} threads is not in the code: the ceiling of {} is set by {}",
                              bounds.max_threads_per_block, ceiling, holder_of_ceiling(kernel));
  } else if (ceiling != budget.asked) {
    budget.status = BudgetStatus::overridden;
    budget.note = fmt::format(
        "the ceiling is {} and not {}: a -maxrregcount, __maxnreg__ or ptxas option overrides "
        "the bounds",
        ceiling, budget.asked);
  } else if (bounds.max_threads_per_block > limits.max_threads_per_sm) {
    budget.status = BudgetStatus::inert;
    budget.note = fmt::format("the bound is ignored: no SM of sm_{}{} holds {} threads", limits.compute_major,
                              limits.compute_minor, bounds.max_threads_per_block);
  } else if (min_blocks_ignored(limits, bounds)) {
    budget.status = BudgetStatus::inert;
    budget.note =
        fmt::format("the {} blocks per SM are ignored: sm_{}{} cannot hold that many of {} threads",
                    bounds.min_blocks_per_sm, limits.compute_major, limits.compute_minor, bounds.max_threads_per_block);
  } else {
    budget.status = BudgetStatus::in_force;
  }
  return budget;
}

Budget budget_of_author(const CubinKernel& kernel, const GpuLimits& limits, std::optional<int> option_cap) {
  if (option_cap)
    return budget_of_cap(kernel, limits, *option_cap, fmt::format("--maxrregcount={}", *option_cap),
                         !has_bound(kernel));
  Budget budget;
  if (!has_bound(kernel) && kernel.register_ceiling >= limits.max_registers_per_thread) return budget;
  budget.status = BudgetStatus::in_force;
  budget.asked = kernel.register_ceiling;  // what the author's bounds stand for, in the compiler's own reading
  return budget;
}

Budget budget_of_default(const CubinKernel& kernel, const GpuLimits& limits) {
  Budget budget;
  // A block size that holds no ceiling is no budget.
  if (kernel.max_threads_per_block == 0 && kernel.register_ceiling >= limits.max_registers_per_thread) return budget;
  budget.status = BudgetStatus::overridden;
  budget.note = fmt::format("the code still has a budget: the ceiling of {} is set by {}", kernel.register_ceiling,
                            holder_of_ceiling(kernel));
  return budget;
}

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace

int ceiling_of_cap(const GpuLimits& limits, int registers_per_thread) {
  return std::max(compiler_minimum_registers, std::min(registers_per_thread, limits.max_registers_per_thread));
}

StaticFacts static_facts(const CubinKernel& kernel, const PtxasEntry* report, const RegisterPolicy& policy,
                         const GpuLimits& limits, std::optional<int> option_cap) {
  StaticFacts facts;
  facts.registers_per_thread = kernel.registers_per_thread;
  facts.register_ceiling = kernel.register_ceiling;
  facts.spill_store_bytes = kernel.spill_store_bytes;
  facts.spill_load_bytes = kernel.spill_load_bytes;
  if (report != nullptr) {
    facts.spill_store_bytes = std::max(facts.spill_store_bytes, report->spill_store_bytes());
    facts.spill_load_bytes = std::max(facts.spill_load_bytes, report->spill_load_bytes());
  }
  facts.shared_spill_store_bytes = kernel.shared_spill_store_bytes;
  facts.shared_spill_load_bytes = kernel.shared_spill_load_bytes;
  facts.stack_frame_bytes = kernel.stack_frame_bytes;
  facts.static_shared_bytes = kernel.static_shared_bytes;
  facts.max_threads_per_block = kernel.max_threads_per_block;
  facts.required_threads_per_block = kernel.required_threads_per_block;
  facts.code_hash = kernel.code_hash;
  facts.budget = std::visit(Overloaded{
                                [&](const AuthorsOwn&) { return budget_of_author(kernel, limits, option_cap); },
                                [&](const CompilerDefault&) { return budget_of_default(kernel, limits); },
                                [&](const RegisterCap& cap) {
                                  return budget_of_cap(kernel, limits, cap.registers_per_thread,
                                                       fmt::format("--maxrregcount={}", cap.registers_per_thread),
                                                       !has_bound(kernel));
                                },
                                [&](const LaunchBounds& bounds) { return budget_of_bounds(kernel, limits, bounds); },
                                [&](const MaxRegisters& maximum) {
                                  return budget_of_cap(kernel, limits, maximum.registers_per_thread,
                                                       fmt::format("__maxnreg__({})", maximum.registers_per_thread),
                                                       !has_bound(kernel) || maxnreg_binds(kernel, limits));
                                },
                            },
                            policy);
  return facts;
}

std::optional<std::string> discrepancy(const CubinKernel& kernel, const PtxasEntry& report) {
  std::vector<std::string> differences;
  const auto compare = [&](const char* what, int in_code, int in_report) {
    if (in_code != in_report) differences.push_back(fmt::format("{} {} against {}", what, in_code, in_report));
  };
  compare("registers", kernel.registers_per_thread, report.registers_per_thread);
  compare("static shared bytes", kernel.static_shared_bytes, report.static_shared_bytes);
  if (report.functions.empty()) {
    compare("spill store bytes", kernel.spill_store_bytes, report.own.spill_store_bytes);
    compare("spill load bytes", kernel.spill_load_bytes, report.own.spill_load_bytes);
  }
  if (report.cumulative_stack_bytes || report.functions.empty()) {
    compare("stack bytes", kernel.stack_frame_bytes,
            report.cumulative_stack_bytes.value_or(report.own.stack_frame_bytes));
  }
  if (differences.empty()) return std::nullopt;
  return fmt::format("{}: the machine code and ptxas's report disagree: {}", kernel.name, fmt::join(differences, ", "));
}

}  // namespace regtune
