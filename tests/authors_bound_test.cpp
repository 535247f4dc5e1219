#include "authors_bound.hpp"

#include <gtest/gtest.h>

namespace regtune {
namespace {

StaticFacts facts(int threads, int ceiling, int registers, const std::string& hash) {
  StaticFacts facts;
  facts.max_threads_per_block = threads;
  facts.register_ceiling = ceiling;
  facts.registers_per_thread = registers;
  facts.code_hash = hash;
  facts.occupancy = Occupancy{6, 0.375, Limiter::registers};
  return facts;
}

TuningRecord record_with(const std::string& bounds, const StaticFacts& own, const StaticFacts& bare) {
  TuningRecord record;
  record.author_bounds = bounds;
  for (const RegisterPolicy& policy : {RegisterPolicy{AuthorsOwn{}}, RegisterPolicy{CompilerDefault{}}}) {
    Trial trial;
    trial.variant = Variant(static_cast<int>(record.trials.size()), policy, {128, 1, 1});
    trial.shape = {{1, 1, 1}, {128, 1, 1}, 0};
    trial.facts = record.trials.empty() ? own : bare;
    record.trials.push_back(trial);
  }
  return record;
}

TEST(AuthorsBound, SaysCeilingUseAndWhatItIsWithoutTheBound) {
  EXPECT_EQ(
      about_authors_bound(record_with("128, 5", facts(128, 96, 80, "a"), facts(0, 255, 84, "b"))),
      "the author's __launch_bounds__(128, 5): the ceiling is 96 registers; the kernel uses 80, and 84 without the "
      "bound; 6 blocks of 128 threads fit on an SM");
}

TEST(AuthorsBound, SaysThatABoundChangesNothing) {
  const std::string text = about_authors_bound(record_with("128", facts(128, 255, 80, "a"), facts(0, 255, 80, "a")));
  EXPECT_NE(text.find("the kernel uses 80, and the code is the same without the bound"), std::string::npos) << text;
}

TEST(AuthorsBound, TellsTheThreadsThatANameStandsFor) {
  const std::string text = about_authors_bound(record_with("kT, kB", facts(192, 80, 80, "a"), facts(0, 255, 84, "b")));
  EXPECT_TRUE(text.starts_with("the author's __launch_bounds__(kT, kB), here 192 threads: the ceiling is 80")) << text;
}

TEST(AuthorsBound, TellsSpillsAndOneBlock) {
  StaticFacts own = facts(1024, 64, 64, "a");
  own.spill_store_bytes = 8;
  own.spill_load_bytes = 12;
  own.occupancy->active_blocks_per_sm = 1;
  const std::string text = about_authors_bound(record_with("1024", own, facts(0, 255, 84, "b")));
  EXPECT_NE(text.find("the kernel uses 64, spilling 8/12 bytes, and 84 without the bound; 1 block of 128 threads fits"),
            std::string::npos)
      << text;
}

TEST(AuthorsBound, ABoundThatTheCodeDoesNotHoldIsToldAsSuch) {
  EXPECT_EQ(about_authors_bound(record_with("128", facts(0, 255, 80, "a"), facts(0, 255, 80, "a"))),
            "the author's __launch_bounds__(128) is not in the code that was compiled");
}

TEST(AuthorsBound, IsSilentWithoutABoundOrWithoutCode) {
  EXPECT_EQ(about_authors_bound(record_with("", facts(0, 255, 80, "a"), facts(0, 255, 80, "a"))), "");
  EXPECT_EQ(about_authors_bound(TuningRecord{}), "");
  TuningRecord record = record_with("128", facts(128, 255, 80, "a"), facts(0, 255, 80, "a"));
  record.trials.front().facts.reset();
  EXPECT_EQ(about_authors_bound(record), "");
}

}  // namespace
}  // namespace regtune
