// Runs named by a record, a cache file or a kernel: the page of them, what leaves for other programs, and how they
// differ.
#include "report_command.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "diff_command.hpp"
#include "diff_text.hpp"
#include "export_command.hpp"
#include "program.hpp"
#include "record_input.hpp"
#include "record_json.hpp"
#include "regtune/error.hpp"
#include "run_files.hpp"
#include "strict_markup.hpp"
#include "temporary_folder.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

std::string recorded(const std::string& name) {
  return source_folder() / "tests/data/h200" / (name + ".json");
}

ErrorKind refusal(const auto& call, const std::string& says) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_TRUE(holds(error.what(), says));
    return error.kind();
  }
  ADD_FAILURE() << "was taken";
  return ErrorKind::internal;
}

class Runs : public testing::Test {
 protected:
  std::string cache() const { return folder_.path() / "cache.db"; }
  std::string file(const std::string& name) const { return folder_.path() / name; }
  void store(const TunedAs& as) {
    Store store = Store::open(cache());
    store_tuned(store, as);
  }
  TemporaryFolder folder_;
};

TEST_F(Runs, AreNamedByFileByCacheOrByKernel) {
  TunedAs as;
  store(as);
  as.sizes = {{"n", 2048}};
  store(as);
  as.kernel = "_ZN2ns4axpyEPf";
  as.signature = "ns::axpy(float*)";
  store(as);
  RecordFilter filter;
  filter.cache = cache();
  EXPECT_EQ(records_named("sgemm", filter).records.size(), 2u);
  EXPECT_EQ(records_named(cache(), filter).records.size(), 3u);
  EXPECT_EQ(records_named(cache() + ":sgemm", {}).records.size(), 2u);
  EXPECT_EQ(records_named(cache() + ":ns::axpy", {}).records.size(), 1u) << "the file is what stands before a colon";
  EXPECT_EQ(records_named("ns::axpy", filter).records.size(), 1u);
  EXPECT_EQ(records_named(recorded("saxpy"), {}).records.size(), 1u);
  filter.sizes = {{"n", 2048}};
  EXPECT_EQ(records_named("sgemm", filter).records.size(), 1u);
  filter.sizes = {{"n", 1}};
  EXPECT_TRUE(holds(records_named("sgemm", filter).miss, "nothing is stored for sgemm with n=1"));
  filter.sizes.clear();
  filter.gpu = "h200";
  EXPECT_EQ(records_named("sgemm", filter).records.size(), 2u);
  filter.gpu = "L4";
  EXPECT_TRUE(records_named("sgemm", filter).records.empty());
}

TEST_F(Runs, TheNewestOfEachQuestionAlone) {
  TunedAs as;
  store(as);
  as.source = "tag 2";
  store(as);
  as.driver = "590.1";
  store(as);
  RecordFilter filter;
  EXPECT_EQ(records_named(cache(), filter).records.size(), 2u) << "each driver's, of the newest source";
  filter.superseded = true;
  EXPECT_EQ(records_named(cache(), filter).records.size(), 3u);
}

TEST_F(Runs, WhatIsNoRunIsRefusedByName) {
  EXPECT_EQ(refusal([&] { records_named(file("none.json"), {}); }, "none.json"), ErrorKind::file_not_found);
  std::ofstream(file("no.json")) << "{\"format\": 3}";
  EXPECT_EQ(refusal([&] { records_named(file("no.json"), {}); }, "no.json"), ErrorKind::bad_description);
  std::ofstream(file("text.json")) << "no JSON at all";
  EXPECT_EQ(refusal([&] { records_named(file("text.json"), {}); }, "neither a cache nor JSON"),
            ErrorKind::bad_description);
  std::ofstream(file("half.db")) << "SQLite format 3";
  EXPECT_EQ(refusal([&] { records_named(file("half.db"), {}); }, "half.db"), ErrorKind::cache_unusable);
}

TEST_F(Runs, ManyRecordsInOneFileAreAllTaken) {
  nlohmann::json both = nlohmann::json::array();
  for (const char* name : {"saxpy", "nbody"}) both.push_back(nlohmann::json::parse(std::ifstream(recorded(name))));
  std::ofstream(file("both.json")) << both;
  EXPECT_EQ(records_named(file("both.json"), {}).records.size(), 2u);
}

TEST_F(Runs, APageIsWrittenWhereItWasAskedFor) {
  ReportRequest request;
  request.subjects = {recorded("decay_wide")};
  request.file = file("page.html");
  const Reported written = report_runs(request);
  EXPECT_TRUE(written.found);
  EXPECT_TRUE(written.text.empty());
  const std::string page = text_of(file("page.html"));
  EXPECT_EQ(StrictMarkup(page).error(), "");
  request.file = "-";
  EXPECT_EQ(report_runs(request).text, page);
  request.file = file("no/such/folder.html");
  EXPECT_EQ(refusal([&] { report_runs(request); }, "no/such/folder.html"), ErrorKind::usage);
}

TEST_F(Runs, ANameThatNothingIsStoredOfIsAMiss) {
  store({});
  ReportRequest request;
  request.subjects = {"another"};
  request.cache = cache();
  const Reported none = report_runs(request);
  EXPECT_FALSE(none.found);
  EXPECT_TRUE(holds(none.notes.at(0), "stored: sgemm(float*)"));
}

TEST_F(Runs, LeaveForOtherProgramsOutOfCacheOrRecord) {
  store({});
  ExportRequest request;
  request.format = ExportFormat::kernel_tuner;
  request.kernels = {recorded("decay_wide")};
  request.cache = cache();
  EXPECT_EQ(nlohmann::json::parse(export_budgets(request).text)["cache"].size(), 486u);
  request.kernels = {"sgemm"};
  EXPECT_EQ(nlohmann::json::parse(export_budgets(request).text)["cache"].size(), 3u);
  request.kernels = {"sgemm", recorded("decay_wide")};
  EXPECT_EQ(refusal([&] { export_budgets(request); }, "holds one run, and there are 2"), ErrorKind::usage);
  request.format = ExportFormat::csv;
  EXPECT_TRUE(holds(export_budgets(request).text, "decayWide"));
  request.format = ExportFormat::header;
  EXPECT_TRUE(holds(export_budgets(request).text, "REGTUNE_BOUNDS_decayWide"));
  request.format = ExportFormat::sqlite;
  request.file = file("shipped.db");
  EXPECT_EQ(refusal([&] { export_budgets(request); }, "regtune import"), ErrorKind::usage);
}

TEST_F(Runs, TheFilesOfARunAreAllWritten) {
  RunFiles files{file("r.json"), file("r.html"), file("r.t4.json"), file("r.kt.json"), file("r.csv")};
  const TuningRecord record = records_named(recorded("decay_wide"), {}).records.front();
  check_run_files(files, 1);
  write_run_files(files, {record});
  for (const char* name : {"r.html", "r.t4.json", "r.kt.json", "r.csv"}) EXPECT_GT(text_of(file(name)).size(), 1000u);
  EXPECT_EQ(refusal([&] { check_run_files(files, 2); }, "--record holds one run"), ErrorKind::usage);
  files.record.reset();
  EXPECT_EQ(refusal([&] { check_run_files(files, 2); }, "--export-t4 holds one run"), ErrorKind::usage);
  RunFiles lost;
  lost.report = file("no/folder/r.html");
  EXPECT_EQ(refusal([&] { check_run_files(lost, 1); }, "make it first"), ErrorKind::usage);
  lost.report = folder_.path();
  EXPECT_EQ(refusal([&] { check_run_files(lost, 1); }, "is a folder"), ErrorKind::usage);
}

DiffRequest of(const std::vector<std::string>& subjects, const std::string& cache = "") {
  DiffRequest request;
  request.subjects = subjects;
  if (!cache.empty()) request.cache = cache;
  return request;
}

TEST_F(Runs, DifferOrDoNot) {
  const DiffResult same = compare_runs(of({recorded("decay_wide"), recorded("decay_wide")}));
  EXPECT_TRUE(same.same());
  EXPECT_TRUE(holds(diff_text(same), "registers and spills: the same"));
  EXPECT_TRUE(holds(diff_text(same), "winner: the same: __launch_bounds__(256)"));
  EXPECT_EQ(diff_json(same)["same"], true);
  EXPECT_EQ(refusal(
                [] {
                  compare_runs(of({recorded("decay_wide"), recorded("saxpy")}));
                },
                "hold no run of one kernel"),
            ErrorKind::file_not_found);
}

TEST_F(Runs, TwoStatesOfACacheAreComparedKernelByKernel) {
  TunedAs as;
  store(as);
  as.kernel = "_Z4axpyPf";
  as.signature = "axpy(float*)";
  store(as);
  const std::string before = cache();
  const std::string after = file("later.db");
  {
    Store later = Store::open(after);
    as.driver = "590.1";
    as.registers = 60;
    store_tuned(later, as);
  }
  const DiffResult result = compare_runs(of({before, after}));
  ASSERT_EQ(result.compared.size(), 1u);
  ASSERT_EQ(result.only_before.size(), 1u);
  EXPECT_TRUE(holds(result.only_before[0], "sgemm"));
  EXPECT_FALSE(result.same());
  const std::string text = diff_text(result);
  EXPECT_TRUE(holds(text, "changed: driver: 580.159.04 -> 590.1"));
  EXPECT_TRUE(holds(text, "--maxrregcount=57, __launch_bounds__(256, 4): 56 -> 60 registers"));
  EXPECT_TRUE(holds(text, "only before: sgemm"));
  EXPECT_TRUE(holds(text, "they differ"));
  EXPECT_EQ(diff_json(result)["compared"][0]["facts"].size(), 2u);
}

TEST_F(Runs, AKernelAloneIsComparedWithItsRunBefore) {
  TunedAs as;
  as.driver = "570.1";
  store(as);
  EXPECT_EQ(refusal([&] { compare_runs(of({"sgemm"}, cache())); }, "there is one run alone"),
            ErrorKind::file_not_found);
  as.driver = "590.1";
  store(as);
  const DiffResult result = compare_runs(of({"sgemm"}, cache()));
  ASSERT_EQ(result.compared.size(), 1u);
  EXPECT_EQ(result.compared[0].before.gpu->driver_version, "570.1");
  EXPECT_EQ(result.compared[0].after.gpu->driver_version, "590.1");
}

}  // namespace
}  // namespace regtune
