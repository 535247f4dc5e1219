// The budgets that join when the race has settled, with real codes.
#include "entrants.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cubin.hpp"
#include "kept_codes.hpp"
#include "nvrtc_compile.hpp"
#include "policy.hpp"
#include "progress.hpp"

namespace regtune {
namespace {

class EntrantsTest : public NvrtcTest {
 protected:
  // The trials that has_more adds when the codes of that block are still racing.
  std::vector<std::string> more(const std::string& text, const std::vector<Variant>& variants, Dim3 racing) {
    CompilePool pool(2, 120);
    const CompileUnit unit = compile_unit({"k.cu", text}, {}, "sm_90", pool.identity());
    KeptCodes kept(nullptr, unit, pool.identity());
    Sweep sweep(pool, unit, kept);
    const GpuLimits limits = gpu_limits(9, 0).value();
    const std::string kernel = read_cubin(sweep.first().cubin).kernels.front().name;
    std::vector<Build> builds;
    TuningRecord record;
    for (const Variant& variant : variants) {
      const LaunchShape shape{{1, 1, 1}, variant.block, 0};
      const Build build{variant.policy, variant.choice};
      if (std::find(builds.begin(), builds.end(), build) == builds.end()) builds.push_back(build);
      record.trials.push_back({variant, shape, {}, NotTimed{}});
    }
    sweep.begin(kernel, "k", limits, builds);
    Progress progress(true);
    RunLog log(record, nullptr, progress);
    CompiledEntrants entrants(sweep, record, limits, log);
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

TEST_F(EntrantsTest, WhereEveryMaxnregRacesAlreadyNothingJoins) {
  if (older_than_12_9()) GTEST_SKIP() << "NVRTC " << nvrtc()->version() << " knows no __block_size__";
  const std::string text = "__global__ void __block_size__((64, 1, 1)) k(float* p) { p[threadIdx.x] = 1; }\n";
  EXPECT_TRUE(more(text, {{0, AuthorsOwn{}, {64, 1, 1}}, {1, MaxRegisters{24}, {64, 1, 1}}}, {64, 1, 1}).empty());
}

}  // namespace
}  // namespace regtune
