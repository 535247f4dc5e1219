// Recorded sweeps of real kernels as simulated GPUs: does the race find what is there, and nothing else?
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fake_bench.hpp"
#include "statistics.hpp"

namespace regtune {
namespace {

std::filesystem::path landscapes_folder() {
  const char* source = std::getenv("REGTUNE_SOURCE");
  return std::filesystem::path(source ? source : REGTUNE_SOURCE_FOLDER) / "tests/data/landscapes";
}

std::vector<std::string> landscape_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(landscapes_folder()))
    if (entry.path().extension() == ".json")
      files.push_back(std::filesystem::relative(entry.path(), landscapes_folder()).string());
  std::sort(files.begin(), files.end());
  return files;
}

RegisterPolicy policy_of(std::string label) {
  if (label.starts_with("x")) label.erase(0, 2);  // an option beside it makes it another code, not another form
  const auto number = [&](std::size_t from) { return std::stoi(label.substr(from)); };
  if (label == "author") return AuthorsOwn{};
  if (label == "none") return CompilerDefault{};
  if (label.starts_with("lb")) return LaunchBounds{number(2), number(label.find(',') + 1)};
  if (label.starts_with("maxnreg")) return MaxRegisters{number(7)};
  return RegisterCap{number(3)};
}

struct Landscape {
  std::vector<Trial> trials;      // as collapse leaves them
  std::map<int, FakeCode> codes;  // by the id of the trial that is timed
  FakeGpu gpu;
  bool recorded_rounds = false;
  // What is there: time over the author's, or over the first that can be launched.
  std::map<int, double> truth;
  double best() const {
    return std::min_element(truth.begin(), truth.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->second;
  }
};

double first_five(const std::vector<double>& series) {
  return median({series.begin(), series.begin() + 5});
}

// Normal halves on either side of the median that have the recorded 10th and 90th percentiles.
FakeCode fake_code(const nlohmann::json& code) {
  constexpr double kPercentile90 = 1.2816;  // standard deviations
  const double ms = code.at("median_ms");
  return {ms, (ms - code.at("p10").get<double>()) / ms / kPercentile90,
          (code.at("p90").get<double>() - ms) / ms / kPercentile90};
}

Landscape read_landscape(const std::string& file) {
  std::ifstream in(landscapes_folder() / file);
  const nlohmann::json document = nlohmann::json::parse(in);
  const nlohmann::json& codes = document.at("codes");
  struct Budget {
    std::string label;
    std::size_t code;
  };
  std::vector<Budget> budgets;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    std::istringstream labels(codes[i].at("labels").get<std::string>());
    for (std::string label; labels >> label;) budgets.push_back({label, i});
  }
  std::stable_partition(budgets.begin(), budgets.end(), [](const Budget& b) { return b.label == "author"; });

  Landscape landscape;
  landscape.recorded_rounds = document.contains("raw_ms");
  std::vector<RegisterPolicy> policies;
  for (const Budget& budget : budgets) policies.push_back(policy_of(budget.label));
  landscape.trials = trials_of(policies);
  std::map<std::size_t, int> first_with;
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    const nlohmann::json& code = codes[budgets[i].code];
    Trial& trial = landscape.trials[i];
    trial.facts->registers_per_thread = code.at("regs");
    trial.facts->spill_store_bytes = code.at("local");
    if (code.at("n") == 0) {
      trial.facts->occupancy.reset();
      trial.outcome = NotLaunchable{code.at("error")};
      continue;
    }
    const auto [first, is_new] = first_with.try_emplace(budgets[i].code, static_cast<int>(i));
    if (!is_new) trial.outcome = SameCodeAs{first->second};
  }
  const int reference = timed_trial(landscape.trials, choose_reference(landscape.trials).value()).variant.id;
  std::map<int, std::vector<double>> series;
  for (const auto& [code, id] : first_with) {
    landscape.codes[id] = fake_code(codes[code]);
    const std::string index = std::to_string(code);
    if (landscape.recorded_rounds && document.at("raw_ms").contains(index))
      landscape.codes[id].series = document.at("raw_ms").at(index).get<std::vector<double>>();
  }
  const FakeCode& base = landscape.codes.at(reference);
  // Codes that left after five rounds go on in company of the reference: slower where it is slower.
  for (const double ms : base.series) landscape.gpu.series.push_back(ms / first_five(base.series));
  for (const auto& [id, code] : landscape.codes) {
    if (base.series.empty()) {
      landscape.truth[id] = code.ms / base.ms;
    } else if (code.series.empty()) {
      landscape.truth[id] = code.ms / first_five(base.series);
    } else {
      std::vector<double> ratios;
      for (std::size_t i = 0; i < base.series.size(); ++i) ratios.push_back(code.series[i] / base.series[i]);
      landscape.truth[id] = median(ratios);
    }
  }
  return landscape;
}

class LandscapeOf : public testing::TestWithParam<std::string> {};

TEST_P(LandscapeOf, HasItsBestFoundIn99Of100Replays) {
  const Landscape landscape = read_landscape(GetParam());
  ASSERT_GT(landscape.codes.size(), 30u);
  int missed = 0;
  double spent_ms = 0;
  std::string misses;
  for (int seed = 1; seed <= 100; ++seed) {
    FakeGpu gpu = landscape.gpu;
    if (landscape.recorded_rounds)
      gpu.start = seed * 7;
    else
      gpu.drift = 0.02, gpu.outliers = 0.005;
    FakeBench bench(landscape.codes, gpu, static_cast<std::uint64_t>(seed));
    Witness witness;
    const SimulatedRun run = run_race(bench, landscape.trials, witness);
    const double found = landscape.truth.at(timed_trial(run.trials, run.verdict.best_id).variant.id);
    if (found > landscape.best() * 1.005) {
      ++missed;
      misses += " " + std::to_string(found / landscape.best());
    }
    spent_ms += bench.spent_ms / 100;
  }
  EXPECT_LE(missed, 1) << misses;
  EXPECT_LT(spent_ms, 25000);
  RecordProperty("mean_gpu_ms", std::to_string(spent_ms));
  if (std::getenv("REGTUNE_TEST_VERBOSE"))
    printf("%s: missed %d, %.0f ms of GPU time, best %.4f\n", GetParam().c_str(), missed, spent_ms, landscape.best());
}

INSTANTIATE_TEST_SUITE_P(H200, LandscapeOf, testing::ValuesIn(landscape_files()), [](const auto& tested) {
  std::string name = tested.param.substr(0, tested.param.find('.'));
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
});

// The recording itself named cap 249, at 1.019x: its median came from the first rounds, when everything was faster.
TEST(Landscape, OfRushlarsenHoldsNoGain) {
  for (const char* file : {"rushlarsen.json", "raw/rushlarsen.json"}) {
    const Landscape landscape = read_landscape(file);
    for (int seed = 1; seed <= 100; ++seed) {
      FakeGpu gpu = landscape.gpu;
      gpu.start = seed * 3;
      FakeBench bench(landscape.codes, gpu, static_cast<std::uint64_t>(seed));
      Witness witness;
      const Verdict verdict = run_race(bench, landscape.trials, witness).verdict;
      EXPECT_NE(verdict.kind, Verdict::Kind::improved) << file << ", seed " << seed;
      EXPECT_EQ(verdict.best_id, 0);
      EXPECT_EQ(verdict.best_in_source_id, 0);
    }
  }
}

// fletcher_tti's own code needs 146 registers for 512 threads: the budget is what makes it run at all.
TEST(Landscape, OfACodeThatCannotBeLaunchedNamesOneThatCan) {
  const Landscape landscape = read_landscape("fletcher_tti.json");
  FakeBench bench(landscape.codes, {}, 1);
  Witness witness;
  const SimulatedRun run = run_race(bench, landscape.trials, witness);
  EXPECT_EQ(run.verdict.kind, Verdict::Kind::improved);
  EXPECT_NE(run.verdict.reference_id, 0);
  EXPECT_TRUE(std::holds_alternative<NotLaunchable>(run.trials.front().outcome));
  EXPECT_EQ(policy_of("lb512,0"), run.trials.at(static_cast<std::size_t>(run.verdict.best_id)).variant.policy);
}

}  // namespace
}  // namespace regtune
