#include "source_choices.hpp"

#include <gtest/gtest.h>

#include "policy.hpp"
#include "template_arguments.hpp"

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
  for (const BlockChoices& block : source_choices(description, unit, blocks).blocks) {
    EXPECT_EQ(block.block, blocks[spelled.size()]);
    spelled.emplace_back();
    for (const SourceChoice& choice : block.choices) spelled.back().push_back(spell(choice));
  }
  return spelled;
}

using Spelled = std::vector<std::vector<std::string>>;

LaunchDescription tuning(std::vector<TunedName> tune, std::vector<std::string> block_macros = {}) {
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

LaunchDescription of_template(const std::string& kernel, LaunchDescription description,
                              const std::vector<Dim3>& blocks = {}) {
  description.kernel = kernel;
  description.blocks = blocks;
  return with_authors_instance(description, "");
}

TEST(SourceChoices, AnArgumentOfATemplateMakesInstancesAndNoMacro) {
  const LaunchDescription description = of_template("scale<UNROLL, float>", tuning({{"UNROLL", {"2", "1", "4"}, {}}}));
  EXPECT_EQ(choices(description, "", {k128}), (Spelled{{"", "scale<1, float>", "scale<4, float>"}}));
}

TEST(SourceChoices, ArgumentsAndMacrosAreCombined) {
  const LaunchDescription description =
      of_template("f<N>", tuning({{"N", {"1", "2"}, {}}, {"STEPS", {"8", "16"}, {}}}));
  EXPECT_EQ(choices(description, "#define STEPS 8\n", {k128}),
            (Spelled{{"", "STEPS=16", "f<2>, STEPS=8", "f<2>, STEPS=16"}}));
}

TEST(SourceChoices, ABlockThatIsATemplateArgumentNamesAnInstance) {
  const LaunchDescription description = of_template("reduce<BX, float>", tuning({}, {"BX"}), {k128, k256});
  EXPECT_EQ(description.kernel, "reduce<128, float>");
  EXPECT_EQ(choices(description, "", {k128, k256}), (Spelled{{""}, {"reduce<256, float>"}}));
}

TEST(SourceChoices, ExpressionsSeeTheIntegersOfEachLaunch) {
  const LaunchDescription description =
      of_template("f<N>", tuning({{"N", {"2", "4"}, {}}, {"T", {"float", "float4"}, {}}, {"S", {"1<<3"}, {}}}));
  CompileUnit unit;
  unit.source.text = "#define T float\n#define S 1\n";
  const SourceChoices found = source_choices(description, unit, {k128, k256});
  std::vector<Sizes> seen;
  for (const LaunchCase& launch : found.launches) seen.push_back(launch.tuned);
  // The author's S is 1; "float" is no integer.
  const std::vector<Sizes> of_block{
      {{"N", 2}, {"S", 1}}, {{"N", 2}, {"S", 8}}, {{"N", 2}, {"S", 8}}, {{"N", 4}, {"S", 8}}, {{"N", 4}, {"S", 8}}};
  std::vector<Sizes> expected = of_block;
  expected.insert(expected.end(), of_block.begin(), of_block.end());
  EXPECT_EQ(seen, expected);
}

TEST(SourceChoices, EveryVariantHasTheLaunchOfItsBlockAndChoice) {
  const LaunchDescription description = of_template("f<N>", tuning({{"N", {"2", "4"}, {}}}));
  const SourceChoices found = source_choices(description, {}, {k128, k256});
  ASSERT_EQ(found.launches.size(), 4u);
  SourceChoice four{true, 10, {}, "f<4>"};
  EXPECT_EQ(found.launch_of({0, AuthorsOwn{}, k128}), 0u);
  EXPECT_EQ(found.launch_of({0, AuthorsOwn{}, k128, four}), 1u) << "renamed, and at another register usage level";
  EXPECT_EQ(found.launch_of({0, AuthorsOwn{}, k256}), 2u);
  EXPECT_EQ(found.launch_of({0, AuthorsOwn{}, k256, four}), 3u);
}

}  // namespace
}  // namespace regtune
