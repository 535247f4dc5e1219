#include "analysis_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "authors_bound.hpp"
#include "policy.hpp"
#include "record_json.hpp"
#include "terminal.hpp"

namespace regtune {
namespace {

std::int64_t spilled_bytes(const Trial& trial) {
  return std::int64_t{trial.facts->spill_store_bytes} + trial.facts->spill_load_bytes;
}

// The registers of a cap, in either form; beside a fixed block size __maxnreg__ takes the place of all caps.
std::optional<int> registers_of_cap(const RegisterPolicy& policy) {
  if (const auto* cap = std::get_if<RegisterCap>(&policy)) return cap->registers_per_thread;
  if (const auto* most = std::get_if<MaxRegisters>(&policy)) return most->registers_per_thread;
  return {};
}

// The smallest cap without spills, and the bound of the author's block that asks for the most blocks without any.
std::vector<std::string> budgets_without_spills(const TuningRecord& record) {
  std::optional<RegisterPolicy> smallest;
  int greatest_that_spills = 0;  // the register allocator is not monotone: a larger cap may spill again
  std::optional<LaunchBounds> bounds;
  for (const Trial& trial : record.trials) {
    if (!trial.facts) continue;
    const std::optional<int> cap = registers_of_cap(trial.variant.policy);
    if (spilled_bytes(trial) > 0) {
      greatest_that_spills = std::max(greatest_that_spills, cap.value_or(0));
      continue;
    }
    if (cap && (!smallest || *cap < registers_of_cap(*smallest))) smallest = trial.variant.policy;
    const auto* found = std::get_if<LaunchBounds>(&trial.variant.policy);
    if (found && trial.variant.block == record.author_shape.block &&
        (!bounds || found->min_blocks_per_sm > bounds->min_blocks_per_sm))
      bounds = *found;
  }
  std::vector<std::string> texts;
  if (smallest)
    texts.push_back(fmt::format("{} is the smallest cap without spills{}", spell(*smallest),
                                greatest_that_spills > registers_of_cap(*smallest)
                                    ? fmt::format(" (some above it spill again, none above {})", greatest_that_spills)
                                    : ""));
  if (bounds) texts.push_back(fmt::format("{} the tightest bound without any", spell(RegisterPolicy{*bounds})));
  return texts;
}

std::string about_spills(const TuningRecord& record) {
  const Trial& author = record.trials.front();
  const bool any = std::any_of(record.trials.begin(), record.trials.end(),
                               [](const Trial& trial) { return trial.facts && spilled_bytes(trial) > 0; });
  const bool all_compiled = std::none_of(record.trials.begin(), record.trials.end(), [](const Trial& trial) {
    return std::holds_alternative<NotCompiled>(trial.outcome);
  });
  if (!any) return fmt::format("spills: none under any budget{}", all_compiled ? "" : " that was compiled");
  const std::vector<std::string> cures = budgets_without_spills(record);
  if (!author.facts || spilled_bytes(author) == 0)
    return fmt::format("spills: none in the author's code; {}", fmt::join(cures, ", "));
  const std::string found = fmt::format(
      "spills: the author's code stores {} and loads {} bytes per thread, because {} registers were not "
      "enough",
      author.facts->spill_store_bytes, author.facts->spill_load_bytes, author.facts->register_ceiling);
  if (cures.empty())
    return found +
           "; every budget spills, so none cures it: keep fewer values alive at once, or give a thread less "
           "to do";
  return fmt::format("{}; more registers cure it: {}", found, fmt::join(cures, ", "));
}

// Of codes without spills: what is left on the stack is no spill.
std::optional<std::string> about_stack_frame(const TuningRecord& record) {
  std::optional<int> least;
  for (const Trial& trial : record.trials)
    if (trial.facts && spilled_bytes(trial) == 0)
      least = std::min(least.value_or(trial.facts->stack_frame_bytes), trial.facts->stack_frame_bytes);
  if (least.value_or(0) == 0) return {};
  return fmt::format(
      "stack frame: {} bytes also where nothing spills: an array there is indexed at run time or has its address "
      "taken, or a called function was not inlined. No budget cures that: make the index a compile-time constant",
      *least);
}

// Budgets that share a reason become one sentence, with the words of the first.
std::vector<std::string> about_budgets(const TuningRecord& record) {
  struct Group {
    std::string note;
    std::vector<RegisterPolicy> policies;
  };
  std::map<std::pair<BudgetStatus, std::string>, Group> groups;
  for (const Trial& trial : record.trials) {
    if (!trial.facts || trial.facts->budget.note.empty()) continue;
    const Budget& budget = trial.facts->budget;
    // Behind the colon stands the reason, before it the budget. Inferred caps differ in the step that gave the code.
    const bool is_inferred = budget.status == BudgetStatus::inferred;
    const std::string reason =
        is_inferred ? "" : budget.note.substr(std::min(budget.note.find(": "), budget.note.size()));
    Group& group = groups[{budget.status, reason}];
    if (group.note.empty()) group.note = is_inferred ? "not compiled: the caps around each give one code" : budget.note;
    group.policies.push_back(trial.variant.policy);
  }
  std::vector<std::string> texts;
  for (const auto& [key, group] : groups)
    texts.push_back(fmt::format("{}: {}: {}", to_string(key.first), spell(group.policies), group.note));
  return texts;
}

// {T, B} -> the ceiling in the code. B = 0: not given.
std::map<std::pair<int, int>, int> ceiling_of_bounds(const TuningRecord& record) {
  std::map<std::pair<int, int>, int> found;
  for (const Trial& trial : record.trials)
    if (const auto* bounds = std::get_if<LaunchBounds>(&trial.variant.policy); bounds && trial.facts)
      found[{bounds->max_threads_per_block, bounds->min_blocks_per_sm}] = trial.facts->register_ceiling;
  return found;
}

std::size_t count_codes(const TuningRecord& record) {
  std::set<std::string> hashes;
  for (const Trial& trial : record.trials)
    if (trial.facts) hashes.insert(trial.facts->code_hash);
  return hashes.size();
}

std::string shared_memory(const TuningRecord& record) {
  const std::int64_t dynamic_bytes = record.author_shape.dynamic_shared_bytes;
  const int static_bytes = record.trials.front().facts ? record.trials.front().facts->static_shared_bytes : 0;
  if (dynamic_bytes == 0) return fmt::format("{} bytes", static_bytes);
  return fmt::format("{} + {} bytes", static_bytes, dynamic_bytes);
}

std::string study_text(const Study& study, const ReportStyle& style) {
  const TuningRecord& record = study.record;
  if (!study.failure.empty()) return fmt::format("\n{}: {}\n", record.architecture, study.failure);
  const std::string kept = study.kept == 0 ? "" : fmt::format(" ({} of them kept from before)", study.kept);
  std::string text = fmt::format("\n{}: {}   block {}   shared memory {}\n", record.architecture, record.signature,
                                 spell_block(record.author_shape.block), shared_memory(record));
  const std::string inferred =
      study.inferred == 0 ? "" : fmt::format(", {} caps taken to give the code of those around them", study.inferred);
  const auto codes = count_codes(record);
  text += fmt::format("{} budgets{}{} -> {} distinct code{}\n", study.compiled + study.kept, kept, inferred, codes,
                      codes == 1 ? "" : "s");
  text += table_of_codes(record, style) + "\n";
  const std::vector<std::string> bounds = ceilings(record);
  if (!bounds.empty()) text += fmt::format("ceiling: {}\n", fmt::join(bounds, "\n         "));
  for (const std::string& sentence : diagnosis(record)) text += sentence + "\n";
  return text;
}

// What other values of macros or template arguments compile to says nothing of the author's code, and cures nothing
// in it.
TuningRecord of_authors_choice(TuningRecord record) {
  std::erase_if(record.trials, [](const Trial& trial) { return !trial.variant.choice.is_authors(); });
  return record;
}

}  // namespace

std::vector<std::string> diagnosis(const TuningRecord& record) {
  const TuningRecord own = of_authors_choice(record);
  std::vector<std::string> texts{about_spills(own)};
  if (std::optional<std::string> text = about_stack_frame(own)) texts.push_back(*text);
  if (const std::string bound = about_authors_bound(record); !bound.empty()) texts.push_back("bound: " + bound);
  if (const auto* refused = std::get_if<NotLaunchable>(&record.trials.front().outcome))
    texts.push_back("launch: the author's code cannot be launched: " + refused->reason);
  for (std::string& text : about_budgets(own)) texts.push_back(std::move(text));
  std::vector<RegisterPolicy> skipped;
  std::string reason;
  for (const Trial& trial : record.trials)
    if (const auto* not_compiled = std::get_if<NotCompiled>(&trial.outcome)) {
      skipped.push_back(trial.variant.policy);
      reason = not_compiled->reason;
    }
  if (!skipped.empty())
    texts.push_back(fmt::format("not compiled: {} budgets, of which nothing is known: {}: {}", skipped.size(),
                                spell(skipped), reason));
  for (const Trial& trial : record.trials)
    if (const auto* failed = std::get_if<CompileFailed>(&trial.outcome)) {
      texts.push_back(fmt::format("not compiled: {}: {}", spell_choice(record, trial.variant.id),
                                  failed->message.substr(0, failed->message.find('\n'))));
      break;  // the first shows what is wrong
    }
  return texts;
}

std::vector<std::string> ceilings(const TuningRecord& record) {
  std::vector<std::string> texts;
  std::vector<RegisterPolicy> alike;
  std::optional<std::pair<int, int>> threads_and_ceiling;
  const auto flush = [&] {
    if (!alike.empty()) texts.push_back(fmt::format("{}: {} registers", spell(alike), threads_and_ceiling->second));
    alike.clear();
  };
  for (const auto& [bounds, ceiling] : ceiling_of_bounds(record)) {
    if (threads_and_ceiling != std::pair(bounds.first, ceiling)) flush();
    threads_and_ceiling = {bounds.first, ceiling};
    alike.push_back(LaunchBounds{bounds.first, bounds.second});
  }
  flush();
  return texts;
}

std::string analysis_text(const Analysis& analysis, const ReportStyle& style) {
  std::string text = fmt::format("regtune {} | static study, nothing is timed | {}{}\n", REGTUNE_VERSION,
                                 analysis.compiler, analysis.cache.empty() ? "" : " | cache " + analysis.cache);
  for (const Study& study : analysis.studies) text += study_text(study, style);
  return fitted(text, style.columns);
}

nlohmann::json analysis_json(const Analysis& analysis) {
  nlohmann::json studies = nlohmann::json::array();
  for (const Study& study : analysis.studies) {
    nlohmann::json json{{"architecture", study.record.architecture}};
    if (!study.failure.empty()) {
      json["failure"] = study.failure;
    } else {
      nlohmann::json bounds = nlohmann::json::array();
      for (const auto& [pair, ceiling] : ceiling_of_bounds(study.record))
        bounds.push_back(
            {{"max_threads_per_block", pair.first}, {"min_blocks_per_sm", pair.second}, {"register_ceiling", ceiling}});
      json["signature"] = study.record.signature;
      json["compiled"] = study.compiled;
      json["kept"] = study.kept;
      json["skipped"] = study.skipped;
      json["inferred"] = study.inferred;
      json["distinct_codes"] = count_codes(study.record);
      json["ceilings"] = std::move(bounds);
      json["diagnosis"] = diagnosis(study.record);
      json["record"] = record_json(study.record);
    }
    studies.push_back(std::move(json));
  }
  return {{"regtune_version", REGTUNE_VERSION},
          {"compiler", analysis.compiler},
          {"cache", analysis.cache},
          {"studies", std::move(studies)}};
}

}  // namespace regtune
