#pragma once
// Somebody else's program (watched_app.c) beside a driver that computes nothing, for tests of what regtune does with
// programs: the environment in which both find that driver and NVRTC.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "program.hpp"
#include "shell.hpp"
#include "toolkit.hpp"

namespace regtune {

class WithWatchedApp : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(REGTUNE_WATCHED_APP)) GTEST_SKIP() << "the program was not carried along";
    const std::string nvrtc = nvrtc_file();
    if (nvrtc.empty()) GTEST_SKIP() << "NVRTC is not here, and the program compiles its kernel by it";
    const std::filesystem::path libraries = program_.folder() / "driver";
    std::filesystem::create_directory(libraries);
    std::filesystem::copy_file(REGTUNE_FAKE_GPU, libraries / "libcuda.so.1");
    set("LD_LIBRARY_PATH", libraries.string());
    set("REGTUNE_CUDA", REGTUNE_FAKE_GPU);
    set("WATCHED_NVRTC", nvrtc);
    set("FAKE_GPU_PARAMETERS", "8,8,4");
  }
  void TearDown() override {
    for (const auto& [name, before] : environment_)
      before.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), before.c_str(), 1);
  }
  void set(const std::string& name, const std::string& value) {
    const char* before = std::getenv(name.c_str());
    environment_.emplace(name, before ? before : "");
    setenv(name.c_str(), value.c_str(), 1);
  }

  // regtune run [options] -- watched_app [arguments]
  Ending watch(std::vector<std::string> options, const std::vector<std::string>& arguments) const {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"--", REGTUNE_WATCHED_APP});
    options.insert(options.end(), arguments.begin(), arguments.end());
    return program_.run(options);
  }
  // As it runs by itself.
  static Said unwatched(const std::string& arguments) {
    return run(std::string(REGTUNE_WATCHED_APP) + " " + arguments);
  }

  Program program_{false};

 private:
  static std::string nvrtc_file() {
    for (const std::filesystem::path& candidate : library_candidates(nvrtc_library()))
      if (candidate.is_absolute() && std::filesystem::exists(candidate)) return candidate.string();
    return "";
  }

  std::map<std::string, std::string> environment_;
};

}  // namespace regtune
