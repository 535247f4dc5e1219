#include "source_choices.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "macros.hpp"
#include "regtune/error.hpp"
#include "template_arguments.hpp"

namespace regtune {
namespace {

// Every combination of the values, the last name's changing fastest.
std::vector<Macros> combinations(const std::vector<TunedName>& tune) {
  std::vector<Macros> all = {Macros{}};
  for (const TunedName& tuned : tune) {
    std::vector<Macros> longer;
    for (const Macros& shorter : all)
      for (const std::string& value : tuned.values) {
        longer.push_back(shorter);
        longer.back()[tuned.name] = value;
      }
    all = std::move(longer);
  }
  return all;
}

// What makes a choice of the values that tuned names have for it.
class ChoiceOfValues {
 public:
  ChoiceOfValues(const LaunchDescription& description, const CompileUnit& unit)
      : description_(description), unit_(unit), authors_arguments_(authors_template_arguments(description)) {}

  // The value of the author's own command; empty where it defines none.
  std::optional<std::string> authors(const std::string& name) const {
    const auto argument = authors_arguments_.find(name);
    if (argument != authors_arguments_.end()) return plain_value(argument->second);
    return author_value(unit_.source.text, unit_.options, name);
  }

  bool is_authors(const Macros& values) const {
    return std::all_of(values.begin(), values.end(),
                       [&](const auto& value) { return authors(value.first) == plain_value(value.second); });
  }

  SourceChoice choice(const Macros& values) const {
    SourceChoice choice;
    Macros arguments = authors_arguments_;
    for (const auto& [name, value] : values) {
      if (const auto argument = arguments.find(name); argument != arguments.end())
        argument->second = value;
      else
        choice.macros[name] = value;
    }
    if (arguments != authors_arguments_) choice.instance = instance_name(description_.kernel_pattern, arguments);
    return choice;
  }

  // Of the tuned names, those whose value is an integer, as the expressions of the launch see them.
  Sizes seen_by_expressions(const Macros& values) const {
    std::vector<std::string> names = description_.block_macros;
    for (const TunedName& tuned : description_.tune) names.push_back(tuned.name);
    Sizes seen;
    for (const std::string& name : names) {
      const auto given = values.find(name);
      const std::optional<std::string> value = given != values.end() ? given->second : authors(name);
      const std::optional<std::int64_t> integer = value ? integer_of(*value) : std::nullopt;
      if (integer && !why_not_a_size_name(name)) seen[name] = *integer;
    }
    return seen;
  }

 private:
  static std::optional<std::int64_t> integer_of(const std::string& value) {
    try {
      return evaluate_size({value, {}}, {});
    } catch (const Error&) {
      return {};  // a type, say: "float4"
    }
  }

  const LaunchDescription& description_;
  const CompileUnit& unit_;
  Macros authors_arguments_;
};

}  // namespace

SourceChoices source_choices(const LaunchDescription& description, const CompileUnit& unit,
                             const std::vector<Dim3>& blocks) {
  const ChoiceOfValues of(description, unit);
  std::vector<Macros> others = combinations(description.tune);
  std::erase_if(others, [&](const Macros& values) { return of.is_authors(values); });
  SourceChoices all;
  for (const Dim3& block : blocks) {
    Macros own;
    const std::array extents = {block.x, block.y, block.z};
    // The author's block is what the source is compiled for as it stands.
    for (std::size_t i = 0; i < description.block_macros.size() && !all.blocks.empty(); ++i)
      own[description.block_macros[i]] = std::to_string(extents.at(i));
    std::vector<Macros> values_of_block{own};
    for (const Macros& values : others) {
      values_of_block.push_back(own);
      values_of_block.back().insert(values.begin(), values.end());
    }
    BlockChoices choices{block, {}};
    for (const Macros& values : values_of_block) {
      choices.choices.push_back(of.choice(values));
      all.launches.push_back({block, of.seen_by_expressions(values)});
    }
    all.blocks.push_back(std::move(choices));
  }
  return all;
}

std::size_t SourceChoices::launch_of(const Variant& variant) const {
  std::size_t launch = 0;
  for (const BlockChoices& of_block : blocks)
    for (const SourceChoice& choice : of_block.choices) {
      if (of_block.block == variant.block && choice.macros == variant.choice.macros &&
          choice.instance == variant.choice.instance)
        return launch;
      ++launch;
    }
  assert(false && "the variant is of these choices");
  return 0;
}

}  // namespace regtune
