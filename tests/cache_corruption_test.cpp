// A cache file with a place gone bad: whatever it still answers is what the whole file answers, or is a miss.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <random>

#include "regtune/lookup.hpp"
#include "temporary_folder.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

struct Asked {
  KernelKey key;
  GpuId gpu;
};

const GpuId kOther{"NVIDIA H100 NVL", 9, 0, 132};

void fill(const fs::path& file) {
  {
    Store store = Store::open(file);
    for (int kernel = 0; kernel < 4; ++kernel) {
      for (int n = 0; n < 6; ++n) {
        TunedAs as;
        as.kernel = "_Z1k" + std::to_string(kernel);
        as.signature = "k" + std::to_string(kernel) + "(float*)";
        as.sizes = {{"n", 1 << (10 + n)}, {"m", kernel + 1}};
        as.best = RegisterCap{24 + 8 * kernel + n};
        as.gpu = n == 5 ? kOther : h200;
        store_tuned(store, as);
      }
    }
  }
  Database::open(file, Database::Mode::read_write_create).use_journal(Database::Journal::rollback);
}

std::vector<Asked> questions() {
  std::vector<Asked> all;
  for (int kernel = 0; kernel < 5; ++kernel) {
    const std::string name = "k" + std::to_string(kernel);
    for (const GpuId& gpu : {h200, kOther}) {
      all.push_back({{name, {{"n", 1024}, {"m", kernel + 1}}}, gpu});
      all.push_back({{name, {{"n", 5000}, {"m", kernel + 1}}}, gpu});
    }
    all.push_back({{"_Z1k" + std::to_string(kernel), {{"n", 1 << 15}, {"m", kernel + 1}}}, h200});
  }
  return all;
}

std::string said(const Answer& answer) {
  if (!answer) return "miss";
  return answer->kernel + " " + answer->best.option + " " + answer->in_source.attribute + " " +
         std::to_string(static_cast<int>(answer.match)) + " " + std::to_string(answer.size_distance) + " " +
         answer->signature + " " + answer->verdict + " " + answer->gpu.name + " " + answer->driver + " " +
         std::to_string(answer->best.speedup) + " " + std::to_string(answer->finish_order);
}

std::vector<std::string> answers(const fs::path& file) {
  CacheOptions options;
  options.file = file;
  options.system_files.emplace();
  const Cache cache(options);
  std::vector<std::string> all;
  for (const Asked& asked : questions()) all.push_back(said(cache.find(asked.key, asked.gpu)));
  return all;
}

// All thousand with REGTUNE_SOAK=full: by hand, not in CI.
int places() {
  const char* soak = std::getenv("REGTUNE_SOAK");
  return soak && std::string_view(soak) == "full" ? 1000 : 200;
}

TEST(CacheCorruption, OfAThousandPlacesLeavesTrueAnswersOrMisses) {
  const TemporaryFolder folder;
  const fs::path whole = folder.path() / "whole.db";
  const fs::path file = folder.path() / "cache.db";
  fill(whole);
  const std::vector<std::string> truth = answers(whole);
  ASSERT_EQ(std::count(truth.begin(), truth.end(), "miss"), 5) << "of the kernel that is not there";
  std::ifstream in(whole, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::mt19937_64 random(20260102);
  int hits = 0;
  int misses = 0;
  for (int place = 0; place < places(); ++place) {
    std::string changed = bytes;
    // A bit, a byte, a run of bytes, or a page; the first page, which says how to read the others, more often than its
    // size would have it.
    const std::size_t at = random() % (place % 10 == 0 ? std::min<std::size_t>(4096, bytes.size()) : bytes.size());
    const std::array<std::size_t, 4> lengths{1, 1, 16, 4096};
    const std::size_t length = std::min(lengths[static_cast<std::size_t>(place) % 4], bytes.size() - at);
    if (place % 4 == 0)
      changed[at] = static_cast<char>(changed[at] ^ (1 << (random() % 8)));
    else
      for (std::size_t i = 0; i < length; ++i) changed[at + i] = static_cast<char>(random());
    std::ofstream(file, std::ios::binary | std::ios::trunc) << changed;
    const std::vector<std::string> found = answers(file);
    for (std::size_t i = 0; i < found.size(); ++i) {
      ++(found[i] == "miss" ? misses : hits);
      ASSERT_TRUE(found[i] == truth[i] || found[i] == "miss")
          << "place " << place << ", byte " << at << ": " << found[i] << " instead of " << truth[i];
    }
  }
  RecordProperty("hits", hits);
  EXPECT_GT(hits, misses) << "most places hurt few answers";
}

TEST(CacheCorruption, OfTheLogLosesTheLastChangesAtTheMost) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "cache.db";
  fill(file);
  Store store = Store::open(file);  // keeps the log
  TunedAs as;
  as.kernel = as.signature = "late";
  store_tuned(store, as);
  const fs::path log = file.string() + "-wal";
  ASSERT_GT(fs::file_size(log), 8192u);
  const std::vector<std::string> truth = answers(file);
  const fs::path copy = folder.path() / "copy.db";
  std::ifstream in(log, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::mt19937_64 random(7);
  for (int place = 0; place < places() / 4; ++place) {
    fs::copy_file(file, copy, fs::copy_options::overwrite_existing);
    std::string changed = bytes;
    changed[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    std::ofstream(copy.string() + "-wal", std::ios::binary | std::ios::trunc) << changed;
    fs::remove(copy.string() + "-shm");
    const std::vector<std::string> found = answers(copy);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_TRUE(found[i] == truth[i] || found[i] == "miss") << found[i];
  }
}

}  // namespace
}  // namespace regtune
