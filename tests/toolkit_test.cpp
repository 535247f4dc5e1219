// Where CUDA is looked for. Folders are made here, with empty files: nothing is opened.
#include "toolkit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "temporary_folder.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

class Toolkit : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"REGTUNE_NVRTC", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH",
                             "XDG_DATA_HOME", "HOME"}) {
      const char* value = std::getenv(name);
      before_[name] = value ? std::optional<std::string>(value) : std::nullopt;
      unsetenv(name);
    }
    set("HOME", "home");
  }
  void TearDown() override {
    for (const auto& [name, value] : before_) value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }
  void set(const char* name, const std::string& below) { setenv(name, (folder_.path() / below).c_str(), 1); }
  fs::path file(const std::string& below) {
    const fs::path path = folder_.path() / below;
    fs::create_directories(path.parent_path());
    folder_.write(below, "");
    return path;
  }
  // Of those that are below this test's folder.
  std::vector<fs::path> candidates() const {
    std::vector<fs::path> ours;
    for (const fs::path& path : library_candidates(nvrtc_library()))
      if (path.string().starts_with(folder_.path().string())) ours.push_back(path);
    return ours;
  }

  TemporaryFolder folder_;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(Toolkit, WheelsAreFoundWherePipPutsThem) {
  const fs::path own = file("home/.local/share/regtune/cuda/nvidia/cu13/lib/libnvrtc.so.13");
  const fs::path active = file("venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  const fs::path older = file("venv/lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  const fs::path users = file("home/.local/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  const fs::path named = file("path/nvidia/cu13/lib/libnvrtc.so.13");
  set("VIRTUAL_ENV", "venv");
  setenv("PYTHONPATH", ("/nowhere:" + (folder_.path() / "path").string()).c_str(), 1);
  EXPECT_EQ(candidates(), (std::vector<fs::path>{own, active, older, named, users}));

  const fs::path data = file("data/regtune/cuda/nvidia/cu13/lib/libnvrtc.so.13");
  set("XDG_DATA_HOME", "data");
  EXPECT_EQ(candidates().front(), data);
}

TEST_F(Toolkit, AToolkitThatIsNamedComesBeforeWheelsAndAFileIsTheLastWord) {
  const fs::path wheel = file("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  const fs::path toolkit = file("toolkit/lib64/libnvrtc.so.12");
  set("VIRTUAL_ENV", "venv");
  set("CUDA_HOME", "toolkit");
  EXPECT_EQ(candidates(), (std::vector<fs::path>{toolkit, wheel}));
  setenv("REGTUNE_NVRTC", "/elsewhere/libnvrtc.so", 1);
  EXPECT_EQ(library_candidates(nvrtc_library()), std::vector<fs::path>{"/elsewhere/libnvrtc.so"});
}

TEST_F(Toolkit, CondasLibrariesAndHeadersAreFound) {
  const fs::path library = file("conda/lib/libnvrtc.so.12");
  const fs::path header = file("conda/targets/x86_64-linux/include/cuda_fp16.h");
  set("CONDA_PREFIX", "conda");
  EXPECT_EQ(candidates(), std::vector<fs::path>{library});
  EXPECT_EQ(include_folders(library), std::vector<fs::path>{header.parent_path()});
}

TEST_F(Toolkit, HeadersAreThoseOfTheLibrarysOwnWheels) {
  const std::string site = "venv/lib/python3.12/site-packages/nvidia/";
  const fs::path thirteen = file(site + "cu13/lib/libnvrtc.so.13");
  file(site + "cu13/include/cuda_fp16.h");
  fs::create_directories(folder_.path() / (site + "cu13/include/cccl/cub"));
  EXPECT_EQ(include_folders(thirteen), (std::vector<fs::path>{folder_.path() / (site + "cu13/include"),
                                                              folder_.path() / (site + "cu13/include/cccl")}));
  const fs::path twelve = file(site + "cuda_nvrtc/lib/libnvrtc.so.12");
  file(site + "cuda_runtime/include/cuda_fp16.h");
  fs::create_directories(folder_.path() / (site + "cuda_cccl/include/cub"));
  EXPECT_EQ(include_folders(twelve), (std::vector<fs::path>{folder_.path() / (site + "cuda_runtime/include"),
                                                            folder_.path() / (site + "cuda_cccl/include")}));
}

}  // namespace
}  // namespace regtune
