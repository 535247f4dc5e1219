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

  // Keeps what declares these names, which the compiler misses. False where nothing more does.
  bool bring_back(const std::vector<std::string>& names);

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
    bool is_rewritten = false;  // an extension of the host's compiler
    std::vector<Include> includes;
    std::vector<bool> kept;     // by item
    std::vector<bool> refused;  // by item: the compiler's word
  };

  // What the search for launches reads: the text with its macros written out, and what is in that.
  struct WrittenOut {
    std::string text;
    SourceItems items;
  };

  int add_file(const std::filesystem::path& path, std::string text, int depth);
  void resolve(File& file, int depth);
  void write_macros_out();
  void follow_names();
  bool is_root(const SourceItem& item, const std::set<std::string>& kernel_macros,
               const std::set<std::string>& device_macros) const;
  bool is_needed_include(const Include& include) const;
  bool asks_for_library(const SourceItem& item);
  static std::optional<std::size_t> culprit(const File& file, int line);
  void render(int index, std::vector<int>& open, std::string& out) const;
  std::string blanked(const File& file) const;

  SliceFolders folders_;
  std::vector<std::string> wanted_;
  std::vector<File> files_;  // the main one is main_
  std::vector<int> pre_included_;
  std::vector<WrittenOut> written_out_;  // empty where no kernel is a template
  int main_ = 0;
  std::map<std::filesystem::path, int> known_;
  std::set<std::string> reached_;        // names
  std::set<std::string> in_use_;         // namespaces that a "using namespace" names
  std::set<std::string> libraries_;      // of the toolkit, that a "using namespace" asks for
  std::map<std::string, int> refusals_;  // of instances, by kernel
  bool holds_host_code_ = false;
};

}  // namespace regtune
