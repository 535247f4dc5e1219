#include "source_choices.hpp"

#include <gtest/gtest.h>

#include "policy.hpp"

namespace regtune {
namespace {

const Dim3 k128{128, 1, 1};
const Dim3 k256{256, 1, 1};

// The spelled choices of each block.
std::vector<std::vector<std::string>> choices(const LaunchDescription& description, const std::string& text,
                                              const std::vector<Dim3>& blocks,
                                              const std::vector<std::string>& options = {}) {
  CompileUnit unit;
  unit.source.text = text;
  unit.options = options;
  std::vector<std::vector<std::string>> spelled;
  for (const BlockChoices& block : source_choices(description, unit, blocks)) {
    EXPECT_EQ(block.block, blocks[spelled.size()]);
    spelled.emplace_back();
    for (const SourceChoice& choice : block.choices) spelled.back().push_back(spell(choice));
  }
  return spelled;
}

using Spelled = std::vector<std::vector<std::string>>;

LaunchDescription tuning(std::vector<TunedMacro> tune, std::vector<std::string> block_macros = {}) {
  LaunchDescription description;
  description.tune = std::move(tune);
  description.block_macros = std::move(block_macros);
  return description;
}

TEST(SourceChoices, WithoutKnobsThereIsTheAuthorsAlone) {
  EXPECT_EQ(choices({}, "#define BLOCK 128\n", {k128, k256}), (Spelled{{""}, {""}}));
}

TEST(SourceChoices, TheAuthorsOwnValueAddsNothing) {
  const LaunchDescription description = tuning({{"UNROLL", {"1", "2", "4"}, {}}});
  EXPECT_EQ(choices(description, "#define UNROLL 2 // default\n", {k128}), (Spelled{{"", "UNROLL=1", "UNROLL=4"}}));
  EXPECT_EQ(choices(description, "#define UNROLL 2\n", {k128}, {"-DUNROLL=4"}),
            (Spelled{{"", "UNROLL=1", "UNROLL=2"}}));
  EXPECT_EQ(choices(description, "", {k128}), (Spelled{{"", "UNROLL=1", "UNROLL=2", "UNROLL=4"}}));
}

TEST(SourceChoices, MacrosAreCombined) {
  const LaunchDescription description = tuning({{"U", {"1", "2"}, {}}, {"T", {"float", "float4"}, {}}});
  EXPECT_EQ(choices(description, "#define U 1\n#define T float\n", {k128}),
            (Spelled{{"", "T=float4, U=1", "T=float, U=2", "T=float4, U=2"}}));
}

TEST(SourceChoices, EveryBlockButTheAuthorsTellsTheMacro) {
  EXPECT_EQ(choices(tuning({}, {"BLOCK"}), "#define BLOCK 128\n", {k128, k256}), (Spelled{{""}, {"BLOCK=256"}}));
  EXPECT_EQ(choices(tuning({}, {"BX", "BY"}), "", {{16, 16, 1}, {32, 8, 1}}), (Spelled{{""}, {"BX=32, BY=8"}}));
  EXPECT_EQ(choices(tuning({{"U", {"1", "2"}, {}}}, {"BLOCK"}), "#define U 1\n", {k128, k256}),
            (Spelled{{"", "U=2"}, {"BLOCK=256", "BLOCK=256, U=2"}}));
}

}  // namespace
}  // namespace regtune
