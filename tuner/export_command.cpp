#include "export_command.hpp"

#include <fmt/format.h>

#include <fstream>
#include <set>
#include <utility>

#include "export_json.hpp"
#include "export_patch.hpp"
#include "export_text.hpp"
#include "exported_budget.hpp"
#include "key.hpp"
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
                                              {"sqlite", ExportFormat::sqlite, {".db", ".sqlite", ".sqlite3"}}};
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

bool is_wanted(const TuningRecord& run, const ExportRequest& request, const Sizes& sizes) {
  if (!run.gpu || !run.verdict) return false;
  if (request.gpu && gpu_model_key(*request.gpu) != gpu_model_key(run.gpu->id.name)) return false;
  if (!request.sizes.empty() && run.sizes != sizes) return false;
  return true;
}

struct StoredRuns {
  std::vector<TuningRecord> runs;  // finished, with a verdict; the newest first
  std::vector<std::int64_t> ids;
};

StoredRuns stored_runs(Store& store, const ExportRequest& request) {
  const Sizes sizes = sizes_from(request.sizes, "--set");
  std::vector<std::string> kernels = request.kernels;
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
  std::optional<Store> store = Store::open_existing(cache);
  StoredRuns found;
  if (store) found = stored_runs(*store, request);
  if (found.runs.empty()) return {"", {nothing_found(store ? &*store : nullptr, cache, request)}, false};
  if (request.format == ExportFormat::sqlite) {
    // Every run goes in: a look-up chooses by sizes and GPU itself.
    export_runs(cache, {found.ids.rbegin(), found.ids.rend()}, request.file.value());
    return {"", {fmt::format("{}: {} runs", request.file->string(), found.ids.size())}};
  }

  const ExportedKernels exported = exported_kernels(std::move(found.runs), weights);
  ExportText made = text_of(exported, request);
  Exported result{std::move(made.text), exported.notes};
  result.notes.insert(result.notes.end(), made.notes.begin(), made.notes.end());
  if (!request.file) return result;
  write_file(*request.file, result.text);
  result.text.clear();
  return result;
}

}  // namespace regtune
