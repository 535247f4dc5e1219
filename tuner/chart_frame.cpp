#include "chart_frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "markup.hpp"
#include "report.hpp"

namespace regtune {
Layout layout_of(ChartWidth width) {
  if (width == ChartWidth::wide) return {760, 58, 744, "plot wide", 44};
  return {340, 48, 332, "plot narrow", 26};
}

std::string plural(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string spell_ms(double ms) {
  const int decimals = ms >= 100 ? 1 : ms >= 10 ? 2 : ms >= 1 ? 3 : ms >= 0.1 ? 4 : 5;
  return fmt::format("{:.{}f} ms", ms, decimals);
}

std::string spell_gain(double speedup) {
  return fmt::format("{:.{}f}", speedup, std::abs(speedup - 1) < 0.02 ? 3 : 2);
}

SharedRange range_of(const std::vector<DistinctCode>& codes) {
  SharedRange range;
  for (const DistinctCode& code : codes) {
    const int registers = code.timed->facts->registers_per_thread;
    const bool first = range.most_registers == 0;
    range.least_registers = first ? registers : std::min(range.least_registers, registers);
    range.most_registers = std::max(range.most_registers, registers);
    if (!code.measured) continue;
    const double ms = code.measured->time_ms.median;
    range.least_ms = range.least_ms > 0 ? std::min(range.least_ms, ms) : ms;
    range.most_ms = std::max(range.most_ms, ms);
  }
  return range;
}

SharedRange together(const SharedRange& a, const SharedRange& b) {
  return {std::min(a.least_registers, b.least_registers), std::max(a.most_registers, b.most_registers),
          a.least_ms > 0 && b.least_ms > 0 ? std::min(a.least_ms, b.least_ms) : std::max(a.least_ms, b.least_ms),
          std::max(a.most_ms, b.most_ms)};
}

const DistinctCode* author_of(const std::vector<DistinctCode>& codes) {
  const auto found = std::find_if(codes.begin(), codes.end(), [](const DistinctCode& code) { return code.holds(0); });
  return found == codes.end() ? nullptr : &*found;
}

const DistinctCode* best_of(const TuningRecord& record, const std::vector<DistinctCode>& codes) {
  if (!record.verdict || record.verdict->kind != Verdict::Kind::improved) return nullptr;
  const auto found = std::find_if(codes.begin(), codes.end(),
                                  [&](const DistinctCode& code) { return code.holds(record.verdict->best_id); });
  return found == codes.end() ? nullptr : &*found;
}

std::vector<Staircase> staircases_of(const TuningRecord& record, const std::vector<DistinctCode>& codes) {
  using Extents = std::tuple<std::uint64_t, unsigned, unsigned>;
  std::map<Extents, std::map<std::pair<std::int64_t, std::int64_t>, int>> taken;  // by block, by shared memory
  for (const DistinctCode& code : codes) {
    const LaunchShape& shape = code.timed->shape;
    ++taken[{shape.block.volume(), shape.block.x, shape.block.y}]
           [{code.timed->facts->static_shared_bytes, shape.dynamic_shared_bytes}];
  }
  const GpuLimits limits = limits_of(record);
  std::vector<Staircase> staircases;
  for (const auto& [extents, by_shared] : taken) {
    const auto most = std::max_element(by_shared.begin(), by_shared.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto& [volume, width, height] = extents;
    const auto depth = static_cast<unsigned>(volume / width / height);
    Staircase staircase = occupancy_staircase(limits, {width, height, depth}, most->first.first, most->first.second);
    if (!staircase.steps.empty()) staircases.push_back(std::move(staircase));
  }
  return staircases;
}

std::string hint_of(const TuningRecord& record, const DistinctCode& code) {
  const StaticFacts& facts = *code.timed->facts;
  std::string text = spell_budgets(code);
  if (has_several_blocks(record)) text = fmt::format("block {}: {}", spell_block(code.timed->shape.block), text);
  text += fmt::format("\n{} registers, ", facts.registers_per_thread);
  text += code.spills() ? fmt::format("spills {} bytes", code.spill_bytes()) : "no spills";
  if (facts.occupancy) text += fmt::format(", occupancy {:.3g} %", facts.occupancy->fraction * 100);
  if (code.measured) {
    text += "\n" + spell_ms(code.measured->time_ms.median);
    if (code.measured->speedup.median > 0)
      text += fmt::format(", {}\u00d7 the reference's speed", spell_gain(code.measured->speedup.median));
  } else if (const std::string fate = spell_fate(*code.timed); !fate.empty()) {
    text += "\n" + fate;
  }
  return shortened(text, 600);
}

Look look_of(const TuningRecord& record, const std::vector<DistinctCode>& codes, const DistinctCode& code) {
  Look look{Shape::disc, code.is_finalist() ? 4.5 : 3.5, code.spills() ? "code spilling" : "code"};
  if (code.spills()) look.shape = Shape::diamond;
  if (&code == best_of(record, codes)) return {Shape::disc, 6, "code best"};
  if (&code == author_of(codes)) return {Shape::square, 4.5, "code author"};
  if (!code.measured && !spell_fate(*code.timed).empty()) return {Shape::cross, 3.5, "code failed"};
  return look;
}

// In the order in which they are drawn: what matters most comes last and lies on top.
std::vector<const DistinctCode*> drawn_in_order(const TuningRecord& record, const std::vector<DistinctCode>& codes) {
  std::vector<const DistinctCode*> order;
  for (auto code = codes.rbegin(); code != codes.rend(); ++code) order.push_back(&*code);
  const auto weight = [&](const DistinctCode* code) {
    return code == best_of(record, codes) ? 2 : code == author_of(codes) ? 1 : 0;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const DistinctCode* a, const DistinctCode* b) { return weight(a) < weight(b); });
  return order;
}

std::string code_name(const TuningRecord& record, const DistinctCode& code, int variant_id, std::size_t letters) {
  return shortened(code.holds(0) && variant_id == 0 ? "author's code" : spell_choice(record, variant_id), letters);
}

// "author's code 1.754 ms", and the best one where that is another.
std::vector<Label> labels_of(const Chart& chart, const Layout& layout, const std::map<const DistinctCode*, Point>& at) {
  std::vector<Label> labels;
  const auto add = [&](const DistinctCode* code, int variant_id, const char* classes) {
    if (!code || !at.contains(code)) return;
    std::string text = code_name(chart.record, *code, variant_id, layout.label_letters);
    if (code->measured) text += " " + spell_ms(code->measured->time_ms.median);
    labels.push_back({at.at(code), text, classes});
  };
  const DistinctCode* best = best_of(chart.record, chart.codes);
  const DistinctCode* author = author_of(chart.codes);
  if (best && best != author) add(best, chart.record.verdict->best_id, "label best");
  add(author, 0, "label author");
  return labels;
}

void draw_register_axis(SvgPlot& plot, const Axis& x, double top, double bottom, bool with_numbers) {
  const double span = x.high - x.low;
  const double step = span > 130 ? 32 : span > 64 ? 16 : span > 20 ? 8 : 4;
  for (const double tick : multiples_of(x, step)) {
    plot.line({x.at(tick), top}, {x.at(tick), bottom}, "grid");
    if (with_numbers) plot.text({x.at(tick), bottom + 16}, spell_tick(tick), "tick", Anchor::middle);
  }
  plot.line({x.start, bottom}, {x.end, bottom}, "base");
}

void draw_value_axis(SvgPlot& plot, const Axis& y, const Layout& layout, const std::vector<double>& ticks) {
  for (const double tick : ticks) {
    plot.line({layout.left, y.at(tick)}, {layout.right, y.at(tick)}, "grid");
    plot.text({layout.left - 7, y.at(tick) + 4}, spell_tick(tick), "tick", Anchor::end);
  }
}

void draw_stairs(SvgPlot& plot, const Staircase& staircase, const Axis& x, const Axis& y) {
  std::vector<Point> points;
  for (const Step& step : staircase.steps) {
    const double from = std::max<double>(step.from_registers - 0.5, x.low);
    const double to = std::min<double>(step.to_registers + 0.5, x.high);
    if (from >= to) continue;
    points.push_back({x.at(from), y.at(step.occupancy.fraction * 100)});
    points.push_back({x.at(to), y.at(step.occupancy.fraction * 100)});
  }
  plot.polyline(points, "stairs");
}

}  // namespace regtune
