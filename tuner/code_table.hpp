#pragma once
// The distinct codes of a run as a table: a line for each, the fastest first, with every budget that gives it. Where
// the width is limited the headings become short and the columns that say least are left out; the author's code, the
// best and the one to write are always there. Judges nothing: what a line is marked with is the verdict's.
#include <string>
#include <vector>

#include "record.hpp"

namespace regtune {

enum class Color { automatic, always, never };

struct ReportStyle {
  bool all_rows = false;  // else the fastest, the author's and the one to write
  bool plot = false;      // time over registers, as a picture of letters
  Color color = Color::automatic;
  // What the text goes to (terminal.hpp).
  int columns = 0;  // 0: lines of any width
  bool colored = false;
  bool utf8 = false;
};

// A line of headings, and one for each distinct code.
std::string table_of_codes(const TuningRecord& record, const ReportStyle& style);

// "256", "32x8".
std::string spell_block(Dim3 block);

// "author's code", "__launch_bounds__(256)", with the block where the run swept several.
std::string spell_choice(const TuningRecord& record, int variant_id);

}  // namespace regtune
