#include "description_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "regtune/error.hpp"

namespace regtune {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

// A number of a block's text; the caller has seen that it consists of digits.
unsigned block_extent(std::string_view digits, const Origin& origin) {
  unsigned value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || stop != digits.data() + digits.size()) {
    refuse_launch(origin, fmt::format("a block of {} threads; choose at most 1024", in_quotes(digits)));
  }
  return value;
}

void check_block(const Dim3& block, const Origin& origin) {
  if (block.volume() == 0) refuse_launch(origin, "a block of 0 threads; write at least 1, usually a multiple of 32");
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || block.volume() > 1024) {
    refuse_launch(origin,
                  fmt::format("a block of {} x {} x {} threads; choose at most 1024 x 1024 x 64, and 1024 in all",
                              block.x, block.y, block.z));
  }
}

}  // namespace

void refuse(const Origin& origin, std::string_view what) {
  throw Error(ErrorKind::bad_description, fmt::format("{}: {}", origin.text, what));
}

void refuse_launch(const Origin& origin, std::string_view what) {
  throw Error(ErrorKind::bad_launch, fmt::format("{}: {}", origin.text, what));
}

std::string printable(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

// "256", "32x8" or "8x8x4".
Dim3 parse_block(std::string_view text, const Origin& origin) {
  const std::vector<std::string_view> parts = split(text, 'x');
  Dim3 block;
  unsigned* const extents[] = {&block.x, &block.y, &block.z};
  if (parts.size() > std::size(extents))
    refuse(origin, fmt::format("{}: a block has at most three dimensions; write \"8x8x4\", say", in_quotes(text)));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].starts_with('-'))
      refuse_launch(origin, fmt::format("{}: a block cannot be negative; write 1 thread or more", in_quotes(text)));
    if (parts[i].empty() || parts[i].find_first_not_of("0123456789") != std::string_view::npos) {
      refuse(origin, fmt::format("{} is not a block; write 256, \"32x8\" or \"8x8x4\"", in_quotes(text)));
    }
    *extents[i] = block_extent(parts[i], origin);
  }
  check_block(block, origin);
  return block;
}

void add_block(std::vector<Dim3>& blocks, const Dim3& block) {
  if (std::find(blocks.begin(), blocks.end(), block) == blocks.end()) blocks.push_back(block);
}

void check_size_name(std::string_view name, const Origin& origin) {
  if (const auto reason = why_not_a_size_name(name)) {
    refuse(origin, fmt::format("{} cannot name a size: it {}; choose another name", in_quotes(name), *reason));
  }
}

void check_macro_name(std::string_view name, const Origin& origin) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool valid =
      !name.empty() && is_letter(name.front()) && name != "defined" &&
      std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
  if (!valid) refuse(origin, fmt::format("{} cannot name a macro; write letters, digits and _", in_quotes(name)));
}

void add_macro_value(TunedName& macro, const std::string& value) {
  // The value becomes the rest of a #define line, and must neither leave it nor swallow the next.
  const std::string_view line_enders("\n\r\0", 3);
  if (value.find_first_of(line_enders) != std::string::npos || value.ends_with('\\') ||
      value.find("/*") != std::string::npos || value.find("//") != std::string::npos)
    refuse(macro.origin,
           fmt::format("{} cannot be a macro's value; write it in one line, without comments", in_quotes(value)));
  if (std::find(macro.values.begin(), macro.values.end(), value) == macro.values.end()) macro.values.push_back(value);
}

std::string near_miss(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > 64) return "";
  std::string best;
  std::size_t best_distance = 3;
  for (const std::string& candidate : known) {
    // Short names differ by two edits from nearly everything, so a letter must stay in place.
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best.empty() ? "" : fmt::format("; did you mean \"{}\"?", best);
}

}  // namespace regtune
