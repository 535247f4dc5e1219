#pragma once
// What the HTML report says in words: the verdict in one sentence and what it stands on, how runs side by side differ,
// and what the occupancy of the codes that matter comes from. Plain text: whoever puts it onto a page escapes it.
#include <string>
#include <vector>

#include "distinct_codes.hpp"
#include "record.hpp"

namespace regtune {

// "decayWide runs 1.12 times as fast on NVIDIA H200 with __launch_bounds__(256): 1.563 ms per launch instead of
// 1.754 ms."
std::string verdict_sentence(const TuningRecord& record);

// The interval, the rounds and the other form of the same gain, a sentence each.
std::vector<std::string> verdict_details(const TuningRecord& record);

// "decayWide", never longer than a heading may be.
std::string kernel_heading(const TuningRecord& record);

// "n = 16777216, m = 4"; empty where there are none.
std::string size_words(const Sizes& sizes);

// Of each run what tells it from the others: "NVIDIA H200, driver 580.159.04".
std::vector<std::string> run_labels(const std::vector<TuningRecord>& runs);

}  // namespace regtune
