// `regtune capture` over somebody else's program, and the tuning of what it left: with NVRTC itself, and a GPU that
// computes nothing.
#include <gtest/gtest.h>

#include <filesystem>

#include "regtune/error.hpp"
#include "watched_app.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

class CapturedApp : public WithWatchedApp {
 protected:
  Ending capture(std::vector<std::string> options) const {
    options.insert(options.begin(), "capture");
    options.insert(options.end(), {"--", REGTUNE_WATCHED_APP, "10"});
    return program_.run(options);
  }
  fs::path in_folder(const std::string& name) const { return program_.folder() / name; }
};

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(CapturedApp, LeavesAFolderThatCanBeTuned) {
  const Ending captured = capture({"-k", "scale", "--launch", "2", "-o", "case"});
  ASSERT_EQ(captured.exit_code, 0) << captured.err;
  EXPECT_TRUE(holds(captured.out, "memory ")) << "standard output is the program's";
  EXPECT_TRUE(holds(captured.err, "case/scale.regtune.toml")) << captured.err;
  const std::string description = text_of(in_folder("case/scale.regtune.toml"));
  for (const char* line : {"kernel = \"scale\"", "block = 256", "grid = 4", "n = 1000",
                           "in = { buffer = 1000, init = \"file:in.npy\", output = false }", "n = \"n\""})
    EXPECT_TRUE(holds(description, line)) << line << "\n" << description;
  EXPECT_TRUE(holds(text_of(in_folder("case/scale.cu")), "__global__ void scale"));
  EXPECT_TRUE(holds(text_of(in_folder("case/factor.h")), "FACTOR"));
  EXPECT_EQ(fs::file_size(in_folder("case/in.npy")), 128u + 4000u);

  const Ending studied = program_.run({"analyze", "case", "--arch", "sm_90"});
  EXPECT_EQ(studied.exit_code, 0) << studied.err;
  EXPECT_TRUE(holds(studied.out, "scale(const float*, float*, int)")) << studied.out;
  const Ending tuned = program_.run({"case", "--budget", "1", "--no-rename", "--quiet"});
  EXPECT_EQ(tuned.exit_code, 0) << tuned.err;
}

TEST_F(CapturedApp, LeavesLargeBuffersCompressed) {
  set("WATCHED_ELEMENTS", "50000");
  const Ending captured = capture({"-k", "scale", "-o", "case"});
  ASSERT_EQ(captured.exit_code, 0) << captured.err;
  EXPECT_TRUE(holds(captured.err, "2 data files of 400000 bytes, which take ")) << captured.err;
  for (const char* file : {"case/in.npy.zst", "case/out.npy.zst"})
    EXPECT_LT(fs::file_size(in_folder(file)), 20000U) << file;
  const Ending tuned = program_.run({"case", "--budget", "1", "--no-rename", "--quiet"});
  EXPECT_EQ(tuned.exit_code, 0) << tuned.err;
  fs::resize_file(in_folder("case/in.npy.zst"), fs::file_size(in_folder("case/in.npy.zst")) - 1);
  const Ending damaged = program_.run({"case", "--budget", "1", "--no-rename", "--quiet"});
  EXPECT_EQ(damaged.exit_code, static_cast<int>(ErrorKind::bad_description)) << damaged.err;
  EXPECT_TRUE(holds(damaged.err, "its compressed data is cut off")) << damaged.err;
}

TEST_F(CapturedApp, SaysWhyNothingWasWritten) {
  const Ending never = capture({"-k", "scala", "-o", "case"});
  EXPECT_EQ(never.exit_code, static_cast<int>(ErrorKind::no_kernel));
  EXPECT_TRUE(holds(never.err, "scala was never launched")) << never.err;
  EXPECT_TRUE(holds(never.out, "memory ")) << "the program runs to its end";
  const Ending late = capture({"-k", "scale", "--launch", "99", "-o", "case"});
  EXPECT_TRUE(holds(late.err, "launched 10 times")) << late.err;
  EXPECT_FALSE(fs::exists(in_folder("case")));
}

TEST_F(CapturedApp, RefusesPointersThatNobodyCanFollow) {
  for (const auto& [pointers, reason] :
       {std::pair("host", "in of scale(const float*, float*, int) points to 0x"),
        std::pair("table", "in points to memory that holds addresses itself, the first at byte 0")}) {
    SCOPED_TRACE(pointers);
    set("WATCHED_POINTERS", pointers);
    const Ending refused = capture({"-k", "scale", "-o", "case"});
    EXPECT_EQ(refused.exit_code, static_cast<int>(ErrorKind::bad_launch)) << refused.err;
    EXPECT_TRUE(holds(refused.err, std::string("scale was not captured: "))) << refused.err;
    EXPECT_TRUE(holds(refused.err, reason)) << refused.err;
    EXPECT_TRUE(holds(refused.err, "tune it inside the program: regtune run")) << refused.err;
    EXPECT_TRUE(holds(refused.out, "memory ")) << "the program runs to its end";
    EXPECT_FALSE(fs::exists(in_folder("case"))) << "nothing is left behind";
  }
}

TEST_F(CapturedApp, OverwritesNothing) {
  program_.write("case/mine.cu", "");
  const Ending refused = capture({"-k", "scale", "-o", "case"});
  EXPECT_EQ(refused.exit_code, static_cast<int>(ErrorKind::usage));
  EXPECT_TRUE(refused.out.empty()) << "the program was not started";
}

}  // namespace
}  // namespace regtune
