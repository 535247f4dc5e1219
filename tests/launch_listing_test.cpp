// The listing of a program's launches, from what its processes told and counted.
#include "launch_listing.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "program.hpp"

namespace regtune {
namespace {

ToldKernel told(std::uint32_t number, const std::string& mangled, int registers = 32) {
  ToldKernel kernel;
  kernel.number = number;
  kernel.name = mangled;
  kernel.image = "image";
  kernel.compute_major = 9;
  kernel.registers_per_thread = registers;
  kernel.max_threads_per_block = 1024;
  return kernel;
}

// A process's table, filled as the injected library does.
class Counts {
 public:
  LaunchEntry& add(std::uint32_t kernel, std::uint32_t blocks, std::uint64_t launches) {
    LaunchEntry& entry = table_->entries[table_->used++];
    entry.kernel = kernel;
    entry.grid[0] = blocks;
    entry.block[0] = 256;
    for (int axis = 1; axis < 3; ++axis) entry.grid[axis] = entry.block[axis] = 1;
    entry.launches = launches;
    return entry;
  }
  void timed(LaunchEntry& entry, std::uint64_t timed, std::uint64_t ns_each) {
    entry.timed = timed;
    entry.timed_ns = timed * ns_each;
  }
  const LaunchTable& table() const { return *table_; }
  LaunchTable& table() { return *table_; }

 private:
  std::unique_ptr<LaunchTable> table_ = std::make_unique<LaunchTable>();
};

TEST(LaunchListing, TakesTheTimedLaunchesForThoseThatWereNotTimed) {
  LaunchListing listing;
  listing.add_kernel(0, told(1, "_Z5scalePfi"));
  Counts counts;
  counts.timed(counts.add(1, 4, 10), 5, 2'000'000);
  listing.add_counts(0, counts.table());
  const std::vector<ListedKernel> kernels = listing.kernels();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].signature, "scale(float*, int)");
  EXPECT_EQ(kernels[0].launches, 10u);
  EXPECT_DOUBLE_EQ(kernels[0].ms, 20);
  ASSERT_EQ(kernels[0].shapes.size(), 1u);
  EXPECT_EQ(kernels[0].shapes[0].timed, 5u);
  EXPECT_EQ(kernels[0].shapes[0].shape.grid, (Dim3{4, 1, 1}));
}

TEST(LaunchListing, AddsUpTheSameShapeOfSeveralProcesses) {
  LaunchListing listing;
  Counts first;
  Counts second;
  listing.add_kernel(0, told(1, "_Z5scalePfi"));
  listing.add_kernel(1, told(7, "_Z5scalePfi"));
  first.timed(first.add(1, 4, 10), 10, 1'000'000);
  second.timed(second.add(7, 4, 30), 30, 1'000'000);
  second.timed(second.add(7, 8, 1), 1, 500'000'000);
  listing.add_counts(0, first.table());
  listing.add_counts(1, second.table());
  const std::vector<ListedKernel> kernels = listing.kernels();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].launches, 41u);
  ASSERT_EQ(kernels[0].shapes.size(), 2u);
  EXPECT_EQ(kernels[0].shapes[0].shape.grid.x, 8u) << "the longest first";
  EXPECT_EQ(kernels[0].shapes[1].launches, 40u);
  EXPECT_DOUBLE_EQ(kernels[0].shapes[1].ms, 40);
}

TEST(LaunchListing, KeepsKernelsOfOneNameInDifferentImagesApart) {
  LaunchListing listing;
  ToldKernel other = told(2, "_Z5scalePfi");
  other.image = "another image";
  listing.add_kernel(0, told(1, "_Z5scalePfi"));
  listing.add_kernel(0, other);
  Counts counts;
  counts.add(1, 4, 1);
  counts.add(2, 4, 1);
  listing.add_counts(0, counts.table());
  EXPECT_EQ(listing.kernels().size(), 2u);
}

TEST(LaunchListing, LeavesOutWhatWasNeverLaunchedAndWhatNobodyTold) {
  LaunchListing listing;
  listing.add_kernel(0, told(1, "_Z5scalePfi"));
  Counts counts;
  counts.add(1, 4, 0);
  counts.add(99, 4, 5);
  listing.add_counts(0, counts.table());
  EXPECT_TRUE(listing.kernels().empty());
}

// What a program wrote there by mistake is no reason to read behind the table's end.
TEST(LaunchListing, ReadsNoFurtherThanTheTable) {
  LaunchListing listing;
  listing.add_kernel(0, told(1, "_Z5scalePfi"));
  Counts counts;
  counts.add(1, 4, 3);
  counts.table().used = 4'000'000'000u;
  listing.add_counts(0, counts.table());
  ASSERT_EQ(listing.kernels().size(), 1u);
  EXPECT_EQ(listing.kernels()[0].launches, 3u);
}

TEST(LaunchListing, SaysWhatLimitsTheOccupancyOfTheLongestShape) {
  LaunchListing listing;
  listing.add_kernel(0, told(1, "_Z3hotPf", 128));
  listing.add_kernel(0, told(2, "_Z4hugePf", 255));
  Counts counts;
  counts.timed(counts.add(1, 4, 1), 1, 2'000'000);
  LaunchEntry& impossible = counts.add(2, 4, 1);
  impossible.block[0] = 2048;
  listing.add_counts(0, counts.table());
  const std::vector<ListedKernel> kernels = listing.kernels();
  ASSERT_EQ(kernels.size(), 2u);
  ASSERT_TRUE(kernels[0].occupancy);
  EXPECT_EQ(kernels[0].occupancy->active_blocks_per_sm, 2);
  EXPECT_DOUBLE_EQ(kernels[0].occupancy->fraction, 0.25);
  EXPECT_EQ(kernels[0].occupancy->limiter, Limiter::registers);
  EXPECT_FALSE(kernels[1].occupancy);
  const std::string text = listing_text(kernels, 0);
  EXPECT_TRUE(holds(text, "2 blocks per SM, 25 % occupancy, limited by registers"));
  EXPECT_TRUE(holds(text, "occupancy not known"));
}

TEST(LaunchListing, CountsReplacedLaunchesByTheirOwnTime) {
  LaunchListing listing;
  listing.add_kernel(0, told(1, "_Z5scalePfi"));
  Counts counts;
  LaunchEntry& entry = counts.add(1, 4, 10);
  counts.timed(entry, 1, 3'000'000);
  entry.replaced = 8;
  entry.replaced_timed = 4;
  entry.replaced_timed_ns = 8'000'000;
  listing.add_counts(0, counts.table());
  const std::vector<ListedKernel> kernels = listing.kernels();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].replaced, 8u);
  EXPECT_DOUBLE_EQ(kernels[0].shapes[0].replaced_ms, 16);
  EXPECT_DOUBLE_EQ(kernels[0].ms, 16 + 2 * 3);
}

std::vector<ListedKernel> three_kernels() {
  LaunchListing listing;
  ToldKernel spilling = told(2, "_Z4coldPf", 255);
  spilling.local_bytes = 48;
  ToldKernel own = told(3, "_Z5helloILi4EEvPf");
  own.from_nvrtc = true;
  listing.add_kernel(0, told(1, "_Z3hotPf", 128));
  listing.add_kernel(0, spilling);
  listing.add_kernel(0, own);
  listing.add_kernel(0, told(4, "_Z5graphPf"));
  Counts counts;
  counts.timed(counts.add(1, 4, 1), 1, 75'000'000);
  counts.timed(counts.add(2, 4, 1), 1, 24'000'000);
  counts.timed(counts.add(3, 4, 1), 1, 1'000'000);
  counts.add(4, 4, 0).in_graphs = 12;
  listing.add_counts(0, counts.table());
  return listing.kernels();
}

TEST(LaunchListing, NamesSharesLaunchesAndLocalMemory) {
  const std::string text = listing_text(three_kernels(), 0);
  EXPECT_TRUE(holds(text, "4 kernels, 15 launches, 100 ms in kernels that were launched by themselves"));
  EXPECT_TRUE(holds(text, " 75.0 %    75.0 ms  hot(float*)\n"));
  EXPECT_TRUE(holds(text, "255 registers, 48 bytes of local memory per thread"));
  EXPECT_TRUE(holds(text, "12 launches in graphs"));
  EXPECT_TRUE(holds(text, "4 blocks of 256: 1 launch of 75.0 ms each\n"));
}

TEST(LaunchListing, AdvisesWhatTakesTimeAndSaysWhy) {
  const std::string text = listing_text(three_kernels(), 0);
  const std::size_t advice = text.find("worth tuning first:\n");
  ASSERT_NE(advice, std::string::npos) << text;
  const std::string lines = text.substr(advice);
  EXPECT_TRUE(holds(lines, "regtune run -k 'hot' --source FILE.cu -- ...   # 75.0 % of the time; its registers limit"));
  EXPECT_TRUE(holds(lines,
                    "regtune run -k 'cold' --source FILE.cu -- ...   # 24.0 % of the time; its registers limit its "
                    "blocks, it has local memory"));
  EXPECT_EQ(lines.find("hello"), std::string::npos) << "one percent is not worth it";
  EXPECT_EQ(lines.find("graph"), std::string::npos) << "no launch of its own can be captured";
}

TEST(LaunchListing, WhereTheProgramHasItsTextNoSourceIsAskedFor) {
  const auto advice_for = [](bool from_nvrtc, const std::string& image_form) {
    LaunchListing listing;
    ToldKernel kernel = told(1, "_Z5helloILi4EEvPf");
    kernel.from_nvrtc = from_nvrtc;
    kernel.image_form = image_form;
    listing.add_kernel(0, kernel);
    Counts counts;
    counts.timed(counts.add(1, 4, 1), 1, 1'000'000);
    listing.add_counts(0, counts.table());
    return listing_text(listing.kernels(), 0);
  };
  const std::string without = "regtune run -k 'hello<4>' -- ...   # 100.0 % of the time; most of";
  EXPECT_TRUE(holds(advice_for(true, "cubin"), without));
  EXPECT_TRUE(holds(advice_for(false, "PTX"), without));
  EXPECT_TRUE(holds(advice_for(false, "fat binary"), "regtune run -k 'hello<4>' --source FILE.cu -- ...")) << "perhaps";
}

TEST(LaunchListing, ShowsFewShapesAndCountsTheRest) {
  LaunchListing listing;
  listing.add_kernel(0, told(1, "_Z5scalePfi"));
  Counts counts;
  for (std::uint32_t blocks = 1; blocks <= 5; ++blocks) counts.timed(counts.add(1, blocks, 1), 1, blocks * 1'000'000u);
  LaunchEntry& rest = counts.add(1, 0, 100);
  rest.other_shapes = 1;
  listing.add_counts(0, counts.table());
  const std::string text = listing_text(listing.kernels(), 0);
  EXPECT_TRUE(holds(text, "5 blocks of 256"));
  EXPECT_TRUE(holds(text, "and 3 shapes more"));
  EXPECT_EQ(text.find("1 blocks of 256"), std::string::npos);
}

TEST(LaunchListing, OfNothingHasNoShareAndNoAdvice) {
  LaunchListing listing;
  listing.add_kernel(0, told(1, "_Z5scalePfi"));
  Counts counts;
  counts.add(1, 4, 3);  // none was timed
  listing.add_counts(0, counts.table());
  const std::string text = listing_text(listing.kernels(), 0);
  EXPECT_TRUE(holds(text, "  0.0 %          -  scale(float*, int)"));
  EXPECT_EQ(text.find("worth tuning"), std::string::npos);
}

TEST(LaunchListing, AsJsonHoldsWhatTheTextSays) {
  const nlohmann::json json = listing_json(three_kernels());
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ(json.at(0).at("kernel"), "_Z3hotPf");
  EXPECT_EQ(json.at(0).at("signature"), "hot(float*)");
  EXPECT_EQ(json.at(0).at("ms"), 75.0);
  EXPECT_EQ(json.at(0).at("occupancy").at("limiter"), "registers");
  EXPECT_EQ(json.at(1).at("local_bytes_per_thread"), 48);
  EXPECT_EQ(json.at(2).at("compiled_by_the_program"), true);
  EXPECT_EQ(json.at(3).at("in_graphs"), 12);
  EXPECT_EQ(json.at(3).at("launches"), 0);
  EXPECT_EQ(json.at(0).at("shapes").at(0).at("block"), nlohmann::json({256, 1, 1}));
}

TEST(LaunchListing, TakesWhatAProcessTellsAndRefusesTheRest) {
  const nlohmann::json message = {
      {"number", 3},        {"name", "_Z3hotPf"},           {"image", "abc"},   {"device", 1},
      {"registers", 40},    {"compute_capability", {9, 0}}, {"local_bytes", 8}, {"shared_bytes", 16},
      {"max_threads", 512}, {"source", {{"text", "..."}}}};
  const ToldKernel kernel = told_kernel(message);
  EXPECT_EQ(kernel.number, 3u);
  EXPECT_EQ(kernel.device, 1);
  EXPECT_EQ(kernel.max_threads_per_block, 512);
  EXPECT_TRUE(kernel.from_nvrtc);
  EXPECT_THROW(told_kernel({{"number", 3}}), nlohmann::json::exception);
  EXPECT_THROW(told_kernel("kernel"), nlohmann::json::exception);
}

TEST(KernelName, IsWhatPeopleCallIt) {
  EXPECT_EQ(kernel_name("_Z5scaleILi4EEvPfi"), "scale<4>");
  EXPECT_EQ(kernel_name("_ZN12_GLOBAL__N_15innerEPf"), "inner") << "as --kernel takes it";
  EXPECT_EQ(kernel_name("plain"), "plain");
}

}  // namespace
}  // namespace regtune
