#include "regtune/lookup.hpp"

#include "answer_index.hpp"
#include "cache_path.hpp"

namespace regtune {
namespace {

std::vector<std::filesystem::path> layers_of(const CacheOptions& options) {
  std::vector<std::filesystem::path> files;
  if (const auto user = options.file ? options.file : find_default_cache_path()) files.push_back(*user);
  for (std::filesystem::path& file : files_of(options.system_files.value_or(system_cache_path())))
    files.push_back(std::move(file));
  return files;
}

}  // namespace

Cache::Cache(const CacheOptions& options)
    : index_(std::make_unique<AnswerIndex>(layers_of(options), options.check_interval, options.accept_stale)) {}
Cache::Cache(Cache&&) noexcept = default;
Cache& Cache::operator=(Cache&&) noexcept = default;
Cache::~Cache() = default;

Answer Cache::find(const KernelKey& key, const GpuId& gpu) const noexcept {
  Answer miss;
  miss.miss = Miss::bad_key;
  if (key.sizes.size() > most_sizes) return miss;
  try {
    SizeViews sizes(key.sizes.size());
    std::size_t at = 0;
    for (const auto& [name, value] : key.sizes) sizes[at++] = {name.data(), name.size(), value};
    Question question;
    question.kernel = key.kernel;
    question.sizes = sizes.all();
    if (key.block) question.block = *key.block;
    question.source_tag = key.source_tag;
    question.compiler = key.compiler;
    question.driver = key.driver;
    question.gpu_name = gpu.name;
    question.compute_major = gpu.compute_major;
    question.compute_minor = gpu.compute_minor;
    question.sm_count = gpu.sm_count;
    question.memory_clock_mhz = gpu.memory_clock_mhz;
    return index_->find(question);
  } catch (...) {  // no memory
    miss.miss = Miss::not_stored;
    return miss;
  }
}

std::vector<std::string> Cache::problems() const {
  return index_->problems();
}

std::vector<std::filesystem::path> Cache::files() const {
  return index_->files();
}

}  // namespace regtune
