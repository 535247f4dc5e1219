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

struct Code {
  std::string code;
  int registers = 0;
};

// What the rule had compiled in the end, and what it took to be known.
struct Played {
  std::set<int> compiled;
  std::map<int, int> settled;  // cap to step
};

// Plays the compiler until nothing is asked for any more; answers come in an order drawn from the seed.
template <typename CodeOf>
Played play(CapPlateaus plateaus, CodeOf code_of, unsigned seed = 1) {
  Played played;
  std::mt19937 random(seed);
  std::vector<int> asked;
  while (true) {
    for (const auto& [cap, decides] : plateaus.take_to_compile()) asked.push_back(cap);
    for (const auto& [cap, step] : plateaus.take_settled()) {
      EXPECT_TRUE(played.compiled.contains(step)) << step;
      EXPECT_TRUE(played.settled.emplace(cap, step).second) << cap << " is told twice";
    }
    if (asked.empty()) break;
    std::swap(asked[random() % asked.size()], asked.back());
    const int cap = asked.back();
    asked.pop_back();
    EXPECT_TRUE(played.compiled.insert(cap).second) << cap << " is told twice";
    const Code code = code_of(cap);
    plateaus.add(cap, code.code, code.registers);
  }
  for (const auto& [cap, step] : played.settled) EXPECT_FALSE(played.compiled.contains(cap)) << cap;
  return played;
}

const auto own_code = [](int cap) { return Code{std::to_string(cap), cap}; };

TEST(CapPlateaus, BeginsWithTheEndsAndEverySecondAllocationUnit) {
  CapPlateaus plateaus(caps_from_to(24, 255));
  const auto first = plateaus.take_to_compile();
  ASSERT_EQ(first.size(), 16u);  // 24, 32, 48, ..., 240 and 255
  EXPECT_EQ(first[0].cap, 24);
  EXPECT_EQ(first[1].cap, 32);
  EXPECT_EQ(first[2].cap, 48);
  EXPECT_EQ(first.back().cap, 255);
  for (const auto& asked : first) EXPECT_TRUE(asked.decides);
}

TEST(CapPlateaus, BeginsWithEveryAllocationUnitWhereTheOrderIsAnothers) {
  CapPlateaus plateaus(caps_from_to(24, 255), CapPlateaus::Start::all_steps);
  EXPECT_EQ(plateaus.take_to_compile().size(), 30u);
}

TEST(CapPlateaus, CompilesBindingCapsWithoutWaiting) {
  CapPlateaus plateaus(caps_from_to(24, 255), CapPlateaus::Start::coarse_steps, 40);
  std::set<int> asked;
  for (const auto& [cap, decides] : plateaus.take_to_compile()) {
    asked.insert(cap);
    EXPECT_EQ(decides, cap % 8 == 0 || cap == 255) << cap;
  }
  EXPECT_EQ(asked.size(), 16u + 15u);  // 32 is one of both
  for (const int cap : caps_from_to(24, 40)) EXPECT_TRUE(asked.contains(cap));
}

TEST(CapPlateaus, OneCodeForAllCapsNeedsTheCoarseStepsOnly) {
  const Played played = play(CapPlateaus(caps_from_to(24, 255)), [](int) { return Code{"same", 10}; });
  EXPECT_EQ(played.compiled.size(), 16u);
  EXPECT_EQ(played.settled.size(), 232u - 16u);
}

TEST(CapPlateaus, CompilesEveryCapWhereAllDiffer) {
  const Played played = play(CapPlateaus(caps_from_to(24, 255)), own_code);
  EXPECT_EQ(played.compiled.size(), 232u);
}

TEST(CapPlateaus, TwoEqualStepsAloneAreNoPlateau) {
  // Only 64 and 72 agree.
  const Played played = play(CapPlateaus(caps_from_to(24, 255)), [](int cap) {
    return Code{std::to_string(cap == 72 ? 64 : cap), 0};
  });
  EXPECT_TRUE(played.settled.empty());
}

TEST(CapPlateaus, ThreeEqualStepsAreAPlateau) {
  const Played played = play(CapPlateaus(caps_from_to(24, 255)), [](int cap) {
    return Code{std::to_string(cap >= 64 && cap <= 80 ? 64 : cap), std::min(cap, 64)};
  });
  EXPECT_EQ(played.settled.size(), 14u);
  for (const auto& [cap, step] : played.settled) EXPECT_EQ(step, cap < 72 ? 64 : 72);
}

TEST(CapPlateaus, FindsAPlateausEdgesByHalving) {
  const auto code_of = [](int cap) { return Code{std::to_string(cap >= 61 && cap <= 117 ? 61 : cap), 0}; };
  const Played played = play(CapPlateaus(caps_from_to(24, 255)), code_of);
  for (const auto& [cap, step] : played.settled) EXPECT_EQ(code_of(cap).code, code_of(step).code) << cap;
  for (const int edge : {60, 61, 117, 118}) EXPECT_TRUE(played.compiled.contains(edge)) << edge;
  // Of 57 caps: 61, the steps 64, 80, 96 and 112, the halves 72 and 104 at most, and those found at the edges.
  EXPECT_GE(played.settled.size(), 57u - 12u);
}

TEST(CapPlateaus, LooksForTheLowerEdgeWhereTheRegistersEnd) {
  const Played played = play(CapPlateaus(caps_from_to(24, 255)), [](int cap) {
    return cap >= 61 ? Code{"above", 61} : Code{std::to_string(cap), cap};
  });
  for (const int cap : {62, 63}) EXPECT_TRUE(played.settled.contains(cap)) << cap;
  EXPECT_EQ(played.compiled.size(), 61u - 24u + 1 + 12 + 1);  // up to 61; 64, 80, ..., 240 and 255; no half step but 72
}

TEST(CapPlateaus, CapsThatFailToCompileAreLikeNoOther) {
  const Played played = play(CapPlateaus(caps_from_to(24, 255)), [](int) { return Code{}; });
  EXPECT_TRUE(played.settled.empty());
  EXPECT_EQ(played.compiled.size(), 232u);
}

TEST(CapPlateaus, CompilesTheSameCapsWhateverTheOrderOfArrival) {
  const auto code_of = [](int cap) {
    const int first = cap < 60 ? cap : cap < 130 ? 60 : cap < 150 ? cap : cap < 163 ? 150 : 163;
    return Code{std::to_string(first), first};
  };
  const Played first = play(CapPlateaus(caps_from_to(24, 255)), code_of, 0);
  EXPECT_EQ(first.compiled.size() + first.settled.size(), 232u);
  for (unsigned seed = 1; seed < 20; ++seed) {
    const Played played = play(CapPlateaus(caps_from_to(24, 255)), code_of, seed);
    EXPECT_EQ(played.compiled, first.compiled) << seed;
    EXPECT_EQ(played.settled, first.settled) << seed;
  }
}

TEST(CapPlateaus, DecidesAsSoonAsNeighbouringStepsAreKnown) {
  CapPlateaus plateaus(caps_from_to(24, 255));
  plateaus.take_to_compile();
  plateaus.add(24, "a", 24);
  plateaus.add(32, "b", 32);
  plateaus.add(48, "c", 48);
  auto asked = plateaus.take_to_compile();
  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(asked.front().cap, 40);  // between coarse steps that differ
  plateaus.add(40, "d", 40);
  asked = plateaus.take_to_compile();
  // Each takes all the registers that it may, so that none is the upper end of a plateau.
  EXPECT_EQ(asked.size(), 7u + 7u);
}

TEST(CapPlateaus, TakesWhatNobodyAskedFor) {
  CapPlateaus plateaus(caps_from_to(24, 255));
  for (const int cap : caps_from_to(24, 255)) plateaus.add(cap, "kept", 20);
  for (const auto& asked : plateaus.take_to_compile()) EXPECT_TRUE(asked.decides);  // those of the start
  EXPECT_TRUE(plateaus.take_to_compile().empty());
}

TEST(CapPlateaus, KnowsWhetherAStepIsMissing) {
  EXPECT_TRUE(CapPlateaus::has_all_steps(caps_from_to(24, 255)));
  EXPECT_TRUE(CapPlateaus::has_all_steps({57, 61, 64, 66}));
  EXPECT_FALSE(CapPlateaus::has_all_steps({57, 61, 66}));
  EXPECT_FALSE(CapPlateaus::has_all_steps({24, 32, 48, 56}));
  EXPECT_FALSE(CapPlateaus::has_all_steps({}));
  EXPECT_EQ(CapPlateaus::step_at_or_below(48), 48);
  EXPECT_EQ(CapPlateaus::step_at_or_below(47), 32);
}

TEST(CapPlateaus, TakesAnySetOfCapsWithAllSteps) {
  EXPECT_TRUE(CapPlateaus({}).take_to_compile().empty());
  EXPECT_EQ(play(CapPlateaus({57}), own_code).compiled, std::set<int>{57});
  EXPECT_EQ(play(CapPlateaus({57, 61, 63}), [](int) { return Code{"a"}; }).compiled.size(), 3u);  // no step between
  const Played few = play(CapPlateaus({57, 59, 64, 66, 72, 75}), [](int) { return Code{"a"}; });
  EXPECT_EQ(few.compiled.size() + few.settled.size(), 6u);
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

Account account_of(const std::map<int, Code>& code_of) {
  std::vector<int> caps;
  for (const auto& [cap, code] : code_of) caps.push_back(cap);
  const Played played = play(CapPlateaus(caps), [&](int cap) { return code_of.at(cap); });
  Account account{played.compiled.size(), played.settled.size(), {}};
  for (const auto& [cap, step] : played.settled)
    if (code_of.at(cap).code != code_of.at(step).code) account.wrong.push_back(cap);
  EXPECT_EQ(account.compiled + account.settled, caps.size());
  return account;
}

TEST(CapPlateaus, TakesNoCapWronglyOnSevenArchitectures) {
  std::size_t compiled = 0;
  std::size_t settled = 0;
  for (const auto& file : json_files("tests/data/caps")) {
    const nlohmann::json recorded = read_json(file);
    for (const auto& [architecture, ids] : recorded.at("codes").items()) {
      std::map<int, Code> code_of;
      for (std::size_t i = 0; i < ids.size(); ++i)
        code_of[24 + static_cast<int>(i)] = {std::to_string(ids[i].get<int>()), 0};  // registers were not recorded
      const Account account = account_of(code_of);
      EXPECT_TRUE(account.wrong.empty()) << file << ' ' << architecture << ": "
                                         << testing::PrintToString(account.wrong);
      compiled += account.compiled;
      settled += account.settled;
    }
  }
  EXPECT_EQ(compiled + settled, 8u * 7u * 232u);
  EXPECT_EQ(settled, 8679u) << "what it is for";
}

// Labels such as "cap64", "x2cap64": the same source under other options is a landscape of its own.
std::map<std::string, std::map<int, Code>> cap_codes(const nlohmann::json& landscape) {
  std::map<std::string, std::map<int, Code>> by_prefix;
  int id = 0;
  for (const auto& code : landscape.at("codes")) {
    ++id;
    std::istringstream labels(code.at("labels").get<std::string>());
    for (std::string label; labels >> label;) {
      const std::size_t at = label.find("cap");
      if (at == std::string::npos || label.find_first_not_of("0123456789", at + 3) != std::string::npos) continue;
      by_prefix[label.substr(0, at)][std::stoi(label.substr(at + 3))] = {std::to_string(id),
                                                                         code.at("regs").get<int>()};
    }
  }
  return by_prefix;
}

TEST(CapPlateaus, TakesNoCapWronglyInLandscapesOfPublicKernels) {
  std::size_t landscapes = 0;
  std::size_t compiled = 0;
  std::size_t settled = 0;
  for (const auto& file : json_files("tests/data/landscapes"))
    for (const auto& [prefix, code_of] : cap_codes(read_json(file))) {
      if (code_of.size() < 200) continue;  // recorded in part
      ++landscapes;
      const Account account = account_of(code_of);
      EXPECT_TRUE(account.wrong.empty()) << file << ' ' << prefix << ": " << testing::PrintToString(account.wrong);
      compiled += account.compiled;
      settled += account.settled;
    }
  EXPECT_GE(landscapes, 12u);
  EXPECT_EQ(compiled + settled, 2664u);
  EXPECT_EQ(settled, 1286u);
}

}  // namespace
}  // namespace regtune
