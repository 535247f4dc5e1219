#pragma once
// Exported budgets as one JSON document, whose schema is docs/export.schema.json. For programs that are no C++: all
// that the header and the CMake fragment say, and nothing that needs regtune to be understood.
#include <nlohmann/json.hpp>

#include "exported_budget.hpp"

namespace regtune {

nlohmann::json export_json(const ExportedKernels& exported);

}  // namespace regtune
