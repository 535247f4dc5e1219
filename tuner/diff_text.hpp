#pragma once
// How a comparison of runs is told: to a person, with budgets that moved alike in one line, and as a JSON document,
// with each of them. Judges nothing: record_diff.hpp has.
#include <nlohmann/json.hpp>
#include <string>

#include "diff_command.hpp"

namespace regtune {

std::string diff_text(const DiffResult& result);
nlohmann::json diff_json(const DiffResult& result);

}  // namespace regtune
