#include "export_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "exchange.hpp"
#include "export_json.hpp"
#include "export_patch.hpp"
#include "export_text.hpp"
#include "exported_budget.hpp"
#include "key.hpp"
#include "record_csv.hpp"
#include "record_input.hpp"
#include "regtune/error.hpp"
#include "size_arguments.hpp"
#include "store.hpp"
#include "transfer.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

struct NamedFormat {
  const char* name;
  ExportFormat format;
  std::set<std::string> suffixes;
};

const std::vector<NamedFormat>& formats() {
  static const std::vector<NamedFormat> table{{"header", ExportFormat::header, {".h", ".hpp", ".cuh", ".hh"}},
                                              {"json", ExportFormat::json, {".json"}},
                                              {"cmake", ExportFormat::cmake, {".cmake"}},
                                              {"patch", ExportFormat::patch, {".patch", ".diff"}},
                                              {"sqlite", ExportFormat::sqlite, {".db", ".sqlite", ".sqlite3"}},
                                              {"t4", ExportFormat::t4, {}},
                                              {"kernel-tuner", ExportFormat::kernel_tuner, {}},
                                              {"csv", ExportFormat::csv, {".csv"}}};
  return table;
}

SizeWeight weight_of(const std::string& text) {
  const auto colon = text.rfind(':');
  double weight = -1;
  if (colon != std::string::npos && colon > 0) {
    try {
      std::size_t end = 0;
      weight = std::stod(text.substr(colon + 1), &end);
      if (end != text.size() - colon - 1) weight = -1;
    } catch (const std::exception&) {
      weight = -1;
    }
  }
  if (!(weight >= 0 && weight <= 1e9))
    throw Error(ErrorKind::usage, fmt::format("--weight {}: write NAME=VALUE:WEIGHT, --weight n=1<<20:3, say", text));
  std::vector<std::string> sizes;
  for (std::size_t at = 0; at < colon;) {
    const std::size_t end = std::min(text.find(',', at), colon);
    sizes.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return {sizes_from(sizes, "--weight"), weight};
}

// About every variant of a run, and not about the budget to take: also of a run without a verdict.
bool is_exchange(ExportFormat format) {
  return format == ExportFormat::t4 || format == ExportFormat::kernel_tuner || format == ExportFormat::csv;
}

bool is_wanted(const TuningRecord& run, const ExportRequest& request, const Sizes& sizes) {
  if (!is_exchange(request.format) && (!run.gpu || !run.verdict)) return false;
  if (request.gpu && (!run.gpu || gpu_model_key(*request.gpu) != gpu_model_key(run.gpu->id.name))) return false;
  if (!request.sizes.empty() && run.sizes != sizes) return false;
  return true;
}

struct StoredRuns {
  std::vector<TuningRecord> runs;  // finished, with a verdict; the newest first
  std::vector<std::int64_t> ids;
};

// Records that were named by their files count as stored; a cache file of its own has no ids here.
void add_recorded(StoredRuns& found, const std::string& file, const ExportRequest& request, const Sizes& sizes) {
  if (request.format == ExportFormat::sqlite)
    throw Error(ErrorKind::usage, fmt::format("{}: --format sqlite takes runs out of the cache; take it in by regtune "
                                              "import {} first",
                                              file, file));
  RecordFilter filter;
  filter.superseded = true;
  for (TuningRecord& run : records_named(file, filter).records)
    if (is_wanted(run, request, sizes)) found.runs.push_back(std::move(run));
}

StoredRuns stored_runs(Store& store, const std::vector<std::string>& named, const ExportRequest& request,
                       const Sizes& sizes) {
  std::vector<std::string> kernels = named;
  if (kernels.empty()) kernels.emplace_back();
  StoredRuns found;
  std::set<std::int64_t> seen;
  for (const std::string& kernel : kernels)
    for (const StoredRun& stored : store.list(kernel)) {
      std::optional<TuningRecord> run = seen.insert(stored.id).second ? store.load(stored.id) : std::nullopt;
      if (!run || !is_wanted(*run, request, sizes)) continue;
      found.runs.push_back(std::move(*run));
      found.ids.push_back(stored.id);
    }
  return found;
}

// What is found under all the names of the request: kernels of the cache, and files.
StoredRuns requested_runs(Store* store, const ExportRequest& request) {
  const Sizes sizes = sizes_from(request.sizes, "--set");
  std::vector<std::string> kernels;
  StoredRuns found;
  for (const std::string& name : request.kernels)
    if (names_a_file(name))
      add_recorded(found, name, request, sizes);
    else
      kernels.push_back(name);
  if (!store || (kernels.empty() && !request.kernels.empty())) return found;
  StoredRuns of_cache = stored_runs(*store, kernels, request, sizes);
  std::move(of_cache.runs.begin(), of_cache.runs.end(), std::back_inserter(found.runs));
  found.ids = std::move(of_cache.ids);
  return found;
}

// The formats of other tuners are about one run each: of a kernel, its sizes and a GPU the newest.
std::string exchange_text(std::vector<TuningRecord> runs, const ExportRequest& request) {
  if (request.format == ExportFormat::csv) return csv_text(runs);
  std::set<std::string> seen;
  std::erase_if(runs, [&](const TuningRecord& run) {
    const std::string gpu = run.gpu ? gpu_model_key(run.gpu->id.name) : run.architecture;
    return !seen.insert(FieldHash().add("kernel", run.kernel).add("sizes", hash_of(run.sizes)).add("gpu", gpu).hex())
                .second;
  });
  const char* name = request.format == ExportFormat::t4 ? "t4" : "kernel-tuner";
  if (runs.size() > 1) {
    std::string which;
    for (const TuningRecord& run : runs)
      which += fmt::format("\n  {} with {} on {}", run.signature, spell_sizes(run.sizes),
                           run.gpu ? run.gpu->id.name : run.architecture);
    throw Error(
        ErrorKind::usage,
        fmt::format("--format {} holds one run, and there are {}: name the kernel, --set its sizes and --gpu the "
                    "GPU:{}",
                    name, runs.size(), which));
  }
  return request.format == ExportFormat::t4 ? t4_text(runs.front()) : kernel_tuner_text(runs.front());
}

void write_file(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  if (!out.flush())
    throw Error(
        ErrorKind::usage,
        fmt::format("-o {}: cannot be written; is there such a folder, and may you write in it?", file.string()));
}

std::string nothing_found(Store* store, const fs::path& cache, const ExportRequest& request) {
  std::string text =
      fmt::format("{}: nothing is stored for {}{}", cache.string(),
                  request.kernels.empty() ? "any kernel" : fmt::format("{}", fmt::join(request.kernels, ", ")),
                  request.gpu ? " on " + *request.gpu : "");
  if (!store) return text;
  for (const StoredRun& run : store->list())
    text += fmt::format("\n  stored: {} with {}", run.signature, spell_sizes(run.sizes));
  return text;
}

ExportText text_of(const ExportedKernels& exported, const ExportRequest& request) {
  switch (request.format) {
    case ExportFormat::header:
      return header_text(exported);
    case ExportFormat::cmake:
      return cmake_text(exported);
    case ExportFormat::patch:
      return patch_text(exported, request.kernels, request.include_folders);
    case ExportFormat::json:
    case ExportFormat::sqlite:
    case ExportFormat::t4:
    case ExportFormat::kernel_tuner:
    case ExportFormat::csv:
      break;
  }
  return {export_json(exported).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n", {}};
}

}  // namespace

std::optional<ExportFormat> format_of_file(const fs::path& file) {
  for (const NamedFormat& one : formats())
    if (one.suffixes.contains(file.extension().string())) return one.format;
  return {};
}

std::optional<ExportFormat> export_format_from_string(const std::string& name) {
  for (const NamedFormat& one : formats())
    if (name == one.name) return one.format;
  return {};
}

Exported export_budgets(const ExportRequest& request) {
  std::vector<SizeWeight> weights;
  for (const std::string& text : request.weights) weights.push_back(weight_of(text));
  const fs::path cache = request.cache ? *request.cache : default_cache_path();
  // Whoever names files alone has nothing to do with a cache.
  const bool files_alone =
      !request.kernels.empty() && std::all_of(request.kernels.begin(), request.kernels.end(), names_a_file);
  std::optional<Store> store;
  if (!files_alone) store = Store::open_existing(cache);
  StoredRuns found = requested_runs(store ? &*store : nullptr, request);
  if (found.runs.empty()) return {"", {nothing_found(store ? &*store : nullptr, cache, request)}, false};
  if (request.format == ExportFormat::sqlite) {
    // Every run goes in: a look-up chooses by sizes and GPU itself.
    export_runs(cache, {found.ids.rbegin(), found.ids.rend()}, request.file.value());
    return {"", {fmt::format("{}: {} runs", request.file->string(), found.ids.size())}};
  }

  Exported result;
  if (is_exchange(request.format)) {
    result.text = exchange_text(std::move(found.runs), request);
  } else {
    const ExportedKernels exported = exported_kernels(std::move(found.runs), weights);
    ExportText made = text_of(exported, request);
    result = {std::move(made.text), exported.notes};
    result.notes.insert(result.notes.end(), made.notes.begin(), made.notes.end());
  }
  if (!request.file) return result;
  write_file(*request.file, result.text);
  result.text.clear();
  return result;
}

}  // namespace regtune
