#pragma once
// Plain SVG: axes with round ticks, marks, lines and labels that keep clear of each other. Knows no kernel and no
// record; colours are the style sheet's, by class. All text is escaped here, all numbers have one decimal, and the same
// calls give the same bytes.
#include <string>
#include <string_view>
#include <vector>

namespace regtune {

// From the values [low, high] to the pixels [start, end]; either may run backwards.
struct Axis {
  double low = 0;
  double high = 1;
  double start = 0;
  double end = 1;
  bool logarithmic = false;  // requires: low and high are positive
  double at(double value) const;
};

// Round values (1, 2 or 5 times a power of ten) within the axis, about `wanted` of them; at the least one.
std::vector<double> ticks_of(const Axis& axis, int wanted);
// Multiples of `step` within the axis.
std::vector<double> multiples_of(const Axis& axis, double step);
// "0.25", "20", "1e+12": the shortest text that tells the ticks of an axis apart.
std::string spell_tick(double value);

struct Point {
  double x = 0;
  double y = 0;
};

struct Box {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

enum class Anchor { start, middle, end };
enum class Shape { disc, diamond, square, cross };

// A text that belongs to a mark.
struct Label {
  Point mark;
  std::string text;
  std::string classes;
};

struct PlacedLabel {
  Label label;
  Point at;  // of the text's baseline
  Anchor anchor = Anchor::start;
};

// Each beside its mark, inside `area` where there is room, clear of the earlier ones and of as many marks as can be.
// `font_px`: the height of a letter; widths are estimated from it.
std::vector<PlacedLabel> place_labels(const std::vector<Label>& labels, const std::vector<Point>& marks,
                                      const Box& area, double font_px);

// The width of a text, estimated.
double width_of(std::string_view text, double font_px);

class SvgPlot {
 public:
  // `id` has to be the document's only one of that name. `title` and `description` are the text alternative.
  SvgPlot(double width, std::string classes, std::string id, std::string title, std::string description);

  void end_at(double height);

  void line(Point from, Point to, std::string_view classes);
  void polyline(const std::vector<Point>& points, std::string_view classes);
  void box(const Box& box, std::string_view classes);
  void text(Point at, std::string_view text, std::string_view classes, Anchor anchor = Anchor::start);
  // `hint` is shown when the mark is pointed at; `code` says which of the report's codes it stands for, -1: none.
  void mark(Shape shape, Point at, double radius, std::string_view classes, std::string_view hint = {}, int code = -1);
  // Many small dots as one path.
  void dots(const std::vector<Point>& points, std::string_view classes);
  void label(const PlacedLabel& placed);

  std::string str() const;

 private:
  double width_;
  double height_ = 0;
  std::string classes_;
  std::string id_;
  std::string title_;
  std::string description_;
  std::string body_;
};

}  // namespace regtune
