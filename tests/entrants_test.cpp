// The budgets that join when the race has settled, with real codes.
#include "entrants.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cubin.hpp"
#include "kept_codes.hpp"
#include "policy.hpp"
#include "progress.hpp"
#include "regtune/error.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

class EntrantsTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      CompilePool(1, 60).identity();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  // The trials that has_more adds when the codes of that block are still racing.
  std::vector<std::string> more(const std::string& text, const std::vector<Variant>& variants, Dim3 racing) {
    CompilePool pool(2, 120);
    const CompileUnit unit = compile_unit({"k.cu", text}, {}, "sm_90", pool.identity());
    KeptCodes kept(nullptr, unit, pool.identity());
    Sweep sweep(pool, unit, kept);
    const GpuLimits limits = gpu_limits(9, 0).value();
    const std::string kernel = read_cubin(sweep.first().cubin).kernels.front().name;
    std::vector<LaunchShape> shapes;
    std::vector<Build> builds;
    TuningRecord record;
    for (const Variant& variant : variants) {
      const LaunchShape shape{{1, 1, 1}, variant.block, 0};
      const auto same = [&](const LaunchShape& s) { return s.block == variant.block; };
      if (std::none_of(shapes.begin(), shapes.end(), same)) shapes.push_back(shape);
      const Build build{variant.policy, variant.choice};
      if (std::find(builds.begin(), builds.end(), build) == builds.end()) builds.push_back(build);
      record.trials.push_back({variant, shape, {}, NotTimed{}});
    }
    sweep.begin(kernel, "k", limits, builds);
    Progress progress(true);
    RunLog log(record, nullptr, progress);
    const PastRuns past;
    CompiledEntrants entrants(sweep, record, shapes, limits, past, log);
    std::vector<int> still_racing;
    for (std::optional<Entrant> entrant = entrants.reference(); entrant; entrant = entrants.next())
      if (entrant->candidate.shape.block == racing) still_racing.push_back(entrant->candidate.id);
    EXPECT_FALSE(still_racing.empty());
    entrants.has_more(still_racing);
    entrants.finish({});
    std::vector<std::string> added;
    for (std::size_t i = variants.size(); i < record.trials.size(); ++i) {
      const Trial& trial = record.trials[i];
      EXPECT_TRUE(trial.facts) << spell(trial.variant.policy);
      added.push_back(std::to_string(trial.variant.block.x) + " " + spell(trial.variant.choice) + " " +
                      spell(trial.variant.policy));
    }
    return added;
  }
};

const std::string kBlockOfMacro = R"(#define BLOCK 64
__global__ void k(float* p) {
  __shared__ float s[BLOCK];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[BLOCK - 1 - threadIdx.x];
}
)";

TEST_F(EntrantsTest, NeighboursAreOfTheChoiceThatRacesAndOfItsBlockAlone) {
  const SourceChoice of_128{false, -1, {{"BLOCK", "128"}}};
  const std::vector<std::string> added = more(kBlockOfMacro,
                                              {{0, AuthorsOwn{}, {64, 1, 1}},
                                               {1, RegisterCap{24}, {64, 1, 1}},
                                               {2, AuthorsOwn{}, {128, 1, 1}, of_128},
                                               {3, RegisterCap{24}, {128, 1, 1}, of_128}},
                                              {128, 1, 1});
  EXPECT_EQ(added, (std::vector<std::string>{"128 BLOCK=128 __maxnreg__(24)", "128 BLOCK=128 __maxnreg__(25)",
                                             "128 BLOCK=128 __maxnreg__(26)", "128 BLOCK=128 __maxnreg__(27)",
                                             "128 BLOCK=128 __maxnreg__(28)"}));
}

TEST_F(EntrantsTest, BesideADeclaredBlockSizeNothingJoins) {
  const std::string text = "__global__ void __block_size__((64, 1, 1)) k(float* p) { p[threadIdx.x] = 1; }\n";
  EXPECT_TRUE(more(text, {{0, AuthorsOwn{}, {64, 1, 1}}, {1, RegisterCap{24}, {64, 1, 1}}}, {64, 1, 1}).empty());
}

// A cache that holds what became of the author's code, and the same kernel tuned again.
class EntrantsAfterwards : public EntrantsTest {
 protected:
  TuningRecord record_of(const std::string& kernel) const {
    TuningRecord record;
    record.kernel = kernel;
    record.author_shape = {{1, 1, 1}, {64, 1, 1}, 0};
    int id = 0;
    for (const RegisterPolicy& policy : {RegisterPolicy(AuthorsOwn{}), RegisterPolicy(RegisterCap{24})})
      record.trials.push_back({{id++, policy, record.author_shape.block}, record.author_shape, {}, NotTimed{}});
    return record;
  }

  // Runs until the author's code is given, and tells `outcome` of it.
  std::optional<Entrant> reference_given(const Outcome& outcome, bool retry) {
    CompilePool pool(2, 120);
    const CompileUnit unit = compile_unit({"k.cu", kBlockOfMacro}, {}, "sm_90", pool.identity());
    KeptCodes kept(nullptr, unit, pool.identity());
    Sweep sweep(pool, unit, kept);
    const std::string kernel = read_cubin(sweep.first().cubin).kernels.front().name;
    TuningRecord record = record_of(kernel);
    sweep.begin(kernel, "k", gpu_limits(9, 0).value(), {{AuthorsOwn{}}, {RegisterCap{24}}});
    const PastRuns past(store_, record, retry);
    Progress progress(true);
    RunLog log(record, &store_, progress);
    CompiledEntrants entrants(sweep, record, {record.author_shape}, gpu_limits(9, 0).value(), past, log);
    std::optional<Entrant> entrant = entrants.reference();
    log.on_outcome(entrant->candidate.id, outcome);
    return entrant;
  }

  TemporaryFolder folder_;
  Store store_ = Store::open(folder_.path() / "cache.db");
};

TEST_F(EntrantsAfterwards, AReferenceInQuarantineIsNeverPassedOverInSilence) {
  EXPECT_TRUE(reference_given(Faulted{"an illegal address"}, false));
  try {
    reference_given(NotTimed{}, false);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::gpu_failed);
    const std::string said = error.what();
    EXPECT_NE(said.find("author's code, is in quarantine since 2"), std::string::npos) << said;
    EXPECT_NE(said.find("an illegal address"), std::string::npos) << said;
    EXPECT_NE(said.find("--retry-quarantined"), std::string::npos) << said;
  }
  EXPECT_TRUE(reference_given(Measurement{}, true));
  EXPECT_TRUE(reference_given(NotTimed{}, false)) << "measured: it left the quarantine";
}

TEST_F(EntrantsAfterwards, AnEntrantCarriesTheIdentityOfItsCode) {
  const std::optional<Entrant> first = reference_given(NotTimed{}, false);
  EXPECT_NE(first->code, "");
  EXPECT_EQ(reference_given(NotTimed{}, false)->code, first->code);
}

}  // namespace
}  // namespace regtune
