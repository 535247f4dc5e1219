#include "lookup_command.hpp"

#include <fmt/format.h>

#include <charconv>

#include "answer.hpp"
#include "device.hpp"
#include "did_you_mean.hpp"
#include "key.hpp"
#include "regtune/error.hpp"
#include "regtune/lookup.hpp"
#include "size_arguments.hpp"
#include "store.hpp"

namespace regtune {
namespace {

std::string spell_sizes(const Sizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text.empty() ? "no sizes" : text;
}

// The whole GPU of that name, as far as anything was stored for it; the newest that is stored where nothing is said.
std::optional<GpuId> stored_gpu(const std::vector<StoredRun>& runs, const std::optional<std::string>& name,
                                const Sizes& sizes) {
  const StoredRun* best = nullptr;
  for (const StoredRun& run : runs) {
    if (name && gpu_model_key(run.gpu.name) != gpu_model_key(*name)) continue;
    if (!best || (best->sizes != sizes && run.sizes == sizes)) best = &run;
  }
  return best ? std::optional(best->gpu) : std::nullopt;
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

// The positive number that `text` is, or begins with where `unit` follows it; 0 where it is none.
int whole_number(std::string_view text, std::string_view unit = {}) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string rest = trimmed({end, static_cast<std::size_t>(text.data() + text.size() - end)});
  if (error != std::errc{} || number <= 0 || (!rest.empty() && rest != unit)) return 0;
  return number;
}

// "NVIDIA H100 PCIe, sm_90, 114 SMs": a GPU that is neither here nor stored answers for others only where its
// capability is known, and the number of SMs says which of several is closest.
GpuId spelled_gpu(const std::string& text) {
  GpuId gpu;
  std::size_t begin = 0;
  for (int part = 0; begin <= text.size(); ++part) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = trimmed(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    if (part == 0 && !word.empty()) {
      gpu.name = word;
      continue;
    }
    const int capability = word.rfind("sm_", 0) == 0 ? whole_number(std::string_view(word).substr(3)) : 0;
    const int sm_count = whole_number(word, "SMs");
    if (part == 1 && capability >= 50) {
      gpu.compute_major = capability / 10;
      gpu.compute_minor = capability % 10;
    } else if (part == 2 && sm_count > 0) {
      gpu.sm_count = sm_count;
    } else {
      throw Error(ErrorKind::usage,
                  fmt::format("--gpu {}: write a name, and perhaps its architecture and number of SMs: "
                              "--gpu 'NVIDIA H100 PCIe, sm_90, 114 SMs'",
                              text));
    }
  }
  return gpu;
}

// Of all that is stored of the kernel; nothing where there are several or none.
std::optional<Sizes> only_sizes(const std::vector<StoredRun>& stored, const std::optional<GpuId>& gpu) {
  std::optional<Sizes> sizes;
  for (const StoredRun& run : stored) {
    if (gpu && gpu_model_key(run.gpu.name) != gpu_model_key(gpu->name)) continue;
    if (sizes && *sizes != run.sizes) return {};
    sizes = run.sizes;
  }
  return sizes;
}

struct AskedFor {
  KernelKey key;
  std::optional<GpuId> gpu;
  bool gpu_is_assumed = false;
};

void add_gpu(AskedFor& asked, const LookupRequest& request, const std::vector<StoredRun>& runs) {
  if (request.gpu) {
    const GpuId spelled = spelled_gpu(*request.gpu);
    asked.gpu =
        spelled.compute_major != 0 ? spelled : stored_gpu(runs, spelled.name, asked.key.sizes).value_or(spelled);
    return;
  }
  Device device(request.device);
  if (const auto& state = device.state()) {
    asked.gpu = state->id;
    asked.key.driver = state->driver_version;
    return;
  }
  asked.gpu = stored_gpu(runs, {}, asked.key.sizes);
  asked.gpu_is_assumed = asked.gpu.has_value();
}

AskedFor asked_for(const LookupRequest& request, const std::vector<StoredRun>& runs) {
  AskedFor asked{{request.kernel, sizes_from(request.sizes, "--set")}, {}};
  add_gpu(asked, request, runs);
  // Whoever names no sizes means the only ones that there are: on that GPU, or else at all.
  if (request.sizes.empty()) {
    std::optional<Sizes> sizes = only_sizes(runs, asked.gpu);
    if (!sizes) sizes = only_sizes(runs, {});
    if (sizes) asked.key.sizes = *sizes;
  }
  return asked;
}

std::string_view reason_of(Miss miss) {
  switch (miss) {
    case Miss::ambiguous:
      return "; several kernels answer to that name, say more of it";
    case Miss::not_legal:
      return "; what is stored cannot be launched there";
    default:
      return "";
  }
}

// The names under which kernels are stored: without their parameters, and without their namespaces too.
std::vector<std::string> stored_names(Store& store) {
  std::vector<std::string> names;
  for (const StoredRun& run : store.list()) {
    const std::string name = run.signature.substr(0, run.signature.find_first_of("(<"));
    names.push_back(name);
    if (const std::size_t colons = name.rfind("::"); colons != std::string::npos)
      names.push_back(name.substr(colons + 2));
  }
  return names;
}

// `store`: the user's own; nullptr: there is none.
std::string miss_text(const std::string& file, const AskedFor& asked, Miss miss, const std::vector<StoredRun>& stored,
                      Store* store) {
  std::string text =
      fmt::format("{}: nothing is stored for {} with {} on {}{}", file, asked.key.kernel, spell_sizes(asked.key.sizes),
                  asked.gpu ? asked.gpu->name : "any GPU", reason_of(miss));
  for (const StoredRun& run : stored)
    text += fmt::format("\n  stored: {} with {} on {}", run.signature, spell_sizes(run.sizes), run.gpu.name);
  if (asked.gpu && asked.gpu->compute_major == 0 && !stored.empty())
    text += fmt::format("\nNo other GPU answers for one whose architecture is not known: --gpu '{}, sm_XX' says it.",
                        asked.gpu->name);
  if (stored.empty()) {
    const std::string meant = store ? did_you_mean(asked.key.kernel, stored_names(*store)) : "";
    text += "; no kernel of that name was tuned into it" + (meant.empty() ? ": run regtune on its source" : meant);
  }
  return text;
}

// The run as it was when its answer was stored.
TuningRecord record_of(const TunedPolicy& policy) {
  std::optional<Store> store = Store::open_existing(policy.file);
  std::optional<TuningRecord> record = store ? store->load(policy.run) : std::nullopt;
  std::optional<TunedPolicy> now = record ? answer_of(*record) : std::nullopt;
  if (now) {
    now->run = policy.run;
    now->finish_order = policy.finish_order;
  }
  if (!now || checksum_of(*now) != policy.checksum)
    throw Error(ErrorKind::cache_unusable,
                fmt::format("cache {} no longer holds the run behind the answer as it was written: look it up again, "
                            "or tune again",
                            policy.file));
  return std::move(*record);
}

// A layer that cannot be used is told by the cache itself.
std::optional<Store> open_readable(const std::filesystem::path& file) {
  try {
    return Store::open_existing(file);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

LookupAnswer look_up(const LookupRequest& request) {
  CacheOptions options;
  options.file = request.cache ? request.cache : find_default_cache_path();
  const std::string file = options.file ? options.file->string() : "no cache";
  std::optional<Store> store;
  if (options.file) store = Store::open_existing(*options.file);  // what is wrong with it is said at once
  const Cache cache(options);
  std::vector<StoredRun> stored;
  for (const std::filesystem::path& layer : cache.files())
    if (std::optional<Store> readable = open_readable(layer))
      for (StoredRun& run : readable->list(request.kernel)) stored.push_back(std::move(run));
  LookupAnswer answer;
  if (!store && stored.empty()) {
    answer.miss = fmt::format("{}: nothing is stored there yet; run regtune on the kernel first", file);
    return answer;
  }
  const AskedFor asked = asked_for(request, stored);
  const Answer found = asked.gpu ? cache.find(asked.key, *asked.gpu) : Answer{};
  answer.notes = cache.problems();
  if (!found || (request.exact_only && found.match != Match::exact)) {
    answer.miss = miss_text(file, asked, found.miss, stored, store ? &*store : nullptr);
    return answer;
  }
  if (asked.gpu_is_assumed)
    answer.notes.push_back(fmt::format("there is no GPU here: this is the answer for {}, as stored", asked.gpu->name));
  answer.match = found.match;
  answer.size_distance = found.size_distance;
  answer.stale = found.stale;
  answer.file = found->file;
  answer.is_users_file = answer.file == file;
  answer.record = record_of(*found);
  return answer;
}

std::string_view to_string(Match match) {
  switch (match) {
    case Match::none:
      return "none";
    case Match::exact:
      return "exact";
    case Match::nearest_sizes:
      return "nearest sizes";
    case Match::same_capability:
      return "same compute capability";
    case Match::same_family:
      return "same architecture family";
  }
  return "none";
}

std::vector<std::string> stale_names(const Stale& stale) {
  std::vector<std::string> names;
  if (stale.driver) names.emplace_back("driver");
  if (stale.compiler) names.emplace_back("compiler");
  if (stale.source) names.emplace_back("source");
  return names;
}

std::string found_text(const LookupAnswer& answer) {
  std::string text = fmt::format("match: {}", to_string(answer.match));
  if (answer.match == Match::same_capability || answer.match == Match::same_family)
    text += fmt::format(", measured on {}", answer.record->gpu->id.name);
  if (answer.size_distance > 0) text += fmt::format(", sizes {:.1f} doublings away", answer.size_distance);
  if (answer.stale)
    text += fmt::format("; stale: another {} was used then", fmt::join(stale_names(answer.stale), " and another "));
  if (!answer.is_users_file) text += fmt::format("; from {}", answer.file);
  return text + "\n";
}

}  // namespace regtune
