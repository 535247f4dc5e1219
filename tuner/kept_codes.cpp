#include "kept_codes.hpp"

#include <algorithm>

#include "scratch_folder.hpp"

namespace regtune {

KeptCodes::KeptCodes(Store* store, const CompileUnit& unit, const CompilerIdentity& compiler)
    : store_(store),
      plain_{source_hash(unit), unit.options, compiler.name, unit.architecture, "", REGTUNE_VERSION},
      linker_(compiler.linker) {}

CompileKey KeptCodes::key(Way way, const std::string& kernel) const {
  CompileKey key = plain_;
  key.kernel = kernel;
  if (way == Way::linked) key.compiler += ", " + linker_;
  return key;
}

std::optional<CompiledCode> KeptCodes::first(Way way) {
  if (!store_) return {};
  const std::optional<KeptSource> kept = store_->kept_source(key(way, ""));
  if (!kept) return {};
  CompiledCode code;
  code.compiled = true;
  code.cubin = kept->cubin;
  code.log = kept->log;
  code.lowered_names = kept->lowered_names;
  code.seconds = kept->seconds;
  return code;
}

void KeptCodes::keep_first(Way way, const CompiledCode& code) {
  if (store_)
    store_->keep_source(key(way, ""),
                        {code.cubin, code.lowered_names, without_scratch_folders(code.log), code.seconds});
}

std::optional<BuildCode> KeptCodes::find(Way way, const std::string& kernel, const Build& build) {
  if (!store_) return {};
  if (loaded_ != way || loaded_kernel_ != kernel) {
    results_ = store_->kept_results(key(way, kernel));
    loaded_ = way;
    loaded_kernel_ = kernel;
  }
  const auto found = std::find_if(results_.begin(), results_.end(), [&](const KeptResult& kept) {
    return Build{kept.policy, kept.choice} == build;
  });
  // Facts without machine code serve no race.
  if (found == results_.end() || (found->result.facts && found->result.cubin.empty())) return {};
  ++hits_;
  const CompileResult& result = found->result;
  return BuildCode{build,        result.entry.empty() ? kernel : result.entry,
                   result.cubin, result.log_excerpt,
                   result.facts, result.failure,
                   true};
}

void KeptCodes::keep(Way way, const std::string& kernel, const BuildCode& code) {
  // No message of the compiler's: it crashed or was stopped, and may do better the next time.
  if (!store_ || (!code.facts && code.log.empty())) return;
  store_->keep_result(key(way, kernel), code.build.policy, code.build.choice,
                      {code.facts, code.failure, code.log.substr(0, 4096), code.cubin, code.kernel});
}

void KeptCodes::forget(Way way, const std::string& kernel) {
  if (store_) store_->forget_results(key(way, kernel));
  loaded_.reset();
}

}  // namespace regtune
