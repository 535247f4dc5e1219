#pragma once
// How answers lie in the tables of schema.sql. What is read is what was written, or nothing: a row whose checksum does
// not fit, or a name of which a row is missing, is a miss. Opens no transaction. Writing throws Error(cache_unusable).
#include <cstdint>
#include <string>
#include <vector>

#include "regtune/tuned_policy.hpp"
#include "sqlite.hpp"

namespace regtune {

// In place of the run's earlier one. `answer.run` 0: of no run.
void write_answer(Database& database, const TunedPolicy& answer);
// After the answers of a name were written or removed: without it they are not believed. Readers will see the change.
void seal_answers(Database& database, const std::string& bare_name);

struct StoredAnswers {
  std::vector<TunedPolicy> answers;  // newest first
  bool damaged = false;              // some of the name are missing or went bad: then there are none
};
// Of all kernels of that bare name. Throws Error for what SQLite itself cannot read.
StoredAnswers read_answers(Database& database, const std::string& bare_name);

// The bare names of the kernels with that mangled name.
std::vector<std::string> bare_names_of(Database& database, const std::string& mangled);
std::int64_t answer_generation(Database& database);

}  // namespace regtune
