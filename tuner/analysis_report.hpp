#pragma once
// What a study says to a person and to a program: the table of distinct codes, the register ceiling of each launch
// bound, and the diagnosis in words. Reads records, compiles nothing.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyze_command.hpp"
#include "report.hpp"

namespace regtune {

// One sentence each: spills and what cures them, a stack frame that no budget cures, budgets that are not in force
// and why. Requires: the record has trials, the author's code first.
std::vector<std::string> diagnosis(const TuningRecord& record);

// One line for each range of launch bounds with one ceiling: "__launch_bounds__(256, 3..4): 64 registers".
std::vector<std::string> ceilings(const TuningRecord& record);

std::string analysis_text(const Analysis& analysis, const ReportStyle& style);
nlohmann::json analysis_json(const Analysis& analysis);

}  // namespace regtune
