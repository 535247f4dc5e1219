#include "salvage.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "regtune/error.hpp"
#include "regtune/lookup.hpp"
#include "temporary_folder.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

class Salvage : public testing::Test {
 protected:
  fs::path file() const { return folder_.path() / "cache.db"; }
  void fill(int runs) const {
    {
      Store store = Store::open(file());
      for (int n = 1; n <= runs; ++n) {
        TunedAs as;
        as.sizes = {{"n", n}};
        as.best = RegisterCap{24 + n};
        store_tuned(store, as);
      }
      store.keep_copy_bandwidth(*tuned_record({}).gpu, 4000);
      TuningRecord faulty = tuned_record({});
      faulty.trials[1].outcome = Faulted{"illegal address"};
      store.set_outcome(store.begin(faulty), faulty.trials[1]);
    }
    Database::open(file(), Database::Mode::read_write_create).execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  void overwrite(std::uintmax_t at, const std::string& bytes) const {
    std::fstream out(file(), std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(at));
    out << bytes;
  }
  // The files beside the cache that it was set aside as.
  std::vector<fs::path> set_aside() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      if (entry.path().string().find(".damaged-") != std::string::npos) found.push_back(entry.path());
    return found;
  }
  TemporaryFolder folder_;
};

TEST_F(Salvage, ADamagedFileIsSetAsideAndItsRunsAreSaved) {
  fill(40);
  const auto bytes = fs::file_size(file());
  // A page in the middle: some runs are gone with it.
  overwrite(bytes / 2 / 4096 * 4096, std::string(4096, '\x55'));
  Store store = Store::open(file());
  EXPECT_NE(store.mended().find("was set aside as " + file().string() + ".damaged-"), std::string::npos)
      << store.mended();
  ASSERT_EQ(set_aside().size(), 1u);
  EXPECT_EQ(fs::file_size(set_aside()[0]), bytes);
  const auto saved = store.list("sgemm");
  EXPECT_GT(saved.size(), 5u);
  CacheOptions options;
  options.file = file();
  options.system_files.emplace();
  const Cache cache(options);
  for (const StoredRun& run : saved) {
    const Answer answer = cache.find({"sgemm", run.sizes}, h200);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer.match, Match::exact);
    EXPECT_EQ(answer->best.policy, RegisterPolicy(RegisterCap{24 + static_cast<int>(run.sizes.at("n"))}));
  }
  EXPECT_TRUE(cache.problems().empty());
  EXPECT_TRUE(Store::open(file()).mended().empty()) << "once";
  store_tuned(store, {});
}

TEST_F(Salvage, TheCodesInQuarantineStayThere) {
  fill(3);
  overwrite(fs::file_size(file()) - 4096, std::string(4096, '\x55'));
  Store store = Store::open(file());
  if (store.mended().empty()) GTEST_SKIP() << "the last page was free";
  EXPECT_EQ(store.quarantine(tuned_record({})).size(), 1u);
}

TEST_F(Salvage, AFileCutOffInTheMiddleIsSetAside) {
  fill(40);
  fs::resize_file(file(), fs::file_size(file()) / 2);
  Store store = Store::open(file());
  EXPECT_NE(store.mended(), "");
  EXPECT_EQ(set_aside().size(), 1u);
  store_tuned(store, {});
}

TEST_F(Salvage, AFileWhoseFirstPageIsGoneButForItsMarkIsSetAside) {
  fill(3);
  overwrite(0, std::string(60, 'x'));
  overwrite(100, std::string(3000, 'x'));
  Store store = Store::open(file());
  EXPECT_NE(store.mended().find("0 finished runs"), std::string::npos) << store.mended();
  EXPECT_EQ(set_aside().size(), 1u);
}

TEST_F(Salvage, WhatIsNotOursIsLeftAlone) {
  const std::string notes = std::string(2000, 'n');
  folder_.write("cache.db", notes);
  EXPECT_THROW(Store::open(file()), Error);
  EXPECT_TRUE(set_aside().empty());
  std::ifstream in(file());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), notes);
}

TEST_F(Salvage, ARunThatNoLongerSaysWhatItsAnswerSaidIsNotSaved) {
  fill(3);
  Database::open(file(), Database::Mode::read_write_create)
      .execute("UPDATE trial SET policy_first = 99 WHERE policy_first = 26; PRAGMA wal_checkpoint(TRUNCATE)");
  const std::string said = set_aside_and_salvage(file());
  EXPECT_NE(said.find("2 finished runs were salvaged into a new one, 1 were not readable"), std::string::npos) << said;
  EXPECT_EQ(Store::open(file()).list().size(), 2u);
}

TEST_F(Salvage, ALookUpMovesNothing) {
  fill(40);
  overwrite(fs::file_size(file()) / 2 / 4096 * 4096, std::string(4096, '\x55'));
  CacheOptions options;
  options.file = file();
  options.system_files.emplace();
  const Cache cache(options);
  for (int n = 1; n <= 40; ++n) {
    const Answer answer = cache.find({"sgemm", {{"n", n}}}, h200);
    EXPECT_TRUE(!answer || answer->best.policy == RegisterPolicy(RegisterCap{24 + n})) << n;
  }
  EXPECT_TRUE(set_aside().empty());
}

}  // namespace
}  // namespace regtune
