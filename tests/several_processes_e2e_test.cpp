// Programs of several threads, streams, contexts and processes under `regtune run` and `regtune capture`: one launch is
// taken, and all of them are made as ever, each once.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "store.hpp"
#include "temporary_folder.hpp"
#include "watched_app.hpp"

namespace regtune {
namespace {

// How watched_app launches, and how many launches that are where it is told 10.
struct Way {
  const char* how;
  int launches;
};
constexpr Way kWays[] = {{"exit", 10},    {"_exit", 10},   {"fork", 10},    {"between", 20},
                         {"threads", 40}, {"streams", 10}, {"contexts", 20}};

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::int64_t launches_in(const nlohmann::json& listing) {
  std::int64_t launches = 0;
  for (const nlohmann::json& kernel : listing.at("kernels")) launches += kernel.at("launches").get<std::int64_t>();
  return launches;
}

// How many launches were taken: one is told by one line.
int taken_in(const Ending& ending) {
  constexpr std::string_view taken = "of scale: copying the program's memory";
  int count = 0;
  for (std::size_t at = 0; (at = ending.err.find(taken, at)) != std::string::npos; at += taken.size()) ++count;
  return count;
}

// What one tuning has compiled serves the next: all are of one kernel.
std::string shared_cache() {
  static const TemporaryFolder folder;
  return (folder.path() / "cache.db").string();
}

class Several : public WithWatchedApp, public testing::WithParamInterface<Way> {
 protected:
  void SetUp() override {
    WithWatchedApp::SetUp();
    set("WATCHED_COUNTS", "1");
    set("FAKE_GPU_COUNTER", "counter");
  }
  nlohmann::json listing() const { return nlohmann::json::parse(text_of(program_.folder() / "run.json")); }
  // regtune run, beside the program and in its own context; `listed`: launches, all in all.
  void expect_one_tuning(const std::vector<std::string>& program, const std::vector<std::string>& lines,
                         int listed) const {
    for (const char* where : {"--no-config", "--in-process"}) {
      SCOPED_TRACE(where);
      std::vector<std::string> words{"run", "-k", "scale", "--launch", "3", "--budget", "1", where, "--no-rename"};
      words.insert(words.end(), {"--json", "-o", "run.json", "--cache", shared_cache(), "--"});
      words.insert(words.end(), program.begin(), program.end());
      const Ending ending = program_.run(words);
      EXPECT_EQ(ending.exit_code, 0) << ending.err;
      EXPECT_EQ(sorted_lines(ending.out), lines);
      EXPECT_EQ(ending.err.find("was not tuned"), std::string::npos) << ending.err;
      EXPECT_EQ(launches_in(listing()), listed);
      EXPECT_EQ(taken_in(ending), 1) << ending.err;
      EXPECT_EQ(Store::open(shared_cache()).list("scale").size(), 1U) << ending.err;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, Several, testing::ValuesIn(kWays), [](const auto& tested) {
  return std::string(tested.param.how[0] == '_' ? "underscore" : "") + tested.param.how;
});

TEST_P(Several, LaunchesAreCountedAndMadeOnce) {
  const std::string plain = unwatched(std::string("10 ") + GetParam().how).text;
  const Ending ending = watch({"--json", "-o", "run.json", "--quiet"}, {"10", GetParam().how});
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(ending.out, plain);
  EXPECT_EQ(launches_in(listing()), GetParam().launches);
}

TEST_P(Several, OneLaunchIsTunedAndAllAreMadeOnce) {
  const std::string plain = unwatched(std::string("10 ") + GetParam().how).text;
  ASSERT_TRUE(holds(plain, "counter ")) << plain;
  expect_one_tuning({REGTUNE_WATCHED_APP, "10", GetParam().how}, sorted_lines(plain), GetParam().launches);
}

TEST_P(Several, OneLaunchIsCaptured) {
  const Ending ending = program_.run(
      {"capture", "-k", "scale", "--launch", "3", "-o", "case", "--", REGTUNE_WATCHED_APP, "10", GetParam().how});
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(ending.out, unwatched(std::string("10 ") + GetParam().how).text);
  EXPECT_EQ(taken_in(ending), 1) << ending.err;
  const std::string description = text_of(program_.folder() / "case/scale.regtune.toml");
  EXPECT_TRUE(holds(description, "kernel = \"scale\"")) << ending.err;
  // Of threads that launch at once nobody knows what the third has found.
  const bool in_turn = GetParam().how != std::string_view("threads");
  EXPECT_TRUE(!in_turn || holds(description, "counter = { values = [2], type = \"unsigned int\" }")) << description;
}

// As `mpirun` starts them.
class Ranks : public Several {
 protected:
  static std::string four_processes() {
    const std::string one = std::string("'") + REGTUNE_WATCHED_APP + "' 10 & ";
    return one + one + one + one + "wait";
  }
  static std::vector<std::string> four_times(const std::string& text) {
    return sorted_lines(text + text + text + text);
  }
};
INSTANTIATE_TEST_SUITE_P(Four, Ranks, testing::Values(Way{"exit", 40}), [](const auto&) { return "Processes"; });

TEST_P(Ranks, OneIsTunedAndTheOthersPassThrough) {
  expect_one_tuning({"sh", "-c", four_processes()}, four_times(unwatched("10").text), GetParam().launches);
}

TEST_P(Ranks, OneIsCaptured) {
  const Ending ending =
      program_.run({"capture", "-k", "scale", "--launch", "2", "-o", "case", "--", "sh", "-c", four_processes()});
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(sorted_lines(ending.out), four_times(unwatched("10").text));
  EXPECT_EQ(taken_in(ending), 1) << ending.err;
  EXPECT_TRUE(std::filesystem::exists(program_.folder() / "case/in.npy"));
}

}  // namespace
}  // namespace regtune
