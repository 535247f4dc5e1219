#pragma once
// Reading one field of a JSON document with its type checked: the library alone takes true and 1e300 for an int, and
// names no key when it refuses a type. Throws Error(bad_description) that names the key and what was found there.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "regtune/error.hpp"

namespace regtune::json_fields {

using Json = nlohmann::json;

[[noreturn]] inline void refuse(const std::string& key, const Json& json, const char* expected) {
  const std::string found = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  throw Error(ErrorKind::bad_description, fmt::format("'{}' must be {}, not {}{}", key, expected, found.substr(0, 60),
                                                      found.size() > 60 ? "..." : ""));
}

template <class T>
void read_value(const Json& json, const std::string& key, T& target) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) refuse(key, json, "true or false");
  } else if constexpr (std::is_integral_v<T>) {
    if (!json.is_number_integer()) refuse(key, json, "a whole number");
    if (!(json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                    : std::in_range<T>(json.get<std::int64_t>())))
      refuse(key, json, "a number that fits");
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!json.is_number()) refuse(key, json, "a number");
  }
  try {
    json.get_to(target);
  } catch (const Json::type_error&) {
    refuse(key, json, "of another type");
  }
}

template <class T>
void read_value(const Json& json, const std::string& key, std::vector<T>& target) {
  if (!json.is_array()) refuse(key, json, "a list");
  target.clear();
  for (const Json& element : json) read_value(element, key, target.emplace_back());
}

template <class T>
void read_value(const Json& json, const std::string& key, std::map<std::string, T>& target) {
  if (!json.is_object()) refuse(key, json, "an object");
  target.clear();
  for (const auto& [name, value] : json.items()) read_value(value, key + "." + name, target[name]);
}

inline const Json& at(const Json& json, const char* key) {
  if (!json.is_object()) refuse(fmt::format("what holds {}", key), json, "an object");
  const auto found = json.find(key);
  if (found == json.end()) throw Error(ErrorKind::bad_description, fmt::format("the key '{}' is missing", key));
  return *found;
}

template <class T>
void read(const Json& json, const char* key, T& target) {
  read_value(at(json, key), key, target);
}

template <class T>
T read(const Json& json, const char* key) {
  T value{};
  read(json, key, value);
  return value;
}

// Null where `at` would refuse: for keys that are left out when they hold nothing.
inline const Json* find(const Json& json, const char* key) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

// Leaves `target` as it is where the key is left out.
template <class T>
void read_if_there(const Json& json, const char* key, T& target) {
  if (find(json, key)) read(json, key, target);
}

template <class Enum>
Enum read_enum(const Json& json, const char* key, std::optional<Enum> (*parse)(std::string_view)) {
  if (const std::optional<Enum> value = parse(read<std::string>(json, key))) return *value;
  refuse(key, at(json, key), "one of the values known here");
}

}  // namespace regtune::json_fields
