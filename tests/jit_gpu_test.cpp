// The JIT helper on a GPU: the example library's program over a cache that the program has filled. Both are programs of
// their own, since a process that holds a context cannot fork the others' GPU children.
#include <gtest/gtest.h>

#include <filesystem>

#include "on_gpu.hpp"
#include "program.hpp"
#include "shell.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

class JitOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_gpu().empty()) GTEST_SKIP() << why_no_gpu();
    if (!fs::exists(decay_)) GTEST_SKIP() << decay_ << " is not there";
  }
  Said decay(const std::string& environment, const fs::path& cache) const {
    return run(environment + " '" + decay_.string() + "' '" + kernel_ + "' 1048576 '" + cache.string() + "'");
  }
  static std::string mean_in(const std::string& text) {
    const auto at = text.find("mean of 1048576 results: ");
    return at == std::string::npos ? "none in: " + text : text.substr(at);
  }

  const fs::path decay_ = fs::read_symlink("/proc/self/exe").parent_path() / "decay_program";
  const std::string kernel_ = source_folder() / "kernels/decay_wide.cu";
  const Program program_{false};
};

TEST_F(JitOnGpu, RunsTheCodeThatWasTimedWithoutACompiler) {
  const Ending tuned = program_.run({kernel_, "--set", "n=1048576", "--budget", "10"});
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  fs::permissions(program_.folder(), fs::perms(0755));

  const Said author = decay("", program_.folder() / "nothing.db");
  ASSERT_EQ(author.exit_code, 0) << author.text;
  EXPECT_TRUE(holds(author.text, "decayWide: compiled as it is\n"));

  const Said stored = decay("REGTUNE_NVRTC=/nothing", program_.cache());
  ASSERT_EQ(stored.exit_code, 0) << stored.text;
  EXPECT_TRUE(holds(stored.text, "decayWide: the code that was timed ("));
  EXPECT_TRUE(holds(stored.text, "exact)"));
  EXPECT_EQ(mean_in(stored.text), mean_in(author.text));

  fs::permissions(program_.cache(), fs::perms(0666));  // now somebody else may have written it
  const Said compiled = decay("", program_.cache());
  ASSERT_EQ(compiled.exit_code, 0) << compiled.text;
  EXPECT_TRUE(holds(compiled.text, "decayWide: compiled with what is stored ("));
  EXPECT_EQ(mean_in(compiled.text), mean_in(author.text));
}

TEST_F(JitOnGpu, NeedsACompilerWhereNoCodeIsStored) {
  const Said said = decay("REGTUNE_NVRTC=/nothing", program_.folder() / "nothing.db");
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_TRUE(holds(said.text, "NVRTC, the CUDA run-time compiler, could not be opened"));
}

}  // namespace
}  // namespace regtune
