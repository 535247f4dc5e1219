#include "template_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "macros.hpp"
#include "regtune/error.hpp"
#include "source_scan.hpp"

namespace regtune {
namespace {

std::set<std::string> words_among_arguments(const std::string& kernel) {
  std::set<std::string> words;
  const std::size_t arguments = kernel.find('<');
  for (const Token& token : tokenize(kernel))
    if (token.offset > arguments) words.insert(spelling(kernel, token));
  return words;
}

}  // namespace

LaunchDescription with_authors_instance(LaunchDescription description, const std::string& text) {
  if (!description.kernel || description.kernel->find('<') == std::string::npos) return description;
  const std::set<std::string> words = words_among_arguments(*description.kernel);
  const auto is_argument = [&](const std::string& name) {
    return words.count(name) > 0 && !defines_macro(text, description.options, name);
  };
  for (const TunedName& tuned : description.tune)
    if (is_argument(tuned.name)) description.template_arguments.push_back(tuned.name);
  for (const std::string& name : description.block_macros) {
    if (!is_argument(name)) continue;
    if (description.blocks.empty())
      throw Error(ErrorKind::bad_description,
                  fmt::format("{}: {} is a template argument of {}, and no block is described; write block = 256, or "
                              "give --block 256",
                              description.block_macro_origin.text, name, *description.kernel));
    description.template_arguments.push_back(name);
  }
  if (description.template_arguments.empty()) return description;
  description.kernel_pattern = *description.kernel;
  description.kernel = instance_name(description.kernel_pattern, authors_template_arguments(description));
  return description;
}

std::string instance_name(const std::string& pattern, const std::map<std::string, std::string>& values) {
  const std::size_t arguments = pattern.find('<');
  std::string name;
  std::size_t copied = 0;
  for (const Token& token : tokenize(pattern)) {
    if (token.offset < arguments) continue;
    const auto value = values.find(spelling(pattern, token));
    if (value == values.end()) continue;
    name.append(pattern, copied, token.offset - copied);
    name += value->second;
    copied = token.offset + token.length;
  }
  return name + pattern.substr(copied);
}

std::string note_of_authors_instance(const LaunchDescription& description) {
  if (description.kernel_pattern.empty()) return "";
  return fmt::format("{} is taken as yours: the first values of {}", *description.kernel, description.kernel_pattern);
}

std::map<std::string, std::string> authors_template_arguments(const LaunchDescription& description) {
  std::map<std::string, std::string> values;
  const auto is_argument = [&](const std::string& name) {
    const auto& names = description.template_arguments;
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const TunedName& tuned : description.tune)
    if (is_argument(tuned.name)) values[tuned.name] = tuned.values.front();
  for (std::size_t i = 0; i < description.block_macros.size(); ++i) {
    if (!is_argument(description.block_macros[i])) continue;
    const Dim3& block = description.blocks.front();
    values[description.block_macros[i]] = std::to_string(std::array{block.x, block.y, block.z}.at(i));
  }
  return values;
}

}  // namespace regtune
