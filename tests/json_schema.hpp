#pragma once
// Checks a JSON document against the part of JSON Schema (2020-12) that our schemas use: type, enum, const, required,
// properties, additionalProperties, items, minimum and $ref into $defs. An unknown keyword is a breach: nothing is
// silently not checked.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace regtune {

class SchemaCheck {
 public:
  explicit SchemaCheck(const nlohmann::json& root) : root_(root) {}

  // The first breach, with its place; empty: none.
  std::string breach(const nlohmann::json& schema, const nlohmann::json& value, const std::string& at) const {
    static const std::set<std::string> known{
        "$schema", "$id",      "$defs",      "$ref",  "title",   "type",        "const",
        "enum",    "required", "properties", "items", "minimum", "description", "additionalProperties"};
    for (const auto& [keyword, ignored] : schema.items())
      if (!known.contains(keyword)) return at + ": the schema says '" + keyword + "', which is not understood";
    if (schema.contains("$ref")) {
      const std::string pointer = schema["$ref"].get<std::string>().substr(1);
      return breach(root_.at(nlohmann::json::json_pointer(pointer)), value, at);
    }
    if (schema.contains("type") && !is_of(schema["type"], value)) return at + ": is no " + schema["type"].dump();
    if (schema.contains("const") && schema["const"] != value) return at + ": is not " + schema["const"].dump();
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
      return at + ": is none of " + schema["enum"].dump();
    if (schema.contains("minimum") && value.is_number() && value < schema["minimum"]) return at + ": is too small";
    if (value.is_object()) return breach_in_object(schema, value, at);
    for (std::size_t i = 0; value.is_array() && schema.contains("items") && i < value.size(); ++i)
      if (std::string found = breach(schema["items"], value[i], at + "/" + std::to_string(i)); !found.empty())
        return found;
    return "";
  }

 private:
  std::string breach_in_object(const nlohmann::json& schema, const nlohmann::json& value, const std::string& at) const {
    for (const auto& name : schema.value("required", nlohmann::json::array()))
      if (!value.contains(name)) return at + ": has no " + name.get<std::string>();
    const nlohmann::json properties = schema.value("properties", nlohmann::json::object());
    const nlohmann::json others = schema.value("additionalProperties", nlohmann::json(true));
    for (const auto& [name, member] : value.items()) {
      const bool named = properties.contains(name);
      if (!named && others == nlohmann::json(false)) return at + ": has a " + name;
      const nlohmann::json& of_member = named ? properties[name] : others;
      if (of_member.is_boolean()) continue;
      if (std::string found = breach(of_member, member, at + "/" + name); !found.empty()) return found;
    }
    return "";
  }

  static bool is_of(const nlohmann::json& type, const nlohmann::json& value) {
    if (type.is_array())
      return std::any_of(type.begin(), type.end(), [&](const auto& one) { return is_of(one, value); });
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "integer" && value.is_number_integer()) ||
           (type == "number" && value.is_number()) || (type == "null" && value.is_null()) ||
           (type == "boolean" && value.is_boolean());
  }

  const nlohmann::json& root_;
};

inline std::string schema_breach(const nlohmann::json& schema, const nlohmann::json& value) {
  return SchemaCheck(schema).breach(schema, value, "");
}

}  // namespace regtune
