// The C interface over the loaded functions. No exception leaves it.
#include <algorithm>
#include <new>

#include "c_answer.hpp"
#include "cache_path.hpp"
#include "regtune/error.hpp"
#include "regtune_jit.h"
#include "tuned_functions.hpp"

struct regtune_jit {
  regtune::TunedFunctions functions;
};

namespace {

using namespace regtune;

std::string& message() {
  thread_local std::string text;
  return text;
}

std::string text_of(const char* text) {
  return text ? text : "";
}

// The first version's structures: nothing is smaller.
template <typename T>
bool is_set(const T* structure) {
  return structure && structure->size >= sizeof(T);
}

CacheOptions cache_options(const regtune_options& given) {
  CacheOptions options;
  if (given.file && *given.file) options.file = given.file;
  if (given.system_files) options.system_files = paths_in(given.system_files);
  if (given.check_interval_ms != 0)
    options.check_interval = std::chrono::milliseconds(std::max(given.check_interval_ms, 0));
  options.accept_stale = given.refuse_stale == 0;
  return options;
}

// Throws Error(usage) for an option that is not the caller's to choose.
FunctionQuestion question_of(const regtune_jit_source& source, const regtune_key& key) {
  FunctionQuestion question;
  question.source.text = text_of(source.text);
  question.source.path = source.path && *source.path ? source.path : "kernel.cu";
  question.source.options = author_options(
      source.option_count == 0 ? std::vector<std::string>()
                               : std::vector<std::string>(source.options, source.options + source.option_count));
  question.source.kernel = question.key.kernel = text_of(key.kernel);
  for (std::size_t at = 0; at < key.size_count; ++at)
    question.key.sizes[text_of(key.sizes[at].name)] = key.sizes[at].value;
  if (key.block[0] != 0)
    question.key.block = Dim3{key.block[0], std::max(key.block[1], 1u), std::max(key.block[2], 1u)};
  question.key.source_tag = text_of(key.source_tag);
  question.key.compiler = text_of(key.compiler);
  question.key.driver = text_of(key.driver);
  return question;
}

bool is_answerable(const regtune_jit_source& source, const regtune_key& key) {
  const bool has_text = (source.text && *source.text) || (source.path && *source.path);
  return has_text && key.kernel && *key.kernel && (source.option_count == 0 || source.options) &&
         (key.size_count == 0 || key.sizes);
}

void fill(const TunedFunction& found, regtune_jit_kernel& out) {
  out.function = static_cast<CUfunc_st*>(found.code.function);
  out.origin = found.code.origin;
  out.looked_up = status_of(found.answer);
  out.answer = c_answer(found.answer);
  out.block[0] = found.block.x;
  out.block[1] = found.block.y;
  out.block[2] = found.block.z;
  out.dynamic_shared_bytes = static_cast<std::size_t>(found.dynamic_shared_bytes);
  out.entry = found.code.entry.c_str();
}

}  // namespace

extern "C" {

regtune_jit_status regtune_jit_open(const regtune_options* options, regtune_jit** jit) {
  if (!jit) return REGTUNE_JIT_BAD_CALL;
  *jit = nullptr;
  if (options && !is_set(options)) return REGTUNE_JIT_BAD_CALL;
  try {
    *jit = new regtune_jit{TunedFunctions(options ? cache_options(*options) : CacheOptions())};
    return REGTUNE_JIT_OK;
  } catch (...) {
    return REGTUNE_JIT_NO_MEMORY;
  }
}

void regtune_jit_close(regtune_jit* jit) {
  delete jit;
}

regtune_jit_status regtune_jit_load(regtune_jit* jit, const regtune_jit_source* source, const regtune_key* key,
                                    regtune_jit_kernel* kernel) {
  try {
    message().clear();
    if (!jit || !is_set(source) || !is_set(key) || !is_set(kernel) || !is_answerable(*source, *key)) {
      message() = "a pointer is null, a structure's size is not set, or source or kernel are not named";
      return REGTUNE_JIT_BAD_CALL;
    }
    const std::shared_ptr<const TunedFunction> found = jit->functions.load(question_of(*source, *key));
    message() = found->code.message;
    if (found->code.status == REGTUNE_JIT_OK) fill(*found, *kernel);
    return found->code.status;
  } catch (const Error& error) {
    message() = error.what();
    return REGTUNE_JIT_BAD_CALL;
  } catch (...) {
    return REGTUNE_JIT_NO_MEMORY;
  }
}

const char* regtune_jit_message(void) {
  return message().c_str();
}

const char* regtune_jit_status_text(regtune_jit_status status) {
  switch (status) {
    case REGTUNE_JIT_OK:
      return "loaded";
    case REGTUNE_JIT_NO_DRIVER:
      return "there is no NVIDIA driver or no GPU";
    case REGTUNE_JIT_NO_CONTEXT:
      return "no CUDA context is current in this thread";
    case REGTUNE_JIT_NO_COMPILER:
      return "NVRTC is needed and cannot be opened";
    case REGTUNE_JIT_NOT_COMPILED:
      return "the source does not compile";
    case REGTUNE_JIT_NOT_LOADED:
      return "the driver refused the code";
    case REGTUNE_JIT_BAD_CALL:
      return "a pointer is null, the size of a structure is not set, or an option is not the caller's to choose";
    case REGTUNE_JIT_NO_MEMORY:
      return "there is not enough memory";
  }
  return "unknown status";
}

const char* regtune_jit_version(void) {
  return REGTUNE_VERSION;
}

}  // extern "C"
