#pragma once
// What the options of one command line hold, by their names: one accessor for each kind of value, with the range where
// there is one. Knows no option and no parser. A value outside its range is refused with the option's name.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace regtune {

class CliValues {
 public:
  using Value = std::variant<bool, int, double, std::uint64_t, std::string, std::vector<std::string>>;

  // `subjects`: the arguments that belong to no option.
  CliValues(std::map<std::string, Value> values, std::vector<std::string> subjects)
      : values_(std::move(values)), subjects_(std::move(subjects)) {}

  const std::vector<std::string>& subjects() const { return subjects_; }
  const std::string& subject() const { return subjects_.front(); }  // of a command that takes exactly one

  bool flag(const std::string& name) const;
  std::optional<std::string> text(const std::string& name) const;
  std::vector<std::string> list(const std::string& name) const;  // empty: not given
  std::optional<int> integer(const std::string& name) const;
  std::optional<std::uint64_t> unsigned_integer(const std::string& name) const;

  // Throw Error(usage) for a value outside the range.
  std::optional<int> integer_in(const std::string& name, int low, int high) const;
  std::optional<int> count(const std::string& name) const;  // not negative
  std::optional<double> number_in(const std::string& name, double low, double high) const;

 private:
  template <class T>
  std::optional<T> given(const std::string& name) const;

  std::map<std::string, Value> values_;
  std::vector<std::string> subjects_;
};

}  // namespace regtune
