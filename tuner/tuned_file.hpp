#pragma once
// What is tuned: a source, which is compiled here, or a bundle, whose codes were compiled elsewhere (bundle.hpp). Which
// of them it is only shows here: both give a description, a sweep whose source has been compiled, and a pool that
// answers for what the sweep still wants. With a bundle no compiler is loaded.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "bundle.hpp"
#include "compilation.hpp"
#include "compile.hpp"
#include "description.hpp"
#include "progress.hpp"
#include "source.hpp"
#include "store.hpp"

namespace regtune {

struct TunedFileRequest {
  std::filesystem::path file;
  DescriptionFlags flags;
  int jobs = 1;
  double compile_limit_s = 600;
  CompilerWish compiler;
};

class TunedFile {
 public:
  // Throws Error for a file that cannot be read, and Error(usage) for flags that a bundle cannot follow any more.
  explicit TunedFile(TunedFileRequest request);

  const Source& source() const { return source_; }
  // Throws Error(bad_description or bad_launch).
  LaunchDescription description() const;
  // What compiles, or has compiled, and for which architectures.
  const CompilerIdentity& compiler();
  // Throws Error(no_toolkit) where there is none.
  void require_nvcc();
  // Before compile(): for who will ask for it while compilers are at work.
  void look_for_nvcc();

  // The sweep's source has been compiled when it returns. Throws Error(source_not_compiled | unknown_architecture).
  Compilation compile(const LaunchDescription& description, const std::string& architecture,
                      const SweepSettings& settings, Store* store, Progress& progress);
  // After compile().
  CompilePool& pool() { return *pool_; }

 private:
  Compilation unpack(const std::string& architecture, Progress& progress);

  TunedFileRequest request_;
  std::optional<Bundle> bundle_;
  CompilerIdentity bundled_by_;
  Source source_;
  std::unique_ptr<CompilePool> pool_;
};

}  // namespace regtune
