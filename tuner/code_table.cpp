#include "code_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "distinct_codes.hpp"
#include "policy.hpp"
#include "terminal.hpp"
#include "timing_text.hpp"

namespace regtune {
namespace {

constexpr std::size_t kRowsShown = 12;
constexpr std::size_t kLeastBudgetColumns = 32;
constexpr std::size_t kFewestBudgetColumns = 8;  // in a window that has no room for more
constexpr std::size_t kFarIn = 11;               // where the line below the rows begins

// A column of the table. Where there is room it has its whole heading and width; else what its cells take.
struct Column {
  std::string head;
  std::string short_head;
  std::size_t width = 0;
  bool is_left_aligned = false;
  int dispensable = 0;  // the greatest goes first; 0: never
  std::string before = " ";
  std::vector<std::string> cells = {};
};

// Enough decimals for the interval to show, whatever the time is.
std::string spell_time(const Interval& time) {
  const int decimals = time.median >= 100 ? 1 : time.median >= 0.1 ? 3 : 5;
  const double half = std::max(time.high - time.median, time.median - time.low);
  return fmt::format("{:.{}f} +-{:.{}f}", time.median, decimals, half, decimals);
}

// In the place of a time.
std::string spell_outcome(const Trial& trial) {
  if (std::holds_alternative<NotTimed>(trial.outcome)) return "";
  const std::string fate = std::holds_alternative<Abandoned>(trial.outcome) ? "" : spell_fate(trial);
  return fate.empty() ? "-" : fate;
}

bool has_failed(const TuningRecord& record, const DistinctCode& row) {
  return !row.measured && record.gpu && !spell_outcome(*row.timed).empty();
}

// What the column of spills, which are those to local memory, does not count.
std::string shared_spills(const StaticFacts& facts) {
  if (facts.shared_spill_store_bytes == 0 && facts.shared_spill_load_bytes == 0) return "";
  return fmt::format(" (and {}/{} bytes to {} of shared memory)", facts.shared_spill_store_bytes,
                     facts.shared_spill_load_bytes, facts.static_shared_bytes);
}

// What the verdict says of the code, behind its budgets.
std::string mark_of(const TuningRecord& record, const DistinctCode& row) {
  if (!record.verdict) return "";
  const Verdict& verdict = *record.verdict;
  const bool improved = verdict.kind == Verdict::Kind::improved;
  if (improved && row.holds(verdict.best_in_source_id) && verdict.best_in_source_id != verdict.reference_id)
    return "<- write this";
  if (improved && row.holds(verdict.best_id)) return "<- best";
  if (verdict.best_renamed_id && row.holds(*verdict.best_renamed_id)) return "<- best under another name";
  return "";
}

// Behind the budgets, in few letters where there is little room: `room` is for the budgets as well.
std::string spell_mark(const std::string& mark, bool is_narrow, std::size_t room) {
  if (mark.empty()) return "";
  if (!is_narrow) return "   " + mark;
  const std::string text = "  " + (mark == "<- write this" ? "<- write" : mark.substr(0, 7));
  return text.size() + kFewestBudgetColumns <= room ? text : " <-";
}

std::string budgets_of(const TuningRecord& record, const DistinctCode& row) {
  const std::string text = spell_budgets(row) + shared_spills(*row.timed->facts);
  return has_several_blocks(record) ? fmt::format("block {}: {}", spell_block(row.timed->shape.block), text) : text;
}

// What is always shown, however slow it is.
bool is_named(const TuningRecord& record, const DistinctCode& row) {
  if (row.holds(0)) return true;
  const auto& verdict = record.verdict;
  return verdict && (row.holds(verdict->best_id) || row.holds(verdict->best_in_source_id) ||
                     (verdict->best_renamed_id && row.holds(*verdict->best_renamed_id)));
}

std::vector<DistinctCode> shown_rows(const TuningRecord& record, std::vector<DistinctCode> rows, bool all) {
  std::vector<DistinctCode> shown;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (all || i < kRowsShown || is_named(record, rows[i]) || has_failed(record, rows[i]))
      shown.push_back(std::move(rows[i]));
  return shown;
}

void add_static_columns(std::vector<Column>& columns, const std::vector<DistinctCode>& rows) {
  Column registers{"registers", "regs", 10, false, 0, ""};
  Column spills{"spill st/ld", "spill", 12, false, 1};
  Column stack{"stack", "stack", 6, false, 5};
  Column occupancy{"occupancy", "occup.", 10, false, 2};
  Column limiter{"limited by", "limit", 13, true, 6, "  "};
  for (const DistinctCode& row : rows) {
    const StaticFacts& facts = *row.timed->facts;
    registers.cells.push_back(std::to_string(facts.registers_per_thread));
    spills.cells.push_back(fmt::format("{}/{}", facts.spill_store_bytes, facts.spill_load_bytes));
    stack.cells.push_back(std::to_string(facts.stack_frame_bytes));
    occupancy.cells.push_back(facts.occupancy ? fmt::format("{:.1f} %", facts.occupancy->fraction * 100) : "none");
    limiter.cells.push_back(facts.occupancy ? std::string(to_string(facts.occupancy->limiter)) : "");
  }
  for (Column* column : {&registers, &spills, &stack, &occupancy, &limiter}) columns.push_back(std::move(*column));
}

void add_measured_columns(std::vector<Column>& columns, const TuningRecord& record,
                          const std::vector<DistinctCode>& rows) {
  const bool is_authors = record.verdict && record.verdict->reference_id == 0;
  Column time{"time (ms)", "time (ms)", 18, false, 0};
  Column speedup{is_authors ? "vs author's" : "vs reference", "gain", 12, false, 0};
  std::vector<Column> rates;
  for (const std::string& head : rate_heads(record.work))
    rates.push_back({head, head, head == "of copy" ? std::size_t{8} : 9, false, 3});
  std::vector<Column> counters;
  for (const std::string& head : counter_heads(record))
    counters.push_back({head, head, head.size() > 9 ? std::size_t{17} : 9, false, 4});
  for (const DistinctCode& row : rows) {
    const Measurement* measured = row.measured;
    time.cells.push_back(measured ? spell_time(measured->time_ms) : spell_outcome(*row.timed));
    speedup.cells.push_back(measured && measured->speedup.median > 0 ? fmt::format("{:.2f}x", measured->speedup.median)
                                                                     : "");
    const auto rate_values = rate_cells(record.work, measured ? measured->time_ms.median : 0);
    for (std::size_t i = 0; i < rates.size(); ++i) rates[i].cells.push_back(rate_values[i]);
    const auto counter_values = counter_cells(record, row.timed->variant.id);
    for (std::size_t i = 0; i < counters.size(); ++i) counters[i].cells.push_back(counter_values[i]);
  }
  columns.push_back(std::move(time));
  columns.push_back(std::move(speedup));
  for (Column& rate : rates) columns.push_back(std::move(rate));
  for (Column& counter : counters) columns.push_back(std::move(counter));
}

std::size_t width_of(const std::vector<Column>& columns) {
  std::size_t width = 0;
  for (const Column& column : columns) width += column.before.size() + column.width;
  return width;
}

// Short heads and no more room than the cells take; then without the columns that say least.
void fit(std::vector<Column>& columns, std::size_t room) {
  if (width_of(columns) <= room) return;
  for (Column& column : columns) {
    column.head = column.short_head;
    column.width = column.head.size();
    for (const std::string& cell : column.cells) column.width = std::max(column.width, cell.size());
    if (!column.before.empty()) column.before = "  ";
  }
  while (width_of(columns) > room) {
    const auto least = std::max_element(columns.begin(), columns.end(),
                                        [](const Column& a, const Column& b) { return a.dispensable < b.dispensable; });
    if (least->dispensable == 0) return;
    columns.erase(least);
  }
}

std::string cells_of(const std::vector<Column>& columns, const std::string& (*cell)(const Column&, std::size_t),
                     std::size_t row) {
  std::string text;
  for (const Column& column : columns) {
    const std::string& shown = cell(column, row);
    text += column.is_left_aligned ? fmt::format("{}{:<{}}", column.before, shown, column.width)
                                   : fmt::format("{}{:>{}}", column.before, shown, column.width);
  }
  return text;
}

enum class Paint { none, head, best, author, failed };

std::string painted(const std::string& line, Paint paint, bool colored) {
  if (!colored || paint == Paint::none) return line;
  const char* code = "1";  // bold
  if (paint == Paint::best) code = "1;32";
  if (paint == Paint::author) code = "36";
  if (paint == Paint::failed) code = "31";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, line);
}

Paint paint_of(const TuningRecord& record, const DistinctCode& row) {
  if (has_failed(record, row)) return Paint::failed;
  if (!mark_of(record, row).empty()) return Paint::best;
  return row.holds(0) ? Paint::author : Paint::none;
}

}  // namespace

std::string spell_block(Dim3 block) {
  if (block.z > 1) return fmt::format("{}x{}x{}", block.x, block.y, block.z);
  return block.y > 1 ? fmt::format("{}x{}", block.x, block.y) : fmt::format("{}", block.x);
}

std::string spell_choice(const TuningRecord& record, int variant_id) {
  const Variant& variant = record.trials.at(static_cast<std::size_t>(variant_id)).variant;
  std::string text = spell_around(spell(variant.policy), variant.choice, ", ");
  if (has_several_blocks(record)) text += fmt::format(" with block {}", spell_block(variant.block));
  const Dim3& grid = record.trials[static_cast<std::size_t>(variant_id)].shape.grid;
  const bool grid_is_its_own = std::any_of(record.trials.begin(), record.trials.end(), [&](const Trial& trial) {
    return trial.variant.block == variant.block && trial.shape.grid != grid;
  });
  if (grid_is_its_own) text += fmt::format(" on a grid of {}", spell_block(grid));
  return text;
}

std::string table_of_codes(const TuningRecord& record, const ReportStyle& style) {
  const std::vector<DistinctCode> all = distinct_codes(record);
  const std::vector<DistinctCode> rows = shown_rows(record, all, style.all_rows);
  std::vector<Column> columns;
  add_static_columns(columns, rows);
  if (record.gpu) add_measured_columns(columns, record, rows);
  std::string gap = record.gpu ? "    " : " ";
  const auto room = static_cast<std::size_t>(style.columns);
  const std::size_t whole = width_of(columns);
  if (room > 0) fit(columns, room - std::min(room, kLeastBudgetColumns + 2));
  const bool is_narrow = width_of(columns) < whole;
  if (is_narrow) gap = "  ";
  const std::size_t before_budget = width_of(columns) + gap.size();
  const auto line_of = [&](const std::string& (*cell)(const Column&, std::size_t), std::size_t row,
                           const std::string& budgets, Paint paint) {
    return painted(cells_of(columns, cell, row) + gap + budgets, paint, style.colored) + "\n";
  };
  const auto head = [](const Column& column, std::size_t) -> const std::string& { return column.head; };
  const auto cell = [](const Column& column, std::size_t row) -> const std::string& { return column.cells[row]; };
  std::string text = "\n" + line_of(head, 0, "budget", Paint::head);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string budgets = budgets_of(record, rows[i]);
    const std::size_t behind = room > 0 ? room - std::min(room, before_budget) : std::string::npos;
    const std::string mark = spell_mark(mark_of(record, rows[i]), is_narrow, behind);
    if (room > 0) {
      const std::size_t left = behind - std::min(behind, mark.size());
      // Of what is cut the one to write must be seen.
      if (columns_of(budgets) > left && mark.find("<- write") != std::string::npos)
        budgets = spell_choice(record, record.verdict->best_in_source_id);
      budgets = cut_to(budgets, std::max(left, kFewestBudgetColumns), style.utf8);
    }
    text += line_of(cell, i, budgets + mark, paint_of(record, rows[i]));
  }
  if (all.size() > rows.size()) {
    const std::string more = fmt::format("... and {} more codes (--all shows them)\n", all.size() - rows.size());
    text += std::string(room == 0 || kFarIn + more.size() <= room + 1 ? kFarIn : 0, ' ') + more;
  }
  return text;
}

}  // namespace regtune
