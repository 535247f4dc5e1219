#pragma once
// The record as one JSON document: what --json prints, what --record writes, and what a replay reads back.
// Also the spelling of plain values in messages between processes.
#include <nlohmann/json.hpp>
#include <string>

#include "record.hpp"

namespace regtune {

void to_json(nlohmann::json& json, const Dim3& value);
void from_json(const nlohmann::json& json, Dim3& value);
void to_json(nlohmann::json& json, const GpuState& value);
void from_json(const nlohmann::json& json, GpuState& value);
void to_json(nlohmann::json& json, const LaunchShape& value);
void from_json(const nlohmann::json& json, LaunchShape& value);
nlohmann::json policy_json(const RegisterPolicy& policy);
RegisterPolicy policy_from_json(const nlohmann::json& json);
nlohmann::json choice_json(const SourceChoice& choice);
SourceChoice choice_from_json(const nlohmann::json& json);
nlohmann::json static_facts_json(const StaticFacts& facts);
StaticFacts static_facts_from_json(const nlohmann::json& json);

// What holds its default is left out, or null: the author's choice, a verdict without a renamed best, no route.
nlohmann::json record_json(const TuningRecord& record);
// Throws Error(bad_description) that names the key which is missing or of the wrong type; `file` is what
// the message calls the document.
TuningRecord record_from_json(const nlohmann::json& json, const std::string& file);

}  // namespace regtune
