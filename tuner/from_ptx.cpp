#include "from_ptx.hpp"

namespace regtune {

bool is_from_ptx(const std::string& compiler) {
  return compiler.starts_with("ptxas ");
}

bool is_from_ptx(const TuningRecord& record) {
  return is_from_ptx(record.compiler);
}

std::string from_ptx_note(const TuningRecord& record, const std::string& before, const std::string& behind) {
  return is_from_ptx(record) ? before + kFromPtx + behind : "";
}

}  // namespace regtune
