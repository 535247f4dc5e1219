#pragma once
// A strict reader of the part of XML that our pages use: elements, quoted attributes, the five entities that we write.
// Whatever is not well-formed is an error with its place; nothing is mended, as a browser would.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace regtune {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;        // of itself and all that it holds
  std::size_t parent = 0;  // its place in the list; its own for the root
  bool has_class(const std::string& wanted) const {
    const auto found = attributes.find("class");
    if (found == attributes.end()) return false;
    return (" " + found->second + " ").find(" " + wanted + " ") != std::string::npos;
  }
};

class StrictMarkup {
 public:
  explicit StrictMarkup(const std::string& text) : text_(text) { read(); }

  const std::string& error() const { return error_; }  // empty: well-formed
  const std::vector<Element>& elements() const { return elements_; }

  // Every element of that name and, where one is given, class.
  std::vector<const Element*> all(const std::string& name, const std::string& of_class = "") const {
    std::vector<const Element*> found;
    for (const Element& element : elements_)
      if (element.name == name && (of_class.empty() || element.has_class(of_class))) found.push_back(&element);
    return found;
  }

  bool is_within(const Element& element, const std::string& name, const std::string& of_class) const {
    for (std::size_t at = static_cast<std::size_t>(&element - elements_.data());; at = elements_[at].parent) {
      if (elements_[at].name == name && elements_[at].has_class(of_class)) return true;
      if (elements_[at].parent == at) return false;
    }
  }

 private:
  void read() {
    static const std::string kDoctype = "<!DOCTYPE html>\n";
    if (text_.rfind(kDoctype, 0) == 0) at_ = kDoctype.size();
    while (error_.empty() && at_ < text_.size()) {
      if (text_[at_] == '<')
        read_tag();
      else
        read_text();
    }
    if (error_.empty() && !open_.empty()) fail("'" + elements_[open_.back()].name + "' is not closed");
    if (error_.empty() && elements_.empty()) fail("there is no element");
  }

  void fail(const std::string& what) {
    const auto end = text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size()));
    error_ = "line " + std::to_string(1 + std::count(text_.begin(), end, '\n')) + ": " + what;
  }

  bool starts(const std::string& with) const { return text_.compare(at_, with.size(), with) == 0; }

  std::string read_name() {
    std::string name;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-' ||
                                  text_[at_] == ':' || text_[at_] == '_'))
      name += text_[at_++];
    if (name.empty()) fail("a name is missing");
    return name;
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  std::string read_entity() {
    static const std::map<std::string, std::string> kKnown{
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}};
    for (const auto& [written, meant] : kKnown)
      if (starts(written)) {
        at_ += written.size();
        return meant;
      }
    fail("a bare & or an entity that we do not write");
    return "";
  }

  void read_text() {
    std::string text;
    while (error_.empty() && at_ < text_.size() && text_[at_] != '<') {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte < 0x20 && byte != '\n' && byte != '\t') return fail("a control character");
      if (text_[at_] == '&')
        text += read_entity();
      else
        text += text_[at_++];
    }
    const bool blank = std::all_of(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\n'; });
    if (open_.empty() && !blank) return fail("text outside the root");
    for (const std::size_t element : open_) elements_[element].text += text;
  }

  void read_closing() {
    at_ += 2;
    const std::string name = read_name();
    if (!error_.empty()) return;
    if (open_.empty() || elements_[open_.back()].name != name)
      return fail("</" + name + "> closes " + (open_.empty() ? "nothing" : elements_[open_.back()].name));
    if (at_ >= text_.size() || text_[at_] != '>') return fail("</" + name + " has no >");
    ++at_;
    open_.pop_back();
  }

  void read_attribute(Element& element) {
    const std::string name = read_name();
    if (!error_.empty()) return;
    if (!starts("=\"")) return fail("the attribute " + name + " has no quoted value");
    at_ += 2;
    std::string value;
    while (error_.empty() && at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '<') return fail("a < in the attribute " + name);
      if (text_[at_] == '&')
        value += read_entity();
      else
        value += text_[at_++];
    }
    ++at_;
    if (!element.attributes.emplace(name, value).second) fail("the attribute " + name + " is there twice");
  }

  void read_tag() {
    if (starts("</")) return read_closing();
    ++at_;
    Element element;
    element.name = read_name();
    while (error_.empty()) {
      const std::size_t before = at_;
      skip_space();
      if (starts("/>") || starts(">")) break;
      if (at_ == before) return fail("no space in front of an attribute of " + element.name);
      read_attribute(element);
    }
    if (!error_.empty()) return;
    if (open_.empty() && !elements_.empty()) return fail("a second root: " + element.name);
    const bool is_empty = starts("/>");
    at_ += is_empty ? 2 : 1;
    element.parent = open_.empty() ? elements_.size() : open_.back();
    elements_.push_back(std::move(element));
    if (!is_empty) open_.push_back(elements_.size() - 1);
  }

  const std::string& text_;
  std::size_t at_ = 0;
  std::vector<Element> elements_;
  std::vector<std::size_t> open_;
  std::string error_;
};

}  // namespace regtune
