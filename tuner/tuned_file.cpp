#include "tuned_file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <utility>

#include "regtune/error.hpp"
#include "scratch_folder.hpp"

namespace regtune {
namespace {

template <class T>
void put_over(std::vector<T>& list, const std::vector<T>& over) {
  list.insert(list.end(), over.begin(), over.end());
}

// The launch may be another one than when the bundle was made; the code may not.
DescriptionFlags flags_over(DescriptionFlags made_with, const DescriptionFlags& given, const std::string& file) {
  const auto refuse = [&](bool is_given, const char* what) {
    if (is_given)
      throw Error(ErrorKind::usage,
                  fmt::format("{}: {} cannot change what is compiled already; make another bundle", file, what));
  };
  refuse(given.kernel && given.kernel != made_with.kernel, "--kernel");
  refuse(!given.options.empty(), "a compiler option");
  refuse(!given.defines.empty(), "-D");
  refuse(!given.include_folders.empty(), "-I");
  refuse(!given.tune.empty(), "--tune");
  refuse(given.file.has_value(), "--description");
  refuse(!given.pre_included_files.empty(), "--include");
  put_over(made_with.sizes, given.sizes);
  put_over(made_with.arguments, given.arguments);
  put_over(made_with.metrics, given.metrics);
  if (given.block) made_with.block = given.block;
  if (given.grid) made_with.grid = given.grid;
  if (given.dynamic_shared_bytes) made_with.dynamic_shared_bytes = given.dynamic_shared_bytes;
  if (given.seed) made_with.seed = given.seed;
  return made_with;
}

}  // namespace

TunedFile::TunedFile(TunedFileRequest request) : request_(std::move(request)) {
  if (!is_bundle(request_.file)) {
    source_ = read_source(request_.file);
    pool_ = std::make_unique<CompilePool>(request_.jobs, request_.compile_limit_s, request_.compiler.nvcc_file);
    return;
  }
  bundle_ = read_bundle(request_.file);
  source_ = bundle_->source;
  request_.flags = flags_over(bundle_->flags, request_.flags, request_.file.string());
  bundled_by_ = bundle_->compiler;
  bundled_by_.name = fmt::format("{}, made with {},", request_.file.string(), bundle_->compiler.name);
}

LaunchDescription TunedFile::description() const {
  if (!bundle_) return launch_description(source_, request_.flags);
  // Read as it was: from the source's comment, or else from a file.
  const ScratchFolder folder;
  Source here{folder.path() / source_.path.filename(), source_.text};
  DescriptionFlags flags = request_.flags;
  if (bundle_->description) {
    flags.file = folder.path() / "description.toml";
    std::ofstream(*flags.file, std::ios::binary) << *bundle_->description;
  }
  LaunchDescription description = launch_description(here, flags);
  // Data files lie beside the bundle now.
  const std::filesystem::path beside = request_.file.parent_path();
  description.base_folder = beside.empty() ? "." : beside;
  return description;
}

const CompilerIdentity& TunedFile::compiler() {
  return bundle_ ? bundled_by_ : pool_->identity();
}

void TunedFile::require_nvcc() {
  if (bundle_)
    throw Error(
        ErrorKind::no_toolkit,
        request_.file.string() + ": a bundle is timed without compilers; leave out what wants one, or tune the source");
  pool_->identity(FrontEnd::nvcc);
}

void TunedFile::look_for_nvcc() {
  if (!bundle_) pool_->look_for_nvcc();
}

Compilation TunedFile::compile(const LaunchDescription& description, const std::string& architecture,
                               const SweepSettings& settings, Store* store, Progress& progress) {
  if (bundle_) return unpack(architecture, progress);
  return begin_compilation({source_, description, architecture, request_.compiler.only}, settings, store, *pool_,
                           progress);
}

Compilation TunedFile::unpack(const std::string& architecture, Progress& progress) {
  const auto found = bundle_->units.find(architecture);
  if (found == bundle_->units.end())
    throw Error(
        ErrorKind::unknown_architecture,
        fmt::format("{0}: holds no code for {1}; make it again with --arch {1}", request_.file.string(), architecture));
  const BundledUnit& bundled = found->second;
  CompilerIdentity compiler = bundle_->compiler;
  if (!bundled.why_plain.empty()) compiler.why_no_linker = bundled.why_plain;
  pool_ = std::make_unique<CompilePool>(
      std::move(compiler), std::map<std::string, CompiledCode>{{bundled.device_code_key, bundled.device_code}});
  progress.note(fmt::format("regtune: {}: compiled on {}, {}, by {}", request_.file.string(), bundle_->host,
                            bundle_->made, bundle_->compiler.name));
  Compilation compilation{bundled.unit, std::make_unique<BundledCodes>(bundled.codes), nullptr};
  const std::string why = fmt::format("{} does not hold it", request_.file.string());
  compilation.sweep = std::make_unique<Sweep>(*pool_, compilation.unit, *compilation.kept, CompileBudget::none(why));
  compilation.sweep->first();
  return compilation;
}

}  // namespace regtune
