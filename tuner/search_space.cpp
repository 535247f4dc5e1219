#include "search_space.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "static_facts.hpp"

namespace regtune {
namespace {

constexpr std::array kRegisterUsageLevels = {0, 10};  // ptxas's default is 5

struct Place {
  Dim3 block;
  SourceChoice choice;
};

SourceChoice joined(SourceChoice own, const SourceChoice& further) {
  own.renamed = own.renamed || further.renamed;
  if (further.register_usage_level >= 0) own.register_usage_level = further.register_usage_level;
  for (const auto& [name, value] : further.macros) own.macros[name] = value;
  if (!further.instance.empty()) own.instance = further.instance;
  own.spills_to_shared = own.spills_to_shared || further.spills_to_shared;
  return own;
}

class Space {
 public:
  explicit Space(const SearchSpaceRequest& request)
      : limits_(request.limits), block_is_fixed_(request.block_is_fixed), with_bounds_(request.with_bounds) {}

  void add_whole(const std::vector<Place>& places) {
    for (const Place& place : places) add(AuthorsOwn{}, place);
    add_caps(places);
    if (block_is_fixed_ || !with_bounds_) return;
    for (const Place& place : places) {
      add(LaunchBounds{static_cast<int>(place.block.volume()), 0}, place);
      add_bounds(place);
    }
  }

  // Every launch bound that has both numbers. Where the block is fixed there is none.
  void add_bounds(const Place& place) {
    if (block_is_fixed_) return;
    for (int min_blocks = 1; min_blocks <= limits_.max_blocks_per_sm; ++min_blocks) {
      const LaunchBounds bounds{static_cast<int>(place.block.volume()), min_blocks};
      if (min_blocks_ignored(limits_, bounds)) break;
      add(bounds, place);
    }
  }

  // The compiler's own choice and every cap.
  void add_caps(const std::vector<Place>& places) {
    for (const Place& place : places) add(CompilerDefault{}, place);
    for (int cap = compiler_minimum_registers; cap <= limits_.max_registers_per_thread; ++cap)
      for (const Place& place : places)
        add(block_is_fixed_ ? RegisterPolicy(MaxRegisters{cap}) : RegisterPolicy(RegisterCap{cap}), place);
  }

  std::vector<Variant> variants() && { return std::move(variants_); }

 private:
  void add(const RegisterPolicy& policy, const Place& place) {
    variants_.emplace_back(static_cast<int>(variants_.size()), policy, place.block, place.choice);
  }

  GpuLimits limits_;
  bool block_is_fixed_;
  bool with_bounds_;
  std::vector<Variant> variants_;
};

}  // namespace

std::vector<Variant> search_space(const SearchSpaceRequest& request) {
  const auto own_joined_with = [&](const SourceChoice& further) {
    std::vector<Place> places;
    for (const BlockChoices& block : request.blocks)
      places.push_back({block.block, joined(block.choices.front(), further)});
    return places;
  };
  Space space(request);
  for (std::size_t i = 0; i < request.blocks.front().choices.size(); ++i) {
    std::vector<Place> places;
    for (const BlockChoices& block : request.blocks) places.push_back({block.block, block.choices.at(i)});
    space.add_whole(places);
  }
  for (const SourceChoice& further : request.further_choices) space.add_whole(own_joined_with(further));
  if (request.with_register_usage_levels)
    for (const int level : kRegisterUsageLevels) space.add_caps(own_joined_with({false, level, {}}));
  SourceChoice spilling;
  spilling.spills_to_shared = true;
  if (request.with_shared_spilling)
    for (const Place& place : own_joined_with(spilling)) space.add_bounds(place);
  return std::move(space).variants();
}

}  // namespace regtune
