#pragma once
// What the pictures of the HTML report have in common: their sizes, the marks that a code gets, the axes, and how times
// and gains are spelled. What a picture shows is its own file's. Draws what a record holds and judges nothing: which
// code is the best is the verdict's.
#include <map>
#include <string>
#include <vector>

#include "distinct_codes.hpp"
#include "occupancy_staircase.hpp"
#include "record.hpp"
#include "svg_plot.hpp"

namespace regtune {

constexpr double kChartFont = 12;

// A screen or a sheet, or a phone and pictures side by side: letters have one size on both, so both are drawn.
enum class ChartWidth { wide, narrow };

struct Layout {
  double width = 0;
  double left = 0;  // of the plots
  double right = 0;
  const char* classes = "";
  std::size_t label_letters = 0;  // the longest label
};
Layout layout_of(ChartWidth width);

struct Chart {
  const TuningRecord& record;
  const std::vector<DistinctCode>& codes;
  ChartWidth width = ChartWidth::wide;
  std::string id;  // of the SVG in its document
};

// What several pictures side by side share, so that they can be compared by eye.
struct SharedRange {
  int least_registers = 0;
  int most_registers = 0;
  double least_ms = 0;  // 0: nothing was timed
  double most_ms = 0;
};
SharedRange range_of(const std::vector<DistinctCode>& codes);
SharedRange together(const SharedRange& a, const SharedRange& b);

// The code of variant 0; null where it did not compile.
const DistinctCode* author_of(const std::vector<DistinctCode>& codes);
// The code that a gain is told of; null where none is.
const DistinctCode* best_of(const TuningRecord& record, const std::vector<DistinctCode>& codes);

// The staircases that the codes stand on: of each block size one, for the shared memory that most codes of it take.
std::vector<Staircase> staircases_of(const TuningRecord& record, const std::vector<DistinctCode>& codes);

// A code's mark says by its shape whether it spills, and by another one whose it is: colour alone says nothing.
struct Look {
  Shape shape = Shape::disc;
  double radius = 3.5;
  std::string classes;
};
Look look_of(const TuningRecord& record, const std::vector<DistinctCode>& codes, const DistinctCode& code);

// In the order in which they are drawn: what matters most comes last and lies on top.
std::vector<const DistinctCode*> drawn_in_order(const TuningRecord& record, const std::vector<DistinctCode>& codes);

// What is told of a code when its mark is pointed at.
std::string hint_of(const TuningRecord& record, const DistinctCode& code);
// "author's code", "__launch_bounds__(256)".
std::string code_name(const TuningRecord& record, const DistinctCode& code, int variant_id, std::size_t letters);
// Of the author's code, and of the best one where that is another, with their times.
std::vector<Label> labels_of(const Chart& chart, const Layout& layout, const std::map<const DistinctCode*, Point>& at);

void draw_register_axis(SvgPlot& plot, const Axis& x, double top, double bottom, bool with_numbers);
void draw_value_axis(SvgPlot& plot, const Axis& y, const Layout& layout, const std::vector<double>& ticks);
void draw_stairs(SvgPlot& plot, const Staircase& staircase, const Axis& x, const Axis& y);

// "1.563 ms", "0.06301 ms": enough digits for a difference of a tenth of a percent to show.
std::string spell_ms(double ms);
// "1.12"; "1.006" where two decimals would hide it.
std::string spell_gain(double speedup);
// "1 sample", "3 samples".
std::string plural(std::size_t count, const char* noun);

}  // namespace regtune
