#include "ptxas_report.hpp"

#include <gtest/gtest.h>

namespace regtune {
namespace {

// As NVRTC 13.0 writes it, for sm_90 with a cap of 24.
constexpr const char* nvrtc_log =
    "k.cu(3): warning #177-D: variable \"s\" was declared but never referenced\n"
    "\n"
    "ptxas info    : Overriding maximum register limit 256 for 'local' with  24 of maxrregcount option\n"
    "ptxas info    : Overriding global maxrregcount 24 with entry-specific value 128 computed using thread count\n"
    "ptxas warning : Value of threads per SM for entry caller is out of range. .minnctapersm will be ignored\n"
    "ptxas info    : 4 bytes gmem, 64 bytes cmem[3], 8 bytes cmem[4]\n"
    "ptxas info    : Compiling entry function 'local' for 'sm_90'\n"
    "ptxas info    : Function properties for local\n"
    "ptxas         .     1120 bytes stack frame, 1508 bytes spill stores, 1532 bytes spill loads\n"
    "ptxas info    : Used 64 registers, used 1 barriers, 1120 bytes cumulative stack size, 512 bytes smem, 372 bytes "
    "cmem[0]\n"
    "ptxas info    : Compile time = 9.085 ms\n"
    "ptxas info    : Compiling entry function 'caller' for 'sm_90'\n"
    "ptxas info    : Function properties for caller\n"
    "ptxas         .     864 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 24 registers, used 0 barriers, 864 bytes cumulative stack size\n"
    "ptxas info    : Function properties for _Z5heavyPKfi\n"
    "ptxas         .     0 bytes stack frame, 1036 bytes spill stores, 1456 bytes spill loads\n"
    "ptxas info    : Function properties for _Z6heavy2PKfi\n"
    "ptxas         .     0 bytes stack frame, 12 bytes spill stores, 4 bytes spill loads\n";

TEST(PtxasReport, ReadsEveryEntryOfAnNvrtcLog) {
  const PtxasReport report = read_ptxas_report(nvrtc_log);
  ASSERT_EQ(report.entries.size(), 2u);
  const PtxasEntry* local = report.find("local");
  ASSERT_NE(local, nullptr);
  EXPECT_EQ(local->architecture, "sm_90");
  EXPECT_EQ(local->registers_per_thread, 64);
  EXPECT_EQ(local->own.stack_frame_bytes, 1120);
  EXPECT_EQ(local->own.spill_store_bytes, 1508);
  EXPECT_EQ(local->own.spill_load_bytes, 1532);
  EXPECT_EQ(local->cumulative_stack_bytes, 1120);
  EXPECT_EQ(local->static_shared_bytes, 512);
  EXPECT_TRUE(local->functions.empty());
}

TEST(PtxasReport, AddsCalledFunctionsToTheirKernel) {
  const PtxasReport report = read_ptxas_report(nvrtc_log);
  const PtxasEntry* caller = report.find("caller");
  ASSERT_NE(caller, nullptr);
  ASSERT_EQ(caller->functions.size(), 2u);
  EXPECT_EQ(caller->functions[1].name, "_Z6heavy2PKfi");
  EXPECT_EQ(caller->own.spill_store_bytes, 0);
  EXPECT_EQ(caller->spill_store_bytes(), 1048);
  EXPECT_EQ(caller->spill_load_bytes(), 1460);
  EXPECT_EQ(caller->static_shared_bytes, 0);
}

TEST(PtxasReport, ReadsTheLayoutOfNvcc) {
  const PtxasReport report = read_ptxas_report(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function '_Z1kPf' for 'sm_80'\n"
      "ptxas info    : Function properties for _Z1kPf\n"
      "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\r\n"
      "ptxas info    : Used 32 registers, 380 bytes cmem[0]\n");
  const PtxasEntry* entry = report.find("_Z1kPf");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->own.stack_frame_bytes, 8);
  EXPECT_EQ(entry->own.spill_store_bytes, 4);
  EXPECT_EQ(entry->own.spill_load_bytes, 12);
  EXPECT_EQ(entry->registers_per_thread, 32);
  EXPECT_EQ(entry->static_shared_bytes, 0);
  EXPECT_FALSE(entry->cumulative_stack_bytes.has_value());
}

TEST(PtxasReport, ReadsAUsedLineWithoutMore) {
  const PtxasReport report =
      read_ptxas_report("ptxas info : Compiling entry function 'k' for 'sm_90'\nptxas info : Used 4 registers");
  ASSERT_EQ(report.entries.size(), 1u);
  EXPECT_EQ(report.entries[0].registers_per_thread, 4);
}

TEST(PtxasReport, KeepsRemarksOnBudgetsWithTheKernelTheyName) {
  const PtxasReport report = read_ptxas_report(nvrtc_log);
  ASSERT_EQ(report.find("local")->notes.size(), 1u);
  EXPECT_EQ(report.find("local")->notes[0],
            "Overriding maximum register limit 256 for 'local' with  24 of maxrregcount option");
  ASSERT_EQ(report.find("caller")->notes.size(), 1u);
  EXPECT_NE(report.find("caller")->notes[0].find("minnctapersm"), std::string::npos);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_EQ(report.notes[0],
            "Overriding global maxrregcount 24 with entry-specific value 128 computed using thread count");
}

TEST(PtxasReport, KeepsRemarksThatNameNoKernel) {
  const PtxasReport report = read_ptxas_report(
      "ptxas warning : For profile sm_90 adjusting per thread register count of 8 to lower bound of 24\n"
      "ptxas warning : Too big maxrregcount value specified 300, will be ignored\n"
      "ptxas warning : For entry mr adjusting per thread register count of 10 to lower bound of 24\n"
      "ptxas info    : Compiling entry function 'mr' for 'sm_90'\n");
  EXPECT_EQ(report.notes.size(), 2u);
  EXPECT_EQ(report.find("mr")->notes.size(), 1u);
}

TEST(PtxasReport, AnEmptyOrForeignLogHasNoEntries) {
  EXPECT_TRUE(read_ptxas_report("").entries.empty());
  EXPECT_TRUE(read_ptxas_report("error: nothing\n\n    8 bytes stack frame\nUsed 3 registers\n").entries.empty());
  EXPECT_EQ(read_ptxas_report(nvrtc_log).find("no_such"), nullptr);
}

TEST(PtxasReport, NumbersThatDoNotFitAreLeftOut) {
  const PtxasReport report = read_ptxas_report(
      "ptxas info : Compiling entry function 'k' for 'sm_90'\nptxas info : Function properties for k\n"
      "ptxas . 99999999999999999999 bytes stack frame, 4 bytes spill stores, 99999999999 bytes spill loads\n"
      "ptxas info : Used 99999999999 registers, 7 bytes smem\n");
  EXPECT_EQ(report.entries.at(0).registers_per_thread, 0);
  EXPECT_EQ(report.entries.at(0).own.stack_frame_bytes, 0);
}

TEST(PtxasReport, CutLogsAreRead) {
  const std::string whole = nvrtc_log;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    EXPECT_LE(read_ptxas_report(std::string_view(whole).substr(0, size)).entries.size(), 2u);
  }
}

}  // namespace
}  // namespace regtune
