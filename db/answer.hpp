#pragma once
// The answer that a finished run gives to look-ups: made from its record, and checked by one sum over all of its
// fields. Says nothing of files or tables. A record without a verdict or a GPU gives none.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record.hpp"
#include "regtune/tuned_policy.hpp"

namespace regtune {

std::optional<TunedPolicy> answer_of(const TuningRecord& record);

// Over every field that is stored, the run and its order included. 32 hex digits.
std::string checksum_of(const TunedPolicy& answer);

// The option and the attribute of a budget, which follow from its policy and are not stored.
void spell_budget(TunedBudget& budget);

// "5:hello,3:abc,": each text with its length, so that any bytes may be in it. Empty for what is no such list.
std::string netstrings(const std::vector<std::string>& texts);
std::optional<std::vector<std::string>> from_netstrings(std::string_view text);

}  // namespace regtune
