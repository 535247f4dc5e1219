#pragma once
// What a person reads: the table of distinct codes (code_table.hpp), the verdict in words, and errors. Results go to
// stdout, errors to stderr; with --json stdout holds one JSON document and nothing else.
#include <string>

#include "code_table.hpp"
#include "record.hpp"
#include "regtune/error.hpp"

namespace regtune {

// `stored_in`: the cache file; empty when nothing was stored.
std::string report_text(const TuningRecord& record, const std::string& stored_in, const ReportStyle& style);

// The answer of a look-up: what to use, how sure, and where it was measured.
std::string answer_text(const TuningRecord& record);

// The verdict alone, in words; the record has one.
std::string verdict_in_words(const TuningRecord& record);

}  // namespace regtune
