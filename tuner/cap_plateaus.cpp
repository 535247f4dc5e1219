#include "cap_plateaus.hpp"

#include <algorithm>
#include <utility>

namespace regtune {
namespace {

// A warp gets registers in units of 256, which is 8 for each of its 32 threads, on every architecture since sm_50.
constexpr int kStep = 8;

}  // namespace

CapPlateaus::CapPlateaus(std::vector<int> caps) : caps_(std::move(caps)) {
  for (const int cap : caps_)
    if (cap == caps_.front() || cap == caps_.back() || cap % kStep == 0) steps_.push_back(cap);
  decided_.resize(steps_.empty() ? 0 : steps_.size() - 1, false);
}

bool CapPlateaus::has_all_steps(const std::vector<int>& caps) {
  if (caps.empty()) return false;
  for (int step = step_at_or_below(caps.front()) + kStep; step < caps.back(); step += kStep)
    if (!std::binary_search(caps.begin(), caps.end(), step)) return false;
  return true;
}

int CapPlateaus::step_at_or_below(int cap) {
  return cap / kStep * kStep;
}

bool CapPlateaus::is_step(int cap) const {
  return std::binary_search(steps_.begin(), steps_.end(), cap);
}

CapPlateaus::Cell CapPlateaus::cell(std::size_t lower_step) const {
  const auto low = code_of_.find(steps_[lower_step]);
  const auto high = code_of_.find(steps_[lower_step + 1]);
  if (low == code_of_.end() || high == code_of_.end()) return Cell::open;
  return !low->second.empty() && low->second == high->second ? Cell::equal : Cell::different;
}

void CapPlateaus::add(int step, const std::string& code) {
  code_of_[step] = code;
  for (std::size_t lower_step = 0; lower_step < decided_.size(); ++lower_step) decide(lower_step);
}

// Two equal steps alone may be a coincidence (one kernel of many had one code at the caps 247 and 249, and another at
// 248), so a third one beside them has to agree.
void CapPlateaus::decide(std::size_t lower_step) {
  if (decided_[lower_step] || cell(lower_step) == Cell::open) return;
  const Cell before = lower_step > 0 ? cell(lower_step - 1) : Cell::different;
  const Cell after = lower_step + 1 < decided_.size() ? cell(lower_step + 1) : Cell::different;
  const bool equal = cell(lower_step) == Cell::equal;
  const bool on_plateau = equal && (before == Cell::equal || after == Cell::equal);
  if (equal && !on_plateau && (before == Cell::open || after == Cell::open)) return;
  decided_[lower_step] = true;
  const int low = steps_[lower_step];
  const auto first = std::upper_bound(caps_.begin(), caps_.end(), low);
  const auto last = std::lower_bound(caps_.begin(), caps_.end(), steps_[lower_step + 1]);
  for (auto cap = first; cap != last; ++cap) {
    if (on_plateau)
      settled_.emplace_back(*cap, low);
    else
      to_compile_.push_back(*cap);
  }
}

std::vector<int> CapPlateaus::take_to_compile() {
  return std::exchange(to_compile_, {});
}

std::vector<std::pair<int, int>> CapPlateaus::take_settled() {
  return std::exchange(settled_, {});
}

}  // namespace regtune
