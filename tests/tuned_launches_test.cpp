// Which stored results stand in for a program's launches: the same image, shape and integers, on the same model of GPU,
// and nothing whose outputs were not all compared.
#include "tuned_launches.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "captured_launch.hpp"
#include "cubin_builder.hpp"
#include "temporary_folder.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

const std::string kKernel = "_Z5scalePfi";
const std::string kImage = "0123456789abcdef";
const LaunchShape kShape{{4, 1, 1}, {256, 1, 1}, 0};

std::string block_with(std::int32_t n) {
  std::string block(12, '\0');
  std::memcpy(block.data() + 8, &n, sizeof n);
  return block;
}

// A code with a variable in that section; "": with none.
std::string cubin_with(const std::string& section, const std::string& variable) {
  CubinBuilder builder;
  const auto symbol = builder.function(kKernel, builder.code(kKernel, std::string(32, '\1')), true);
  builder.section(".nv.info." + kKernel, "");
  builder.section(".nv.info", sized(0x2f, words(symbol, 40)));
  if (!section.empty()) builder.variable(variable, builder.section(section, std::string(8, '\0')), 0, 8);
  return builder.bytes();
}

class TunedLaunchesTest : public testing::Test {
 protected:
  void SetUp() override {
    facts_.image = kImage;
    facts_.integers = {{"n", 8, 4}};
    as_.kernel = kKernel;
    as_.signature = "scale(float*, int)";
  }

  // A finished run as `regtune run` stores it, and the code of its best budget.
  void store(const std::string& cubin = cubin_with("", "")) {
    as_.sizes = sizes_of_launch(kShape, block_with(1000), facts_.integers);
    TuningRecord record = tuned_record(as_);
    record.author_shape = kShape;
    record.description = captured_text(facts_);
    Store cache = Store::open(file());
    cache.finish(cache.begin(record), record);
    if (cubin.empty()) return;
    StaticFacts compiled = *record.trials[1].facts;
    compiled.occupancy.reset();
    cache.keep_result({record.source_hash, record.options, record.compiler, record.architecture, record.kernel, "test"},
                      record.trials[1].variant.policy, {}, {compiled, "", "", cubin, ""});
  }

  std::optional<TunedLaunch> find(const LaunchShape& shape = kShape, std::int32_t n = 1000,
                                  const std::string& image = kImage, const std::string& gpu = h200.name) {
    return TunedLaunches(file()).find(kKernel, image, gpu, shape, block_with(n), why_not_);
  }
  std::filesystem::path file() const { return folder_.path() / "cache.db"; }

  TemporaryFolder folder_;
  TunedAs as_;
  CapturedFacts facts_;
  std::string why_not_;
};

TEST_F(TunedLaunchesTest, FindsWhatWasMeasuredForThisLaunch) {
  store();
  const auto found = find();
  ASSERT_TRUE(found) << why_not_;
  EXPECT_EQ(found->entry, kKernel);
  EXPECT_EQ(found->cubin, cubin_with("", ""));
  EXPECT_DOUBLE_EQ(found->speedup, 1.12);
  EXPECT_TRUE(found->constants.empty());
  const auto integers = TunedLaunches(file()).integers(kKernel, kImage, h200.name);
  EXPECT_EQ(integers, facts_.integers);
}

TEST_F(TunedLaunchesTest, RefusesAnotherShapeIntegerImageOrGpu) {
  store();
  EXPECT_FALSE(find({{5, 1, 1}, {256, 1, 1}, 0}));
  EXPECT_FALSE(find({{4, 1, 1}, {128, 1, 1}, 0}));
  EXPECT_FALSE(find({{4, 1, 1}, {256, 1, 1}, 16}));
  EXPECT_FALSE(find(kShape, 1001));
  EXPECT_EQ(why_not_, "nothing is stored for this shape and these integers");
  EXPECT_FALSE(find(kShape, 1000, "another image"));
  EXPECT_FALSE(find(kShape, 1000, kImage, "NVIDIA H100 PCIe"));
  EXPECT_TRUE(find(kShape, 1000, kImage, "H200")) << "the same model, spelled otherwise: " << why_not_;
}

// An image whose bytes were not seen may be any.
TEST_F(TunedLaunchesTest, AnUnknownImageIsNeverServed) {
  facts_.image.clear();
  store();
  EXPECT_FALSE(find(kShape, 1000, ""));
  EXPECT_FALSE(TunedLaunches(file()).integers(kKernel, "", h200.name));
}

TEST_F(TunedLaunchesTest, NothingIsServedWhoseOutputsWereNotCompared) {
  facts_.outputs_compared = false;
  store();
  EXPECT_FALSE(find());
  EXPECT_FALSE(TunedLaunches(file()).integers(kKernel, kImage, h200.name));
}

TEST_F(TunedLaunchesTest, TheProgramsOwnCodeStaysWhereItIsTheBest) {
  as_.best = AuthorsOwn{};
  store();
  EXPECT_FALSE(find());
  EXPECT_EQ(why_not_, "its own code is the best that was found");
}

TEST_F(TunedLaunchesTest, SaysThatTheCodeIsNoLongerStored) {
  store("");
  EXPECT_FALSE(find());
  EXPECT_EQ(why_not_, "the code of the run is no longer stored; tune it again");
}

TEST_F(TunedLaunchesTest, ConstantsAreTheProgramsOwn) {
  store(cubin_with(".nv.constant3", "table"));
  const auto found = find();
  ASSERT_TRUE(found) << why_not_;
  EXPECT_EQ(found->constants, std::vector<std::string>{"table"});
}

// What kernels write in one place the program reads in the other.
TEST_F(TunedLaunchesTest, ACodeWithADeviceVariableIsNotServed) {
  store(cubin_with(".nv.global.init", "counter"));
  EXPECT_FALSE(find());
  EXPECT_NE(why_not_.find("__device__ variable (counter)"), std::string::npos) << why_not_;
}

TEST_F(TunedLaunchesTest, ARunOfADescriptionServesNoProgram) {
  as_.sizes = sizes_of_launch(kShape, block_with(1000), facts_.integers);
  TuningRecord record = tuned_record(as_);
  record.description = "[launch]\ngrid = [4]\n";
  Store cache = Store::open(file());
  cache.finish(cache.begin(record), record);
  EXPECT_FALSE(find());
  EXPECT_FALSE(TunedLaunches(file()).integers(kKernel, kImage, h200.name));
}

TEST_F(TunedLaunchesTest, MakesNoCache) {
  EXPECT_FALSE(find());
  EXPECT_FALSE(std::filesystem::exists(file()));
}

}  // namespace
}  // namespace regtune
