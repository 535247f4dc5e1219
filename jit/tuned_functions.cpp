#include "tuned_functions.hpp"

#include "key.hpp"
#include "regtune/error.hpp"
#include "stored_code.hpp"

namespace regtune {
namespace {

std::string hash_of(const FunctionQuestion& question, std::uint64_t context) {
  FieldHash hash;
  hash.add("context", static_cast<std::int64_t>(context));
  hash.add("text", question.source.text).add("path", question.source.path);
  for (const std::string& option : question.source.options.options) hash.add("option", option);
  hash.add("cap", question.source.options.cap);
  const KernelKey& key = question.key;
  hash.add("kernel", key.kernel).add("sizes", regtune::hash_of(key.sizes)).add("tag", key.source_tag);
  hash.add("compiler", key.compiler).add("driver", key.driver);
  if (key.block) hash.add("x", key.block->x).add("y", key.block->y).add("z", key.block->z);
  return hash.hex();
}

// "void ns::scale<4, float>(float*)" -> "ns::scale<4, float>"; empty for what is no instance of a template.
std::string template_id_in(const std::string& signature) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < signature.size(); ++at) {
    const char c = signature[at];
    if (depth == 0 && c == ' ') begin = at + 1;
    if (depth == 0 && c == '(') return "";
    if (c == '<') ++depth;
    if (c == '>' && --depth == 0) return signature.substr(begin, at + 1 - begin);
  }
  return "";
}

void add_line(std::string& text, const std::string& line) {
  if (line.empty()) return;
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += line;
}

}  // namespace

std::shared_ptr<TunedFunctions::Entry> TunedFunctions::entry_of(const std::string& question) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Entry>& entry = entries_[question];
  if (!entry) entry = std::make_shared<Entry>();
  return entry;
}

Driver* TunedFunctions::driver(std::string& why_not) {
  const std::lock_guard lock(mutex_);
  if (!driver_) driver_ = Driver::open(why_not);
  return driver_.get();
}

std::shared_ptr<const TunedFunction> TunedFunctions::load(const FunctionQuestion& question) {
  const auto failed = [](regtune_jit_status status, std::string message) {
    auto function = std::make_shared<TunedFunction>();
    function->status = status;
    function->message = std::move(message);
    return function;
  };
  std::string why_not;
  Driver* const opened = driver(why_not);
  if (!opened) return failed(REGTUNE_JIT_NO_DRIVER, why_not);
  std::uint64_t context = 0;
  int ordinal = 0;
  if (!opened->current_context(context, ordinal))
    return failed(REGTUNE_JIT_NO_CONTEXT, "no CUDA context is current in this thread; make one, or set it");

  const std::shared_ptr<Entry> entry = entry_of(hash_of(question, context));
  const std::lock_guard lock(entry->mutex);
  if (entry->function) return entry->function;
  auto function = std::make_shared<const TunedFunction>(answer(*opened, question, ordinal));
  // Neither a missing compiler nor a driver without memory is for ever; a source that does not compile is.
  if (function->status == REGTUNE_JIT_OK || function->status == REGTUNE_JIT_NOT_COMPILED) entry->function = function;
  return function;
}

TunedFunction TunedFunctions::answer(Driver& driver, const FunctionQuestion& question, int ordinal) {
  TunedFunction out;
  JitSource source = question.source;
  if (source.text.empty()) {
    std::optional<std::string> text = read_text(source.path);
    if (!text) {
      out.status = REGTUNE_JIT_NOT_COMPILED;
      out.message = source.path + ": cannot be read";
      return out;
    }
    source.text = std::move(*text);
  }
  GpuState gpu;
  if (const CudaStatus status = driver.describe(ordinal, gpu); !status.ok()) {
    out.status = REGTUNE_JIT_NO_DRIVER;
    out.message = status.text;
    return out;
  }
  const std::string architecture = "sm_" + std::to_string(gpu.id.compute_major * 10 + gpu.id.compute_minor);
  const std::string tag = tag_of(source);
  KernelKey key = question.key;
  if (key.source_tag.empty()) key.source_tag = tag;
  out.answer = cache_.find(key, gpu.id);
  if (key.block) out.block = *key.block;

  if (out.answer) {
    const TunedPolicy& stored = *out.answer;
    if (!key.block) out.block = stored.best.block;
    out.dynamic_shared_bytes = stored.best.dynamic_shared_bytes;
    if (stored.architecture == architecture && load_stored(driver, tag, out)) return out;
    if (const std::string instance = template_id_in(stored.signature); instance.empty())
      source.entry = stored.kernel;
    else if (source.kernel.find('<') == std::string::npos)
      source.kernel = instance;
    if (load_compiled(driver, source, architecture, &stored.best, out)) return out;
    if (out.status == REGTUNE_JIT_NO_COMPILER) return out;
    add_line(out.message, "the stored budget is not used");
  }
  load_compiled(driver, source, architecture, nullptr, out);
  return out;
}

bool TunedFunctions::load_stored(Driver& driver, const std::string& tag, TunedFunction& out) {
  const TunedPolicy& stored = *out.answer;
  if (stored.source_tag != tag) return false;
  std::string why_not;
  const std::optional<StoredCode> code = stored_code(stored, why_not);
  add_line(out.message, why_not);
  if (!code) return false;
  LoadedKernel loaded;
  const CudaStatus status = driver.load(code->cubin, code->entry, out.dynamic_shared_bytes, loaded);
  if (!status.ok()) {
    add_line(out.message, "the stored code does not load: " + status.text);
    return false;
  }
  out.function = loaded.function;
  out.origin = REGTUNE_JIT_STORED;
  out.entry = code->entry;
  return true;
}

bool TunedFunctions::load_compiled(Driver& driver, const JitSource& source, const std::string& architecture,
                                   const TunedBudget* budget, TunedFunction& out) {
  JitCode code;
  try {
    const std::lock_guard lock(compiling_);
    code = compiler_.compile(source, architecture, budget);
  } catch (const Error& error) {
    out.status = REGTUNE_JIT_NO_COMPILER;
    add_line(out.message, error.what());
    return false;
  }
  if (code.cubin.empty()) {
    out.status = REGTUNE_JIT_NOT_COMPILED;
    add_line(out.message, code.log);
    return false;
  }
  LoadedKernel loaded;
  if (const CudaStatus status = driver.load(code.cubin, code.entry, out.dynamic_shared_bytes, loaded); !status.ok()) {
    out.status = REGTUNE_JIT_NOT_LOADED;
    add_line(out.message, code.entry + ": " + status.text);
    return false;
  }
  out.status = REGTUNE_JIT_OK;
  out.function = loaded.function;
  out.origin = budget ? REGTUNE_JIT_COMPILED : REGTUNE_JIT_AUTHORS;
  out.entry = code.entry;
  return true;
}

}  // namespace regtune
