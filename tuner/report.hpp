#pragma once
// What a person reads: the table of distinct codes, the verdict in words, and errors. Results go to stdout,
// errors to stderr; with --json stdout holds one JSON document and nothing else.
#include <string>

#include "record.hpp"
#include "regtune/error.hpp"

namespace regtune {

enum class Color { automatic, always, never };

struct ReportStyle {
  bool all_rows = false;  // else the fastest, the author's and the one to write
  bool plot = false;      // time over registers, as a picture of letters
  Color color = Color::automatic;
};

// `stored_in`: the cache file; empty when nothing was stored.
std::string report_text(const TuningRecord& record, const std::string& stored_in, const ReportStyle& style);

// The answer of a look-up: what to use, how sure, and where it was measured.
std::string answer_text(const TuningRecord& record);

// The verdict alone, in words; the record has one.
std::string verdict_in_words(const TuningRecord& record);

// The table alone: a line of headings, and one for each distinct code.
std::string table_of_codes(const TuningRecord& record, const ReportStyle& style);

// "256", "32x8".
std::string spell_block(Dim3 block);

// "author's code", "__launch_bounds__(256)", with the block where the run swept several.
std::string spell_choice(const TuningRecord& record, int variant_id);

}  // namespace regtune
