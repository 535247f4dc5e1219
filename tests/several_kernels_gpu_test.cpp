// Several kernels of one file, the cap that they could share, and spilling to shared memory, on a real GPU.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "on_gpu.hpp"
#include "record_json.hpp"

namespace regtune {
namespace {

std::string kernel_text(const std::string& name) {
  std::string text = text_of(source_folder() / "kernels" / name);
  const std::size_t begin = text.find("/*regtune");
  return text.erase(begin, text.find("*/", begin) + 2 - begin);
}

const std::string kOfBoth = R"cu(/*regtune
sizes = { n = 4194304 }
block = 256
grid = "ceil_div(n, block)"
args = { in = { buffer = "n", init = "uniform(0, 1)" }, out = { buffer = "n", output = true }, n = "n" }
[kernels.decayBounded]
weight = 0.25
*/
)cu";

class SeveralKernelsOnGpu : public OnGpu {
 protected:
  Program program_{false};
};

TEST_F(SeveralKernelsOnGpu, ShareACapThatIsMeasuredInBoth) {
  program_.write("both.cu", kOfBoth + kernel_text("decay_wide.cu") + kernel_text("decay_bounded.cu"));
  const Ending ending =
      program_.run({"both.cu", "--kernel", "all", "--json", "--no-rename", "--budget", "10", "--record", "both.json"});
  ASSERT_EQ(ending.exit_code, 0) << ending.err;
  const nlohmann::json document = nlohmann::json::parse(ending.out);
  ASSERT_EQ(document["kernels"].size(), 2u);
  const nlohmann::json& cap = document["file_wide_cap"];
  ASSERT_TRUE(cap["registers_per_thread"].is_number()) << cap;
  EXPECT_GE(cap["registers_per_thread"], 24);
  EXPECT_GT(cap["caps_compared"], 10);
  double shares = 0;
  for (const nlohmann::json& kernel : cap["kernels"]) {
    shares += kernel["share"].get<double>();
    const bool has_bound = !kernel["own_bound"].get<std::string>().empty();
    EXPECT_EQ(has_bound, kernel["signature"].get<std::string>().find("decayBounded") == 0) << kernel;
    if (has_bound) {
      EXPECT_EQ(kernel["speedup"]["median"], 1);
      EXPECT_EQ(kernel["weight"], 0.25);
    }
    EXPECT_LE(kernel["loss"]["low"], kernel["loss"]["median"]);
  }
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_GT(cap["loss"]["median"], 0.5) << "the bound of decay_bounded costs three quarters of its time";
  const Ending told = program_.run({"both.cu", "--kernel", "decayBounded,decayWide", "--no-rename", "--budget", "10"});
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_NE(told.out.find("one --maxrregcount for the whole file, of "), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("it has its own __launch_bounds__(256, 5), and no cap changes it"), std::string::npos)
      << told.out;
  std::cout << told.out.substr(told.out.rfind("one --maxrregcount"));
}

TEST_F(SeveralKernelsOnGpu, SpillingToSharedMemoryComputesTheSame) {
  const std::string kernel = source_folder() / "kernels/decay_wide.cu";
  const Ending ending = program_.run({kernel, "--levers", "smem-spill", "--no-rename", "--json", "--budget", "20"});
  ASSERT_EQ(ending.exit_code, 0) << ending.err;
  const TuningRecord record = record_from_json(nlohmann::json::parse(ending.out), "decay_wide");
  std::size_t timed = 0;
  for (const Trial& trial : record.trials) {
    if (!trial.variant.choice.spills_to_shared) continue;
    EXPECT_FALSE(std::holds_alternative<WrongResult>(trial.outcome) || std::holds_alternative<Faulted>(trial.outcome) ||
                 std::holds_alternative<CompileFailed>(trial.outcome));
    const bool has_time =
        std::holds_alternative<Measurement>(trial.outcome) || std::holds_alternative<Abandoned>(trial.outcome);
    if (has_time && trial.facts->shared_spill_store_bytes > 0) ++timed;
  }
  EXPECT_GT(timed, 0u) << "a code with spills in shared memory was launched";
}

}  // namespace
}  // namespace regtune
