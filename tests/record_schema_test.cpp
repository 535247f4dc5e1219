// docs/record.schema.json against recorded runs and against what is written now, every field filled.
#include <gtest/gtest.h>

#include <fstream>

#include "json_schema.hpp"
#include "program.hpp"
#include "record_json.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

using Json = nlohmann::json;

Json schema() {
  return Json::parse(std::ifstream(source_folder() / "docs/record.schema.json"));
}

TEST(RecordSchema, HoldsOfEveryRecordedRun) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "tests/data/h200")) {
    const Json recorded = Json::parse(std::ifstream(entry.path()));
    EXPECT_EQ(schema_breach(schema(), recorded), "") << entry.path();
    // And of what this regtune would write of it.
    EXPECT_EQ(schema_breach(schema(), record_json(record_from_json(recorded, "run.json"))), "") << entry.path();
    ++files;
  }
  EXPECT_GE(files, 9u);
}

TEST(RecordSchema, HoldsOfARunWithEverythingInIt) {
  TuningRecord record = tuned_record({});
  record.route = "plain";
  record.source_notes = {"cut"};
  record.guesses = {"args.n = \"n\""};
  record.description = "block = 256\n";
  record.command_line = {"k.cu"};
  record.author_bounds = "256, 4";
  record.clocks = ClockWatch{1, 2, 3, 4, 5, true, {"power cap"}};
  record.work = {1, 2, 3};
  record.counters.emplace().unavailable = "no ncu";
  record.nvcc = NvccComparison{"nvcc", {{0, 40, 8, 12, "", {}, 0, ""}}};
  record.gpu_seconds = 1;
  record.verdict->best_renamed_id = 1;
  record.verdict->best_other_way_id = 1;
  record.verdict->speedup_other_way = {1, 1, 1};
  record.trials[1].variant.choice = {true, 10, {{"UNROLL", "4"}}, "scale<4>"};
  const std::vector<Outcome> outcomes{NotTimed{},         CompileFailed{"x"}, NotCompiled{"x"},     NotApplicable{"x"},
                                      NotLaunchable{"x"}, SameCodeAs{0},      Faulted{"x"},         TimedOut{1},
                                      WrongResult{"x"},   Abandoned{"x", {}}, Quarantined{"x", "y"}};
  for (const Outcome& outcome : outcomes) {
    Trial trial = record.trials[0];
    trial.variant.id = static_cast<int>(record.trials.size());
    trial.outcome = outcome;
    if (std::holds_alternative<CompileFailed>(outcome)) trial.facts.reset();
    record.trials.push_back(trial);
  }
  const Json written = record_json(record);
  EXPECT_EQ(schema_breach(schema(), written), "");
  // Every key that can be written is described: none passes for want of a rule.
  const Json described = schema()["properties"];
  for (const auto& [key, ignored] : written.items()) EXPECT_TRUE(described.contains(key)) << key;
}

TEST(RecordSchema, RefusesWhatIsNoRecord) {
  const Json whole = record_json(tuned_record({}));
  for (const auto& [pointer, value] : std::vector<std::pair<std::string, Json>>{{"/format", "something else"},
                                                                                {"/trials/0/outcome/kind", "won"},
                                                                                {"/trials/0/facts/code_hash", 3},
                                                                                {"/verdict/best", "1"},
                                                                                {"/author_shape/block/0", 0},
                                                                                {"/unheard_of", true}}) {
    Json part = whole;
    part[Json::json_pointer(pointer)] = value;
    EXPECT_NE(schema_breach(schema(), part), "") << pointer;
  }
}

}  // namespace
}  // namespace regtune
