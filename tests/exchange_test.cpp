// The formats of other programs, field by field; tests/exchange_with_kernel_tuner.py reads them with Kernel Tuner
// itself.
#include "exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "decide.hpp"
#include "distinct_codes.hpp"
#include "program.hpp"
#include "record_csv.hpp"
#include "record_json.hpp"
#include "regtune/error.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

using Json = nlohmann::json;

TuningRecord recorded(const std::string& name) {
  const std::filesystem::path file = source_folder() / "tests/data/h200" / (name + ".json");
  return record_from_json(Json::parse(std::ifstream(file)), file.string());
}

TEST(T4, HasAResultForEveryVariant) {
  const TuningRecord record = recorded("decay_wide");
  const Json document = Json::parse(t4_text(record));
  EXPECT_EQ(document["schema_version"], "1.0.0");
  EXPECT_EQ(document["metadata"]["timeunit"], "milliseconds");
  ASSERT_EQ(document["results"].size(), record.trials.size());
  double best = 1e9;
  Json best_configuration;
  std::set<Json> configurations;
  for (const Json& result : document["results"]) {
    EXPECT_EQ(result["invalidity"], "correct");
    EXPECT_EQ(result["correctness"], 1);
    EXPECT_FALSE(result["times"]["runtimes"].empty());
    EXPECT_TRUE(configurations.insert(result["configuration"]).second) << result["configuration"];
    for (const Json& value : result["measurements"])
      if (value["name"] == "time" && value["value"] < best) {
        best = value["value"];
        best_configuration = result["configuration"];
      }
  }
  EXPECT_EQ(best_configuration["budget"], "launch_bounds 256");
  EXPECT_EQ(best_configuration["block_size_x"], 256);
}

TEST(T4, SaysHowAVariantFailed) {
  TuningRecord record = tuned_record({});
  const std::vector<std::pair<Outcome, std::string>> fates{
      {CompileFailed{"x"}, "compile"}, {NotLaunchable{"x"}, "constraints"},
      {Faulted{"x"}, "runtime"},       {WrongResult{"x"}, "correctness"},
      {TimedOut{5}, "timeout"},        {Quarantined{"x", "y"}, "runtime"},
      {NotCompiled{"no time"}, ""}};
  for (const auto& [outcome, said] : fates) {
    Trial trial = record.trials[0];
    trial.variant = {static_cast<int>(record.trials.size()), RegisterCap{100 + static_cast<int>(record.trials.size())},
                     trial.variant.block};
    trial.outcome = outcome;
    record.trials.push_back(trial);
  }
  const Json results = Json::parse(t4_text(record))["results"];
  ASSERT_EQ(results.size(), record.trials.size() - 1) << "what was never compiled is no result";
  for (std::size_t i = 0; i + 1 < fates.size(); ++i) {
    EXPECT_EQ(results[3 + i]["invalidity"], fates[i].second);
    EXPECT_EQ(results[3 + i]["correctness"], fates[i].second == "correctness" ? 0 : 1);
    EXPECT_TRUE(results[3 + i]["times"]["runtimes"].empty());
  }
}

TEST(KernelTunerCache, HoldsTheTimesUnderTheKeysOfTheirValues) {
  const TuningRecord record = recorded("matmul_tiled");
  const std::string text = kernel_tuner_text(record);
  const Json document = Json::parse(text);
  EXPECT_EQ(document["device_name"], "NVIDIA H200");
  EXPECT_EQ(document["objective"], "time");
  EXPECT_EQ(document["tune_params_keys"],
            Json::array({"block_size_x", "block_size_y", "block_size_z", "budget", "renamed"}));
  EXPECT_EQ(document["cache"].size(), record.trials.size());
  for (const auto& [key, entry] : document["cache"].items()) {
    std::string joined;
    for (const Json& name : document["tune_params_keys"]) {
      const Json& value = entry[name.get<std::string>()];
      joined += (joined.empty() ? "" : ",") + (value.is_string() ? value.get<std::string>() : value.dump());
      const Json& values = document["tune_params"][name.get<std::string>()];
      EXPECT_NE(std::find(values.begin(), values.end(), value), values.end()) << value;
    }
    EXPECT_EQ(joined, key);
    EXPECT_GT(entry["time"], 0);
    for (const char* wanted : {"times", "compile_time", "verification_time", "benchmark_time", "strategy_time",
                               "framework_time", "timestamp"})
      EXPECT_TRUE(entry.contains(wanted)) << wanted;
  }
  // Kernel Tuner looks at the last three characters, and continues the file behind the last configuration.
  EXPECT_EQ(text.substr(text.size() - 4), "}\n}\n");
  const Json continued = Json::parse(text.substr(0, text.size() - 4) + ",\n\"1,1,1,other\": {\"time\": 1}}\n}");
  EXPECT_EQ(continued["cache"].size(), record.trials.size() + 1);
}

TEST(KernelTunerCache, NamesItsErrors) {
  TuningRecord record = tuned_record({});
  record.trials[1].outcome = WrongResult{"x"};
  record.trials[2].outcome = NotLaunchable{"x"};
  const Json cache = Json::parse(kernel_tuner_text(record))["cache"];
  EXPECT_EQ(cache["256,1,1,maxrregcount 57"]["__error__"], "RuntimeFailedConfig");
  EXPECT_EQ(cache["256,1,1,launch_bounds 256 4"]["__error__"], "InvalidConfig");
  EXPECT_FALSE(cache["256,1,1,author"].contains("__error__"));
}

TEST(Exchange, KnobsOfTheSourceAreParameters) {
  TuningRecord record = tuned_record({});
  record.trials[1].variant.choice = {true, 10, {{"UNROLL", "4"}}, "scale<4>"};
  const Json result = Json::parse(t4_text(record))["results"];
  EXPECT_EQ(result[1]["configuration"]["UNROLL"], "4");
  EXPECT_EQ(result[0]["configuration"]["UNROLL"], "author");
  EXPECT_EQ(result[1]["configuration"]["renamed"], 1);
  EXPECT_EQ(result[1]["configuration"]["register_usage_level"], 10);
  EXPECT_EQ(result[1]["configuration"]["instance"], "scale<4>");
}

TEST(Exchange, TwoVariantsAreNeverOneConfiguration) {
  TuningRecord record = tuned_record({});
  record.trials[1].variant.policy = record.trials[2].variant.policy;
  record.trials[1].variant.choice.macros = {{"budget", "x"}};  // a macro by the name of our own parameter
  const Json cache = Json::parse(kernel_tuner_text(record))["cache"];
  EXPECT_EQ(cache.size(), record.trials.size());
}

TEST(Exchange, ARunWithoutTimesIsRefused) {
  TuningRecord record = tuned_record({});
  record.gpu.reset();
  record.verdict.reset();
  for (const auto text : {t4_text, kernel_tuner_text}) {
    try {
      text(record);
      ADD_FAILURE() << "was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_TRUE(holds(error.what(), "nothing was timed"));
    }
  }
}

// RFC 4180, strictly.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> lines(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& cell = lines.back().back();
    if (quoted && text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      cell += text[i++];
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && text[i] == ',') {
      lines.back().emplace_back();
    } else if (!quoted && text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      ++i;
      lines.push_back({""});
    } else {
      cell += text[i];
    }
  }
  lines.pop_back();
  return lines;
}

TEST(Csv, HasALineForEachVariantAndAsManyCellsAsItsHead) {
  const std::vector<TuningRecord> records{recorded("decay_wide"), recorded("block_sort")};
  const auto lines = read_csv(csv_text(records));
  ASSERT_EQ(lines.size(), 1 + records[0].trials.size() + records[1].trials.size());
  for (const auto& line : lines) EXPECT_EQ(line.size(), lines[0].size());
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(lines[0].begin(), lines[0].end(), name) - lines[0].begin());
  };
  std::set<std::string> timed;
  for (std::size_t i = 1; i <= records[0].trials.size(); ++i) timed.insert(lines[i].at(column("timed_as")));
  EXPECT_EQ(timed.size(), distinct_codes(records[0]).size());
  const std::size_t best = 1 + static_cast<std::size_t>(records[0].verdict->best_id);
  EXPECT_EQ(lines[best].at(column("budget")), "__launch_bounds__(256)");
  EXPECT_EQ(lines[best].at(column("best")), "1");
  EXPECT_EQ(lines[best].at(column("registers")), "67");
}

TEST(Csv, NoCellIsAFormulaOrBreaksItsLine) {
  for (const char* text : {"=HYPERLINK(\"http://x\")", "+1", "-1", "@SUM(A1)", "\t=1", "a\r\nb,\"c\""}) {
    TuningRecord record = tuned_record({});
    record.signature = text;
    record.compiler = text;
    record.gpu->id.name = text;
    record.gpu->driver_version = text;
    record.trials[1].variant.choice.instance = text;
    const auto lines = read_csv(csv_text({record}));
    ASSERT_EQ(lines.size(), 1 + record.trials.size()) << text;
    for (const auto& line : lines) {
      EXPECT_EQ(line.size(), lines[0].size());
      for (const std::string& cell : line)
        EXPECT_EQ(std::string("=+@\t\r").find(cell.empty() ? 'x' : cell[0]), std::string::npos) << cell;
    }
  }
}

}  // namespace
}  // namespace regtune
