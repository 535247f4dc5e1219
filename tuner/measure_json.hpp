#pragma once
// How a run was measured, as JSON: the parts of a record (record_json.hpp) beside its trials.
#include <nlohmann/json.hpp>

#include "record.hpp"

namespace regtune {

nlohmann::json settings_json(const MeasureSettings& settings);
// Of records from before samples had a mode, the mode is taken from the number of launches.
MeasureSettings settings_from_json(const nlohmann::json& json);
nlohmann::json clocks_json(const ClockWatch& clocks);
ClockWatch clocks_from_json(const nlohmann::json& json);
// The rates that a time stands for; null where nothing was counted. Not read back: they follow from the rest.
nlohmann::json rates_json(const Work& work, double ms);
nlohmann::json counters_json(const CounterReadings& readings);
CounterReadings counters_from_json(const nlohmann::json& json);
nlohmann::json nvcc_json(const NvccComparison& comparison);
// `trials`: how many there are; no code may be of another.
NvccComparison nvcc_from_json(const nlohmann::json& json, std::size_t trials);
nlohmann::json work_json(const Work& work);
Work work_from_json(const nlohmann::json& json);

}  // namespace regtune
