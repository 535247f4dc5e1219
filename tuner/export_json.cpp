#include "export_json.hpp"

#include <cmath>

#include "from_ptx.hpp"
#include "policy.hpp"
#include "record_json.hpp"

namespace regtune {
namespace {

using Json = nlohmann::json;

// JSON has no word for what is not a number.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json interval_json(const Interval& interval) {
  return {{"low", number(interval.low)}, {"median", number(interval.median)}, {"high", number(interval.high)}};
}

const char* form_of(const RegisterPolicy& policy) {
  if (std::holds_alternative<RegisterCap>(policy)) return "option";
  if (std::holds_alternative<AuthorsOwn>(policy) || std::holds_alternative<CompilerDefault>(policy)) return "none";
  return "attribute";
}

Json budget_json(const ExportedChoice& choice) {
  const Variant& variant = choice.variant;
  Json shares = Json::array();
  for (const SizeShare& share : choice.shares)
    shares.push_back({{"sizes", share.sizes},
                      {"weight", number(share.weight)},
                      {"speedup", interval_json(share.speedup)},
                      {"loss", number(share.loss)}});
  return {{"policy", policy_json(variant.policy)},
          {"form", form_of(variant.policy)},
          {"text", spell(variant.policy, variant.choice.spills_to_shared)},
          {"statement", variant.choice.spills_to_shared ? shared_spilling_statement : ""},
          {"block", variant.block},
          {"macros", variant.choice.macros},
          {"instance", variant.choice.instance},
          {"register_usage_level", variant.choice.register_usage_level},
          {"registers_per_thread", choice.facts.registers_per_thread},
          {"spill_store_bytes", choice.facts.spill_store_bytes},
          {"spill_load_bytes", choice.facts.spill_load_bytes},
          {"code_hash", choice.facts.code_hash},
          {"speedup", number(choice.speedup)},
          {"sizes", shares}};
}

Json kernel_json(const ExportedKernel& kernel) {
  const TuningRecord& run = kernel.newest();
  const GpuState& gpu = *run.gpu;
  return {{"name", kernel.name},
          {"kernel", run.kernel},
          {"signature", run.signature},
          {"source", run.source_path},
          {"source_tag", run.source_hash},
          {"options", run.options},
          {"architecture", run.architecture},
          {"gpu",
           {{"name", gpu.id.name},
            {"compute_major", gpu.id.compute_major},
            {"compute_minor", gpu.id.compute_minor},
            {"sm_count", gpu.id.sm_count},
            {"driver", gpu.driver_version}}},
          {"compiler", run.compiler},
          {"from_ptx", is_from_ptx(run)},
          {"regtune_version", run.regtune_version},
          {"measured", run.started},
          {"verdict", to_string(run.verdict->kind)},
          {"author_block", run.author_shape.block},
          {"best", budget_json(kernel.best)},
          {"in_source", budget_json(kernel.in_source)}};
}

}  // namespace

nlohmann::json export_json(const ExportedKernels& exported) {
  Json kernels = Json::array();
  for (const ExportedKernel& kernel : exported.kernels) kernels.push_back(kernel_json(kernel));
  return {{"format", "regtune export"},
          {"format_version", 1},
          {"regtune_version", REGTUNE_VERSION},
          {"kernels", kernels},
          {"notes", exported.notes}};
}

}  // namespace regtune
