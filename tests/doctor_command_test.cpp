#include "doctor_command.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>

#include "regtune/error.hpp"
#include "store.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

// Without a driver, and with a folder of its own in the place of the user's.
class Doctor : public testing::Test {
 protected:
  Doctor() {
    setenv("REGTUNE_CUDA", "/nowhere/libcuda.so.1", 1);
    setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    unsetenv("REGTUNE_CACHE");
  }
  ~Doctor() override {
    for (const char* name : {"REGTUNE_CUDA", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "REGTUNE_NVRTC", "REGTUNE_NVJITLINK"})
      unsetenv(name);
  }

  static PartHealth find(const Diagnosis& diagnosis, const std::string& name) {
    const auto found = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                    [&](const PartHealth& finding) { return finding.name == name; });
    if (found != diagnosis.findings.end()) return *found;
    ADD_FAILURE() << "nothing is said of " << name;
    return {};
  }

  TemporaryFolder folder_;
};

TEST_F(Doctor, SaysOfEverythingThatIsMissingWhatToDo) {
  setenv("REGTUNE_NVRTC", "/nowhere/libnvrtc.so.13", 1);
  setenv("REGTUNE_NVJITLINK", "/nowhere/libnvJitLink.so.13", 1);
  const Diagnosis diagnosis = examine({});
  for (const PartHealth& finding : diagnosis.findings) {
    EXPECT_FALSE(finding.text.empty()) << finding.name;
    EXPECT_EQ(finding.cure.empty(), finding.health == Health::good) << finding.name << ": " << finding.text;
  }
  EXPECT_EQ(find(diagnosis, "driver").health, Health::bad);
  EXPECT_EQ(find(diagnosis, "GPU").health, Health::bad);
  EXPECT_EQ(find(diagnosis, "NVRTC").health, Health::bad);
  EXPECT_NE(find(diagnosis, "NVRTC").text.find("REGTUNE_NVRTC=/nowhere/libnvrtc.so.13"), std::string::npos);
  EXPECT_NE(find(diagnosis, "NVRTC").cure.find("apt install"), std::string::npos);
  EXPECT_EQ(find(diagnosis, "nvJitLink").health, Health::absent) << "without it all is slower, and possible";
  EXPECT_EQ(diagnosis.exit_code, static_cast<int>(ErrorKind::no_toolkit));
}

TEST_F(Doctor, LooksAtTheCacheAndChangesNothing) {
  const auto file = folder_.path() / "regtune" / "regtune.db";
  EXPECT_NE(find(examine({}), "cache").text.find("to be made"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file));
  { Store::open(file); }
  const PartHealth there = find(examine({}), "cache");
  EXPECT_EQ(there.health, Health::good) << there.text;
  EXPECT_NE(there.text.find(file.string() + ", schema 1"), std::string::npos) << there.text;
  folder_.write("other.db",
                "this is no database, and it is long enough to be looked at as one: a hundred bytes or so, "
                "and then some more of them");
  const PartHealth other = find(examine({folder_.path() / "other.db"}), "cache");
  EXPECT_EQ(other.health, Health::bad);
  EXPECT_NE(other.text.find("other.db"), std::string::npos);
}

TEST_F(Doctor, NamesTheLineOfTheConfigFile) {
  EXPECT_EQ(find(examine({}), "config").health, Health::good) << "there need not be one";
  std::filesystem::create_directory(folder_.path() / "regtune");
  folder_.write("regtune/config.toml", "cold = true\nmarign = 1\n");
  const PartHealth config = find(examine({}), "config");
  EXPECT_EQ(config.health, Health::bad);
  EXPECT_NE(config.text.find("config.toml:2"), std::string::npos) << config.text;
}

TEST_F(Doctor, TellsTheSameAsJson) {
  const Diagnosis diagnosis = examine({});
  const nlohmann::json json = doctor_json(diagnosis);
  EXPECT_EQ(json.at("exit_code"), diagnosis.exit_code);
  EXPECT_EQ(json.at("findings").size(), diagnosis.findings.size());
  const std::string text = doctor_text(diagnosis);
  for (const auto& finding : json.at("findings")) {
    EXPECT_NE(text.find(finding.at("text").get<std::string>()), std::string::npos);
    EXPECT_NE(text.find(finding.at("cure").get<std::string>()), std::string::npos);
  }
  EXPECT_NE(text.find(diagnosis.verdict), std::string::npos);
}

TEST_F(Doctor, KnowsWhoMayReadTheCounters) {
  EXPECT_TRUE(counters_are_for_root("EnableMSI: 1\nRmProfilingAdminOnly: 1\n"));
  EXPECT_FALSE(counters_are_for_root("EnableMSI: 1\nRmProfilingAdminOnly: 0\n"));
  EXPECT_FALSE(counters_are_for_root(""));
}

}  // namespace
}  // namespace regtune
