#pragma once
// A folder of our own in the system's folder for temporary files, gone with its owner.
#include <filesystem>

namespace regtune {

class ScratchFolder {
 public:
  ScratchFolder();  // path() is empty where no folder can be made
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace regtune
