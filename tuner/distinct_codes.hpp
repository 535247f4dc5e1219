#pragma once
// The distinct machine codes of a run: which trial was timed for each, and every variant that gave it. For what is
// drawn, exported and compared; reads a record and judges nothing. Points into the record, which has to outlive it.
#include <string>
#include <vector>

#include "record.hpp"

namespace regtune {

struct DistinctCode {
  const Trial* timed = nullptr;           // stands for the code
  std::vector<const Trial*> variants;     // in order of id
  const Measurement* measured = nullptr;  // null: it has no time
  int id() const { return timed->variant.id; }
  bool holds(int variant_id) const;
  bool spills() const { return timed->facts->spilled_bytes() > 0; }
  int spill_bytes() const;  // stores and loads together, to shared memory too
  // Timed in the rounds that decide.
  bool is_finalist() const { return measured && !measured->confirmation.empty(); }
};

// The fastest first, those without a time last.
std::vector<DistinctCode> distinct_codes(const TuningRecord& record);

// The times of a trial of its own code; null where there are none that a comparison could use.
const Measurement* measurement_of(const Trial& trial);

// The samples that its interval stands on: of the confirmation, else of the race.
const std::vector<Sample>& deciding_samples(const Measurement& measured);

// Every budget that gives the code, ranges as ranges; where the author's own choice of name, macros and options gives
// it, the others go unsaid.
std::string spell_budgets(const DistinctCode& code);

// "faulted", "cannot launch"; empty where it was timed, or nothing was.
std::string spell_fate(const Trial& trial);

bool has_several_blocks(const TuningRecord& record);

}  // namespace regtune
