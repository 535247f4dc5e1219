#pragma once
// The device's part of a translation unit: the author's text with the project's headers in their places and all that
// only the host can use blanked out, byte for byte, so that every line keeps its number. Which declarations the
// kernels need is followed by name over all files; what the compiler refuses nevertheless, and no kernel is, can be
// taken out as well. It calls no compiler, edits no file and evaluates no condition.
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launched_instances.hpp"
#include "source_items.hpp"

namespace regtune {

struct SliceFolders {
  std::vector<std::string> project;  // searched for headers that are made part of the text
  std::vector<std::string> toolkit;  // whose headers the compiler reads itself
};

// What a message of the compiler points at.
struct Complaint {
  std::string file;
  int line = 0;
  std::string text;
};

class DeviceSlice {
 public:
  // `pre_included`: files to stand in front of the text, as nvcc -include. `wanted`: names that are asked for beside
  // the kernels, as in a template-id.
  DeviceSlice(const std::filesystem::path& path, std::string text, SliceFolders folders,
              const std::vector<std::string>& pre_included, const std::vector<std::string>& wanted);

  // False where the compiler is likely to take the text as it stands: no host function, and no header but the
  // toolkit's.
  bool holds_host_code() const { return holds_host_code_; }

  // The text for the compiler, without what has been taken out so far.
  std::string text() const;

  // Takes out what these complaints are about. False where nothing could be: they are about a kernel or a header of
  // the toolkit.
  bool take_out(const std::vector<Complaint>& complaints);

  // Of the kernel templates, for the compiler to make code of.
  std::vector<LaunchedInstance> instances() const;
  // The compiler does not take the instance of that kernel.
  void refuse_instance(const std::string& kernel) { ++refusals_[kernel]; }

  // What is different from the author's text, a sentence each.
  std::vector<std::string> notes() const;

 private:
  enum class Origin { project, toolkit, stand_in, nowhere };
  struct Include {
    IncludeLine line;
    Origin origin = Origin::nowhere;
    int file = -1;  // of the project
  };
  struct File {
    std::filesystem::path path;
    std::string text;
    SourceItems found;
    std::vector<Include> includes;
    std::vector<bool> kept;     // by item
    std::vector<bool> refused;  // by item: the compiler's word
  };

  int add_file(const std::filesystem::path& path, std::string text, int depth);
  void resolve(File& file, int depth);
  void follow_names();
  static bool is_own_extremum(const File& file, const SourceItem& item);
  bool is_needed_include(const Include& include) const;
  static std::optional<std::size_t> culprit(const File& file, int line);
  void render(int index, std::vector<int>& open, std::string& out) const;
  std::string blanked(const File& file) const;

  SliceFolders folders_;
  std::vector<std::string> wanted_;
  std::vector<File> files_;  // the main one is main_
  std::vector<int> pre_included_;
  int main_ = 0;
  std::map<std::filesystem::path, int> known_;
  std::set<std::string> reached_;        // names
  std::map<std::string, int> refusals_;  // of instances, by kernel
  bool holds_host_code_ = false;
};

}  // namespace regtune
