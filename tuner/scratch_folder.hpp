#pragma once
// A folder of our own, in the system's folder for temporary files or in another, gone with its owner.
#include <filesystem>
#include <string>

namespace regtune {

class ScratchFolder {
 public:
  // `parent`: empty: the system's. path() is empty where no folder can be made.
  explicit ScratchFolder(const std::filesystem::path& parent = {});
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A compiler's text about a file in such a folder, in the system's, names the file alone: whoever reads it later finds
// no such folder.
std::string without_scratch_folders(std::string text);

}  // namespace regtune
