#include "cap_plateaus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>
#include <sstream>

namespace regtune {
namespace {

std::vector<int> caps_from_to(int first, int last) {
  std::vector<int> caps(static_cast<std::size_t>(last - first + 1));
  std::iota(caps.begin(), caps.end(), first);
  return caps;
}

// Plays the compiler: code_of(cap) for every step, in an order drawn from the seed.
template <typename CodeOf>
CapPlateaus with_steps_known(const std::vector<int>& caps, CodeOf code_of, unsigned seed = 1) {
  CapPlateaus plateaus(caps);
  std::vector<int> steps = plateaus.steps();
  std::shuffle(steps.begin(), steps.end(), std::mt19937(seed));
  for (const int step : steps) plateaus.add(step, code_of(step));
  return plateaus;
}

TEST(CapPlateaus, StepsAreTheEndsAndTheAllocationUnits) {
  const CapPlateaus plateaus(caps_from_to(24, 255));
  EXPECT_EQ(plateaus.steps().size(), 30u);  // 24, 32, ..., 248 and 255
  EXPECT_EQ(plateaus.steps().front(), 24);
  EXPECT_EQ(plateaus.steps()[1], 32);
  EXPECT_EQ(plateaus.steps().back(), 255);
}

TEST(CapPlateaus, OneCodeForAllCapsNeedsTheStepsOnly) {
  CapPlateaus plateaus = with_steps_known(caps_from_to(24, 255), [](int) { return "same"; });
  EXPECT_TRUE(plateaus.take_to_compile().empty());
  EXPECT_EQ(plateaus.take_settled().size(), 232u - 30u);
}

TEST(CapPlateaus, CompilesEveryCapBetweenStepsThatDiffer) {
  CapPlateaus plateaus = with_steps_known(caps_from_to(24, 255), [](int cap) { return std::to_string(cap); });
  EXPECT_EQ(plateaus.take_to_compile().size(), 232u - 30u);
  EXPECT_TRUE(plateaus.take_settled().empty());
}

TEST(CapPlateaus, TwoEqualStepsAloneAreNoPlateau) {
  // Only 64 and 72 agree.
  CapPlateaus plateaus =
      with_steps_known(caps_from_to(24, 255), [](int cap) { return std::to_string(cap == 72 ? 64 : cap); });
  EXPECT_TRUE(plateaus.take_settled().empty());
}

TEST(CapPlateaus, ThreeEqualStepsAreAPlateauAndEachCapNamesTheStepBelow) {
  CapPlateaus plateaus = with_steps_known(caps_from_to(24, 255),
                                          [](int cap) { return std::to_string(cap >= 64 && cap <= 80 ? 64 : cap); });
  const auto settled = plateaus.take_settled();
  ASSERT_EQ(settled.size(), 14u);
  for (const auto& [cap, step] : settled) EXPECT_EQ(step, cap < 72 ? 64 : 72);
}

TEST(CapPlateaus, CapsThatFailToCompileAreLikeNoOther) {
  CapPlateaus plateaus = with_steps_known(caps_from_to(24, 255), [](int) { return ""; });
  EXPECT_TRUE(plateaus.take_settled().empty());
  EXPECT_EQ(plateaus.take_to_compile().size(), 202u);
}

TEST(CapPlateaus, TellsEachCapOnceWhateverTheOrderOfArrival) {
  const auto code_of = [](int cap) { return std::to_string(cap < 60 ? cap : cap < 130 ? 60 : cap < 150 ? cap : 150); };
  std::set<std::pair<int, int>> first_settled;
  for (unsigned seed = 0; seed < 50; ++seed) {
    CapPlateaus plateaus = with_steps_known(caps_from_to(24, 255), code_of, seed);
    const std::vector<int> to_compile = plateaus.take_to_compile();
    const auto settled = plateaus.take_settled();
    std::set<int> all(plateaus.steps().begin(), plateaus.steps().end());
    all.insert(to_compile.begin(), to_compile.end());
    for (const auto& [cap, step] : settled) all.insert(cap);
    EXPECT_EQ(all.size(), 232u);
    EXPECT_EQ(plateaus.steps().size() + to_compile.size() + settled.size(), 232u);
    EXPECT_TRUE(plateaus.take_to_compile().empty());
    EXPECT_TRUE(plateaus.take_settled().empty());
    const std::set<std::pair<int, int>> sorted(settled.begin(), settled.end());
    if (seed == 0) first_settled = sorted;
    EXPECT_EQ(sorted, first_settled);
  }
}

TEST(CapPlateaus, DecidesAsSoonAsNeighbouringStepsAreKnown) {
  CapPlateaus plateaus(caps_from_to(24, 255));
  plateaus.add(24, "a");
  plateaus.add(32, "b");
  EXPECT_EQ(plateaus.take_to_compile(), caps_from_to(25, 31));  // the others need not be waited for
  plateaus.add(40, "b");
  EXPECT_TRUE(plateaus.take_to_compile().empty());  // 48 decides whether that is a plateau
  plateaus.add(48, "b");
  EXPECT_EQ(plateaus.take_settled().size(), 14u);
}

TEST(CapPlateaus, KnowsWhetherAStepIsMissing) {
  EXPECT_TRUE(CapPlateaus::has_all_steps(caps_from_to(24, 255)));
  EXPECT_TRUE(CapPlateaus::has_all_steps({57, 61, 64, 66}));
  EXPECT_FALSE(CapPlateaus::has_all_steps({57, 61, 66}));
  EXPECT_FALSE(CapPlateaus::has_all_steps({24, 32, 48, 56}));
  EXPECT_FALSE(CapPlateaus::has_all_steps({}));
  EXPECT_EQ(CapPlateaus::step_at_or_below(48), 48);
  EXPECT_EQ(CapPlateaus::step_at_or_below(47), 40);
}

TEST(CapPlateaus, TakesAnySetOfCaps) {
  EXPECT_TRUE(CapPlateaus({}).steps().empty());
  CapPlateaus one({57});
  EXPECT_EQ(one.steps(), std::vector<int>{57});
  one.add(57, "a");
  EXPECT_TRUE(one.take_to_compile().empty());
  CapPlateaus few = with_steps_known({57, 63, 71}, [](int) { return "a"; });  // no step between
  EXPECT_EQ(few.take_to_compile(), std::vector<int>{63});
}

nlohmann::json read_json(const std::filesystem::path& file) {
  std::ifstream in(file);
  return nlohmann::json::parse(in);
}

std::vector<std::filesystem::path> json_files(const char* folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(REGTUNE_SOURCE_FOLDER) / folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  return files;
}

// What the rule saves where every cap was compiled, and where it is wrong.
struct Account {
  std::size_t compiled = 0;
  std::size_t settled = 0;
  std::vector<int> wrong;
};

Account account_of(const std::map<int, std::string>& code_of) {
  std::vector<int> caps;
  for (const auto& [cap, code] : code_of) caps.push_back(cap);
  CapPlateaus plateaus = with_steps_known(caps, [&](int cap) { return code_of.at(cap); });
  Account account;
  account.compiled = plateaus.steps().size() + plateaus.take_to_compile().size();
  for (const auto& [cap, step] : plateaus.take_settled()) {
    ++account.settled;
    if (code_of.at(cap) != code_of.at(step)) account.wrong.push_back(cap);
  }
  EXPECT_EQ(account.compiled + account.settled, caps.size());
  return account;
}

TEST(CapPlateaus, TakesNoCapWronglyOnSevenArchitectures) {
  std::size_t compiled = 0;
  std::size_t settled = 0;
  for (const auto& file : json_files("tests/data/caps")) {
    const nlohmann::json recorded = read_json(file);
    for (const auto& [architecture, ids] : recorded.at("codes").items()) {
      std::map<int, std::string> code_of;
      for (std::size_t i = 0; i < ids.size(); ++i)
        code_of[24 + static_cast<int>(i)] = std::to_string(ids[i].get<int>());
      const Account account = account_of(code_of);
      EXPECT_TRUE(account.wrong.empty()) << file << ' ' << architecture << ": "
                                         << testing::PrintToString(account.wrong);
      compiled += account.compiled;
      settled += account.settled;
    }
  }
  EXPECT_EQ(compiled + settled, 8u * 7u * 232u);
  EXPECT_GT(settled, compiled) << "what it is for";
}

// Labels such as "cap64", "x2cap64": the same source under other options is a landscape of its own.
std::map<std::string, std::map<int, std::string>> cap_codes(const nlohmann::json& landscape) {
  std::map<std::string, std::map<int, std::string>> by_prefix;
  int id = 0;
  for (const auto& code : landscape.at("codes")) {
    ++id;
    std::istringstream labels(code.at("labels").get<std::string>());
    for (std::string label; labels >> label;) {
      const std::size_t at = label.find("cap");
      if (at == std::string::npos || label.find_first_not_of("0123456789", at + 3) != std::string::npos) continue;
      by_prefix[label.substr(0, at)][std::stoi(label.substr(at + 3))] = std::to_string(id);
    }
  }
  return by_prefix;
}

TEST(CapPlateaus, TakesNoCapWronglyInLandscapesOfPublicKernels) {
  std::size_t landscapes = 0;
  std::size_t settled = 0;
  for (const auto& file : json_files("tests/data/landscapes"))
    for (const auto& [prefix, code_of] : cap_codes(read_json(file))) {
      if (code_of.size() < 200) continue;  // recorded in part
      ++landscapes;
      const Account account = account_of(code_of);
      EXPECT_TRUE(account.wrong.empty()) << file << ' ' << prefix << ": " << testing::PrintToString(account.wrong);
      settled += account.settled;
    }
  EXPECT_GE(landscapes, 12u);
  EXPECT_GT(settled, 1000u);
}

}  // namespace
}  // namespace regtune
