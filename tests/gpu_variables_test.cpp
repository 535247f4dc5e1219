// Kernels that write variables of their module, on a real GPU: each launch finds what the first one found, and does the
// same work; and a program whose own kernel counts goes on as if nothing had happened.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "on_gpu.hpp"
#include "toolkit.hpp"

namespace regtune {
namespace {

// Every thread works as often as launches have been counted, which the last block alone adds to: all have read it then.
std::string source_that_counts(const std::string& more, const std::string& step) {
  return "__device__ unsigned counter;\n"
         "__device__ unsigned tickets;\n"
         "extern \"C\" __global__ void work(const float* in, float* out, int n) {\n"
         "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  const unsigned seen = *(volatile unsigned*)&counter;\n"
         "  float x = in[i % n];\n"
         "  for (unsigned k = 0; k < 400 * (1 + seen); ++k) x = x * 0.999f + 0.001f;\n" +
         more +
         "  if (i < n) out[i] = x;\n"
         "  __syncthreads();\n"
         "  if (threadIdx.x != 0) return;\n"
         "  __threadfence();\n"
         "  if (atomicAdd(&tickets, 1u) != gridDim.x - 1) return;\n"
         "  tickets = 0;\n"
         "  counter += " +
         step + ";\n}\n";
}

class VariablesOnGpu : public OnGpu {
 protected:
  // `more`: what is done with the outcome of the work.
  void expect_each_launch_to_be_the_first(const std::string& more) {
    prepare();
    const ReferenceRun run = set_reference(candidate(0, source_that_counts(more, "1")));
    EXPECT_TRUE(run.restored);
    EXPECT_EQ(device_->written_variables(), (std::map<std::string, bool>{{"counter", true}}))
        << "tickets are as they were";
    const Candidate other = candidate(1, source_that_counts(more + "  if (n < 0) x = 0;\n", "1"));
    std::vector<double> times;
    for (int i = 0; i < 12; ++i) {
      const Shot checked = device_->check(other);
      ASSERT_TRUE(std::holds_alternative<double>(checked)) << checked.index();
      const Shot sampled = device_->sample(other);
      ASSERT_TRUE(std::holds_alternative<double>(sampled)) << sampled.index();
      times.push_back(std::get<double>(sampled));
    }
    EXPECT_LT(times.back(), 1.5 * times.front()) << "the twelfth does twelve times the work of the first otherwise";
    EXPECT_GT(times.back(), 0.67 * times.front());
    const Shot wrong = device_->check(candidate(2, source_that_counts(more, "2")));
    ASSERT_TRUE(std::holds_alternative<WrongResult>(wrong)) << wrong.index();
    EXPECT_EQ(std::get<WrongResult>(wrong).message, "the variable counter: 2 instead of 1");
  }
};

TEST_F(VariablesOnGpu, WorkThatFollowsFromAVariableIsTheSameInEveryLaunch) {
  expect_each_launch_to_be_the_first("");
}

TEST_F(VariablesOnGpu, ThatShowInNoBufferArePutBackToo) {
  expect_each_launch_to_be_the_first("  x = x > 1e9f ? x : 1;\n");
}

// Names that nobody outside the file knows.
TEST_F(VariablesOnGpu, OfAFileOrAFunctionArePutBackToo) {
  std::string source = "static " + source_that_counts("  static unsigned calls;\n  if (i == 0) ++calls;\n", "1");
  source.insert(source.find("__device__ unsigned tickets"), "namespace { __device__ unsigned hidden; }\n");
  source.insert(source.find("  counter += "), "  ++hidden;\n");
  prepare();
  EXPECT_TRUE(set_reference(candidate(0, source)).restored);
  EXPECT_EQ(device_->written_variables().size(), 3U);
  for (const auto& [name, is_compared] : device_->written_variables()) EXPECT_TRUE(is_compared) << name;
  std::vector<double> times;
  for (int i = 0; i < 6; ++i) {
    const Shot checked = device_->check(candidate(i + 1, source));
    ASSERT_TRUE(std::holds_alternative<double>(checked)) << checked.index();
    const Shot sampled = device_->sample(candidate(1, source));
    ASSERT_TRUE(std::holds_alternative<double>(sampled)) << sampled.index();
    times.push_back(std::get<double>(sampled));
  }
  EXPECT_LT(times.back(), 1.5 * times.front());
}

TEST_F(VariablesOnGpu, AreThereAgainAfterAFault) {
  prepare();
  set_reference(candidate(0, source_that_counts("", "1")));
  EXPECT_TRUE(std::holds_alternative<Faulted>(
      device_->check(candidate(1, source_that_counts("  out[1ll << 44] = 1;\n", "1")))));
  const Shot checked = device_->check(candidate(2, source_that_counts("", "1u")));
  EXPECT_TRUE(std::holds_alternative<double>(checked)) << checked.index();
}

// A program that opens CUDA by itself (watched_app.c), with the driver of this machine.
class CountingProgramOnGpu : public ProgramOnGpu {
 protected:
  void SetUp() override {
    ProgramOnGpu::SetUp();
    if (IsSkipped()) return;
    if (!std::filesystem::exists(app_)) GTEST_SKIP() << app_ << " was not carried along";
    for (const std::filesystem::path& candidate : library_candidates(nvrtc_library()))
      if (candidate.is_absolute() && std::filesystem::exists(candidate)) {
        setenv("WATCHED_NVRTC", candidate.c_str(), 1);
        break;
      }
    setenv("WATCHED_COUNTS", "1", 1);
    setenv("WATCHED_ELEMENTS", "1000000", 1);
  }
  void TearDown() override {
    for (const char* name : {"WATCHED_NVRTC", "WATCHED_COUNTS", "WATCHED_ELEMENTS"}) unsetenv(name);
  }

  const std::filesystem::path app_ = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "watched_app";
};

TEST_F(CountingProgramOnGpu, CountsAsIfNothingHadHappened) {
  const Ending plain = program_.run({"run", "--quiet", "--", app_.string(), "10"});
  ASSERT_TRUE(holds(plain.out, "counter 10")) << plain.out << plain.err;
  for (const char* where : {"--no-config", "--in-process"}) {
    SCOPED_TRACE(where);
    const Ending tuned = program_.run({"run", "-k", "scale", "--launch", "4", where, "--budget", "2", "--no-rename",
                                       "-v", "--", app_.string(), "10"});
    EXPECT_EQ(tuned.exit_code, 0) << tuned.err;
    EXPECT_EQ(tuned.out, plain.out);
    EXPECT_EQ(tuned.err.find("was not tuned"), std::string::npos) << tuned.err;
    EXPECT_TRUE(holds(tuned.err, "the kernel writes the variable counter of its module")) << tuned.err;
    EXPECT_TRUE(holds(tuned.err, "the buffers restored before each")) << tuned.err;
  }
}

}  // namespace
}  // namespace regtune
