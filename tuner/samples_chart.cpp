#include "samples_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "markup.hpp"
#include "report.hpp"
#include "svg_plot.hpp"

namespace regtune {
namespace {

constexpr std::size_t kMostStrips = 12;

// The finalists, the fastest first; where there are none, whatever was sampled. The reference and the best are among
// them, however many there are.
std::vector<const DistinctCode*> strips_of(const Chart& chart) {
  std::vector<const DistinctCode*> strips;
  for (const DistinctCode& code : chart.codes)
    if (code.is_finalist()) strips.push_back(&code);
  if (strips.empty())
    for (const DistinctCode& code : chart.codes)
      if (code.measured && !deciding_samples(*code.measured).empty()) strips.push_back(&code);
  while (strips.size() > kMostStrips) {
    auto least = std::prev(strips.end());
    while (least != strips.begin() &&
           (*least == author_of(chart.codes) || *least == best_of(chart.record, chart.codes)))
      --least;
    strips.erase(least);
  }
  return strips;
}

// Nearly all samples, so that one interrupted launch does not squeeze the others into a line.
Axis sample_axis(const std::vector<const DistinctCode*>& strips, double start, double end) {
  std::vector<double> all;
  double low = std::numeric_limits<double>::max();
  double high = 0;
  for (const DistinctCode* code : strips) {
    for (const Sample& sample : deciding_samples(*code->measured))
      if (std::isfinite(sample.ms)) all.push_back(sample.ms);
    low = std::min(low, code->measured->time_ms.low);
    high = std::max(high, code->measured->time_ms.high);
  }
  std::sort(all.begin(), all.end());
  if (!all.empty()) {
    const double most = all[(all.size() - 1) * 98 / 100];
    low = std::min(low, all.front());
    const double room = most + 0.5 * (most - low);
    high = std::max(high, std::min(all.back(), room));
  }
  if (!(high > low)) high = low * 1.001 + 1e-9;
  const double pad = 0.03 * (high - low);
  return {low - pad, high + pad, start, end, false};
}

void draw_strip(SvgPlot& plot, const DistinctCode& code, const Axis& x, double top, double height,
                const std::string& classes) {
  const std::vector<Sample>& samples = deciding_samples(*code.measured);
  std::vector<Point> dots;
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    // From top to bottom in the order of rounds: a drift shows as a slant.
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(samples.size());
    if (samples[i].ms > x.high || samples[i].ms < x.low)
      ++beyond;
    else
      dots.push_back({x.at(samples[i].ms), top + share * height});
  }
  const Interval& time = code.measured->time_ms;
  plot.box({x.at(std::max(time.low, x.low)), top - 3, x.at(std::min(time.high, x.high)), top + height + 3},
           "interval " + classes);
  plot.dots(dots, "samples " + classes);
  plot.line({x.at(time.median), top - 5}, {x.at(time.median), top + height + 5}, "median " + classes);
  if (beyond > 0)
    plot.text({x.end, top + height + 14}, fmt::format("{} off the scale \u2192", beyond), "tick", Anchor::end);
}

std::string about_strip(const DistinctCode& code) {
  const Measurement& measured = *code.measured;
  std::string text = spell_ms(measured.time_ms.median);
  if (measured.speedup.median > 0 && !code.holds(0))
    text += fmt::format(", {}\u00d7 ({:.3f} to {:.3f})", spell_gain(measured.speedup.median), measured.speedup.low,
                        measured.speedup.high);
  return text + ", " + plural(deciding_samples(measured).size(), "sample");
}

}  // namespace

std::string samples_chart(const Chart& chart) {
  const std::vector<const DistinctCode*> strips = strips_of(chart);
  if (strips.empty()) return "";
  const Layout layout = layout_of(chart.width);
  const bool wide = chart.width == ChartWidth::wide;
  const double row = wide ? 56 : 74;
  const double height = 22;
  const double top = 14;
  const double bottom = top + row * static_cast<double>(strips.size());
  std::string description;
  for (const DistinctCode* code : strips)
    description += fmt::format("{}{}: {}", description.empty() ? "" : "; ", spell_choice(chart.record, code->id()),
                               about_strip(*code));
  SvgPlot plot(layout.width, std::string(layout.classes) + " strips", chart.id,
               "Samples of each finalist, with the interval of the median", shortened(description, 2000));
  plot.end_at(bottom + 44);
  const Axis x = sample_axis(strips, wide ? 325 : 8, layout.right - 8);
  for (const double tick : ticks_of(x, wide ? 5 : 4)) {
    plot.line({x.at(tick), top}, {x.at(tick), bottom}, "grid");
    plot.text({x.at(tick), bottom + 16}, spell_tick(tick), "tick", Anchor::middle);
  }
  plot.line({x.start, bottom}, {x.end, bottom}, "base");
  const DistinctCode* author = author_of(chart.codes);
  if (author && author->measured && std::find(strips.begin(), strips.end(), author) != strips.end())
    plot.line({x.at(author->measured->time_ms.median), top}, {x.at(author->measured->time_ms.median), bottom},
              "reference");
  for (std::size_t i = 0; i < strips.size(); ++i) {
    const DistinctCode& code = *strips[i];
    const double at = top + row * static_cast<double>(i);
    const bool is_best = &code == best_of(chart.record, chart.codes);
    const char* classes = is_best ? "best" : &code == author ? "author" : code.spills() ? "spilling" : "plain";
    const int named = is_best ? chart.record.verdict->best_id : code.holds(0) ? 0 : code.id();
    const std::string name = code_name(chart.record, code, named, wide ? 40 : 42);
    plot.text({wide ? 4.0 : 8.0, at + (wide ? 22 : 14)}, name, std::string("name ") + classes);
    plot.text({wide ? 4.0 : 8.0, at + (wide ? 38 : 29)}, about_strip(code), "tick");
    draw_strip(plot, code, x, wide ? at + 14 : at + 39, height, classes);
  }
  plot.text({(x.start + x.end) / 2, bottom + 36}, "ms per launch", "axis", Anchor::middle);
  return plot.str();
}

}  // namespace regtune
