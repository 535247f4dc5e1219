#include "svg_plot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "strict_markup.hpp"

namespace regtune {
namespace {

TEST(SvgPlot, AxesTakeValuesToPixels) {
  const Axis axis{0, 10, 100, 200, false};
  EXPECT_DOUBLE_EQ(axis.at(0), 100);
  EXPECT_DOUBLE_EQ(axis.at(5), 150);
  const Axis up{1, 100, 300, 100, true};
  EXPECT_DOUBLE_EQ(up.at(10), 200);
  EXPECT_DOUBLE_EQ(up.at(0), 300) << "what has no place stands at the start";
}

TEST(SvgPlot, TicksAreRoundAndWithinTheAxis) {
  EXPECT_EQ(ticks_of({0, 10, 0, 1, false}, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(ticks_of({1.5, 18, 0, 1, true}, 6), (std::vector<double>{2, 5, 10}));
  for (const double low : {1e-9, 0.2757, 1.0, 12345.0, 1e300}) {
    for (const double span : {1e-6, 0.5, 10.0, 1e6}) {
      const Axis axis{low, low + low * span, 0, 1, false};
      const std::vector<double> ticks = ticks_of(axis, 5);
      ASSERT_FALSE(ticks.empty());
      EXPECT_LE(ticks.size(), 64u);
      for (const double tick : ticks) {
        EXPECT_GE(tick, axis.low * (1 - 1e-9));
        EXPECT_LE(tick, axis.high * (1 + 1e-9));
      }
    }
  }
  EXPECT_EQ(ticks_of({3, 3, 0, 1, false}, 5), std::vector<double>{3}) << "an axis without a length";
  EXPECT_EQ(multiples_of({24, 67, 0, 1, false}, 16), (std::vector<double>{32, 48, 64}));
}

TEST(SvgPlot, IsWellFormedWhateverTheTextsAre) {
  SvgPlot plot(100, "plot", "a", "</title><script>", "\"quoted\" & 'so'");
  plot.end_at(50);
  plot.mark(Shape::disc, {1, 2}, 3, "code", "<b>\n\x01", 7);
  plot.mark(Shape::cross, {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}, 3,
            "code");
  plot.text({0, 0}, "a < b", "tick", Anchor::end);
  plot.polyline({{0, 0}, {1, 1}}, "stairs");
  plot.dots({{1, 1}}, "samples");
  plot.polyline({}, "nothing");
  const std::string text = plot.str();
  const StrictMarkup read(text);
  EXPECT_EQ(read.error(), "") << text;
  ASSERT_EQ(read.all("svg").size(), 1u);
  EXPECT_EQ(read.all("svg").front()->attributes.at("role"), "img");
  EXPECT_EQ(read.all("svg").front()->attributes.at("aria-labelledby"), "a-t a-d");
  EXPECT_EQ(read.all("title").front()->text, "</title><script>");
  EXPECT_EQ(read.all("circle", "code").front()->attributes.at("data-code"), "7");
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(text.find("inf"), std::string::npos);
}

TEST(SvgPlot, LabelsKeepClearOfEachOther) {
  const std::vector<Label> labels{{{50, 50}, "the first label", "a"}, {{54, 51}, "the second label", "b"}};
  const Box area{0, 0, 400, 100};
  const std::vector<PlacedLabel> placed = place_labels(labels, {{50, 50}, {54, 51}}, area, 12);
  ASSERT_EQ(placed.size(), 2u);
  const auto left = [](const PlacedLabel& p) {
    const double width = width_of(p.label.text, 12);
    return p.anchor == Anchor::start ? p.at.x : p.anchor == Anchor::end ? p.at.x - width : p.at.x - width / 2;
  };
  for (const PlacedLabel& p : placed) {
    EXPECT_GE(left(p), area.left);
    EXPECT_LE(left(p) + width_of(p.label.text, 12), area.right);
  }
  const bool apart_x = left(placed[0]) + width_of(placed[0].label.text, 12) <= left(placed[1]) ||
                       left(placed[1]) + width_of(placed[1].label.text, 12) <= left(placed[0]);
  EXPECT_TRUE(apart_x || std::abs(placed[0].at.y - placed[1].at.y) >= 12);
}

}  // namespace
}  // namespace regtune
