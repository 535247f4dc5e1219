#include "cap_plateaus.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace regtune {
namespace {

// A warp gets registers in units of 256, which is 8 for each of its 32 threads, on every architecture since sm_50.
constexpr int kStep = 8;
constexpr int kCoarseStep = 16;

std::vector<int> ends_and_multiples(const std::vector<int>& caps, int step) {
  std::vector<int> found;
  for (const int cap : caps)
    if (cap == caps.front() || cap == caps.back() || cap % step == 0) found.push_back(cap);
  return found;
}

}  // namespace

CapPlateaus::CapPlateaus(std::vector<int> caps, Start start, int binding_up_to)
    : caps_(std::move(caps)),
      coarse_(ends_and_multiples(caps_, kCoarseStep)),
      steps_(ends_and_multiples(caps_, kStep)) {
  for (const int cap : start == Start::all_steps ? steps_ : coarse_) ask(cap, true);
  for (const int cap : caps_)
    if (cap <= binding_up_to) ask(cap, is_step(cap));
}

bool CapPlateaus::has_all_steps(const std::vector<int>& caps) {
  if (caps.empty()) return false;
  for (int step = caps.front() / kStep * kStep + kStep; step < caps.back(); step += kStep)
    if (!std::binary_search(caps.begin(), caps.end(), step)) return false;
  return true;
}

int CapPlateaus::step_at_or_below(int cap) {
  return cap / kCoarseStep * kCoarseStep;
}

bool CapPlateaus::is_step(int cap) const {
  return std::binary_search(steps_.begin(), steps_.end(), cap);
}

void CapPlateaus::add(int cap, const std::string& code, int registers_per_thread) {
  known_[cap] = {code, registers_per_thread};
  if (const auto settled = settled_as_.find(cap); settled != settled_as_.end()) {
    const int step = settled->second;
    settled_as_.erase(settled);
    std::erase(settled_, std::pair(cap, step));
    if (!same(cap, step)) distrust(step);
  }
  for (std::size_t lower = 0; lower + 1 < coarse_.size(); ++lower) decide_half_step(lower);
  for (std::size_t lower = 0; lower + 1 < steps_.size(); ++lower) decide_cell(lower);
}

// The step between two coarse ones needs a compilation of its own unless it lies between three coarse ones that are
// equal.
void CapPlateaus::decide_half_step(std::size_t coarse) {
  const int low = coarse_[coarse];
  const auto half = std::upper_bound(steps_.begin(), steps_.end(), low);
  if (*half == coarse_[coarse + 1]) return;
  const Relation here = relation(coarse_, coarse);
  if (here == Relation::open) return;
  const Relation before = coarse > 0 ? relation(coarse_, coarse - 1) : Relation::different;
  const Relation after = coarse + 2 < coarse_.size() ? relation(coarse_, coarse + 1) : Relation::different;
  if (here == Relation::equal && (before == Relation::equal || after == Relation::equal)) {
    settle(low, *half + 1, low);
    return;
  }
  if (here == Relation::equal && (before == Relation::open || after == Relation::open)) return;
  ask(*half, true);
}

// Two equal steps alone may be a coincidence (one kernel of many had one code at the caps 247 and 249, and another at
// 248), so a third one beside them has to agree.
void CapPlateaus::decide_cell(std::size_t lower_step) {
  const int low = steps_[lower_step];
  const int high = steps_[lower_step + 1];
  const Relation here = relation(steps_, lower_step);
  if (here == Relation::open || between(low, high).empty()) return;
  if (here == Relation::equal) {
    const Relation before = lower_step > 0 ? relation(steps_, lower_step - 1) : Relation::different;
    const Relation after = lower_step + 2 < steps_.size() ? relation(steps_, lower_step + 1) : Relation::different;
    if (before == Relation::equal || after == Relation::equal)
      settle(low, high, known_.contains(low) ? low : settled_as_.at(low));
    else if (before == Relation::different && after == Relation::different)
      ask_all(low, high);
    return;
  }
  const Relation below = ends_plateau(lower_step, -1);
  const Relation above = ends_plateau(lower_step + 1, 1);
  if (below == Relation::open || above == Relation::open) return;
  const End lower{low, below == Relation::equal ? low : 0};
  const End upper{high, above == Relation::equal ? high : 0};
  ask_at_quarters(lower, upper);
  halve(lower, upper);
}

// One after the other, the probes of a halving would be what the end of a sweep waits for: those that are likely to be
// asked for are begun together.
void CapPlateaus::ask_at_quarters(End low, End high) {
  const std::vector<int> caps = between(low.cap, high.cap);
  if (low.plateau_step == 0 && high.plateau_step == 0) return;
  if (high.plateau_step != 0) {
    const int registers = known_.at(high.plateau_step).registers_per_thread;
    const auto edge = std::lower_bound(caps.begin(), caps.end(), registers);
    if (edge != caps.end()) ask(*edge, true);
    if (low.plateau_step == 0 && edge != caps.begin()) return;
  }
  for (const std::size_t quarters : {2u, 1u, 3u}) ask(caps[caps.size() * quarters / 4], true);
}

// Whether the two cells beyond the step, away from the cell whose end it is, have its code.
CapPlateaus::Relation CapPlateaus::ends_plateau(std::size_t step, int direction) const {
  for (std::size_t i = 0; i < 2; ++i) {
    if (direction < 0 ? step < i + 1 : step + i + 1 >= steps_.size()) return Relation::different;
    const Relation next = relation(steps_, direction < 0 ? step - i - 1 : step + i);
    if (next != Relation::equal) return next;
  }
  return Relation::equal;
}

// Between codes that differ, of which one or both are those of plateaus: how far these go. No code uses more registers
// than its cap, so that the plateau above goes down to what its code uses and no further, and often just so far.
void CapPlateaus::halve(End low, End high) {
  const std::vector<int> caps = between(low.cap, high.cap);
  if (caps.empty()) return;
  const int lowest_above = high.plateau_step == 0 ? high.cap : known_.at(high.plateau_step).registers_per_thread;
  const auto first_above = std::lower_bound(caps.begin(), caps.end(), lowest_above);
  if (low.plateau_step == 0 && first_above == caps.end()) return ask_all(low.cap, high.cap);
  const bool may_end_there = high.plateau_step != 0 && first_above != caps.begin() && first_above != caps.end();
  const int probe = may_end_there ? *first_above : caps[caps.size() / 2];
  if (!known_.contains(probe)) {
    ask(probe, true);
    return;
  }
  if (low.plateau_step != 0 && same(probe, low.plateau_step)) {
    settle(low.cap, probe, low.plateau_step);
    halve({probe, low.plateau_step}, high);
  } else if (high.plateau_step != 0 && same(probe, high.plateau_step)) {
    settle(probe, high.cap, high.plateau_step);
    halve(low, {probe, high.plateau_step});
  } else {
    halve(low, {probe, 0});
    halve({probe, 0}, high);
  }
}

CapPlateaus::Relation CapPlateaus::relation(const std::vector<int>& list, std::size_t lower) const {
  const Code* const low = code_at(list[lower]);
  const Code* const high = code_at(list[lower + 1]);
  // What takes more registers than the lower cap allows is not the lower cap's code, whatever that is.
  if (high && high->registers_per_thread > list[lower]) return Relation::different;
  if (!low || !high) return Relation::open;
  return !low->code.empty() && low->code == high->code ? Relation::equal : Relation::different;
}

const CapPlateaus::Code* CapPlateaus::code_at(int cap) const {
  const auto settled = settled_as_.find(cap);
  const auto found = known_.find(settled == settled_as_.end() ? cap : settled->second);
  return found == known_.end() ? nullptr : &found->second;
}

bool CapPlateaus::same(int cap, int step) const {
  return known_.at(cap).code == known_.at(step).code;
}

std::vector<int> CapPlateaus::between(int low, int high) const {
  return {std::upper_bound(caps_.begin(), caps_.end(), low), std::lower_bound(caps_.begin(), caps_.end(), high)};
}

void CapPlateaus::ask(int cap, bool decides) {
  if (!known_.contains(cap) && asked_.insert(cap).second) to_compile_.push_back({cap, decides});
}

void CapPlateaus::ask_all(int low, int high) {
  for (const int cap : between(low, high)) ask(cap, false);
}

// Whether a code is known between the two, or was elsewhere, which the step's code should have been.
bool CapPlateaus::contradicted(int low, int high, int step) const {
  if (distrusted_.contains(known_.at(step).code)) return true;
  const auto end = known_.lower_bound(high);
  return std::any_of(known_.upper_bound(low), end, [&](const auto& known) { return !same(known.first, step); });
}

// Nothing is inferred of that code any more, and what was is compiled.
void CapPlateaus::distrust(int step) {
  const std::string& code = known_.at(step).code;
  distrusted_.insert(code);
  for (auto settled = settled_as_.begin(); settled != settled_as_.end();) {
    const auto [cap, as] = *settled;
    if (known_.at(as).code != code) {
      ++settled;
      continue;
    }
    settled = settled_as_.erase(settled);
    std::erase(settled_, std::pair(cap, as));
    ask(cap, false);
  }
}

void CapPlateaus::settle(int low, int high, int step) {
  if (contradicted(low, high, step)) {
    distrust(step);
    return ask_all(low, high);
  }
  for (const int cap : between(low, high))
    if (!known_.contains(cap) && !asked_.contains(cap) && settled_as_.emplace(cap, step).second)
      settled_.emplace_back(cap, step);
}

bool CapPlateaus::is_begun(int cap) const {
  return known_.contains(cap) || asked_.contains(cap) || guessed_.contains(cap);
}

// Between two codes that differ. The upper one goes down to the registers that it uses and no further: those caps
// first, for the rest depends on them; then what lies below, where each cap is likely to be a code of its own.
std::optional<int> CapPlateaus::likely_cap() const {
  std::optional<int> below;
  for (auto low = known_.begin(); low != known_.end() && std::next(low) != known_.end(); ++low) {
    const auto high = std::next(low);
    if (!low->second.code.empty() && low->second.code == high->second.code) continue;
    const int registers = high->second.registers_per_thread;
    for (const int cap : between(low->first, high->first)) {
      if (is_begun(cap) || settled_as_.contains(cap)) continue;
      if (registers < high->first && (cap == registers || cap == registers - 1)) return cap;
      if (cap < registers && (!below || (is_step(cap) && !is_step(*below)))) below = cap;
    }
  }
  return below;
}

std::optional<int> CapPlateaus::unchecked_cap() const {
  std::optional<int> middle;
  std::ptrdiff_t longest = 0;
  for (auto cap = caps_.begin(); cap != caps_.end();) {
    const auto begin = std::find_if(cap, caps_.end(), [this](int c) { return !is_begun(c); });
    cap = std::find_if(begin, caps_.end(), [this](int c) { return is_begun(c); });
    if (cap - begin <= longest) continue;
    longest = cap - begin;
    middle = *(begin + longest / 2);
  }
  return middle;
}

std::optional<int> CapPlateaus::take_likely() {
  const std::optional<int> cap = likely_cap();
  if (cap) guessed_.insert(*cap);
  return cap;
}

std::optional<int> CapPlateaus::take_unchecked() {
  const std::optional<int> cap = known_.empty() ? std::nullopt : unchecked_cap();
  if (cap) guessed_.insert(*cap);
  return cap;
}

std::vector<CapPlateaus::ToCompile> CapPlateaus::take_to_compile() {
  return std::exchange(to_compile_, {});
}

std::vector<std::pair<int, int>> CapPlateaus::take_settled() {
  return std::exchange(settled_, {});
}

}  // namespace regtune
