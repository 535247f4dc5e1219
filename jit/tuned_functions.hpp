#pragma once
// Kernels as loaded functions, each question answered once in each context and shared by all threads. Decides which
// code it is: the one that was timed, the source under the stored budget, or the source as its author wrote it. Looks
// nothing up again for what it has loaded. Functions are never unloaded: they go with their contexts.
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "compiled_code.hpp"
#include "driver.hpp"
#include "regtune/lookup.hpp"
#include "regtune_jit.h"

namespace regtune {

struct FunctionQuestion {
  JitSource source;  // without text: read from its path
  KernelKey key;
};

struct LoadedCode {
  regtune_jit_status status = REGTUNE_JIT_OK;
  void* function = nullptr;
  regtune_jit_origin origin = REGTUNE_JIT_AUTHORS;
  std::string entry;
  std::string message;  // why it failed, or why a better code was not used
  // Neither a missing compiler nor a driver without memory is for ever; a source that does not compile is.
  bool is_final() const { return status == REGTUNE_JIT_OK || status == REGTUNE_JIT_NOT_COMPILED; }
};

struct TunedFunction {
  LoadedCode code;
  Answer answer;
  Dim3 block{0, 0, 0};
  std::int64_t dynamic_shared_bytes = 0;
};

class TunedFunctions {
 public:
  explicit TunedFunctions(const CacheOptions& options) : cache_(options) {}

  // Never null. Lives as long as this where its status is REGTUNE_JIT_OK. Throws std::bad_alloc.
  std::shared_ptr<const TunedFunction> load(const FunctionQuestion& question);

 private:
  // Held while what belongs into it is made, so that the next thread waits for that.
  template <typename T>
  struct Once {
    std::mutex mutex;
    std::shared_ptr<const T> made;
  };
  template <typename T>
  using Kept = std::map<std::string, std::shared_ptr<Once<T>>>;
  template <typename T>
  std::shared_ptr<Once<T>> place_in(Kept<T>& kept, const std::string& hash);

  Driver* driver(std::string& why_not);
  TunedFunction answer(Driver& driver, const FunctionQuestion& question, std::uint64_t context, int ordinal);
  // Of the answer's best budget; of the author's own without an answer.
  LoadedCode load_code(Driver& driver, JitSource source, const std::string& tag, const std::string& architecture,
                       const TunedPolicy* stored);
  bool load_stored(Driver& driver, const TunedPolicy& stored, LoadedCode& out);
  bool load_compiled(Driver& driver, const JitSource& source, const std::string& architecture,
                     const TunedBudget* budget, LoadedCode& out);

  Cache cache_;
  std::mutex mutex_;  // of the three below
  std::unique_ptr<Driver> driver_;
  Kept<TunedFunction> functions_;  // by question
  Kept<LoadedCode> codes_;         // by source and budget: questions of many sizes have few codes
  std::mutex compiling_;
  JitCompiler compiler_;
};

}  // namespace regtune
