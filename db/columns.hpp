#pragma once
// Small parts that the row functions share: a reader that takes the columns of a row one after the other,
// and the list of question marks of an INSERT. Knows the plain types of record.hpp and no table.
#include <optional>
#include <string>
#include <string_view>

#include "record.hpp"
#include "sqlite.hpp"

namespace regtune {

// Reads the columns of a row one after the other.
class Columns {
 public:
  Columns(Database& database, Statement& row) : database_(database), row_(row) {}
  std::int64_t integer() { return row_.integer(next_++); }
  int number() { return static_cast<int>(integer()); }
  unsigned extent() { return static_cast<unsigned>(integer()); }
  double real() { return row_.real(next_++); }
  std::string text() { return row_.text(next_++); }
  bool null_ahead() const { return row_.is_null(next_); }
  void skip(int columns) { next_ += columns; }
  Dim3 dim3() {
    Dim3 size;
    size.x = extent();
    size.y = extent();
    size.z = extent();
    return size;
  }
  Interval interval() {
    Interval result;
    result.low = real();
    result.median = real();
    result.high = real();
    return result;
  }
  template <typename Enum>
  Enum named(std::optional<Enum> (*from_string)(std::string_view)) {
    const std::string name = text();
    if (const auto value = from_string(name)) return *value;
    unknown(name);
  }
  [[noreturn]] void unknown(const std::string& name) {
    database_.refuse("holds \"" + name + "\", which this regtune does not know: use the regtune that wrote it, or " +
                     "name another file with --cache FILE");
  }

 private:
  Database& database_;
  Statement& row_;
  int next_ = 0;
};

// "(?, ?, ?)"
inline std::string placeholders(int count) {
  std::string text = "(?";
  for (int index = 1; index < count; ++index) text += ", ?";
  return text + ")";
}

}  // namespace regtune
