// What a build gets: the header, the CMake fragment and the document, from runs that were recorded on an H200 and from
// runs as somebody with bad intentions would write them.
#include "export_text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "export_json.hpp"
#include "json_schema.hpp"
#include "record_json.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

std::filesystem::path source_folder() {
  const char* told = std::getenv("REGTUNE_SOURCE");
  return told ? told : REGTUNE_SOURCE_FOLDER;
}

TuningRecord recorded(const std::string& name) {
  const std::filesystem::path file = source_folder() / "tests/data/h200" / (name + ".json");
  std::ifstream in(file);
  return record_from_json(nlohmann::json::parse(in), file.string());
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ExportText, TheHeaderSaysTheBoundForItsArchitectureOnly) {
  const TuningRecord record = recorded("decay_bounded");
  const std::string text = header_text(exported_kernels({record}, {})).text;
  EXPECT_TRUE(holds(text,
                    "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900\n"
                    "#define REGTUNE_BOUNDS_decayBounded __launch_bounds__(256)\n"
                    "#else\n"
                    "#define REGTUNE_BOUNDS_decayBounded REGTUNE_ELSE_decayBounded\n"
                    "#endif\n"))
      << text;
  const Interval& gain = record.verdict->speedup;
  EXPECT_GT(gain.low, 3.9);
  EXPECT_TRUE(holds(text, fmt::format("{:.2f}x ({:.3f} to {:.3f}) over the author's code, n=16777216", gain.median,
                                      gain.low, gain.high)));
  EXPECT_TRUE(holds(text, "NVIDIA H200 (132 SMs), driver 580.159.04, NVRTC 13.0.88, measured 2026-"));
  EXPECT_TRUE(holds(text, "blocks of more than 256 threads cannot be launched"));
}

TEST(ExportText, TheHeaderLeavesTheAuthorsCodeWhereNothingIsFaster) {
  const std::string text = header_text(exported_kernels({recorded("decay_indexed")}, {})).text;
  EXPECT_TRUE(holds(text, "900\n#define REGTUNE_BOUNDS_decayIndexed REGTUNE_ELSE_decayIndexed\n#else")) << text;
  EXPECT_TRUE(holds(text, "nothing is faster: leave it as it is (n=16777216)")) << text;
}

TEST(ExportText, WhereAKernelSpillsToSharedMemoryTheHeaderHasItsStatementToo) {
  TuningRecord spilling = tuned_record({});
  spilling.trials[2].variant.choice.spills_to_shared = true;
  TunedAs a100;
  a100.gpu = {"NVIDIA A100", 8, 0, 108};
  const ExportedKernels exported = exported_kernels({spilling, tuned_record(a100)}, {});
  const std::string text = header_text(exported).text;
  const std::string statement = "asm volatile(\".pragma \\\"enable_smem_spilling\\\";\");";
  EXPECT_TRUE(holds(text, "#endif\n#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900\n#define REGTUNE_BEGIN_sgemm " +
                              statement + "\n#endif\n"))
      << text;
  EXPECT_TRUE(holds(text, "// sm_90: __launch_bounds__(256, 4) + smem spill\n")) << text;
  EXPECT_TRUE(holds(text, "with " + statement + " as the first statement of its body")) << text;
  EXPECT_FALSE(holds(header_text(exported_kernels({tuned_record(a100)}, {})).text, "REGTUNE_BEGIN_sgemm"));
  const nlohmann::json document = export_json(exported);
  EXPECT_EQ(document["kernels"][1]["in_source"]["statement"], statement);
  EXPECT_EQ(document["kernels"][1]["in_source"]["text"], "__launch_bounds__(256, 4) + smem spill");
  EXPECT_EQ(document["kernels"][0]["in_source"]["statement"], "");
}

TEST(ExportText, TheHeaderHasOneBranchForEachArchitecture) {
  TunedAs a100;
  a100.gpu = {"NVIDIA A100", 8, 0, 108};
  a100.in_source = MaxRegisters{64};
  const std::string text = header_text(exported_kernels({tuned_record({}), tuned_record(a100)}, {})).text;
  EXPECT_TRUE(holds(text,
                    "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 800\n"
                    "#define REGTUNE_BOUNDS_sgemm __maxnreg__(64)\n"
                    "#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900\n"
                    "#define REGTUNE_BOUNDS_sgemm __launch_bounds__(256, 4)\n#else"))
      << text;
}

TEST(ExportText, TellsOfAFasterCapThatNoSourceCanSay) {
  const ExportText header = header_text(exported_kernels({tuned_record({})}, {}));
  ASSERT_EQ(header.notes.size(), 1u);
  EXPECT_TRUE(holds(header.notes[0], "--maxrregcount=57")) << header.notes[0];
}

TEST(ExportText, TheFragmentSetsACapWhereItIsBest) {
  const std::string text = cmake_text(exported_kernels({tuned_record({})}, {})).text;
  EXPECT_TRUE(holds(text,
                    "set_property(SOURCE \"k.cu\" APPEND PROPERTY COMPILE_OPTIONS\n"
                    "  \"$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:--maxrregcount=57>\")\n"))
      << text;
  EXPECT_TRUE(holds(text, "1.12x (1.110 to 1.130) over the author's code"));
  TunedAs in_source;
  in_source.best = LaunchBounds{256, 4};
  EXPECT_FALSE(holds(cmake_text(exported_kernels({tuned_record(in_source)}, {})).text, "set_property"));
}

TEST(ExportText, TheFragmentSetsNoCapThatAnotherKernelOfTheFileDoesNotWant) {
  TunedAs other;
  other.kernel = "_Z4copyPf";
  other.signature = "copy(float*)";
  other.best = RegisterCap{40};
  const ExportText cmake = cmake_text(exported_kernels({tuned_record({}), tuned_record(other)}, {}));
  EXPECT_FALSE(holds(cmake.text, "set_property"));
  ASSERT_EQ(cmake.notes.size(), 1u);
  EXPECT_TRUE(holds(cmake.notes[0], "k.cu: ")) << cmake.notes[0];
}

TEST(ExportText, TheFragmentSaysThatABoundInTheSourceStandsInTheWay) {
  TuningRecord run = tuned_record({});
  run.trials[0].facts->max_threads_per_block = 256;
  const ExportText cmake = cmake_text(exported_kernels({run}, {}));
  ASSERT_EQ(cmake.notes.size(), 1u);
  EXPECT_TRUE(holds(cmake.notes[0], "take them out")) << cmake.notes[0];
}

// A stored text is never more than a comment, a string or an identifier.
TEST(ExportText, StoredTextsCannotLeaveTheirPlaces) {
  TunedAs bad;
  bad.signature = "f(int)\n#error injected\\\n(float*)";
  bad.driver = "1\n#include \"/etc/passwd\"\n";
  TuningRecord run = tuned_record(bad);
  run.source_path = "a\"); execute_process(COMMAND ${x};b)\n\\";
  run.started = "now\\";
  const ExportedKernels exported = exported_kernels({run}, {});
  for (const std::string& text : {header_text(exported).text, cmake_text(exported).text}) {
    for (const char* harm : {"\n#error", "\n#include", "\\\n", "\nexecute_process", "\n)"})
      EXPECT_FALSE(holds(text, harm)) << harm << " in\n" << text;
  }
  const std::string fragment = cmake_text(exported).text;
  EXPECT_TRUE(holds(fragment, R"cmake(SOURCE "a\")\; execute_process(COMMAND \${x}\;b) \\")cmake")) << fragment;
}

TEST(ExportText, TheDocumentIsWhatItsSchemaSays) {
  std::ifstream in(source_folder() / "docs/export.schema.json");
  const nlohmann::json schema = nlohmann::json::parse(in);
  std::vector<TuningRecord> runs;
  for (const char* name : {"decay_bounded", "decay_indexed", "matmul_registers", "saxpy"})
    runs.push_back(recorded(name));
  runs.push_back(tuned_record({}));
  runs.back().trials[1].variant.choice = {false, 10, {{"UNROLL", "4"}}, "scale<4>"};
  nlohmann::json document = export_json(exported_kernels(runs, {}));
  EXPECT_EQ(schema_breach(schema, document), "");
  EXPECT_EQ(document.at("kernels").size(), 5u);
  // That the schema can refuse anything at all.
  document["kernels"][0]["gpu"].erase("driver");
  EXPECT_NE(schema_breach(schema, document), "");
  document = export_json(exported_kernels(runs, {}));
  document["kernels"][0]["best"]["policy"]["kind"] = "magic";
  EXPECT_NE(schema_breach(schema, document), "");
}

}  // namespace
}  // namespace regtune
