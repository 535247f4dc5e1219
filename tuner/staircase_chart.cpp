#include "staircase_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "svg_plot.hpp"

namespace regtune {
namespace {

void draw_step_numbers(SvgPlot& plot, const Staircase& staircase, const Axis& x, const Axis& y) {
  double free_from = -1;
  bool first = true;
  for (const Step& step : staircase.steps) {
    const double from = std::max<double>(step.from_registers - 0.5, x.low);
    const double to = std::min<double>(step.to_registers + 0.5, x.high);
    if (from >= to) continue;
    const int blocks = step.occupancy.active_blocks_per_sm;
    const std::string text = first ? fmt::format("{} block{}", blocks, blocks == 1 ? "" : "s") : std::to_string(blocks);
    const double middle = first ? x.at(from) + width_of(text, kChartFont) / 2 + 2 : (x.at(from) + x.at(to)) / 2;
    const double half = width_of(text, kChartFont) / 2;
    if (middle - half <= free_from) continue;
    plot.text({middle, y.at(step.occupancy.fraction * 100) - 9}, text, "step", Anchor::middle);
    free_from = middle + half;
    first = false;
  }
}

}  // namespace

std::string staircase_chart(const Chart& chart, const Staircase& staircase) {
  const Layout layout = layout_of(chart.width);
  const bool wide = chart.width == ChartWidth::wide;
  const double top = 34;
  const double bottom = top + (wide ? 220 : 190);
  const DistinctCode* author = author_of(chart.codes);
  std::string description;
  if (author) description = about_step(staircase, author->timed->facts->registers_per_thread);
  SvgPlot plot(
      layout.width, std::string(layout.classes) + " staircase", chart.id,
      fmt::format("Blocks of {} threads that fit on an SM, over registers per thread", staircase.block.volume()),
      description);
  plot.end_at(bottom + 42);
  const Axis x{0, static_cast<double>(limits_of(chart.record).max_registers_per_thread) + 1, layout.left, layout.right,
               false};
  const Axis y{0, 112, bottom, top, false};
  plot.text({4, top - 14}, fmt::format("Occupancy, % of {} warps, and blocks per SM", staircase.warps_per_sm), "panel");
  draw_register_axis(plot, x, top, bottom, true);
  draw_value_axis(plot, y, layout, {0, 25, 50, 75, 100});
  draw_stairs(plot, staircase, x, y);
  draw_step_numbers(plot, staircase, x, y);
  std::map<const DistinctCode*, Point> at;
  std::vector<Point> marks;
  for (const DistinctCode* code : drawn_in_order(chart.record, chart.codes)) {
    const StaticFacts& facts = *code->timed->facts;
    if (!(code->timed->shape.block == staircase.block) || !facts.occupancy) continue;
    const Look look = look_of(chart.record, chart.codes, *code);
    at[code] = {x.at(facts.registers_per_thread), y.at(facts.occupancy->fraction * 100)};
    marks.push_back(at[code]);
    plot.mark(look.shape, at[code], look.radius, look.classes, hint_of(chart.record, *code), code->id());
  }
  // The stairs and their numbers are in the way of a label, too.
  for (const Step& step : staircase.steps) {
    const double percent = step.occupancy.fraction * 100;
    for (double registers = step.from_registers; registers <= step.to_registers; registers += 4)
      marks.push_back({x.at(registers), y.at(percent)});
    for (const double up : {9.0, 13.0, 17.0})
      marks.push_back({x.at((step.from_registers + step.to_registers) / 2.0), y.at(percent) - up});
    for (double below = percent - 4; below > 0 && below > percent - 25; below -= 4)
      marks.push_back({x.at(step.to_registers + 0.5), y.at(below)});
  }
  for (const PlacedLabel& label :
       place_labels(labels_of(chart, layout, at), marks, {layout.left + 2, top, layout.right, bottom - 2}, kChartFont))
    plot.label(label);
  plot.text({(x.start + x.end) / 2, bottom + 34}, "registers per thread", "axis", Anchor::middle);
  return plot.str();
}

}  // namespace regtune
