#pragma once
// For the tests that need a GPU: a device with its compiler, and kernels of one shape, all called work, to run on it.
// Skips, with the driver's own reason, where there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include "device.hpp"
#include "program.hpp"

namespace regtune {

// Empty where there is a GPU, else the driver's own reason. The driver is asked in a child process.
inline const std::string& why_no_gpu() {
  static const std::string reason = [] {
    Device device(0);
    return device.state() ? std::string() : device.why_not();
  }();
  return reason;
}

inline constexpr int kThreads = 256;
inline constexpr std::int64_t kElements = 1 << 22;

// Every kernel is called work and has the same parameters. The sound one does enough to be timed.
inline std::string source_of(const std::string& body) {
  return "extern \"C\" __global__ void work(const float* in, float* out, int n) {\n"
         "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  if (i >= n) return;\n"
         "  float x = in[i];\n"
         "  for (int k = 0; k < 200; ++k) x = x * 0.999f + 0.001f;\n" +
         body + "  out[i] = x;\n}\n";
}

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_gpu().empty()) GTEST_SKIP() << why_no_gpu();
    compiler_ = CompilePool(1, 600).identity();
    device_.emplace(0);
    const GpuState state = device_->state().value();
    architecture_ = "sm_" + std::to_string(state.id.compute_major * 10 + state.id.compute_minor);
  }

  CompiledCode compile(NvrtcRequest request) const {
    CompilePool pool(1, 600);
    pool.submit({0, std::move(request), {}, false});
    CompiledCode code = pool.next().value();
    if (!code.compiled) throw std::runtime_error(code.failure);
    return code;
  }

  WorkloadPlan plan(std::int64_t elements) const {
    BufferPlan in;
    in.name = "in";
    in.count = elements;
    in.init = {BufferInit::Kind::uniform, 0, 1, ""};
    BufferPlan out;
    out.name = "out";
    out.count = elements;
    out.writable = out.output = true;
    const auto n = static_cast<std::int32_t>(std::min<std::int64_t>(elements, 1 << 30));
    const ScalarPlan scalar{"n", std::string(reinterpret_cast<const char*>(&n), sizeof n), std::to_string(n)};
    return {{}, {shape()}, false, {in, out, scalar}, {}, 1, {}};
  }

  static LaunchShape shape() { return {{kElements / kThreads, 1, 1}, {kThreads, 1, 1}, 0}; }

  void prepare(double timeout_ms = 5000) { prepare(plan(kElements), timeout_ms); }

  void prepare(const WorkloadPlan& workload, double timeout_ms = 5000) {
    device_->prepare(workload, compile(device_code_request(workload, architecture_, compiler_)), timeout_ms, false);
  }

  Candidate candidate(int id, const std::string& source) const {
    NvrtcRequest request{source, "work.cu", {"--gpu-architecture=" + architecture_}, {}};
    request.options.insert(request.options.end(), compiler_.fixed_options.begin(), compiler_.fixed_options.end());
    return {id, "work", compile(request).cubin, shape()};
  }

  Candidate sound(int id) const { return candidate(id, source_of("")); }

  ReferenceRun set_reference(const Candidate& code) {
    device_->set_reference(code);
    return device_->warm_up(kWarmUpMs);
  }

  // A sound code is measured as ever: it is correct and takes as long as before.
  void expect_as_before(const Candidate& code, double ms) {
    const Shot checked = device_->check(code);
    ASSERT_TRUE(std::holds_alternative<double>(checked)) << checked.index();
    double fastest = 1e9;
    for (int i = 0; i < 5; ++i) {
      const Shot sampled = device_->sample(code);
      ASSERT_TRUE(std::holds_alternative<double>(sampled)) << sampled.index();
      fastest = std::min(fastest, std::get<double>(sampled));
    }
    EXPECT_GT(fastest, ms * 0.7);
    EXPECT_LT(fastest, ms * 1.5);
  }

  std::optional<Device> device_;
  CompilerIdentity compiler_;
  std::string architecture_;
};

// The built program, as a user runs it, where there is a GPU.
class ProgramOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_gpu().empty()) GTEST_SKIP() << why_no_gpu();
    if (!std::filesystem::exists(program_path()))
      GTEST_SKIP() << program_path() << " is not there: REGTUNE_PROGRAM_PATH";
  }
  Program program_{false};
};

// One that tunes a kernel for a few seconds, as described.
class KernelOnGpu : public ProgramOnGpu {
 protected:
  Ending tune(const std::string& description, const std::string& source) {
    program_.write("k.cu", "/*regtune\n" + description + "*/\n" + source);
    return program_.run({"k.cu", "--budget", "3", "--no-rename"});
  }
};

}  // namespace regtune
