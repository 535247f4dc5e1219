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

struct TunedFunction {
  regtune_jit_status status = REGTUNE_JIT_OK;
  void* function = nullptr;
  regtune_jit_origin origin = REGTUNE_JIT_AUTHORS;
  Answer answer;
  Dim3 block{0, 0, 0};
  std::int64_t dynamic_shared_bytes = 0;
  std::string entry;
  std::string message;  // why it failed, or why a better code was not used
};

class TunedFunctions {
 public:
  explicit TunedFunctions(const CacheOptions& options) : cache_(options) {}

  // Never null. Lives as long as this where its status is REGTUNE_JIT_OK. Throws std::bad_alloc.
  std::shared_ptr<const TunedFunction> load(const FunctionQuestion& question);

 private:
  // Held while the question is answered, so that the next thread waits for the answer.
  struct Entry {
    std::mutex mutex;
    std::shared_ptr<const TunedFunction> function;
  };
  std::shared_ptr<Entry> entry_of(const std::string& question);
  Driver* driver(std::string& why_not);
  TunedFunction answer(Driver& driver, const FunctionQuestion& question, int ordinal);
  bool load_stored(Driver& driver, const std::string& tag, TunedFunction& out);
  bool load_compiled(Driver& driver, const JitSource& source, const std::string& architecture,
                     const TunedBudget* budget, TunedFunction& out);

  Cache cache_;
  std::mutex mutex_;  // of the two below
  std::unique_ptr<Driver> driver_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
  std::mutex compiling_;
  JitCompiler compiler_;
};

}  // namespace regtune
