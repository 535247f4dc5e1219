#pragma once
// The variables of loaded modules (__device__), as far as launches write them. Every code has a module of its own,
// whose variables no copy of the buffers holds: a kernel that counts in one would find another value at each launch,
// and do other work. Which ones the author's code writes is found out once, at the reference; from then on those alone
// are put back, and are outputs like any buffer: compared bit by bit, for nobody tells what lies in them. Lives in the
// process that drives the GPU.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver.hpp"

namespace regtune {

class ModuleVariables {
 public:
  explicit ModuleVariables(const Driver& driver) : driver_(driver) {}

  struct Variable {
    std::string name;
    DeviceAddress address = 0;
    std::int64_t bytes = 0;
    std::optional<std::string> initial;  // empty: no launch of the reference writes it
    DeviceAddress initial_on_device = 0;
  };
  using OfCode = std::vector<Variable>;

  // Those of these names that the code's module has, before it is launched.
  OfCode read(const LoadedKernel& loaded, const std::vector<std::string>& names) const;
  void release(OfCode& variables) const;

  // As they were read, what the reference writes; all of them where there is none.
  void restore(OfCode& variables) const;

  // Another reference comes.
  void forget_reference();
  // What the reference's launch has changed, and into what, since they were restored.
  void keep_as_reference(const OfCode& variables);
  // "the variable counter: 8 instead of 4"; empty when nothing differs.
  std::string differences(const OfCode& variables) const;
  // The reference has run again from the start: what differs is no longer compared.
  void leave_out_what_varies(const OfCode& variables);

  // By name; false: another value each time, and so not compared.
  std::map<std::string, bool> written() const;

 private:
  struct Result {
    std::string bytes;  // as comparable() gives them
    bool is_compared = true;
  };
  std::string value_of(const Variable& variable) const;
  std::string comparable(const Variable& variable, const OfCode& of_code) const;
  const Result* result_of(const Variable& variable) const;
  void put_back(Variable& variable) const;

  const Driver& driver_;
  bool has_reference_ = false;
  std::map<std::string, Result> results_;  // of what the reference writes
};

}  // namespace regtune
