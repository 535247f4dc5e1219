#include "scratch_folder.hpp"

#include <cstdlib>
#include <string>
#include <system_error>

namespace regtune {

ScratchFolder::ScratchFolder(const std::filesystem::path& parent) {
  std::error_code failure;
  const std::filesystem::path in = parent.empty() ? std::filesystem::temp_directory_path(failure) : parent;
  std::string pattern = (in / "regtune-XXXXXX").string();
  if (!failure && mkdtemp(pattern.data())) path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace regtune
