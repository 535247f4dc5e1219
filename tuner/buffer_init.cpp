#include "buffer_init.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "description_rules.hpp"
#include "npy.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

// "uniform(0, 1)" -> its two numbers; empty when the text is something else.
std::optional<std::pair<double, double>> two_numbers(std::string_view text, std::string_view function) {
  if (!text.starts_with(function)) return std::nullopt;
  std::string rest(text.substr(function.size()));
  std::erase(rest, ' ');
  if (rest.size() < 5 || rest.front() != '(' || rest.back() != ')') return std::nullopt;
  double values[2] = {};
  const char* at = rest.data() + 1;
  const char* const end = rest.data() + rest.size() - 1;
  for (int i = 0; i < 2; ++i) {
    const auto [stop, error] = std::from_chars(at, end, values[i]);
    if (error != std::errc{} || !std::isfinite(values[i])) return std::nullopt;
    if (i == 0 && (stop == end || *stop != ',')) return std::nullopt;
    if (i == 1 && stop != end) return std::nullopt;
    at = stop + 1;
  }
  return std::pair(values[0], values[1]);
}

// The upper end of a range of integers may be the first number that no longer fits.
void check_range(const std::string& text, double low, double high, ElementType type, const Origin& origin) {
  if (low >= lowest(type) && high <= highest(type) + (is_floating(type) ? 0 : 1)) return;
  refuse(origin,
         fmt::format("init = {}: {} holds {}; choose ends within", in_quotes(text), to_string(type), range_text(type)));
}

// "mod(n // 2)" -> its number.
std::optional<double> one_number(const std::string& text, std::string_view function, ElementType type,
                                 const Sizes& names, const Origin& origin) {
  if (!text.starts_with(function) || text.size() < function.size() + 3 || text[function.size()] != '(' ||
      text.back() != ')')
    return std::nullopt;
  const std::int64_t value =
      evaluate_size({text.substr(function.size() + 1, text.size() - function.size() - 2), origin}, names);
  if (value < 1)
    refuse(origin,
           fmt::format("init = {}: there are no numbers from 0 to {}; write 1 or more", in_quotes(text), value - 1));
  const auto number = static_cast<double>(value);
  check_range(text, 0, number, type, origin);
  return number;
}

}  // namespace

std::string_view numpy_type(ElementType type) {
  switch (type) {
    case ElementType::i8:
      return "i1";
    case ElementType::u8:
      return "u1";
    case ElementType::i16:
      return "i2";
    case ElementType::u16:
      return "u2";
    case ElementType::i32:
      return "i4";
    case ElementType::u32:
      return "u4";
    case ElementType::i64:
      return "i8";
    case ElementType::u64:
      return "u8";
    case ElementType::f16:
      return "f2";
    case ElementType::bf16:
      return "V2";
    case ElementType::f32:
      return "f4";
    case ElementType::f64:
      return "f8";
    case ElementType::boolean:
      return "b1";
  }
  return "";
}

BufferInit parse_buffer_init(const std::string& text, ElementType type, const Sizes& names,
                             const std::filesystem::path& base_folder, const Origin& origin) {
  using Kind = BufferInit::Kind;
  constexpr std::string_view file = "file:";
  if (text.empty() || text == "zeros") return {};
  if (text == "ones") return {.kind = Kind::ones, .path = {}};
  if (text == "iota") return {.kind = Kind::iota, .path = {}};
  if (text.starts_with(file)) return {.kind = Kind::file, .path = (base_folder / text.substr(file.size())).string()};
  for (const auto& [word, kind] : {std::pair("uniform", Kind::uniform), std::pair("sorted", Kind::sorted)}) {
    const auto range = two_numbers(text, word);
    if (!range) continue;
    const auto [low, high] = *range;
    if (low > high)
      refuse(origin, fmt::format("init = {}: the lower end comes first; write uniform(0, 1), say", in_quotes(text)));
    check_range(text, low, high, type, origin);
    return {kind, low, high, {}};
  }
  if (const auto moments = two_numbers(text, "normal")) {
    const auto [mean, deviation] = *moments;
    if (deviation < 0)
      refuse(origin, fmt::format("init = {}: the standard deviation is negative; write 0 or more", in_quotes(text)));
    check_range(text, mean, mean, type, origin);
    return {Kind::normal, mean, deviation, {}};
  }
  if (const auto count = one_number(text, "mod", type, names, origin)) return {Kind::modulo, *count, 0, {}};
  if (const auto count = one_number(text, "permutation", type, names, origin))
    return {Kind::permutation, *count, 0, {}};
  refuse(origin, fmt::format("init = {} is not understood; write zeros, ones, iota, uniform(0, 1), normal(0, 1), "
                             "sorted(0, 1), mod(n), permutation(n) or file:data.npy",
                             in_quotes(text)));
}

void check_data_file(const std::filesystem::path& path, const std::string& buffer, ElementType type, std::int64_t count,
                     const Origin& origin) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw Error(ErrorKind::file_not_found,
                fmt::format("{}: there is no file {}; write its path relative to the source's folder", origin.text,
                            path.string()));
  }
  if (data_extension(path) == ".npy") {
    const NpyHeader header = read_npy_header(path);
    if (header.type != numpy_type(type)) {
      refuse(origin,
             fmt::format("{} holds elements of NumPy's type {}, and the buffer {} of {} ({}); convert it with astype",
                         path.string(), header.type, buffer, to_string(type), numpy_type(type)));
    }
    if (header.count != count) {
      refuse(
          origin,
          fmt::format("{} holds {} elements, and the buffer {} has {}; write the buffer's length so, or the file anew",
                      path.string(), header.count, buffer, count));
    }
    return;
  }
  if (data_extension(path) != ".bin")
    refuse(origin,
           fmt::format("{}: a data file ends in .npy or .bin, or in .zst behind that; rename it, or save it with "
                       "numpy.save",
                       path.string()));
  const std::int64_t wanted = count * size_bytes(type);
  const std::int64_t bytes = DataFile(path).bytes().value_or(wanted);
  if (bytes != wanted) {
    refuse(origin,
           fmt::format(
               "{} holds {} bytes, and the buffer {} has {} ({} x {}); write the buffer's length so, or the file anew",
               path.string(), bytes, buffer, wanted, count, to_string(type)));
  }
}

std::string init_text(const BufferInit& init) {
  switch (init.kind) {
    case BufferInit::Kind::zeros:
      return "zeros";
    case BufferInit::Kind::ones:
      return "ones";
    case BufferInit::Kind::iota:
      return "iota";
    case BufferInit::Kind::uniform:
      return fmt::format("uniform({}, {})", init.a, init.b);
    case BufferInit::Kind::normal:
      return fmt::format("normal({}, {})", init.a, init.b);
    case BufferInit::Kind::file:
      return "file " + init.path;
    case BufferInit::Kind::modulo:
      return fmt::format("mod({})", init.a);
    case BufferInit::Kind::permutation:
      return fmt::format("permutation({})", init.a);
    case BufferInit::Kind::sorted:
      return fmt::format("sorted({}, {})", init.a, init.b);
  }
  return "";
}

}  // namespace regtune
