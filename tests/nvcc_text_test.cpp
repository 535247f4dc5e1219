#include "nvcc_text.hpp"

#include <gtest/gtest.h>

namespace regtune {
namespace {

TuningRecord record_with(const std::vector<NvccCode>& codes) {
  TuningRecord record;
  for (const RegisterPolicy& policy : {RegisterPolicy{AuthorsOwn{}}, RegisterPolicy{RegisterCap{48}}}) {
    Trial& trial = record.trials.emplace_back();
    trial.variant = Variant(static_cast<int>(record.trials.size()) - 1, policy, {128, 1, 1});
    trial.facts.emplace();
    trial.facts->registers_per_thread = 48;
  }
  record.nvcc = NvccComparison{"nvcc 13.0.88 with GCC 12.2.0", codes};
  return record;
}

TEST(NvccReport, IsSilentWhereBothCompilersAgree) {
  EXPECT_EQ(nvcc_text(record_with({{0, 48, 0, 0, "", {}, 0, ""}, {1, 48, 0, 0, "", {}, 0, ""}})), "");
  EXPECT_EQ(nvcc_text(TuningRecord{}), "");
}

TEST(NvccReport, TellsADifferenceWithBothSides) {
  EXPECT_EQ(nvcc_text(record_with({{0, 40, 0, 0, "", {}, 0, ""}, {1, 48, 8, 12, "", {}, 0, ""}})),
            "nvcc 13.0.88 with GCC 12.2.0 gives the author's code another code: 40 registers; NVRTC: 48 registers\n"
            "nvcc 13.0.88 with GCC 12.2.0 gives --maxrregcount=48 another code: 48 registers, spills 8/12; NVRTC: 48 "
            "registers\n");
}

TEST(NvccReport, TellsWhatNvccDoesNotCompileAndWhatItsBuildsGain) {
  EXPECT_EQ(nvcc_text(record_with({{0, 0, 0, 0, "k.cu(3): error: no", {}, 0, ""},
                                   {1, 48, 0, 0, "", {1, 1.02, 1.03}, 60, "the gain holds"}})),
            "nvcc 13.0.88 with GCC 12.2.0 does not compile the author's code: k.cu(3): error: no\n"
            "built by nvcc, --maxrregcount=48: the gain holds\n");
}

}  // namespace
}  // namespace regtune
