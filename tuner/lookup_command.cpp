#include "lookup_command.hpp"

#include <fmt/format.h>

#include "device.hpp"
#include "expression.hpp"
#include "key.hpp"
#include "regtune/error.hpp"
#include "store.hpp"

namespace regtune {
namespace {

Sizes parse_sizes(const std::vector<std::string>& texts) {
  Sizes sizes;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ErrorKind::usage, fmt::format("--set {}: write NAME=VALUE, --set n=1<<24, say", text));
    const std::string name = text.substr(0, equals);
    sizes[name] = evaluate_size({text.substr(equals + 1), {"--set " + name}}, sizes);
  }
  return sizes;
}

std::string spell_sizes(const Sizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text.empty() ? "no sizes" : text;
}

// Of all that is stored of the kernel; nothing where there are several or none.
std::optional<Sizes> only_sizes(const std::vector<StoredRun>& stored, const std::optional<std::string>& gpu) {
  std::optional<Sizes> sizes;
  for (const StoredRun& run : stored) {
    if (gpu && gpu_model_key(run.gpu_name) != gpu_model_key(*gpu)) continue;
    if (sizes && *sizes != run.sizes) return {};
    sizes = run.sizes;
  }
  return sizes;
}

}  // namespace

LookupAnswer look_up(const LookupRequest& request) {
  LookupKey key{request.kernel, parse_sizes(request.sizes), request.gpu};
  const std::filesystem::path file = request.cache ? *request.cache : default_cache_path();
  std::optional<Store> store = Store::open_existing(file);
  if (!store)
    return {{}, fmt::format("{}: nothing is stored there yet; run regtune on the kernel first", file.string())};
  if (!key.gpu_name) {
    Device device(request.device);
    if (const auto& state = device.state()) key.gpu_name = state->id.name;
  }
  if (std::optional<TuningRecord> record = store->find(key)) return {std::move(record), ""};
  const std::vector<StoredRun> stored = store->list(key.kernel);
  // Whoever names no sizes means the only ones that there are.
  if (request.sizes.empty())
    if (const auto sizes = only_sizes(stored, key.gpu_name)) {
      key.sizes = *sizes;
      if (std::optional<TuningRecord> record = store->find(key)) return {std::move(record), ""};
    }
  std::string miss = fmt::format("{}: nothing is stored for {} with {} on {}", file.string(), key.kernel,
                                 spell_sizes(key.sizes), key.gpu_name.value_or("any GPU"));
  for (const StoredRun& run : stored)
    miss += fmt::format("\n  stored: {} with {} on {}", run.signature, spell_sizes(run.sizes), run.gpu_name);
  if (stored.empty()) miss += "; no kernel of that name was tuned into it";
  return {{}, miss};
}

}  // namespace regtune
