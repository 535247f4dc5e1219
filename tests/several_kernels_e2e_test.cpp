// Several kernels of one file in one run, and the levers, by the built program on a machine without a GPU.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program.hpp"
#include "record_json.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr int kNoGpu = 20;

constexpr const char* kTwo = R"cu(/*regtune
sizes = { n = 1024 }
block = 128
grid = "ceil_div(n, block)"
[kernels.scale]
args = { in = { buffer = "n" }, out = { buffer = "n" }, n = "n" }
weight = 3
[kernels.shift]
args = { out = { buffer = "n" }, n = "n" }
*/
__global__ void scale(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 2.0f;
}
__global__ void shift(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i + 1.0f;
}
)cu";

class SeveralKernels : public testing::Test {
 protected:
  Program program_{true};
};

TEST_F(SeveralKernels, EachHasARecordOfItsOwn) {
  program_.write("two.cu", kTwo);
  const Ending ending = program_.run({"two.cu", "--kernel", "s*", "--json", "--no-rename", "--record", "two.json"});
  EXPECT_EQ(ending.exit_code, kNoGpu) << ending.err;
  const nlohmann::json document = nlohmann::json::parse(ending.out);
  EXPECT_EQ(document["format"], "regtune file");
  ASSERT_EQ(document["kernels"].size(), 2u) << ending.err;
  const TuningRecord scale = record_from_json(document["kernels"][0], "scale");
  const TuningRecord shift = record_from_json(document["kernels"][1], "shift");
  EXPECT_EQ(scale.signature, "scale(const float*, float*, int)");
  EXPECT_EQ(shift.signature, "shift(float*, int)");
  EXPECT_NE(scale.description.find("weight = 3"), std::string::npos) << scale.description;
  EXPECT_EQ(scale.author_shape.grid.x, 8u);
  EXPECT_TRUE(document["failed"].empty());
  EXPECT_EQ(document["file_wide_cap"]["registers_per_thread"], nullptr);
  EXPECT_EQ(document["file_wide_cap"]["why_none"], "scale(const float*, float*, int) was not timed");
  EXPECT_EQ(nlohmann::json::parse(text_of(program_.folder() / "two.json")), document);
}

TEST_F(SeveralKernels, AListIsTunedInItsOrderAndInText) {
  program_.write("two.cu", kTwo);
  const Ending ending = program_.run({"two.cu", "--kernel", "shift,scale", "--no-rename"});
  EXPECT_EQ(ending.exit_code, kNoGpu) << ending.err;
  const std::size_t shift = ending.out.find("shift(float*, int)");
  EXPECT_NE(shift, std::string::npos) << ending.out;
  EXPECT_LT(shift, ending.out.find("scale(const float*, float*, int)"));
}

TEST_F(SeveralKernels, OneThatCannotBeTunedIsToldAndTheOthersAre) {
  program_.write("two.cu", kTwo);
  const Ending ending = program_.run({"two.cu", "--kernel", "shift,none", "--json", "--no-rename"});
  EXPECT_EQ(ending.exit_code, static_cast<int>(ErrorKind::no_kernel)) << ending.err;
  const nlohmann::json document = nlohmann::json::parse(ending.out);
  EXPECT_EQ(document["kernels"].size(), 1u);
  ASSERT_EQ(document["failed"].size(), 1u);
  EXPECT_EQ(document["failed"][0]["kernel"], "none");
  EXPECT_EQ(document["failed"][0]["exit_code"], static_cast<int>(ErrorKind::no_kernel));
  EXPECT_NE(ending.err.find("regtune: none: "), std::string::npos) << ending.err;
}

TEST_F(SeveralKernels, WhereNoneCanBeTheFirstErrorEndsTheRun) {
  program_.write("two.cu", kTwo);
  EXPECT_EQ(program_.run({"two.cu", "--kernel", "none,nobody"}).exit_code, static_cast<int>(ErrorKind::no_kernel));
  EXPECT_EQ(program_.run({"two.cu", "--kernel", "z*"}).exit_code, static_cast<int>(ErrorKind::no_kernel));
  EXPECT_EQ(program_.run({"two.cu", "--kernel", "scale,"}).exit_code, static_cast<int>(ErrorKind::usage));
}

TEST_F(SeveralKernels, OneKernelOfADescriptionOfSeveralHasItsOwnTable) {
  program_.write("two.cu", kTwo);
  const Ending ending = program_.run({"two.cu", "--kernel", "shift", "--json", "--no-rename"});
  EXPECT_EQ(ending.exit_code, kNoGpu) << ending.err;
  EXPECT_TRUE(record_from_json(nlohmann::json::parse(ending.out), "shift").guesses.empty()) << ending.out;
}

// Runs on an H200 that were recorded, taken here for kernels of one file.
TEST_F(SeveralKernels, ARecordOfSeveralIsReplayedWithTheirCap) {
  nlohmann::json document = {{"format", "regtune file"}, {"format_version", 1}, {"failed", nlohmann::json::array()}};
  for (const char* name : {"decay_wide", "matmul_registers"})
    document["kernels"].push_back(
        nlohmann::json::parse(text_of(source_folder() / "tests/data/h200" / (std::string(name) + ".json"))));
  program_.write("two.json", document.dump());
  const Ending text = program_.run({"replay", "two.json"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(
      text.out.find("one --maxrregcount for the whole file, of 197 caps timed in all 2 kernels: --maxrregcount=88: "
                    "the file is 1.120x"),
      std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("a bound travels with its kernel"), std::string::npos);
  const Ending json = program_.run({"replay", "two.json", "--json"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["file_wide_cap"]["option"], "--maxrregcount=88");
  document["kernels"] = 3;
  program_.write("broken.json", document.dump());
  EXPECT_EQ(program_.run({"replay", "broken.json"}).exit_code, static_cast<int>(ErrorKind::bad_description));
}

TEST_F(SeveralKernels, SmemSpillIsALeverOfTheTable) {
  const std::string kernel = source_folder() / "kernels/decay_wide.cu";
  const Ending ending =
      program_.run({kernel, "--levers", "smem-spill", "--no-rename", "--arch", "sm_90", "--all", "--explain"});
  EXPECT_EQ(ending.exit_code, kNoGpu) << ending.err;
  EXPECT_NE(ending.out.find("__launch_bounds__(256, 7..8) + smem spill (and "), std::string::npos) << ending.out;
  EXPECT_NE(ending.out.find("to shared memory, of which a block takes "), std::string::npos) << ending.out;
  const Ending dynamic = program_.run({kernel, "--levers", "smem-spill", "--no-rename", "--shared", "1024"});
  EXPECT_EQ(dynamic.exit_code, kNoGpu) << dynamic.err;
  EXPECT_NE(dynamic.err.find("(--levers smem-spill) is not tried: the launch uses dynamic shared memory"),
            std::string::npos)
      << dynamic.err;
  EXPECT_EQ(dynamic.out.find("smem spill"), std::string::npos);
}

}  // namespace
}  // namespace regtune
