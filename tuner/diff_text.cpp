#include "diff_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "exported_budget.hpp"
#include "from_ptx.hpp"
#include "policy.hpp"
#include "record_json.hpp"
#include "report.hpp"

namespace regtune {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostLines = 20;

std::string head_of(const char* which, const TuningRecord& record) {
  return fmt::format("{}: {}, {} | {}{} | {}\n", which, record.started,
                     record.gpu ? record.gpu->id.name : "no GPU, " + record.architecture,
                     record.gpu ? "driver " + record.gpu->driver_version + " | " : "", record.compiler,
                     record.source_path);
}

std::string spell_variant(const TuningRecord& record, const Variant& variant) {
  std::string text = spell(variant.policy);
  if (!variant.choice.is_authors()) text = fmt::format("{}: {}", spell(variant.choice), text);
  if (!(variant.block == record.author_shape.block))
    text = fmt::format("block {}: {}", spell_block(variant.block), text);
  return text;
}

// Budgets of one block and choice that moved alike are one line.
class Alike {
 public:
  explicit Alike(const TuningRecord& record) : record_(record) {}

  void add(const Variant& variant, const std::string& moved) {
    const auto same = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
      return group.moved == moved && group.first.block == variant.block && group.first.choice == variant.choice;
    });
    if (same == groups_.end())
      groups_.push_back({variant, {variant.policy}, moved});
    else
      same->policies.push_back(variant.policy);
  }

  std::string lines() const {
    std::string text;
    for (std::size_t i = 0; i < std::min(groups_.size(), kMostLines); ++i) {
      Variant first = groups_[i].first;
      first.policy = AuthorsOwn{};
      std::string about = spell_variant(record_, first);
      about.erase(about.rfind(spell(first.policy)));
      text += fmt::format("  {}{}: {}\n", about, spell(groups_[i].policies), groups_[i].moved);
    }
    if (groups_.size() > kMostLines)
      text += fmt::format("  ... and {} more lines; --json holds all\n", groups_.size() - kMostLines);
    return text;
  }

 private:
  struct Group {
    Variant first;
    std::vector<RegisterPolicy> policies;
    std::string moved;
  };
  const TuningRecord& record_;
  std::vector<Group> groups_;
};

std::string spell_facts(const FactDrift& drift) {
  std::string text;
  if (drift.registers_before != drift.registers_after)
    text += fmt::format("{} -> {} registers", drift.registers_before, drift.registers_after);
  if (drift.spills_before != drift.spills_after)
    text += fmt::format("{}spills {} -> {} bytes", text.empty() ? "" : ", ", drift.spills_before, drift.spills_after);
  return text;
}

// "2.1 % (1.8 to 2.4)": of a ratio above 1, or of the inverse of one below.
std::string percent(const Interval& ratio) {
  const auto share = [](double value) { return std::abs(value - 1) * 100; };
  const double low = std::min(share(ratio.low), share(ratio.high));
  const double high = std::max(share(ratio.low), share(ratio.high));
  return fmt::format("{:.2g} % ({:.2g} to {:.2g})", share(ratio.median), low, high);
}

std::string spell_time(const TimeDrift& drift) {
  std::string text = fmt::format("{:.4g} -> {:.4g} ms: ", drift.ms_before, drift.ms_after);
  if (drift.beside_authors) text += "beside the author's code ";
  switch (drift.kind) {
    case TimeDrift::Kind::slower:
      return text + "slower by " + percent(drift.ratio);
    case TimeDrift::Kind::faster:
      return text + "faster by " + percent(drift.ratio);
    case TimeDrift::Kind::too_few_samples:
      return text + "too few samples to say";
    case TimeDrift::Kind::within_noise:
      break;
  }
  return text +
         fmt::format("within noise ({:+.2g} to {:+.2g} %)", (drift.ratio.low - 1) * 100, (drift.ratio.high - 1) * 100);
}

// Why a drift of the author's code is none of the runs' differences.
std::string spell_authors(const RecordDiff& diff, const TimeDrift& drift) {
  const bool moved = drift.kind == TimeDrift::Kind::slower || drift.kind == TimeDrift::Kind::faster;
  const bool is_authors = drift.variant.id == 0;
  return is_authors && moved && diff.authors_drift_is_the_machines
             ? "; the same code, GPU and driver: the machine's own"
             : "";
}

std::string spell_winner(const TuningRecord& record, const std::optional<Variant>& winner) {
  return winner ? spell_variant(record, *winner) : "the author's code, left alone";
}

std::string winner_text(const ComparedRuns& runs) {
  const WinnerDrift& winner = runs.diff.winner;
  const std::string before = spell_winner(runs.before, winner.before) + from_ptx_note(runs.before, " (", ")");
  if (!winner.changed)
    return fmt::format(
        "winner: the same: {}{}\n", before,
        winner.after && spell_winner(runs.after, winner.after) != spell_winner(runs.before, winner.before)
            ? " (by another budget of the same code)"
            : "");
  std::string text = fmt::format("winner: was {}, is {}{}\n", before, spell_winner(runs.after, winner.after),
                                 from_ptx_note(runs.after, " (", ")"));
  if (!winner.cost_of_keeping)
    return text + "  what the earlier one would cost now is not known: it has no time there\n";
  if (!winner.cost_is_known) return text + "  keeping the earlier one costs nothing that could be measured\n";
  return text + fmt::format("  keeping the earlier one costs {}\n", percent(*winner.cost_of_keeping));
}

std::string compared_text(const ComparedRuns& runs) {
  const RecordDiff& diff = runs.diff;
  std::string text = fmt::format("{}{}{}\n", runs.after.signature, runs.after.sizes.empty() ? "" : "   ",
                                 runs.after.sizes.empty() ? "" : spell_sizes(runs.after.sizes));
  text += head_of("before", runs.before) + head_of("after ", runs.after);
  for (const Change& change : diff.changes)
    text += fmt::format("changed: {}: {} -> {}\n", change.what, change.before.empty() ? "none" : change.before,
                        change.after.empty() ? "none" : change.after);
  if (diff.changes.empty()) text += "changed: nothing that the runs were made under\n";
  text += fmt::format("budgets: {} in both", diff.in_both);
  if (diff.only_before > 0) text += fmt::format(", {} only before", diff.only_before);
  if (diff.only_after > 0) text += fmt::format(", {} only after", diff.only_after);
  if (diff.other_code > 0)
    text += fmt::format("; {} of them are another code with the same registers and spills", diff.other_code);
  Alike facts(runs.after);
  for (const FactDrift& drift : diff.facts) facts.add(drift.variant, spell_facts(drift));
  text += diff.facts.empty()
              ? "\nregisters and spills: the same\n"
              : fmt::format("\nregisters and spills: {} budgets moved\n", diff.facts.size()) + facts.lines();
  Alike fates(runs.after);
  for (const FateDrift& drift : diff.fates) fates.add(drift.variant, drift.before + " -> " + drift.after);
  if (!diff.fates.empty()) text += "failures:\n" + fates.lines();
  if (!diff.timed_in_both) return text + "time: one of the runs timed nothing\n";
  text += "time:\n";
  for (const TimeDrift& drift : diff.times)
    text += fmt::format("  {}: {}{}\n", spell_variant(runs.after, drift.variant), spell_time(drift),
                        spell_authors(diff, drift));
  return text + winner_text(runs);
}

Json variant_json(const Variant& variant) {
  Json json{{"budget", spell(variant.policy)}, {"policy", policy_json(variant.policy)}, {"block", variant.block}};
  if (!variant.choice.is_authors()) json["choice"] = choice_json(variant.choice);
  return json;
}

Json interval_json(const Interval& interval) {
  return {{"low", interval.low}, {"median", interval.median}, {"high", interval.high}};
}

Json run_json(const TuningRecord& record) {
  return {{"kernel", record.kernel},
          {"signature", record.signature},
          {"sizes", record.sizes},
          {"started", record.started},
          {"gpu", record.gpu ? Json(record.gpu->id.name) : Json()},
          {"driver", record.gpu ? Json(record.gpu->driver_version) : Json()},
          {"architecture", record.architecture},
          {"compiler", record.compiler},
          {"from_ptx", is_from_ptx(record)}};
}

const char* name_of(TimeDrift::Kind kind) {
  constexpr std::array<const char*, 4> kNames{"within noise", "faster", "slower", "too few samples"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Json winner_json(const WinnerDrift& winner) {
  return {{"changed", winner.changed},
          {"before", winner.before ? variant_json(*winner.before) : Json()},
          {"after", winner.after ? variant_json(*winner.after) : Json()},
          {"cost_of_keeping", winner.cost_of_keeping ? interval_json(*winner.cost_of_keeping) : Json()},
          {"cost_is_known", winner.cost_is_known}};
}

Json compared_json(const ComparedRuns& runs) {
  const RecordDiff& diff = runs.diff;
  Json json{{"before", run_json(runs.before)},
            {"after", run_json(runs.after)},
            {"same", diff.same()},
            {"changes", Json::array()},
            {"budgets",
             {{"in_both", diff.in_both},
              {"only_before", diff.only_before},
              {"only_after", diff.only_after},
              {"other_code", diff.other_code}}},
            {"facts", Json::array()},
            {"failures", Json::array()},
            {"times", Json::array()},
            {"authors_drift_is_the_machines", diff.authors_drift_is_the_machines},
            {"winner", diff.timed_in_both ? winner_json(diff.winner) : Json()}};
  for (const Change& change : diff.changes)
    json["changes"].push_back({{"what", change.what}, {"before", change.before}, {"after", change.after}});
  for (const FactDrift& drift : diff.facts)
    json["facts"].push_back({{"variant", variant_json(drift.variant)},
                             {"registers", {drift.registers_before, drift.registers_after}},
                             {"spill_bytes", {drift.spills_before, drift.spills_after}}});
  for (const FateDrift& drift : diff.fates)
    json["failures"].push_back(
        {{"variant", variant_json(drift.variant)}, {"before", drift.before}, {"after", drift.after}});
  for (const TimeDrift& drift : diff.times)
    json["times"].push_back({{"variant", variant_json(drift.variant)},
                             {"finding", name_of(drift.kind)},
                             {"beside_authors", drift.beside_authors},
                             {"ms", {drift.ms_before, drift.ms_after}},
                             {"ratio", interval_json(drift.ratio)}});
  return json;
}

}  // namespace

std::string diff_text(const DiffResult& result) {
  std::string text;
  for (const ComparedRuns& runs : result.compared) text += (text.empty() ? "" : "\n") + compared_text(runs);
  for (const std::string& run : result.only_before) text += "only before: " + run + "\n";
  for (const std::string& run : result.only_after) text += "only after: " + run + "\n";
  return text + (result.same() ? "same: registers, spills, times and winner are what they were\n" : "they differ\n");
}

nlohmann::json diff_json(const DiffResult& result) {
  Json runs = Json::array();
  for (const ComparedRuns& compared : result.compared) runs.push_back(compared_json(compared));
  return {{"format", "regtune diff"},
          {"format_version", 1},
          {"same", result.same()},
          {"compared", runs},
          {"only_before", result.only_before},
          {"only_after", result.only_after}};
}

}  // namespace regtune
