#include "ncu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace regtune {
namespace {

const std::string kHeader =
    R"("ID","Process ID","Kernel Name","dram__bytes.sum","l1tex__t_bytes.sum","lts__t_bytes.sum",)"
    R"("sm__warps_active.avg.pct_of_peak_sustained_active","smsp__sass_inst_executed_op_local_ld.sum",)"
    R"("smsp__sass_inst_executed_op_local_st.sum")"
    "\n"
    R"("","","","byte","byte","byte","%","inst","inst")"
    "\n";

TEST(NcuReport, ReadsOneRowForEachLaunch) {
  const NcuReport report =
      read_ncu_report("==PROF== Connected to process 12\n" + kHeader +
                      R"x("0","12","k(const float*, int)","1,024","2048","4096","46.5","31,195,136","23")x"
                      "\n"
                      R"("1","12","k","1","2","3","100","0","0")"
                      "\n");
  ASSERT_EQ(report.launches.size(), 2u) << report.failure;
  EXPECT_EQ(report.launches[0], (Counters{31195136, 23, 0.465, 2048, 4096, 1024}));
  EXPECT_EQ(report.launches[1], (Counters{0, 0, 1, 2, 3, 1}));
  EXPECT_EQ(report.failure, "");
}

// Recorded on an H200: four launches of decay_wide's author's code, the last of cap 64, under ncu_command's options.
TEST(NcuReport, ReadsARecordedReport) {
  std::ifstream in(REGTUNE_SOURCE_FOLDER "/tests/data/ncu/decay_wide.csv");
  const NcuReport report = read_ncu_report(std::string(std::istreambuf_iterator<char>(in), {}));
  ASSERT_EQ(report.launches.size(), 4u) << report.failure;
  EXPECT_EQ(report.launches[0].local_load_instructions, 0);
  EXPECT_NEAR(report.launches[0].achieved_occupancy, 0.354, 0.001);
  EXPECT_NEAR(report.launches[3].achieved_occupancy, 0.442, 0.001);
  for (const Counters& launch : report.launches) {
    EXPECT_EQ(launch.l1_bytes, 134217728);  // 16,777,216 floats in and as many out
    EXPECT_NEAR(launch.dram_bytes, 115.9e6, 0.3e6);
    EXPECT_NEAR(launch.l2_bytes, 203.3e6, 1e6);
  }
}

TEST(NcuReport, SaysWhatNcuSays) {
  const NcuReport report = read_ncu_report(
      "==PROF== Connected to process 12\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access "
      "NVIDIA GPU Performance Counters on the target device 0.\n");
  EXPECT_TRUE(report.launches.empty());
  EXPECT_NE(report.failure.find("ERR_NVGPUCTRPERM"), std::string::npos) << report.failure;
}

TEST(NcuReport, RowsThatLackACounterDoNotCount) {
  const NcuReport report = read_ncu_report(kHeader + R"("0","12","k","1","2","3","n/a","4","5")"
                                                     "\n"
                                                     R"("1","12","k","1","2")"
                                                     "\n");
  EXPECT_TRUE(report.launches.empty());
  EXPECT_EQ(report.failure, "ncu reported no launch");
}

TEST(NcuReport, SurvivesAnyText) {
  const std::string good = kHeader + R"x("0","12","k ""quoted"", (","1","2","3","4","5","6")x"
                                     "\n";
  ASSERT_EQ(read_ncu_report(good).launches.size(), 1u);
  for (std::size_t length = 0; length < good.size(); ++length) {
    const NcuReport report = read_ncu_report(std::string_view(good).substr(0, length));
    EXPECT_LE(report.launches.size(), 1u);
    EXPECT_EQ(report.launches.empty(), !report.failure.empty());
  }
}

TEST(NcuCommand, NamesTheKernelsExactlyAndLeavesTheClocksAlone) {
  const std::vector<std::string> words = ncu_command("/opt/ncu", "/tmp/report", {"_Z1kPf", "cutlass_k"});
  const auto after = [&](const std::string& word) {
    const auto found = std::find(words.begin(), words.end(), word);
    return found == words.end() ? "" : *(found + 1);
  };
  EXPECT_EQ(words.front(), "/opt/ncu");
  EXPECT_EQ(after("--kernel-name"), "regex:^(_Z1kPf|cutlass_k)$");
  EXPECT_EQ(after("--clock-control"), "none");
  EXPECT_EQ(after("--log-file"), "/tmp/report");
}

TEST(FindNcu, TheVariableIsTheLastWord) {
  setenv("REGTUNE_NCU", "/nowhere/ncu", 1);
  EXPECT_FALSE(find_ncu());
  setenv("REGTUNE_NCU", "/bin/sh", 1);
  EXPECT_EQ(find_ncu(), std::filesystem::path("/bin/sh"));
  unsetenv("REGTUNE_NCU");
}

}  // namespace
}  // namespace regtune
