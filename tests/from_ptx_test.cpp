// A result that PTX gave says so wherever its winner is shown; any other nowhere.
#include "from_ptx.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "diff_text.hpp"
#include "export_json.hpp"
#include "export_text.hpp"
#include "record_json.hpp"
#include "report.hpp"
#include "report_words.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

TuningRecord tuned_by(const std::string& compiler) {
  TunedAs as;
  as.compiler = compiler;
  as.best = RegisterCap{57};
  as.in_source = RegisterCap{58};
  TuningRecord record = tuned_record(as);
  record.source_path = "k.ptx";
  record.verdict->best_in_source_id = 0;  // there is no source
  return record;
}

// By the place where it is shown.
std::map<std::string, std::string> shown(const TuningRecord& record) {
  const ExportedKernels exported = exported_kernels({record}, {});
  RecordDiff diff = record_diff(record, record);
  return {{"report", report_text(record, "", {})},
          {"verdict", verdict_in_words(record)},
          {"lookup", answer_text(record)},
          {"html", verdict_sentence(record)},
          {"cmake", cmake_text(exported).text},
          {"header", header_text(exported).text},
          {"diff", diff_text({{{record, record, std::move(diff)}}, {}, {}})}};
}

TEST(FromPtx, IsSaidWhereverAWinnerIsShown) {
  const TuningRecord record = tuned_by("ptxas 13.0.88");
  for (const auto& [place, text] : shown(record)) EXPECT_NE(text.find(kFromPtx), std::string::npos) << place << text;
  EXPECT_EQ(record_json(record).at("from_ptx"), true);
  EXPECT_EQ(export_json(exported_kernels({record}, {})).at("kernels").at(0).at("from_ptx"), true);
}

TEST(FromPtx, IsSaidOfNothingElse) {
  for (const char* compiler : {"NVRTC 13.0.88", "nvcc 13.0.88 with GCC 12.2.0"}) {
    const TuningRecord record = tuned_by(compiler);
    for (const auto& [place, text] : shown(record)) EXPECT_EQ(text.find("PTX:"), std::string::npos) << place << text;
    EXPECT_FALSE(record_json(record).contains("from_ptx"));
  }
}

TEST(FromPtx, ABuildIsNotToldToCompileThePtx) {
  const ExportText cmake = cmake_text(exported_kernels({tuned_by("ptxas 13.0.88")}, {}));
  EXPECT_NE(cmake.text.find("\n# set_property(SOURCE \"k.ptx\" APPEND PROPERTY COMPILE_OPTIONS\n"
                            "#   \"$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:--maxrregcount=57>\")\n"),
            std::string::npos)
      << cmake.text;
  ASSERT_EQ(cmake.notes.size(), 1u);
  EXPECT_EQ(cmake.notes.front(), "k.ptx: from PTX: confirm with a build; name the source in the place of the PTX");
}

}  // namespace
}  // namespace regtune
