// The C interface over the index of answers. No exception leaves it.
#include <algorithm>
#include <cstring>

#include "answer_index.hpp"
#include "cache_path.hpp"
#include "regtune.h"

struct regtune_cache {
  regtune::AnswerIndex index;
};

namespace {

using namespace regtune;

std::string_view view(const char* text) {
  return text ? std::string_view(text) : std::string_view();
}

// The first version's structures: nothing is smaller.
template <typename T>
bool is_set(const T* structure) {
  return structure && structure->size >= sizeof(T);
}

}  // namespace

extern "C" {

regtune_status regtune_open(const regtune_options* options, regtune_cache** cache) {
  if (!cache) return REGTUNE_BAD_CALL;
  *cache = nullptr;
  if (options && !is_set(options)) return REGTUNE_BAD_CALL;
  try {
    const regtune_options given = options ? *options : regtune_options REGTUNE_OPTIONS;
    std::vector<std::filesystem::path> files;
    if (!view(given.file).empty())
      files.emplace_back(given.file);
    else if (const auto user = find_default_cache_path())
      files.push_back(*user);
    for (std::filesystem::path& file :
         files_of(given.system_files ? paths_in(given.system_files) : system_cache_path()))
      files.push_back(std::move(file));
    const int interval_ms = given.check_interval_ms == 0 ? 100 : std::max(given.check_interval_ms, 0);
    *cache = new regtune_cache{
        AnswerIndex(std::move(files), std::chrono::milliseconds(interval_ms), given.refuse_stale == 0)};
    return REGTUNE_OK;
  } catch (...) {
    return REGTUNE_NO_MEMORY;
  }
}

void regtune_close(regtune_cache* cache) {
  delete cache;
}

regtune_status regtune_find(regtune_cache* cache, const regtune_key* key, const regtune_gpu* gpu,
                            regtune_answer* answer) {
  if (!cache || !is_set(key) || !is_set(gpu) || !is_set(answer) || (key->size_count != 0 && !key->sizes))
    return REGTUNE_BAD_CALL;
  try {
    return cache->index.find(*key, *gpu, *answer);
  } catch (...) {
    return REGTUNE_NO_MEMORY;
  }
}

size_t regtune_problem(regtune_cache* cache, size_t index, char* text, size_t capacity) {
  if (!cache || (!text && capacity != 0)) return 0;
  if (capacity != 0) text[0] = '\0';
  try {
    const std::vector<std::string> problems = cache->index.problems();
    if (index >= problems.size()) return 0;
    if (capacity != 0) {
      const std::size_t length = std::min(capacity - 1, problems[index].size());
      std::memcpy(text, problems[index].data(), length);
      text[length] = '\0';
    }
    return problems[index].size();
  } catch (...) {
    return 0;
  }
}

const char* regtune_status_text(regtune_status status) {
  switch (status) {
    case REGTUNE_OK:
      return "found";
    case REGTUNE_NOT_FOUND:
      return "nothing is stored for this kernel, these sizes and this GPU, nor for one like it";
    case REGTUNE_AMBIGUOUS:
      return "several stored kernels answer to this name: say its template arguments, its signature or its source tag";
    case REGTUNE_STALE:
      return "what is stored was measured with another driver, compiler or source";
    case REGTUNE_NOT_LEGAL:
      return "what is stored cannot be launched on this GPU with this block";
    case REGTUNE_BAD_KEY:
      return "the key names no kernel, one size twice, or more than 32 sizes";
    case REGTUNE_BAD_CALL:
      return "a pointer is null, or the size of a structure is not set";
    case REGTUNE_NO_MEMORY:
      return "there is not enough memory";
  }
  return "unknown status";
}

const char* regtune_match_text(regtune_match match) {
  switch (match) {
    case REGTUNE_MATCH_NONE:
      return "none";
    case REGTUNE_MATCH_EXACT:
      return "exact";
    case REGTUNE_MATCH_NEAREST_SIZES:
      return "nearest sizes";
    case REGTUNE_MATCH_SAME_CAPABILITY:
      return "same compute capability";
    case REGTUNE_MATCH_SAME_FAMILY:
      return "same architecture family";
  }
  return "unknown";
}

const char* regtune_version(void) {
  return REGTUNE_VERSION;
}

}  // extern "C"
