#include "run_rows.hpp"

#include "answer.hpp"
#include "answer_rows.hpp"
#include "record_rows.hpp"
#include "trial_rows.hpp"

namespace regtune {

std::int64_t write_finished_run(Database& database, std::int64_t run, const TuningRecord& record,
                                std::int64_t finish_order) {
  run = write_head(database, run, record, finish_order);
  for (const Trial& trial : record.trials) {
    write_trial(database, run, trial);
    write_samples(database, run, trial);
  }
  if (record.verdict) write_verdict(database, run, *record.verdict);
  if (std::optional<TunedPolicy> answer = answer_of(record)) {
    answer->run = run;
    answer->finish_order = finish_order;
    write_answer(database, *answer);
  }
  return run;
}

std::optional<TuningRecord> read_run(Database& database, std::int64_t run) {
  auto record = read_head(database, run);
  if (!record) return std::nullopt;
  record->trials = read_trials(database, run);
  record->verdict = read_verdict(database, run);
  return record;
}

}  // namespace regtune
