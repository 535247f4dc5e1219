// What flags say of a launch, over what its description says.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "described.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

template <typename Value>
void expect_flag_refusal(Value DescriptionFlags::*member, const std::type_identity_t<Value>& value, const Texts& parts,
                         ErrorKind kind = ErrorKind::bad_description) {
  DescriptionFlags flags;
  flags.*member = value;
  expect_error([&] { with_flags({}, flags); }, kind, parts);
}

TEST(Description, FlagsWinOverTheFile) {
  DescriptionFlags flags;
  flags.kernel = "other";
  flags.sizes = {"n=1<<20", "k = 3"};
  flags.block = "128,256, 32x8,128";
  flags.grid = "n, 2";
  flags.dynamic_shared_bytes = "1024";
  flags.arguments = {"in={buffer=\"2*n\", init=\"ones\", tolerance=0.5, output=true}", "b=2.5", "s = \"quoted\""};
  flags.options = {"-ftz=true"};
  flags.defines = {"X=1"};
  flags.include_folders = {"inc"};
  flags.seed = 9;
  const LaunchDescription d = with_flags(read("kernel = \"k\"\nsizes = { n = 1, m = \"n + k\" }\nblock = 64\noptions = "
                                              "[\"-O1\"]\ninclude = [\"a\"]\nargs = { in = 3, out = 4 }"),
                                         flags);
  EXPECT_EQ(d.kernel, "other");
  ASSERT_EQ(d.sizes.size(), 3u);
  EXPECT_EQ(d.sizes[0].name, "k");
  EXPECT_EQ(d.sizes[0].value.text, "3");
  EXPECT_EQ(d.sizes[1].name, "n");
  EXPECT_EQ(d.sizes[1].value.text, "1<<20");
  EXPECT_EQ(d.sizes[1].value.origin.text, "--set n");
  EXPECT_EQ(d.sizes[2].name, "m");
  EXPECT_EQ(d.blocks, (Blocks{{128, 1, 1}, {256, 1, 1}, {32, 8, 1}}));
  EXPECT_EQ(d.grid->text, "n, 2");
  EXPECT_EQ(d.dynamic_shared_bytes->text, "1024");
  ASSERT_EQ(d.arguments.size(), 4u);
  EXPECT_EQ(d.arguments[0].parameter, "out");
  EXPECT_EQ(d.arguments[1].parameter, "in");
  EXPECT_EQ(d.arguments[1].origin.text, "--arg in");
  EXPECT_EQ(d.arguments[1].length->text, "2*n");
  EXPECT_EQ(d.arguments[1].length->origin.text, "--arg in: buffer");
  EXPECT_EQ(d.arguments[1].output, true);
  EXPECT_EQ(d.arguments[2].scalar->text, "2.5");
  EXPECT_EQ(d.options, (Texts{"-O1", "-ftz=true", "-DX=1"}));
  ASSERT_EQ(d.include_folders.size(), 2u);
  EXPECT_EQ(d.include_folders[0], "a");
  EXPECT_EQ(d.include_folders[1], fs::absolute("inc"));
  EXPECT_EQ(d.seed, 9u);
}

TEST(Description, DataFilesOfFlagsAreRelativeToTheCurrentFolder) {
  DescriptionFlags flags;
  flags.arguments = {"in={buffer=3, init=\"file:a.npy\"}"};
  EXPECT_EQ(with_flags({}, flags).arguments[0].init, "file:" + fs::absolute("a.npy").string());
}

TEST(Description, RefusesBadFlagsByName) {
  expect_flag_refusal(&DescriptionFlags::sizes, {"n"}, {"--set", "n=1024"});
  expect_flag_refusal(&DescriptionFlags::sizes, {"=3"}, {"--set"});
  expect_flag_refusal(&DescriptionFlags::sizes, {"block=3"}, {"--set block"});
  expect_flag_refusal(&DescriptionFlags::block, "a", {"--block", "\"a\""});
  expect_flag_refusal(&DescriptionFlags::block, "", {"--block"});
  expect_flag_refusal(&DescriptionFlags::block, "128,", {"--block"});
  expect_flag_refusal(&DescriptionFlags::block, "0", {"--block"}, ErrorKind::bad_launch);
  expect_flag_refusal(&DescriptionFlags::arguments, {"in"}, {"--arg", "in={buffer"});
  expect_flag_refusal(&DescriptionFlags::arguments, {"in={buffer=}"}, {"--arg in", "not valid TOML"});
  expect_flag_refusal(&DescriptionFlags::arguments, {"in={bufer=3}"}, {"--arg in: bufer", "\"buffer\""});
  expect_flag_refusal(&DescriptionFlags::arguments, {"in={buffer=3}\nx=4"}, {"--arg in"});
  expect_flag_refusal(&DescriptionFlags::arguments, {"in={" + std::string(100000, 'x')}, {"--arg in"});
}

TEST(Description, TheTuneFlagWinsOverTheFile) {
  DescriptionFlags flags;
  flags.tune = {"U=1, 2,4", "V=a"};
  const LaunchDescription description = with_flags(read("tune = {U = [8], W = [3]}"), flags);
  ASSERT_EQ(description.tune.size(), 3u);
  EXPECT_EQ(description.tune[0].name, "W");
  EXPECT_EQ(description.tune[1].values, (Texts{"1", "2", "4"}));
  EXPECT_EQ(description.tune[2].values, Texts{"a"});
  expect_flag_refusal(&DescriptionFlags::tune, {"U"}, {"--tune UNROLL=1,2,4,8"});
  expect_flag_refusal(&DescriptionFlags::tune, {"U=1,,2"}, {"--tune U", "a value is missing"});
  expect_flag_refusal(&DescriptionFlags::tune, {"2=1"}, {"cannot name a macro"});
}

TEST(Description, TakesMetricsFromFlags) {
  DescriptionFlags flags;
  flags.metrics = {"bytes=8*n", "flops = 2*n"};
  const LaunchDescription d = with_flags({}, flags);
  EXPECT_EQ(d.bytes->text, "8*n");
  EXPECT_EQ(d.flops->text, "2*n");
  EXPECT_EQ(d.flops->origin.text, "--metric flops");
  for (const char* bad : {"bytes", "=8", "joules=1"}) {
    flags.metrics = {bad};
    expect_error([&] { with_flags({}, flags); }, ErrorKind::bad_description, {"--metric"});
  }
}

}  // namespace
}  // namespace regtune
