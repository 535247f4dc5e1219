#include "registers_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "svg_plot.hpp"

namespace regtune {
namespace {

// Beyond this the slowest code would press the others together on a linear axis.
constexpr double kWideSpan = 3;

// Times of one magnitude on a linear axis; a spilling code can take ten times as long.
Axis time_axis(const SharedRange& range, double bottom, double top) {
  const bool wide_span = range.most_ms > kWideSpan * range.least_ms;
  const double low = range.least_ms;
  const double high = std::max(range.most_ms, low * 1.002);
  const double pad = wide_span ? 0 : 0.06 * (high - low);
  Axis axis{low - pad, high + pad, bottom, top, wide_span};
  if (wide_span) {
    axis.low = low / 1.06;
    axis.high = high * 1.06;
  }
  return axis;
}

// The codes that one panel of times shows, and where.
struct TimePanel {
  std::string title;
  double top = 0;
  double bottom = 0;
  SharedRange range;
  double most_ms = 0;         // slower codes are left out
  bool is_overview = true;    // also holds the codes without a time, and one mark for each code
  double labels_from_ms = 0;  // codes of less are labelled in the close-up
};

void draw_times(SvgPlot& plot, const Chart& chart, const Layout& layout, const Axis& x, const TimePanel& panel) {
  const bool some_failed = panel.is_overview && std::any_of(chart.codes.begin(), chart.codes.end(),
                                                            [](const DistinctCode& code) { return !code.measured; });
  const double plot_top = some_failed ? panel.top + 22 : panel.top;
  const Axis y = time_axis(panel.range, panel.bottom, plot_top);
  plot.text({4, panel.top - 12}, panel.title + (y.logarithmic ? ", log scale" : ""), "panel");
  draw_register_axis(plot, x, panel.top, panel.bottom, false);
  draw_value_axis(plot, y, layout, ticks_of(y, panel.bottom - panel.top > 200 ? 6 : 4));
  if (some_failed) plot.text({layout.left - 7, panel.top + 9}, "none", "tick", Anchor::end);
  std::map<const DistinctCode*, Point> labelled;
  std::vector<Point> marks;
  for (const DistinctCode* code : drawn_in_order(chart.record, chart.codes)) {
    const double ms = code->measured ? code->measured->time_ms.median : 0;
    if (ms > panel.most_ms || (!code->measured && !panel.is_overview)) continue;
    const Point at{x.at(code->timed->facts->registers_per_thread), code->measured ? y.at(ms) : panel.top + 5};
    marks.push_back(at);
    if (ms >= panel.labels_from_ms) labelled[code] = at;
    if (code->is_finalist() && code->measured->time_ms.low > 0)
      plot.line({at.x, y.at(code->measured->time_ms.low)}, {at.x, y.at(code->measured->time_ms.high)}, "whisker");
    const Look look = look_of(chart.record, chart.codes, *code);
    plot.mark(look.shape, at, look.radius, look.classes + (panel.is_overview ? " point" : ""),
              hint_of(chart.record, *code), code->id());
  }
  const Box area{layout.left + 2, plot_top, layout.right, panel.bottom - 2};
  for (const PlacedLabel& label : place_labels(labels_of(chart, layout, labelled), marks, area, kChartFont))
    plot.label(label);
}

// All codes; and where the slowest is far away, the fast ones once more from near by. Returns where the panels end.
double draw_time_panels(SvgPlot& plot, const Chart& chart, const Layout& layout, const Axis& x,
                        const SharedRange& range, double top) {
  constexpr double kNear = 1.35;  // of the fastest
  const bool wide = chart.width == ChartWidth::wide;
  const auto near = std::count_if(chart.codes.begin(), chart.codes.end(), [&](const DistinctCode& code) {
    return code.measured && code.measured->time_ms.median <= kNear * range.least_ms;
  });
  TimePanel all{
      "Time per launch, ms (lower is faster)", top, top + (wide ? 280.0 : 240.0), range, range.most_ms, true, 0};
  if (range.most_ms <= kWideSpan * range.least_ms || near < 2) {
    draw_times(plot, chart, layout, x, all);
    return all.bottom;
  }
  TimePanel fast{fmt::format("The fast ones: within {:.0f} % of the best", (kNear - 1) * 100),
                 0,
                 0,
                 range,
                 kNear * range.least_ms,
                 false,
                 0};
  all.bottom = top + (wide ? 180 : 160);
  all.labels_from_ms = fast.most_ms;
  fast.top = all.bottom + 38;
  fast.bottom = fast.top + (wide ? 210 : 200);
  fast.range.most_ms = 0;
  for (const DistinctCode& code : chart.codes)
    if (code.measured && code.measured->time_ms.median <= fast.most_ms)
      fast.range.most_ms = std::max(fast.range.most_ms, code.measured->time_ms.median);
  draw_times(plot, chart, layout, x, all);
  draw_times(plot, chart, layout, x, fast);
  return fast.bottom;
}

void draw_spills(SvgPlot& plot, const Chart& chart, const Layout& layout, const Axis& x, double top, double bottom) {
  int most = 0;
  for (const DistinctCode& code : chart.codes) most = std::max(most, code.spill_bytes());
  plot.text({4, top - 10}, "Spill stores and loads, bytes per thread", "panel");
  const Axis y{0, std::max(1.0, 1.08 * most), bottom, top, false};
  draw_register_axis(plot, x, top, bottom, false);
  draw_value_axis(plot, y, layout, most == 0 ? std::vector<double>{0} : ticks_of(y, 3));
  for (const DistinctCode* code : drawn_in_order(chart.record, chart.codes)) {
    const Point at{x.at(code->timed->facts->registers_per_thread), y.at(code->spill_bytes())};
    Look look = look_of(chart.record, chart.codes, *code);
    if (code->spills()) plot.line({at.x, bottom}, at, "stem");
    plot.mark(look.shape, at, std::min(look.radius, 4.0), look.classes, hint_of(chart.record, *code), code->id());
  }
  if (most == 0) plot.text({(x.start + x.end) / 2, (top + bottom) / 2}, "no code spills", "tick", Anchor::middle);
}

void draw_occupancy(SvgPlot& plot, const Chart& chart, const Layout& layout, const Axis& x, double top, double bottom) {
  plot.text({4, top - 10}, "Occupancy, % of an SM\u2019s warps", "panel");
  const Axis y{0, 106, bottom, top, false};
  draw_register_axis(plot, x, top, bottom, true);
  draw_value_axis(plot, y, layout, {0, 50, 100});
  for (const Staircase& staircase : staircases_of(chart.record, chart.codes)) draw_stairs(plot, staircase, x, y);
  for (const DistinctCode* code : drawn_in_order(chart.record, chart.codes)) {
    const StaticFacts& facts = *code->timed->facts;
    const double percent = facts.occupancy ? facts.occupancy->fraction * 100 : 0;
    Look look = look_of(chart.record, chart.codes, *code);
    plot.mark(look.shape, {x.at(facts.registers_per_thread), y.at(percent)}, std::min(look.radius, 4.0), look.classes,
              hint_of(chart.record, *code), code->id());
  }
  plot.text({(x.start + x.end) / 2, bottom + 34}, "registers per thread", "axis", Anchor::middle);
}

Axis register_axis(const SharedRange& range, const Layout& layout) {
  const double pad = std::max(2.0, 0.03 * (range.most_registers - range.least_registers));
  return {range.least_registers - pad, range.most_registers + pad, layout.left, layout.right, false};
}

std::string description_of_codes(const Chart& chart) {
  const auto spilling = static_cast<std::size_t>(
      std::count_if(chart.codes.begin(), chart.codes.end(), [](const DistinctCode& code) { return code.spills(); }));
  std::string text = fmt::format("{}, {} of them spilling.", plural(chart.codes.size(), "distinct code"), spilling);
  const auto tell = [&](const char* who, const DistinctCode* code) {
    if (!code || !code->measured) return;
    text += fmt::format(" {}: {} registers, {}, {}.", who, code->timed->facts->registers_per_thread,
                        code->spills() ? fmt::format("{} bytes spilled", code->spill_bytes()) : "no spills",
                        spell_ms(code->measured->time_ms.median));
  };
  tell("The author's code", author_of(chart.codes));
  tell("The best", best_of(chart.record, chart.codes));
  if (!chart.codes.empty() && chart.codes.front().measured) {
    const auto last = std::find_if(chart.codes.rbegin(), chart.codes.rend(),
                                   [](const DistinctCode& code) { return code.measured != nullptr; });
    tell("The slowest", &*last);
  }
  return text + " The table holds all of them.";
}

}  // namespace

std::string registers_chart(const Chart& chart, const SharedRange& range) {
  const Layout layout = layout_of(chart.width);
  const bool timed = range.least_ms > 0;
  const double small = chart.width == ChartWidth::wide ? 92 : 80;
  const Axis x = register_axis(range, layout);
  SvgPlot plot(layout.width, layout.classes, chart.id,
               timed ? "Time per launch, spilled bytes and occupancy over registers per thread"
                     : "Spilled bytes and occupancy over registers per thread",
               description_of_codes(chart));
  const double first_top = 30;
  const double spills_top = timed ? draw_time_panels(plot, chart, layout, x, range, first_top) + 38 : first_top;
  const double occupancy_top = spills_top + small + 38;
  draw_spills(plot, chart, layout, x, spills_top, spills_top + small);
  draw_occupancy(plot, chart, layout, x, occupancy_top, occupancy_top + small);
  plot.end_at(occupancy_top + small + 42);
  return plot.str();
}

}  // namespace regtune
