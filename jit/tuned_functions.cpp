#include "tuned_functions.hpp"

#include "key.hpp"
#include "regtune/error.hpp"
#include "stored_code.hpp"

namespace regtune {
namespace {

void add(FieldHash& hash, const JitSource& source, std::uint64_t context) {
  hash.add("context", static_cast<std::int64_t>(context));
  hash.add("text", source.text).add("path", source.path).add("kernel", source.kernel);
  for (const std::string& option : source.options.options) hash.add("option", option);
  hash.add("cap", source.options.cap);
}

std::string hash_of(const FunctionQuestion& question, std::uint64_t context) {
  FieldHash hash;
  add(hash, question.source, context);
  const KernelKey& key = question.key;
  hash.add("name", key.kernel).add("sizes", regtune::hash_of(key.sizes)).add("tag", key.source_tag);
  hash.add("compiler", key.compiler).add("driver", key.driver);
  if (key.block) hash.add("x", key.block->x).add("y", key.block->y).add("z", key.block->z);
  return hash.hex();
}

// All that the code depends on.
std::string hash_of(const JitSource& source, std::uint64_t context, const TunedPolicy* stored) {
  FieldHash hash;
  add(hash, source, context);
  if (!stored) return hash.hex();
  const TunedBudget& best = stored->best;
  hash.add("file", stored->file).add("stored as", stored->kernel).add("source", stored->source_tag);
  hash.add("architecture", stored->architecture).add("policy", static_cast<std::int64_t>(best.policy.index()));
  hash.add("option", best.option).add("attribute", best.attribute).add("defines", best.defines);
  hash.add("statement", best.statement);
  hash.add("instance", best.instance).add("code", best.code_hash).add("dynamic", best.dynamic_shared_bytes);
  hash.add("most threads", best.max_threads_per_block).add("threads", best.required_threads_per_block);
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

template <typename T>
std::shared_ptr<TunedFunctions::Once<T>> TunedFunctions::place_in(Kept<T>& kept, const std::string& hash) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Once<T>>& place = kept[hash];
  if (!place) place = std::make_shared<Once<T>>();
  return place;
}

Driver* TunedFunctions::driver(std::string& why_not) {
  const std::lock_guard lock(mutex_);
  if (!driver_) driver_ = Driver::open(why_not);
  return driver_.get();
}

std::shared_ptr<const TunedFunction> TunedFunctions::load(const FunctionQuestion& question) {
  const auto failed = [](regtune_jit_status status, std::string message) {
    auto function = std::make_shared<TunedFunction>();
    function->code.status = status;
    function->code.message = std::move(message);
    return function;
  };
  std::string why_not;
  Driver* const opened = driver(why_not);
  if (!opened) return failed(REGTUNE_JIT_NO_DRIVER, why_not);
  std::uint64_t context = 0;
  int ordinal = 0;
  if (!opened->current_context(context, ordinal))
    return failed(REGTUNE_JIT_NO_CONTEXT, "no CUDA context is current in this thread; make one, or set it");

  const auto place = place_in(functions_, hash_of(question, context));
  const std::lock_guard lock(place->mutex);
  if (place->made) return place->made;
  auto function = std::make_shared<const TunedFunction>(answer(*opened, question, context, ordinal));
  if (function->code.is_final()) place->made = function;
  return function;
}

TunedFunction TunedFunctions::answer(Driver& driver, const FunctionQuestion& question, std::uint64_t context,
                                     int ordinal) {
  TunedFunction out;
  JitSource source = question.source;
  if (source.text.empty()) {
    std::optional<std::string> text = read_text(source.path);
    if (!text) {
      out.code.status = REGTUNE_JIT_NOT_COMPILED;
      out.code.message = source.path + ": cannot be read";
      return out;
    }
    source.text = std::move(*text);
  }
  GpuState gpu;
  if (const CudaStatus status = driver.describe(ordinal, gpu); !status.ok()) {
    out.code.status = REGTUNE_JIT_NO_DRIVER;
    out.code.message = status.text;
    return out;
  }
  const std::string architecture = "sm_" + std::to_string(gpu.id.compute_major * 10 + gpu.id.compute_minor);
  const std::string tag = tag_of(source);
  KernelKey key = question.key;
  if (key.source_tag.empty()) key.source_tag = tag;
  out.answer = cache_.find(key, gpu.id);
  {
    const auto place = place_in(codes_, hash_of(source, context, out.answer.policy));
    const std::lock_guard lock(place->mutex);
    std::shared_ptr<const LoadedCode> code = place->made;
    if (!code)
      code = std::make_shared<const LoadedCode>(load_code(driver, source, tag, architecture, out.answer.policy));
    if (code->is_final()) place->made = code;
    out.code = *code;
  }
  if (key.block) out.block = *key.block;
  if (out.code.origin != REGTUNE_JIT_AUTHORS && out.answer) {
    if (!key.block) out.block = out.answer->best.block;
    out.dynamic_shared_bytes = out.answer->best.dynamic_shared_bytes;
  }
  return out;
}

LoadedCode TunedFunctions::load_code(Driver& driver, JitSource source, const std::string& tag,
                                     const std::string& architecture, const TunedPolicy* stored) {
  LoadedCode out;
  if (stored) {
    const bool same = stored->source_tag == tag && stored->architecture == architecture;
    if (same && load_stored(driver, *stored, out)) return out;
    if (const std::string instance = template_id_in(stored->signature); instance.empty())
      source.entry = stored->kernel;
    else if (source.kernel.find('<') == std::string::npos)
      source.kernel = instance;
    if (load_compiled(driver, source, architecture, &stored->best, out)) return out;
    if (out.status == REGTUNE_JIT_NO_COMPILER) return out;
    add_line(out.message, "the stored budget is not used");
  }
  load_compiled(driver, source, architecture, nullptr, out);
  return out;
}

bool TunedFunctions::load_stored(Driver& driver, const TunedPolicy& stored, LoadedCode& out) {
  std::string why_not;
  const std::optional<StoredCode> code = stored_code(stored, why_not);
  add_line(out.message, why_not);
  if (!code) return false;
  LoadedKernel loaded;
  const CudaStatus status = driver.load(code->cubin, code->entry, stored.best.dynamic_shared_bytes, loaded);
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
                                   const TunedBudget* budget, LoadedCode& out) {
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
  const std::int64_t dynamic_shared_bytes = budget ? budget->dynamic_shared_bytes : 0;
  if (const CudaStatus status = driver.load(code.cubin, code.entry, dynamic_shared_bytes, loaded); !status.ok()) {
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
