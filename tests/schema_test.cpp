// Whose file it is and of which version; and the files that released versions have left, which this one must read.
#include "schema.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "regtune/error.hpp"
#include "regtune/lookup.hpp"
#include "temporary_folder.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;
using Mode = Database::Mode;

const fs::path kCaches = fs::path(REGTUNE_SOURCE_FOLDER) / "tests" / "data" / "caches";

class Schema : public testing::Test {
 protected:
  fs::path file() const { return folder_.path() / "cache.db"; }
  void change(const std::string& sql) const { Database::open(file(), Mode::read_write_create).execute(sql.c_str()); }
  std::string refusal() const {
    try {
      Database database = Database::open(file(), Mode::read_only);
      schema_state(database);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  TemporaryFolder folder_;
};

TEST_F(Schema, IsOursWhenEveryTableIs) {
  Store::open(file());
  EXPECT_EQ(refusal(), "");
  change("ANALYZE");
  EXPECT_EQ(refusal(), "") << "SQLite's own tables do not count";
}

TEST_F(Schema, AFileWhoseTablesAreNotOursIsRefused) {
  for (const char* sql : {"CREATE TABLE theirs (a)", "CREATE VIEW v AS SELECT 1", "DROP INDEX answer_by_name",
                          "CREATE TRIGGER t AFTER INSERT ON answer BEGIN DELETE FROM answer; END",
                          "ALTER TABLE answer ADD COLUMN more TEXT", "DROP TABLE answer_generation",
                          "DROP TABLE answer_group; CREATE VIEW answer_group AS SELECT 'sgemm' AS kernel_name, 'x' AS "
                          "digest"}) {
    fs::remove(file());
    Store::open(file());
    change(sql);
    EXPECT_NE(refusal(), "") << sql;
    EXPECT_THROW(Store::open(file()), Error) << sql;
    CacheOptions options;
    options.file = file();
    options.system_files.emplace();
    EXPECT_EQ(Cache(options).problems().size(), 1u) << sql;
  }
}

// A version to come, as this one would see it: the steps are taken in order, all of them or none.
TEST_F(Schema, MigratesForwardInOneTransaction) {
  {
    Store store = Store::open(file());
    store_tuned(store, {});
  }
  constexpr std::array<Migration, 2> steps{{{1, "CREATE TABLE note (text TEXT); INSERT INTO note VALUES ('kept')"},
                                            {2, "ALTER TABLE note ADD COLUMN more TEXT"}}};
  Database database = Database::open(file(), Mode::read_write_create);
  migrate(database, steps, 3);
  EXPECT_EQ(database.user_version(), 3);
  Statement note(database, "SELECT text, more FROM note");
  ASSERT_TRUE(note.step());
  EXPECT_EQ(note.text(0), "kept");
  Statement runs(database, "SELECT count(*) FROM tuning_run");
  ASSERT_TRUE(runs.step());
  EXPECT_EQ(runs.integer(0), 1);
  migrate(database, steps, 3);  // nothing is left to do
  EXPECT_EQ(database.user_version(), 3);
  EXPECT_NE(refusal().find("newer"), std::string::npos) << refusal();
}

TEST_F(Schema, AMigrationThatFailsLeavesTheFileAsItWas) {
  Store::open(file());
  constexpr std::array<Migration, 2> steps{
      {{1, "CREATE TABLE note (text TEXT)"}, {2, "INSERT INTO nowhere VALUES (1)"}}};
  Database database = Database::open(file(), Mode::read_write_create);
  EXPECT_THROW(migrate(database, steps, 3), Error);
  EXPECT_EQ(database.user_version(), 1);
  EXPECT_EQ(refusal(), "");
  EXPECT_THROW(migrate(database, {}, 2), Error) << "there is no way";
}

TEST_F(Schema, ThereIsAStepFromEveryReleasedVersion) {
  ASSERT_EQ(migrations().size(), static_cast<std::size_t>(schema_version - 1));
  for (int version = 1; version < schema_version; ++version)
    EXPECT_EQ(migrations()[static_cast<std::size_t>(version - 1)].from, version);
  for (int version = 1; version <= schema_version; ++version)
    EXPECT_TRUE(fs::exists(kCaches / ("version_" + std::to_string(version) + ".db"))) << "commit one of each version";
}

// Version 1 is not released yet: when schema.sql changes, write its file anew with
//   unit_tests --gtest_also_run_disabled_tests --gtest_filter='Schema.DISABLED_WritesTheFileOfThisVersion'
TEST_F(Schema, ReadsTheFilesOfAllReleasedVersions) {
  for (int version = 1; version <= schema_version; ++version) {
    const fs::path committed = kCaches / ("version_" + std::to_string(version) + ".db");
    fs::copy_file(committed, file(), fs::copy_options::overwrite_existing);
    {
      Store store = Store::open(file());
      EXPECT_EQ(store.list().size(), 2u);
    }
    CacheOptions options;
    options.file = file();
    options.system_files.emplace();
    const Cache cache(options);
    const Answer answer = cache.find({"sgemm", {{"n", 1024}, {"m", 64}}}, h200);
    ASSERT_TRUE(answer) << committed << ": " << (cache.problems().empty() ? "" : cache.problems()[0]);
    EXPECT_EQ(answer.match, Match::exact);
    EXPECT_EQ(answer->best.policy, RegisterPolicy(RegisterCap{57}));
    EXPECT_EQ(cache.find({"transpose", {{"n", 4096}}}, h200)->best.attribute, "__launch_bounds__(128, 8)");
  }
}

TEST_F(Schema, DISABLED_WritesTheFileOfThisVersion) {
  {
    Store store = Store::open(file());
    TunedAs as;
    as.sizes = {{"n", 1024}, {"m", 64}};
    store_tuned(store, as);
    as = {};
    as.kernel = "_Z9transposePf";
    as.signature = "transpose(float*)";
    as.sizes = {{"n", 4096}};
    as.block = {128, 1, 1};
    as.best = as.in_source = LaunchBounds{128, 8};
    store_tuned(store, as);
  }
  // As a file that is shipped: without a log, which a read-only folder could not have, and without this machine.
  Database database = Database::open(file(), Mode::read_write_create);
  database.execute("UPDATE tuning_run SET process = ''");
  database.use_journal(Database::Journal::rollback);
  fs::create_directories(kCaches);
  fs::copy_file(file(), kCaches / ("version_" + std::to_string(schema_version) + ".db"),
                fs::copy_options::overwrite_existing);
}

}  // namespace
}  // namespace regtune
