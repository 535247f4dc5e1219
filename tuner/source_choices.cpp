#include "source_choices.hpp"

#include <algorithm>
#include <array>

#include "macros.hpp"

namespace regtune {
namespace {

// Every combination of the values, the last macro's changing fastest.
std::vector<Macros> combinations(const std::vector<TunedMacro>& tune) {
  std::vector<Macros> all = {Macros{}};
  for (const TunedMacro& macro : tune) {
    std::vector<Macros> longer;
    for (const Macros& shorter : all)
      for (const std::string& value : macro.values) {
        longer.push_back(shorter);
        longer.back()[macro.name] = value;
      }
    all = std::move(longer);
  }
  return all;
}

bool is_authors(const Macros& macros, const CompileUnit& unit) {
  return std::all_of(macros.begin(), macros.end(), [&](const auto& macro) {
    return author_value(unit.source.text, unit.options, macro.first) == plain_value(macro.second);
  });
}

}  // namespace

std::vector<BlockChoices> source_choices(const LaunchDescription& description, const CompileUnit& unit,
                                         const std::vector<Dim3>& blocks) {
  std::vector<Macros> others = combinations(description.tune);
  std::erase_if(others, [&](const Macros& macros) { return is_authors(macros, unit); });
  std::vector<BlockChoices> all;
  for (const Dim3& block : blocks) {
    SourceChoice own;
    const std::array extents = {block.x, block.y, block.z};
    // The author's block is what the source is compiled for as it stands.
    for (std::size_t i = 0; i < description.block_macros.size() && !all.empty(); ++i)
      own.macros[description.block_macros[i]] = std::to_string(extents.at(i));
    BlockChoices choices{block, {own}};
    for (const Macros& macros : others) {
      choices.choices.push_back(own);
      choices.choices.back().macros.insert(macros.begin(), macros.end());
    }
    all.push_back(std::move(choices));
  }
  return all;
}

}  // namespace regtune
