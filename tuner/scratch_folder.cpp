#include "scratch_folder.hpp"

#include <cstdlib>
#include <string>
#include <system_error>

namespace regtune {
namespace {

constexpr std::size_t kLetters = 6;

std::filesystem::path system_folder(std::error_code& failure) {
  return std::filesystem::temp_directory_path(failure);
}

}  // namespace

ScratchFolder::ScratchFolder(const std::filesystem::path& parent) {
  std::error_code failure;
  const std::filesystem::path in = parent.empty() ? system_folder(failure) : parent;
  std::string pattern = (in / "regtune-XXXXXX").string();
  if (!failure && mkdtemp(pattern.data())) path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string without_scratch_folders(std::string text) {
  std::error_code failure;
  const std::string begin = (system_folder(failure) / "regtune-").string();
  if (failure) return text;
  for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos;) {
    const std::size_t end = at + begin.size() + kLetters;
    const bool is_folder = end < text.size() && text[end] == '/' && text.find('/', at + begin.size()) == end;
    if (is_folder)
      text.erase(at, end + 1 - at);
    else
      at += begin.size();
  }
  return text;
}

}  // namespace regtune
