#include "html_codes_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "chart_frame.hpp"
#include "markup.hpp"
#include "report.hpp"

namespace regtune {
namespace {

constexpr std::size_t kLongestBudgets = 600;

struct Cell {
  std::string text;
  std::string value;       // to sort by; empty: last
  std::string extra = {};  // markup behind the text
};

struct Column {
  const char* key;
  const char* head;
  const char* classes;
};

std::vector<Column> columns_of(const TuningRecord& record, bool several_blocks) {
  std::vector<Column> columns;
  if (several_blocks) columns.push_back({"block", "Block", ""});
  columns.push_back({"registers", "Registers", ""});
  columns.push_back({"stores", "Spill stores, B", ""});
  columns.push_back({"loads", "Spill loads, B", "less"});
  columns.push_back({"stack", "Stack, B", "less"});
  columns.push_back({"occupancy", "Occu\u00adpancy", ""});
  columns.push_back({"limiter", "Limited by", "less words"});
  if (record.gpu) columns.push_back({"time", "Time, ms", ""});
  if (record.gpu) columns.push_back({"speedup", "Speed-up", ""});
  columns.push_back({"budget", "Budgets that give this code", ""});
  return columns;
}

std::string bare_ms(double ms) {
  const std::string text = spell_ms(ms);
  return text.substr(0, text.size() - 3);
}

Cell time_cell(const DistinctCode& code) {
  if (!code.measured) return {spell_fate(*code.timed).empty() ? "\u2013" : spell_fate(*code.timed), ""};
  const Interval& time = code.measured->time_ms;
  const std::string median = bare_ms(time.median);
  Cell cell{median, fmt::format("{}", time.median)};
  // As many decimals as the time. Of one sample there is no interval to speak of.
  const std::size_t decimals = median.size() - 1 - std::min(median.find('.'), median.size() - 1);
  const double half = std::max(time.high - time.median, time.median - time.low);
  const std::string spread = fmt::format("{:.{}f}", half, decimals);
  const bool is_zero = spread.find_first_not_of("0.") == std::string::npos;
  if (deciding_samples(*code.measured).size() > 1 && !is_zero) cell.text += " \u00b1\u2009" + spread;
  return cell;
}

Cell speedup_cell(const DistinctCode& code) {
  if (!code.measured || !(code.measured->speedup.median > 0)) return {"\u2013", ""};
  return {fmt::format("{:.3f}\u00d7", code.measured->speedup.median), fmt::format("{}", code.measured->speedup.median)};
}

Cell number_cell(int value) {
  return {std::to_string(value), std::to_string(value)};
}

std::string role_of(const TuningRecord& record, const DistinctCode& code, bool& is_best, bool& is_author) {
  is_author = code.holds(0);
  is_best = record.verdict && record.verdict->kind == Verdict::Kind::improved && code.holds(record.verdict->best_id);
  if (is_best && is_author) return "author\u2019s, best";
  if (is_best) return "best";
  if (is_author) return "author\u2019s";
  const bool is_to_write = record.verdict && record.verdict->kind == Verdict::Kind::improved &&
                           code.holds(record.verdict->best_in_source_id);
  return is_to_write ? "best in the source" : "";
}

std::vector<Cell> cells_of(const TuningRecord& record, const DistinctCode& code, bool several_blocks,
                           const std::string& role) {
  const StaticFacts& facts = *code.timed->facts;
  std::vector<Cell> cells;
  if (several_blocks)
    cells.push_back({spell_block(code.timed->shape.block), std::to_string(code.timed->shape.block.volume())});
  cells.push_back(number_cell(facts.registers_per_thread));
  cells.push_back(number_cell(facts.spill_store_bytes));
  cells.push_back(number_cell(facts.spill_load_bytes));
  cells.push_back(number_cell(facts.stack_frame_bytes));
  cells.push_back(facts.occupancy ? Cell{fmt::format("{:.1f} %", facts.occupancy->fraction * 100),
                                         fmt::format("{}", facts.occupancy->fraction)}
                                  : Cell{"none", "0"});
  std::string limiter = facts.occupancy ? std::string(to_string(facts.occupancy->limiter)) : "";
  std::replace(limiter.begin(), limiter.end(), '_', ' ');
  cells.push_back({limiter, limiter});
  if (record.gpu) cells.push_back(time_cell(code));
  if (record.gpu) cells.push_back(speedup_cell(code));
  const std::string budgets = shortened(spell_budgets(code), kLongestBudgets);
  Cell last{budgets, budgets};
  if (!role.empty()) last.extra = fmt::format(" <span class=\"tag\">\u2190 {}</span>", escape_markup(role));
  cells.push_back(std::move(last));
  return cells;
}

void append_row(std::string& html, const TuningRecord& record, const DistinctCode& code,
                const std::vector<Column>& columns, bool several_blocks) {
  bool is_best = false;
  bool is_author = false;
  const std::string role = role_of(record, code, is_best, is_author);
  html += fmt::format("<tr class=\"{}\" data-code=\"{}\">", is_best ? "best" : is_author ? "author" : "", code.id());
  const std::vector<Cell> cells = cells_of(record, code, several_blocks, role);
  for (std::size_t i = 0; i < cells.size(); ++i)
    html += fmt::format("<td{} data-v=\"{}\">{}{}</td>",
                        *columns[i].classes == '\0' ? "" : fmt::format(" class=\"{}\"", columns[i].classes),
                        escape_markup(cells[i].value), escape_markup(cells[i].text), cells[i].extra);
  html += "</tr>\n";
}

}  // namespace

std::string codes_table(const TuningRecord& record, const std::vector<DistinctCode>& codes,
                        const std::string& caption) {
  const bool several_blocks = has_several_blocks(record);
  const std::vector<Column> columns = columns_of(record, several_blocks);
  std::string html = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\n<table class=\"codes\">\n<thead><tr>",
      escape_markup(caption));
  for (const Column& column : columns)
    html += fmt::format(
        "<th scope=\"col\" class=\"{}\" aria-sort=\"{}\"><button type=\"button\" "
        "data-key=\"{}\">{}</button></th>",
        column.classes, std::string_view(column.key) == "time" ? "ascending" : "none", column.key,
        escape_markup(column.head));
  html += "</tr></thead>\n<tbody>\n";
  for (const DistinctCode& code : codes) append_row(html, record, code, columns, several_blocks);
  return html + "</tbody>\n</table>\n</div>\n";
}

}  // namespace regtune
