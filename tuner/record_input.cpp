#include "record_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "cache_path.hpp"
#include "exported_budget.hpp"
#include "key.hpp"
#include "record_json.hpp"
#include "regtune/error.hpp"
#include "store.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

bool is_cache(const fs::path& file) {
  constexpr std::string_view kMagic = "SQLite format 3";
  std::ifstream in(file, std::ios::binary);
  std::string start(kMagic.size(), '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  return in && start == kMagic;
}

bool is_wanted(const TuningRecord& record, const RecordFilter& filter) {
  if (!filter.sizes.empty() && record.sizes != filter.sizes) return false;
  if (!filter.gpu) return true;
  return record.gpu && gpu_model_key(record.gpu->id.name) == gpu_model_key(*filter.gpu);
}

// Within a file of records the kernel is any; a cache is asked for one by name.
void keep_wanted(std::vector<TuningRecord>& records, const RecordFilter& filter) {
  std::erase_if(records, [&](const TuningRecord& record) { return !is_wanted(record, filter); });
  if (filter.superseded) return;
  std::set<std::string> seen;
  std::erase_if(records, [&](const TuningRecord& record) {
    FieldHash hash;
    hash.add("kernel", record.kernel).add("sizes", hash_of(record.sizes)).add("compiler", record.compiler);
    hash.add("gpu", record.gpu ? gpu_model_key(record.gpu->id.name) : record.architecture);
    hash.add("driver", record.gpu ? record.gpu->driver_version : "");
    return !seen.insert(hash.hex()).second;
  });
}

// One record, a list of them, or a document of another command that holds a list: of a study, or of a file's kernels.
std::vector<const Json*> documents_in(const Json& json) {
  const Json* list = json.is_array() ? &json : nullptr;
  for (const char* key : {"kernels", "records", "studies"})
    if (!list && json.is_object() && json.contains(key) && json[key].is_array()) list = &json[key];
  if (!list) return {&json};
  std::vector<const Json*> documents;
  for (const Json& one : *list) documents.push_back(one.is_object() && one.contains("record") ? &one["record"] : &one);
  return documents;
}

std::vector<TuningRecord> records_of_json(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw Error(ErrorKind::file_not_found,
                file.string() + ": cannot be read; is the path right, and may you read the file?");
  const Json json = Json::parse(in, nullptr, false);
  if (json.is_discarded())
    throw Error(ErrorKind::bad_description,
                file.string() + ": neither a cache nor JSON; name a cache, or what --record FILE.json wrote");
  std::vector<TuningRecord> records;
  for (const Json* one : documents_in(json)) records.push_back(record_from_json(*one, file.string()));
  return records;
}

std::vector<TuningRecord> records_of_cache(const fs::path& file, const std::string& kernel) {
  std::vector<TuningRecord> records;
  std::optional<Store> store = Store::open_existing(file);
  if (!store) return records;
  for (const StoredRun& stored : store->list(kernel))
    if (std::optional<TuningRecord> record = store->load(stored.id); record && !record->trials.empty())
      records.push_back(std::move(*record));
  return records;
}

std::string stored_there(const fs::path& file) {
  constexpr std::size_t kMostTold = 10;
  std::optional<Store> store = Store::open_existing(file);
  if (!store) return "; run regtune on a kernel first";
  std::string text;
  std::size_t told = 0;
  for (const StoredRun& run : store->list())
    if (told++ < kMostTold)
      text += fmt::format("\n  stored: {} with {} on {}", run.signature, spell_sizes(run.sizes), run.gpu.name);
  if (told > kMostTold) text += fmt::format("\n  ... and {} more", told - kMostTold);
  return text;
}

NamedRecords from_cache(const fs::path& file, const std::string& kernel, const RecordFilter& filter) {
  NamedRecords found{"cache " + file.string(), records_of_cache(file, kernel), ""};
  keep_wanted(found.records, filter);
  if (found.records.empty())
    found.miss =
        fmt::format("{}: nothing is stored for {}{}{}{}", file.string(), kernel.empty() ? "any kernel" : kernel,
                    filter.sizes.empty() ? "" : " with " + spell_sizes(filter.sizes),
                    filter.gpu ? " on " + *filter.gpu : "", stored_there(file));
  return found;
}

}  // namespace

bool names_a_file(const std::string& subject) {
  if (is_file(subject)) return true;
  const std::string suffix = fs::path(subject).extension().string();
  return subject.find('/') != std::string::npos || suffix == ".json" || suffix == ".db";
}

NamedRecords records_named(const std::string& subject, const RecordFilter& filter) {
  if (is_file(subject)) {
    if (is_cache(subject)) return from_cache(subject, "", filter);
    NamedRecords found{subject, records_of_json(subject), ""};
    keep_wanted(found.records, filter);
    if (found.records.empty())
      found.miss =
          subject + ": holds no run of the sizes and GPU that were asked for; leave out --set and --gpu to see all";
    return found;
  }
  // A colon may be part of a kernel's name: the file is what exists.
  for (std::size_t colon = subject.find(':'); colon != std::string::npos; colon = subject.find(':', colon + 1)) {
    const std::string file = subject.substr(0, colon);
    if (is_file(file) && is_cache(file)) return from_cache(file, subject.substr(colon + 1), filter);
  }
  if (names_a_file(subject))
    throw Error(ErrorKind::file_not_found,
                subject + ": cannot be read; name a kernel of the cache, or what --record FILE.json wrote");
  return from_cache(filter.cache ? *filter.cache : default_cache_path(), subject, filter);
}

}  // namespace regtune
