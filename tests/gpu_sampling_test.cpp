// How launches are timed and checked on a real GPU: guards, tolerances, short kernels, cold caches and clocks. Each
// test prints the figures that it judges, so that a run is worth reading where it passes, too.
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "device_buffers.hpp"
#include "driver.hpp"
#include "on_gpu.hpp"
#include "program.hpp"
#include "record_json.hpp"
#include "regtune/error.hpp"
#include "statistics.hpp"
#include "worker.hpp"

namespace regtune {
namespace {

class SamplingOnGpu : public OnGpu {
 protected:
  // 4096 elements in 16 blocks: over in a few microseconds.
  static constexpr std::int64_t kFew = 4096;
  Candidate short_one(int id, const std::string& body = "") const {
    Candidate code = candidate(id, source_of(body));
    code.shape.grid.x = kFew / kThreads;
    return code;
  }

  double time(const Shot& shot) {
    const double* ms = std::get_if<double>(&shot);
    if (const auto* wrong = std::get_if<WrongResult>(&shot)) ADD_FAILURE() << wrong->message;
    if (!ms) ADD_FAILURE() << "no time: alternative " << shot.index();
    return ms ? *ms : 1e9;
  }

  double median_of(const Candidate& code, Shot (Device::*sample)(const Candidate&), int samples = 21) {
    std::vector<double> times;
    for (int i = 0; i < samples; ++i) times.push_back(time((device_.operator->()->*sample)(code)));
    return median(times);
  }

  // What the check says of a code that is sound but for one more line.
  std::string found_by_check(const std::string& line) {
    const Shot shot = device_->check(candidate(next_id_++, source_of(line)));
    const auto* wrong = std::get_if<WrongResult>(&shot);
    if (!wrong) ADD_FAILURE() << line << ": alternative " << shot.index();
    return wrong ? wrong->message : "";
  }
  int next_id_ = 10;
};

TEST_F(SamplingOnGpu, FindsWritesOutOfBounds) {
  prepare();
  const ReferenceRun run = set_reference(sound(0));
  EXPECT_EQ(found_by_check("  if (i == n - 1) out[n] = x;\n"), "wrote up to 4 bytes past the end of out");
  EXPECT_EQ(found_by_check("  if (i == n - 1) out[n + 9] = x;\n"), "wrote up to 40 bytes past the end of out");
  EXPECT_EQ(found_by_check("  if (i == 0) out[-2] = x;\n"), "wrote up to 8 bytes before the start of out");
  EXPECT_EQ(found_by_check("  if (i < 256) out[n + i] = in[n + i];\n"), "wrote up to 1024 bytes past the end of out")
      << "a copy of the other buffer's guard";
  EXPECT_EQ(found_by_check("  if (i == 0) ((float*)in)[n] = 0;\n"), "wrote up to 4 bytes past the end of in");
  EXPECT_EQ(found_by_check("  if (i < 2048) out[n + i] = x;\n"), "wrote 4096 bytes or more past the end of out");
  EXPECT_EQ(device_->restarts(), 0);
  expect_as_before(sound(1), run.ms);  // the guards are whole again
}

TEST_F(SamplingOnGpu, RefusesAnAuthorsCodeThatWritesOutOfBounds) {
  prepare();
  try {
    set_reference(candidate(0, source_of("  if (i == n - 1) out[n] = x;\n")));
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_description);
    EXPECT_TRUE(holds(error.what(), "wrote up to 4 bytes past the end of out")) << error.what();
  }
}

// A kernel that adds to the bits of what it copies, so that each output lies so many ULPs from the reference's.
struct Bits {
  const char* name;
  ElementType type;
  const char* word;  // of the same size
};

class UlpsOnGpu : public SamplingOnGpu, public testing::WithParamInterface<Bits> {
 protected:
  Candidate shifted(int id, int ulps) const {
    const std::string word = GetParam().word;
    return candidate(id, "extern \"C\" __global__ void work(const " + word + "* in, " + word +
                             "* out, int n) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) "
                             "out[i] = in[i] + " +
                             std::to_string(ulps) + ";\n}\n");
  }

  void prepare_with(std::int64_t ulps) {
    WorkloadPlan workload = plan(kElements);
    auto& in = std::get<BufferPlan>(workload.parameters[0]);
    auto& out = std::get<BufferPlan>(workload.parameters[1]);
    in.type = out.type = GetParam().type;
    in.init = {BufferInit::Kind::uniform, -1, -0.5, ""};
    out.ulp_tolerance = ulps;
    prepare(workload);
    set_reference(shifted(0, 0));
  }
};

TEST_P(UlpsOnGpu, AreCountedInTheElementsOwnNumbers) {
  prepare_with(2);
  EXPECT_GT(time(device_->check(shifted(1, 0))), 0);
  EXPECT_GT(time(device_->check(shifted(2, 2))), 0);
  EXPECT_GT(time(device_->check(shifted(3, -2))), 0);
  const Shot beyond = device_->check(shifted(4, 3));
  const auto* wrong = std::get_if<WrongResult>(&beyond);
  ASSERT_TRUE(wrong) << "3 ULPs were within 2";
  EXPECT_TRUE(holds(wrong->message, "4194304 of 4194304 elements differ")) << wrong->message;
}

TEST_P(UlpsOnGpu, AreNotGrantedUnasked) {
  prepare_with(0);
  EXPECT_TRUE(std::holds_alternative<WrongResult>(device_->check(shifted(1, 1))));
}

INSTANTIATE_TEST_SUITE_P(Types, UlpsOnGpu,
                         testing::Values(Bits{"half", ElementType::f16, "unsigned short"},
                                         Bits{"bfloat16", ElementType::bf16, "unsigned short"},
                                         Bits{"float", ElementType::f32, "unsigned int"},
                                         Bits{"double", ElementType::f64, "unsigned long long"}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_F(SamplingOnGpu, ReplaysAShortKernelAsAGraph) {
  prepare(plan(kFew));
  const ReferenceRun run = set_reference(short_one(0));
  EXPECT_EQ(run.sample_mode, SampleMode::graph);
  EXPECT_GE(run.launches_per_sample, 20);
  const double sampled = median_of(short_one(1), &Device::sample);
  const double alone = time(device_->check(short_one(1)));
  std::printf(
      "short kernel: %d launches a sample, %.3f us each; one launch alone %.3f us; an empty one %.3f us, steps "
      "of %.3f us\n",
      run.launches_per_sample, sampled * 1000, alone * 1000, run.launch_overhead_ms * 1000,
      run.timer_resolution_ms * 1000);
  EXPECT_NEAR(sampled, run.ms, 0.2 * run.ms);
  EXPECT_LT(sampled, alone) << "the gap of a launch that is timed alone is not in the sample";
}

TEST_F(SamplingOnGpu, WarmsUpForAsLongAsItIsAskedTo) {
  prepare();
  const double first_ms = device_->set_reference(sound(0));
  const ReferenceRun brief = device_->warm_up(5);
  std::printf("reference run %.3f ms; warm-up %.2f ms, its last launch %.4f ms\n", first_ms, brief.gpu_ms, brief.ms);
  EXPECT_GT(first_ms, 0);
  EXPECT_GE(brief.gpu_ms, 5);
  EXPECT_LT(brief.gpu_ms, 20);
}

TEST_F(SamplingOnGpu, GoesOnAsBeforeAfterAFault) {
  prepare(plan(kFew), 2000);
  set_reference(short_one(0));
  const double before = median_of(short_one(1), &Device::sample);
  EXPECT_TRUE(std::holds_alternative<Faulted>(device_->check(short_one(2, "  __trap();\n"))));
  EXPECT_EQ(device_->restarts(), 1);
  const double after = median_of(short_one(1), &Device::sample);
  EXPECT_NEAR(after, before, 0.2 * before) << "us before and after: " << before * 1000 << " " << after * 1000;
}

// The three ways side by side, driven directly.
TEST_F(SamplingOnGpu, MeasuresTheLeastGapInAGraph) {
  prepare(plan(kFew));
  const std::string cubin = short_one(0, "").cubin;
  Worker worker([&](Channel& channel) {
    std::string why_not;
    const auto driver = Driver::open(why_not);
    LoadedKernel kernel;
    DeviceAddress memory = 0;
    require(driver->make_context(0), "making a context");
    require(driver->load(cubin, "work", 0, kernel), "loading");
    require(driver->allocate(2 * kFew * 4, memory), "allocating");
    DeviceAddress in = memory;
    DeviceAddress out = memory + kFew * 4;
    int n = kFew;
    std::vector<void*> parameters{&in, &out, &n};
    const LaunchShape shape{{kFew / kThreads, 1, 1}, {kThreads, 1, 1}, 0};
    constexpr int kLaunches = 200;
    LaunchGraph graph;
    require(driver->make_graph(kernel, shape, parameters, kLaunches, graph), "making a graph");
    const auto median_us = [&](int launches, const auto& put) {
      std::vector<double> times;
      for (int i = 0; i < 51; ++i) {
        require(driver->start_timer(), "timing");
        put();
        require(driver->stop_timer(), "timing");
        double ms = 0;
        require(driver->timed_ms(ms), "timing");
        times.push_back(ms * 1000 / launches);
      }
      return median(times);
    };
    const auto launch = [&] { require(driver->launch(kernel, shape, parameters), "launching"); };
    Message reply;
    reply["one_launch"] = median_us(1, launch);
    reply["back_to_back"] = median_us(kLaunches, [&] {
      for (int i = 0; i < kLaunches; ++i) launch();
    });
    reply["graph"] = median_us(kLaunches, [&] { require(driver->launch(graph), "launching"); });
    channel.send(reply);
  });
  const Channel::Received received = worker.channel().receive(after_ms(60000));
  ASSERT_EQ(received.state, Channel::State::message) << worker.end();
  const double one = received.message.at("one_launch");
  const double back_to_back = received.message.at("back_to_back");
  const double graph = received.message.at("graph");
  std::printf("us per launch of a short kernel: alone %.3f, back to back %.3f, graph %.3f\n", one, back_to_back, graph);
  EXPECT_LT(graph, one);
  EXPECT_LE(graph, back_to_back * 1.05);
}

TEST_F(SamplingOnGpu, StatesWhatOneLaunchCanShow) {
  prepare(plan(kFew));
  const ReferenceRun run = set_reference(short_one(0, "  x += out[i];\n"));
  EXPECT_TRUE(run.restored);
  EXPECT_EQ(run.sample_mode, SampleMode::one_launch);
  std::printf("restored: one launch %.3f us, an empty one %.3f us, steps of %.4f us\n",
              median_of(short_one(0, "  x += out[i];\n"), &Device::sample) * 1000, run.launch_overhead_ms * 1000,
              run.timer_resolution_ms * 1000);
  EXPECT_GT(run.launch_overhead_ms, 0.0001);
  EXPECT_LT(run.launch_overhead_ms, 0.05);
  EXPECT_GT(run.timer_resolution_ms, 0);
  EXPECT_LE(run.timer_resolution_ms, 0.0005);
}

TEST_F(SamplingOnGpu, IsSlowerWithAColdCache) {
  // 2 MiB each way lie in any L2 that there is.
  constexpr std::int64_t kSmall = 1 << 19;
  prepare(plan(kSmall));
  const std::string copy =
      "extern \"C\" __global__ void work(const float* in, float* out, int n) {\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = in[i];\n}\n";
  Candidate code = candidate(0, copy);
  code.shape.grid.x = kSmall / kThreads;
  const ReferenceRun run = set_reference(code);
  ASSERT_TRUE(run.can_flush);
  const double warm = median_of(code, &Device::sample);
  const double cold = median_of(code, &Device::sample_cold);
  std::printf("copy of 2 MiB: warm %.3f us, cold %.3f us\n", warm * 1000, cold * 1000);
  EXPECT_GT(cold, warm * 1.1) << "us warm and cold: " << warm * 1000 << " " << cold * 1000;
}

TEST_F(SamplingOnGpu, ReadsTheClocksWhileItSamples) {
  prepare();
  const Candidate code = sound(0);
  set_reference(code);
  device_->take_clock_readings();
  const auto began = std::chrono::steady_clock::now();
  std::vector<double> times;
  for (int i = 0; i < 300; ++i) times.push_back(time(device_->sample(code)));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const std::vector<ClockReading> readings = device_->take_clock_readings();
  EXPECT_TRUE(device_->take_clock_readings().empty());
  if (readings.empty()) GTEST_SKIP() << "NVML reads no clocks here";
  double cost = 0;
  double most = 0;
  std::string reasons;
  for (const ClockReading& reading : readings) {
    EXPECT_GT(reading.sm_mhz, 100);
    EXPECT_LT(reading.sm_mhz, 10000);
    cost += reading.cost_us;
    most = std::max(most, reading.cost_us);
    for (const std::string& reason : reading.throttled_by) reasons += " " + reason;
  }
  std::sort(times.begin(), times.end());
  std::printf(
      "clocks: %zu readings in %.2f s, %.0f us each, %.0f us at most, %d MHz; throttled by:%s; samples %.4f to "
      "%.4f to %.4f ms\n",
      readings.size(), seconds, cost / static_cast<double>(readings.size()), most, readings.back().sm_mhz,
      reasons.empty() ? " nothing" : reasons.c_str(), times[15], times[150], times[284]);
  EXPECT_LT(cost / 1e6, 0.1 * seconds) << "reading the clocks took more than a tenth of the time";
}

TEST_F(SamplingOnGpu, KnowsWhatACopyReadsAndWrites) {
  prepare();
  const double gb_per_s = device_->copy_bandwidth();
  std::printf("copy: %.0f GB/s read and written\n", gb_per_s);
  EXPECT_GT(gb_per_s, 50);
  EXPECT_LT(gb_per_s, 50000);
}

constexpr const char* kScale = R"cuda(/*regtune
sizes = { n = 1048576 }
block = 256
grid = "ceil_div(n, block)"
metric = { bytes = "8 * n" }
[args]
in = { buffer = "n", init = "uniform(0, 1)" }
out = { buffer = "n", output = true }
n = "n"
*/
extern "C" __global__ void scale(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 2.0f;
}
)cuda";

// Has several codes, and data that the L2 cache holds.
constexpr const char* kMix = R"cuda(/*regtune
sizes = { n = 1048576 }
block = 256
grid = "n // (32 * block)"
[args]
in = { buffer = "n", init = "uniform(0, 1)" }
out = { buffer = "n // 32", output = true }
stride = "n // 32"
*/
extern "C" __global__ void mix(const float* in, float* out, int stride) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  float x[32];
#pragma unroll
  for (int i = 0; i < 32; ++i) x[i] = in[at + i * stride];
#pragma unroll
  for (int step = 0; step < 2; ++step)
#pragma unroll
    for (int i = 0; i < 32; ++i) x[i] = x[i] * x[(i + 5) % 32] + x[(i + 11) % 32];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 32; ++i) sum += x[i];
  out[at] = sum;
}
)cuda";

class TuneSamplingOnGpu : public ProgramOnGpu {
 protected:
  TuneSamplingOnGpu() {
    program_.write("scale.cu", kScale);
    program_.write("mix.cu", kMix);
  }
  TuningRecord record_of(const char* source, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {source, "--budget", "10", "--json"});
    const Ending tuned = program_.run(arguments);
    EXPECT_EQ(tuned.exit_code, 0) << tuned.err;
    return record_from_json(nlohmann::json::parse(tuned.out), "stdout");
  }
};

TEST_F(TuneSamplingOnGpu, TimesTheFinalistsBothWays) {
  const TuningRecord warm = record_of("mix.cu", {});
  const TuningRecord cold = record_of("mix.cu", {"--cold"});
  EXPECT_FALSE(warm.settings.cold);
  EXPECT_TRUE(cold.settings.cold);
  EXPECT_EQ(cold.settings.sample_mode, SampleMode::one_launch);
  const auto& author_warm = std::get<Measurement>(warm.trials.front().outcome);
  const auto& author_cold = std::get<Measurement>(cold.trials.front().outcome);
  std::printf("mix of 4 MiB: warm %.3f us, cold %.3f us; %zu and %zu rounds the other way\n",
              author_warm.time_ms.median * 1000, author_cold.time_ms.median * 1000, author_warm.other_way.size(),
              author_cold.other_way.size());
  EXPECT_GT(author_cold.time_ms.median, author_warm.time_ms.median);
  EXPECT_GE(author_warm.other_way.size(), 8u);
  EXPECT_GE(author_cold.other_way.size(), 8u);
}

TEST_F(TuneSamplingOnGpu, ShowsTheRateAndTheShareOfACopy) {
  const Ending tuned = program_.run({"scale.cu", "--budget", "10"});
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  for (const char* part : {"GB/s", "of copy", "timed in samples of", "replayed as a CUDA graph"})
    EXPECT_TRUE(holds(tuned.out, part)) << part << " in:\n" << tuned.out;
  const TuningRecord record = record_of("scale.cu", {});
  EXPECT_EQ(record.work.bytes, 8 << 20);
  EXPECT_GT(record.work.peak_copy_gb_per_s, 50);
}

}  // namespace
}  // namespace regtune
