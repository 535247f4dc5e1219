#include "scratch_folder.hpp"

#include <gtest/gtest.h>

namespace regtune {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolder, GoesWithItsOwner) {
  fs::path path;
  {
    const ScratchFolder folder;
    path = folder.path();
    EXPECT_TRUE(fs::is_directory(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(ScratchFolder, IsNotInWhatIsKept) {
  const ScratchFolder folder;
  const std::string file = (folder.path() / "k.cu").string();
  EXPECT_EQ(without_scratch_folders(file + "(3): error: x, as in \"" + file + "\"\n"),
            "k.cu(3): error: x, as in \"k.cu\"\n");
  EXPECT_EQ(without_scratch_folders((folder.path() / "plain/k.pch").string()), "plain/k.pch");
  const std::string parent = fs::temp_directory_path().string();
  for (const std::string& other :
       {std::string("/home/me/regtune-abcdef/k.cu"), parent + "/regtune-abc/k.cu", parent + "/regtune-abcdefgh/k.cu",
        parent + "/regtune-", parent + "/regtune-abcdef", std::string()})
    EXPECT_EQ(without_scratch_folders(other), other);
}

}  // namespace
}  // namespace regtune
