#include "module_variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace regtune {
namespace {

// What is no larger is kept whether it is known to be written or not: another reference may come.
constexpr std::int64_t kSmallBytes = 1 << 20;

template <class Word>
Word word_at(const std::string& bytes, std::size_t at) {
  Word word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

// Requires: as many bytes, and not the same.
std::string text_of_difference(const std::string& name, const std::string& value, const std::string& reference) {
  if (value.size() == sizeof(std::uint32_t))
    return fmt::format("the variable {}: {} instead of {}", name, word_at<std::uint32_t>(value, 0),
                       word_at<std::uint32_t>(reference, 0));
  const auto first = std::mismatch(value.begin(), value.end(), reference.begin()).first - value.begin();
  std::size_t differing = 0;
  for (std::size_t i = 0; i < value.size(); ++i) differing += value[i] != reference[i] ? 1 : 0;
  return fmt::format("the variable {}: {} of {} bytes differ, the first at {}", name, differing, value.size(), first);
}

}  // namespace

ModuleVariables::OfCode ModuleVariables::read(const LoadedKernel& loaded, const std::vector<std::string>& names) const {
  OfCode variables;
  for (const std::string& name : names) {
    Variable variable;
    variable.name = name;
    // One that the driver does not show no launch of ours could restore; a static one it shows.
    if (!driver_.variable(loaded, name, variable.address, variable.bytes).ok()) continue;
    if (!has_reference_ || variable.bytes <= kSmallBytes || results_.contains(name))
      variable.initial = value_of(variable);
    variables.push_back(std::move(variable));
  }
  return variables;
}

void ModuleVariables::release(OfCode& variables) const {
  for (Variable& variable : variables)
    if (variable.initial_on_device != 0) driver_.free(variable.initial_on_device);
  variables.clear();
}

void ModuleVariables::restore(OfCode& variables) const {
  for (Variable& variable : variables)
    if (variable.initial && (!has_reference_ || results_.contains(variable.name))) put_back(variable);
}

void ModuleVariables::put_back(Variable& variable) const {
  const std::string doing = "restoring the variable " + variable.name;
  const bool is_often = has_reference_;
  if (is_often && variable.initial_on_device == 0 && driver_.allocate(variable.bytes, variable.initial_on_device).ok())
    require(driver_.copy_to_device(variable.initial_on_device, variable.initial->data(), variable.bytes), doing);
  // Without a copy on the device, or room for it, the host's does.
  require(variable.initial_on_device != 0
              ? driver_.copy_on_device_async(variable.address, variable.initial_on_device, variable.bytes)
              : driver_.copy_to_device(variable.address, variable.initial->data(), variable.bytes),
          doing);
}

void ModuleVariables::forget_reference() {
  has_reference_ = false;
  results_.clear();
}

void ModuleVariables::keep_as_reference(const OfCode& variables) {
  has_reference_ = true;
  for (const Variable& variable : variables)
    if (variable.initial && value_of(variable) != *variable.initial)
      results_[variable.name] = {comparable(variable, variables), true};
}

std::string ModuleVariables::differences(const OfCode& variables) const {
  std::string found;
  for (const Variable& variable : variables) {
    const Result* const reference = result_of(variable);
    if (reference == nullptr || !reference->is_compared) continue;
    const std::string value = comparable(variable, variables);
    if (value == reference->bytes) continue;
    found += (found.empty() ? "" : "; ") + text_of_difference(variable.name, value, reference->bytes);
  }
  return found;
}

void ModuleVariables::leave_out_what_varies(const OfCode& variables) {
  for (const Variable& variable : variables)
    if (const Result* const reference = result_of(variable); reference != nullptr)
      results_[variable.name].is_compared = comparable(variable, variables) == reference->bytes;
}

std::map<std::string, bool> ModuleVariables::written() const {
  std::map<std::string, bool> names;
  for (const auto& [name, result] : results_) names[name] = result.is_compared;
  return names;
}

std::string ModuleVariables::value_of(const Variable& variable) const {
  std::string value(static_cast<std::size_t>(variable.bytes), '\0');
  require(driver_.copy_to_host(value.data(), variable.address, variable.bytes),
          "reading the variable " + variable.name);
  return value;
}

// Each module lies elsewhere: an address of one of its variables is told by which one it is, and where in it.
std::string ModuleVariables::comparable(const Variable& variable, const OfCode& of_code) const {
  std::string value = value_of(variable);
  for (std::size_t at = 0; at + sizeof(DeviceAddress) <= value.size(); at += sizeof(DeviceAddress)) {
    const auto word = word_at<DeviceAddress>(value, at);
    const auto pointed = std::find_if(of_code.begin(), of_code.end(), [&](const Variable& other) {
      return word >= other.address && word - other.address < static_cast<DeviceAddress>(other.bytes);
    });
    if (word == 0 || pointed == of_code.end()) continue;
    const DeviceAddress place = std::hash<std::string>{}(pointed->name) + (word - pointed->address);
    std::memcpy(value.data() + at, &place, sizeof place);
  }
  return value;
}

// Nothing of another size: that is another variable.
const ModuleVariables::Result* ModuleVariables::result_of(const Variable& variable) const {
  const auto found = results_.find(variable.name);
  const bool is_same =
      found != results_.end() && found->second.bytes.size() == static_cast<std::size_t>(variable.bytes);
  return is_same ? &found->second : nullptr;
}

}  // namespace regtune
