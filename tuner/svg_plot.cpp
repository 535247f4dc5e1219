#include "svg_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "markup.hpp"

namespace regtune {
namespace {

constexpr double kLetterShare = 0.62;  // of the font's height: the mean width of a letter of a sans serif face
constexpr int kMostTicks = 64;

// One decimal, and none where it is 0: half the bytes of a page with thousands of marks.
std::string px(double value) {
  if (!std::isfinite(value)) return "0";
  std::string text = fmt::format("{:.1f}", std::clamp(value, -1e5, 1e5));
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string_view name_of(Anchor anchor) {
  return anchor == Anchor::start ? "start" : anchor == Anchor::middle ? "middle" : "end";
}

bool overlap(const Box& a, const Box& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

Box box_of(const PlacedLabel& placed, double font_px) {
  const double width = width_of(placed.label.text, font_px);
  const double left = placed.anchor == Anchor::start    ? placed.at.x
                      : placed.anchor == Anchor::middle ? placed.at.x - width / 2
                                                        : placed.at.x - width;
  return {left, placed.at.y - font_px, left + width, placed.at.y + 0.3 * font_px};
}

// Beside the mark first, then above and below it, then farther off.
std::vector<PlacedLabel> places_for(const Label& label, double font_px) {
  std::vector<PlacedLabel> places;
  const double middle = label.mark.y + 0.35 * font_px;
  for (const double away : {9.0, 18.0, 32.0, 50.0, 70.0}) {
    if (away < 20) {
      places.push_back({label, {label.mark.x + away, middle}, Anchor::start});
      places.push_back({label, {label.mark.x - away, middle}, Anchor::end});
    }
    const double above = label.mark.y - away;
    const double below = label.mark.y + away + 0.8 * font_px;
    places.push_back({label, {label.mark.x, above}, Anchor::middle});
    places.push_back({label, {label.mark.x, below}, Anchor::middle});
    for (const double at : {above, below}) {
      places.push_back({label, {label.mark.x + 6, at}, Anchor::start});
      places.push_back({label, {label.mark.x - 6, at}, Anchor::end});
    }
  }
  return places;
}

// What a place costs: other labels weigh most, then the area's edge, then each mark that it covers.
double cost_of(const Box& box, const std::vector<Box>& taken, const std::vector<Point>& marks, const Box& area) {
  double cost = 0;
  for (const Box& other : taken) cost += overlap(box, other) ? 1000 : 0;
  const double outside = std::max({area.left - box.left, 0.0}) + std::max({box.right - area.right, 0.0}) +
                         std::max({area.top - box.top, 0.0}) + std::max({box.bottom - area.bottom, 0.0});
  cost += outside > 0 ? 200 + 10 * outside : 0;
  for (const Point& mark : marks) cost += overlap(box, {mark.x - 4, mark.y - 4, mark.x + 4, mark.y + 4}) ? 30 : 0;
  return cost;
}

}  // namespace

double Axis::at(double value) const {
  const double share = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return std::isfinite(share) ? start + share * (end - start) : start;
}

std::vector<double> multiples_of(const Axis& axis, double step) {
  std::vector<double> values;
  for (double value = std::ceil(axis.low / step) * step; value <= axis.high && values.size() < kMostTicks;
       value += step)
    values.push_back(value);
  return values;
}

std::vector<double> ticks_of(const Axis& axis, int wanted) {
  const double span = axis.high - axis.low;
  if (!(span > 0) || !std::isfinite(span)) return {axis.low};
  if (axis.logarithmic) {
    std::vector<double> values;
    for (double decade = std::pow(10, std::floor(std::log10(axis.low)));
         decade <= axis.high && values.size() < kMostTicks; decade *= 10)
      for (const double of_decade : {1.0, 2.0, 5.0})
        if (decade * of_decade >= axis.low && decade * of_decade <= axis.high) values.push_back(decade * of_decade);
    // One decade for each hundred is enough where there are many; where there are few, linear ones say more.
    if (values.size() > static_cast<std::size_t>(wanted) + 2)
      std::erase_if(values, [](double v) { return std::abs(std::log10(v) - std::round(std::log10(v))) > 1e-9; });
    if (values.size() >= 3) return values;
  }
  double step = std::pow(10, std::floor(std::log10(span / wanted)));
  for (const double larger : {2.0, 2.5, 2.0})
    if (span / step > wanted + 1) step *= larger;
  std::vector<double> values = multiples_of(axis, step);
  if (values.empty()) values.push_back(axis.low);
  return values;
}

std::string spell_tick(double value) {
  return fmt::format("{:.6g}", std::abs(value) < 1e-12 ? 0.0 : value);
}

double width_of(std::string_view text, double font_px) {
  return static_cast<double>(characters_of(text)) * font_px * kLetterShare;
}

std::vector<PlacedLabel> place_labels(const std::vector<Label>& labels, const std::vector<Point>& marks,
                                      const Box& area, double font_px) {
  std::vector<PlacedLabel> placed;
  std::vector<Box> taken;
  for (const Label& label : labels) {
    const std::vector<PlacedLabel> places = places_for(label, font_px);
    const auto cost = [&](const PlacedLabel& place) {
      const double order = static_cast<double>(&place - places.data());
      return cost_of(box_of(place, font_px), taken, marks, area) + order;
    };
    const auto best = std::min_element(places.begin(), places.end(),
                                       [&](const PlacedLabel& a, const PlacedLabel& b) { return cost(a) < cost(b); });
    placed.push_back(*best);
    taken.push_back(box_of(*best, font_px));
  }
  return placed;
}

SvgPlot::SvgPlot(double width, std::string classes, std::string id, std::string title, std::string description)
    : width_(width),
      classes_(std::move(classes)),
      id_(std::move(id)),
      title_(std::move(title)),
      description_(std::move(description)) {}

void SvgPlot::end_at(double height) {
  height_ = height;
}

void SvgPlot::line(Point from, Point to, std::string_view classes) {
  body_ += fmt::format("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", escape_markup(classes),
                       px(from.x), px(from.y), px(to.x), px(to.y));
}

void SvgPlot::polyline(const std::vector<Point>& points, std::string_view classes) {
  if (points.empty()) return;
  body_ += fmt::format("<polyline class=\"{}\" points=\"", escape_markup(classes));
  for (const Point& point : points)
    body_ += fmt::format("{}{},{}", &point == &points.front() ? "" : " ", px(point.x), px(point.y));
  body_ += "\"/>\n";
}

void SvgPlot::box(const Box& box, std::string_view classes) {
  body_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", escape_markup(classes),
                       px(box.left), px(box.top), px(std::max(0.0, box.right - box.left)),
                       px(std::max(0.0, box.bottom - box.top)));
}

void SvgPlot::text(Point at, std::string_view text, std::string_view classes, Anchor anchor) {
  body_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\"", escape_markup(classes), px(at.x), px(at.y));
  if (anchor != Anchor::start) body_ += fmt::format(" text-anchor=\"{}\"", name_of(anchor));
  body_ += fmt::format(">{}</text>\n", escape_markup(text));
}

void SvgPlot::mark(Shape shape, Point at, double radius, std::string_view classes, std::string_view hint, int code) {
  const std::string about = fmt::format("class=\"{}\"{}", escape_markup(classes),
                                        code < 0 ? std::string() : fmt::format(" data-code=\"{}\"", code));
  const auto close = [&](std::string_view element) {
    if (hint.empty()) return std::string("/>\n");
    return fmt::format("><title>{}</title></{}>\n", escape_markup(hint), element);
  };
  switch (shape) {
    case Shape::disc:
      body_ += fmt::format("<circle {} cx=\"{}\" cy=\"{}\" r=\"{}\"{}", about, px(at.x), px(at.y), px(radius),
                           close("circle"));
      return;
    case Shape::square:
      body_ += fmt::format("<rect {} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}", about, px(at.x - radius),
                           px(at.y - radius), px(2 * radius), px(2 * radius), close("rect"));
      return;
    case Shape::diamond:
      body_ += fmt::format("<path {} d=\"M{} {}l{} {} {} {} {} {}z\"{}", about, px(at.x), px(at.y - radius), px(radius),
                           px(radius), px(-radius), px(radius), px(-radius), px(-radius), close("path"));
      return;
    case Shape::cross:
      body_ +=
          fmt::format("<path {} d=\"M{} {}l{} {}m{} 0l{} {}\"{}", about, px(at.x - radius), px(at.y - radius),
                      px(2 * radius), px(2 * radius), px(-2 * radius), px(2 * radius), px(-2 * radius), close("path"));
      return;
  }
}

void SvgPlot::dots(const std::vector<Point>& points, std::string_view classes) {
  if (points.empty()) return;
  body_ += fmt::format("<path class=\"{}\" d=\"", escape_markup(classes));
  for (const Point& point : points) body_ += fmt::format("M{} {}h0", px(point.x), px(point.y));
  body_ += "\"/>\n";
}

void SvgPlot::label(const PlacedLabel& placed) {
  // What is not beside its mark is tied to it.
  constexpr double kNear = 24;
  const Point& mark = placed.label.mark;
  const bool is_above = placed.at.y < mark.y;
  const double reach = is_above ? placed.at.y + 4 : placed.at.y - 11;
  if (std::abs(reach - mark.y) > kNear - 8) line({mark.x, mark.y + (is_above ? -7 : 7)}, {mark.x, reach}, "leader");
  text(placed.at, placed.label.text, placed.label.classes, placed.anchor);
}

std::string SvgPlot::str() const {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{0}\" viewBox=\"0 0 {1} {2}\" width=\"{1}\" "
             "height=\"{2}\" role=\"img\" aria-labelledby=\"{3}-t {3}-d\">\n<title id=\"{3}-t\">{4}</title>\n"
             "<desc id=\"{3}-d\">{5}</desc>\n",
             escape_markup(classes_), px(width_), px(height_), escape_markup(id_), escape_markup(title_),
             escape_markup(description_)) +
         body_ + "</svg>\n";
}

}  // namespace regtune
