#include "time_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "distinct_codes.hpp"

namespace regtune {
namespace {

constexpr int kRows = 12;
constexpr int kFewestColumns = 40;
constexpr int kMostColumns = 100;
constexpr std::size_t kFewestCodes = 3;
// From here on the slow codes would press all others into one line.
constexpr double kLogarithmicFrom = 3;

// In the order in which one hides another at the same place.
enum class Mark { none, plain, spills, author, best };

struct Point {
  int registers = 0;
  double ms = 0;
  Mark mark = Mark::plain;
};

std::vector<Point> points_of(const TuningRecord& record) {
  std::vector<Point> points;
  const bool improved = record.verdict && record.verdict->kind == Verdict::Kind::improved;
  for (const DistinctCode& code : distinct_codes(record)) {
    if (!code.measured) continue;
    Mark mark = code.spills() ? Mark::spills : Mark::plain;
    if (code.holds(0)) mark = Mark::author;
    if (improved && code.holds(record.verdict->best_id)) mark = Mark::best;
    points.push_back({code.timed->facts->registers_per_thread, code.measured->time_ms.median, mark});
  }
  return points;
}

std::string spell(Mark mark, bool utf8) {
  switch (mark) {
    case Mark::none:
      return " ";
    case Mark::plain:
      return utf8 ? "\u00b7" : ".";
    case Mark::spills:
      return utf8 ? "\u00d7" : "x";
    case Mark::author:
      return "A";
    case Mark::best:
      return utf8 ? "\u25c6" : "#";
  }
  return " ";
}

std::string painted(Mark mark, const ReportStyle& style) {
  const std::string letter = spell(mark, style.utf8);
  if (!style.colored) return letter;
  if (mark == Mark::best) return "\x1b[1;32m" + letter + "\x1b[0m";
  if (mark == Mark::author) return "\x1b[36m" + letter + "\x1b[0m";
  return mark == Mark::spills ? "\x1b[33m" + letter + "\x1b[0m" : letter;
}

std::string spell_ms(double ms) {
  return ms >= 100 ? fmt::format("{:.0f}", ms) : fmt::format("{:#.3g}", ms);
}

// Where a value lies between two others, 0 to 1.
double share(double value, double low, double high, bool logarithmic) {
  if (high <= low) return 0.5;
  if (logarithmic) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

// Numbers of registers under the axis, each where its column is, none over another.
std::string axis_labels(int low, int high, int columns) {
  std::string line(static_cast<std::size_t>(columns) + 4, ' ');
  std::size_t free_from = 0;
  constexpr int kSteps[] = {4, 8, 16, 32, 64};
  int step = 64;
  for (const int candidate : kSteps)
    if ((high - low) / candidate * 6 <= columns) {
      step = candidate;
      break;
    }
  for (int registers = (low + step - 1) / step * step; registers <= high; registers += step) {
    const std::string label = std::to_string(registers);
    const auto at = static_cast<std::size_t>(std::lround(share(registers, low, high, false) * (columns - 1)));
    if (at < free_from || at + label.size() > line.size()) continue;
    line.replace(at, label.size(), label);
    free_from = at + label.size() + 1;
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace

std::string time_plot(const TuningRecord& record, const ReportStyle& style) {
  const std::vector<Point> points = points_of(record);
  if (points.size() < kFewestCodes || style.columns < kFewestColumns) return "";
  const auto by_registers = [](const Point& a, const Point& b) { return a.registers < b.registers; };
  const auto by_ms = [](const Point& a, const Point& b) { return a.ms < b.ms; };
  const auto [fewest, most] = std::minmax_element(points.begin(), points.end(), by_registers);
  const auto [fastest, slowest] = std::minmax_element(points.begin(), points.end(), by_ms);
  const bool logarithmic = slowest->ms > kLogarithmicFrom * fastest->ms;
  const std::size_t label_columns = std::max(spell_ms(fastest->ms).size(), spell_ms(slowest->ms).size());
  // Half a column for each number of registers is too coarse, four are too far apart.
  const int span = most->registers - fewest->registers + 1;
  const int room = std::min(style.columns, kMostColumns) - static_cast<int>(label_columns) - 6;
  const int columns = std::clamp(span * 2, std::min(room, 24), room);

  std::vector<std::vector<Mark>> grid(kRows, std::vector<Mark>(static_cast<std::size_t>(columns), Mark::none));
  for (const Point& point : points) {
    const auto x = static_cast<std::size_t>(
        std::lround(share(point.registers, fewest->registers, most->registers, false) * (columns - 1)));
    const auto y = static_cast<std::size_t>(
        std::lround((1 - share(point.ms, fastest->ms, slowest->ms, logarithmic)) * (kRows - 1)));
    Mark& mark = grid[y][x];
    mark = std::max(mark, point.mark);
  }
  const char* side = style.utf8 ? "\u2502" : "|";
  std::string text =
      fmt::format("\ntime (ms) over registers{}:  {} no spills  {} spills  {} author's  {} best\n",
                  logarithmic ? ", log" : "", spell(Mark::plain, style.utf8), spell(Mark::spills, style.utf8),
                  spell(Mark::author, style.utf8), spell(Mark::best, style.utf8));
  for (std::size_t y = 0; y < grid.size(); ++y) {
    const std::string label = y == 0 ? spell_ms(slowest->ms) : y == grid.size() - 1 ? spell_ms(fastest->ms) : "";
    std::size_t end = grid[y].size();
    while (end > 0 && grid[y][end - 1] == Mark::none) --end;
    text += fmt::format("{:>{}} {}", label, label_columns, side);
    for (std::size_t x = 0; x < end; ++x) text += painted(grid[y][x], style);
    text += "\n";
  }
  std::string axis;
  for (int x = 0; x < columns; ++x) axis += style.utf8 ? "\u2500" : "-";
  text += fmt::format("{:>{}} {}{}\n", "", label_columns, style.utf8 ? "\u2514" : "+", axis);
  return text +
         fmt::format("{:>{}}  {}\n", "", label_columns, axis_labels(fewest->registers, most->registers, columns));
}

}  // namespace regtune
