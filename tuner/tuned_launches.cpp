#include "tuned_launches.hpp"

#include <fmt/format.h>

#include "answer.hpp"
#include "captured_launch.hpp"
#include "cubin.hpp"
#include "from_ptx.hpp"
#include "key.hpp"
#include "stored_code.hpp"

namespace regtune {

TunedLaunches::TunedLaunches(std::filesystem::path cache)
    : cache_(std::move(cache)), store_(Store::open_existing(cache_)) {}

// The newest first.
const std::vector<TunedLaunches::Stored>& TunedLaunches::stored(const std::string& kernel, const std::string& image,
                                                                const std::string& gpu) {
  const auto [known, is_new] = answered_.try_emplace({kernel, image, gpu});
  std::vector<Stored>& found = known->second;
  if (!is_new || image.empty() || !store_) return found;
  for (const StoredRun& run : store_->list(kernel)) {
    if (run.kernel != kernel || gpu_model_key(run.gpu.name) != gpu_model_key(gpu)) continue;
    std::optional<TuningRecord> record = store_->load(run.id);
    if (!record) continue;
    const std::optional<CapturedFacts> facts = captured_facts(record->description);
    if (facts && facts->image == image && facts->outputs_compared) found.push_back({std::move(*record), *facts});
  }
  return found;
}

std::optional<std::vector<IntegerPlace>> TunedLaunches::integers(const std::string& kernel, const std::string& image,
                                                                 const std::string& gpu) {
  const std::vector<Stored>& runs = stored(kernel, image, gpu);
  if (runs.empty()) return {};
  return runs.front().facts.integers;
}

std::optional<TunedLaunch> TunedLaunches::find(const std::string& kernel, const std::string& image,
                                               const std::string& gpu, const LaunchShape& shape,
                                               std::string_view parameter_block, std::string& why_not) {
  why_not = "nothing is stored for this shape and these integers";
  for (const Stored& run : stored(kernel, image, gpu)) {
    if (run.record.sizes != sizes_of_launch(shape, parameter_block, run.facts.integers)) continue;
    std::optional<TunedPolicy> answer = answer_of(run.record);
    if (!answer || std::holds_alternative<AuthorsOwn>(answer->best.policy)) {
      why_not = "its own code is the best that was found";
      return {};
    }
    answer->file = cache_.string();
    const std::optional<StoredCode> code = stored_code(*answer, why_not);
    if (!code) {
      if (why_not.empty()) why_not = "the code of the run is no longer stored; tune it again";
      return {};
    }
    TunedLaunch launch{code->cubin, code->entry, {}, answer->best.speedup, is_from_ptx(run.record)};
    for (const CubinVariable& variable : read_cubin(code->cubin).variables) {
      if (!variable.is_constant) {
        why_not = fmt::format("it has a __device__ variable ({}), of which there must not be two", variable.name);
        return {};
      }
      launch.constants.push_back(variable.name);
    }
    return launch;
  }
  return {};
}

}  // namespace regtune
