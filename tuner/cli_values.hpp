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

  // `subjects`: the arguments that belong to no option. `places`: of values that the command line does not name, where
  // they stand ("config.toml:3").
  CliValues(std::map<std::string, Value> values, std::vector<std::string> subjects,
            std::map<std::string, std::string> places = {})
      : values_(std::move(values)), subjects_(std::move(subjects)), places_(std::move(places)) {}
  // Where none is given.
  void set_default(const std::string& name, bool is_integer, double value);

  bool is_from_config(const std::string& name) const { return places_.contains(name); }
  // As a message names it: "--margin", or "config.toml:3: margin".
  std::string spell(const std::string& name) const;

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
  std::map<std::string, std::string> places_;
};

}  // namespace regtune
