#include "sqlite.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <functional>
#include <limits>

#include "regtune/error.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;
using Mode = Database::Mode;

class Sqlite : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "regtune_sqlite_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path file() const { return folder_ / "cache.db"; }

  ErrorKind kind_of_opening(const fs::path& path, Mode mode, std::string_view said) {
    try {
      Database::open(path, mode);
    } catch (const Error& error) {
      EXPECT_NE(std::string_view(error.what()).find(said), std::string_view::npos) << error.what();
      EXPECT_NE(std::string_view(error.what()).find(path.filename().string()), std::string_view::npos) << error.what();
      return error.kind();
    }
    ADD_FAILURE() << path << " was opened";
    return ErrorKind::usage;
  }
  fs::path folder_;
};

TEST_F(Sqlite, KeepsEveryKindOfValue) {
  Database database = Database::open(file(), Mode::read_write_create);
  database.execute("CREATE TABLE t (a, b, c, d, e)");
  const std::string text("zero \0 and \xff", 12);
  Statement(database, "INSERT INTO t VALUES (?, ?, ?, ?, ?)")
      .run(std::numeric_limits<std::int64_t>::min(), 0.1, text, Statement::Blob{text}, std::nullopt);
  Statement(database, "INSERT INTO t VALUES (?, ?, ?, ?, ?)")
      .run(true, std::nan(""), "", Statement::Blob{{}}, std::optional<int>(7));
  Statement select(database, "SELECT * FROM t ORDER BY rowid");
  ASSERT_TRUE(select.step());
  EXPECT_EQ(select.integer(0), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(select.real(1), 0.1);
  EXPECT_EQ(select.text(2), text);
  EXPECT_EQ(select.text(3), text);
  EXPECT_TRUE(select.is_null(4));
  ASSERT_TRUE(select.step());
  EXPECT_EQ(select.integer(0), 1);
  EXPECT_TRUE(std::isnan(select.real(1)));
  EXPECT_FALSE(select.is_null(2));
  EXPECT_FALSE(select.is_null(3));
  EXPECT_EQ(select.integer(4), 7);
  EXPECT_FALSE(select.step());
}

TEST_F(Sqlite, UndoesATransactionThatIsNotCommitted) {
  Database database = Database::open(file(), Mode::read_write_create);
  database.execute("CREATE TABLE t (a)");
  try {
    Transaction transaction(database);
    database.execute("INSERT INTO t VALUES (1)");
    throw std::runtime_error("something else failed");
  } catch (const std::runtime_error&) {
  }
  {
    Transaction transaction(database);
    database.execute("INSERT INTO t VALUES (2)");
    transaction.commit();
  }
  Statement select(database, "SELECT group_concat(a) FROM t");
  ASSERT_TRUE(select.step());
  EXPECT_EQ(select.text(0), "2");
}

TEST_F(Sqlite, RefusesWhatIsNoDatabase) {
  EXPECT_EQ(kind_of_opening(folder_, Mode::read_write_create, "is a folder"), ErrorKind::cache_unusable);
  EXPECT_EQ(kind_of_opening("/dev/null", Mode::read_write_create, "not a regular file"), ErrorKind::cache_unusable);
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(kind_of_opening(folder_ / "pipe", Mode::read_only, "not a regular file"), ErrorKind::cache_unusable);
  EXPECT_EQ(kind_of_opening(file(), Mode::read_only, "does not exist"), ErrorKind::cache_unusable);
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(Sqlite, RefusesTextOfAnyLengthAndLeavesItAlone) {
  for (const std::size_t size : {1u, 15u, 99u, 100u, 511u, 512u, 5000u}) {
    const std::string content(size, 'x');
    std::ofstream(file(), std::ios::trunc) << content;
    for (const Mode mode : {Mode::read_only, Mode::read_write_create}) {
      EXPECT_EQ(kind_of_opening(file(), mode, "is not a regtune cache"), ErrorKind::cache_unusable) << size;
    }
    std::ifstream in(file());
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), content);
  }
}

TEST_F(Sqlite, ReportsADamagedFileAsUnusable) {
  {
    Database database = Database::open(file(), Mode::read_write_create);
    database.execute("CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(100000))");
  }
  {
    std::fstream out(file(), std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(100);
    out << std::string(4000, '\xa5');
  }
  EXPECT_EQ(kind_of_opening(file(), Mode::read_only, "--cache FILE"), ErrorKind::cache_unusable);
}

TEST_F(Sqlite, ReadOnlyRefusesToWrite) {
  Database::open(file(), Mode::read_write_create).execute("CREATE TABLE t (a)");
  Database database = Database::open(file(), Mode::read_only);
  try {
    database.execute("INSERT INTO t VALUES (1)");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::cache_read_only);
    EXPECT_NE(std::string_view(error.what()).find("--cache FILE"), std::string_view::npos);
  }
}

TEST_F(Sqlite, TakesNamesThatMeanSomethingToSqlite) {
  for (const char* name : {":memory:", "file:x?mode=memory", "a%20b#c?d.db"}) {
    const fs::path path = folder_ / name;
    Database::open(path, Mode::read_write_create).execute("CREATE TABLE t (a)");
    EXPECT_TRUE(fs::is_regular_file(path)) << path;
  }
}

// Runs `body` in a child without root's power to ignore permission bits; true when it returned true.
bool as_nobody(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    const bool ready = geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0);
    bool good = false;
    try {
      good = ready && body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool is_read_only_error(const fs::path& path) {
  try {
    Database database = Database::open(path, Mode::read_write_create);
    database.use_journal(Database::Journal::write_ahead_log);
    Transaction transaction(database);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.kind() == ErrorKind::cache_read_only;
  }
  return false;
}

TEST_F(Sqlite, SaysReadOnlyForFilesAndFoldersWithoutPermission) {
  Database::open(file(), Mode::read_write_create).execute("CREATE TABLE t (a)");
  fs::permissions(folder_, fs::perms(0755));
  fs::permissions(file(), fs::perms(0444));
  EXPECT_TRUE(as_nobody([&] { return is_read_only_error(file()); }));
  fs::permissions(file(), fs::perms(0666));
  fs::permissions(folder_, fs::perms(0555));
  EXPECT_TRUE(as_nobody([&] { return is_read_only_error(folder_ / "new.db"); }));
  EXPECT_TRUE(as_nobody([&] { return is_read_only_error(file()); }));
  fs::permissions(folder_, fs::perms(0755));
}

TEST_F(Sqlite, SaysUnusableForAFileThatCannotBeRead) {
  Database::open(file(), Mode::read_write_create).execute("CREATE TABLE t (a)");
  fs::permissions(folder_, fs::perms(0755));
  fs::permissions(file(), fs::perms(0));
  EXPECT_TRUE(as_nobody([&] {
    return kind_of_opening(file(), Mode::read_only, "cannot be read") == ErrorKind::cache_unusable && !HasFailure();
  }));
}

TEST_F(Sqlite, ReadsAWriteAheadLogFileInAFolderThatCannotBeWritten) {
  {
    Database database = Database::open(file(), Mode::read_write_create);
    database.use_journal(Database::Journal::write_ahead_log);
    database.execute("CREATE TABLE t (a); INSERT INTO t VALUES (42)");
  }
  ASSERT_FALSE(fs::exists(file().string() + "-wal"));
  fs::permissions(file(), fs::perms(0444));
  const auto reads = [&] {
    Database database = Database::open(file(), Mode::read_only);
    Statement select(database, "SELECT a FROM t");
    return select.step() && select.integer(0) == 42;
  };
  fs::permissions(folder_, fs::perms(0555));
  EXPECT_TRUE(as_nobody(reads));
  // A reader that may write in the folder leaves its empty log there.
  fs::permissions(folder_, fs::perms(0755));
  EXPECT_TRUE(reads());
  fs::permissions(folder_, fs::perms(0555));
  EXPECT_TRUE(as_nobody(reads));
  fs::permissions(folder_, fs::perms(0755));
}

TEST_F(Sqlite, LosesNothingThatWasCommittedWhenKilledInsideATransaction) {
  {
    Database database = Database::open(file(), Mode::read_write_create);
    database.use_journal(Database::Journal::write_ahead_log);
    database.execute("CREATE TABLE t (a)");
  }
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    Database database = Database::open(file(), Mode::read_write_create);
    {
      Transaction transaction(database);
      database.execute("INSERT INTO t VALUES ('kept')");
      transaction.commit();
    }
    Transaction transaction(database);
    Statement insert(database, "INSERT INTO t VALUES (?)");
    for (int row = 0; row < 20000; ++row) insert.run(std::string(500, 'x'));  // more than the page cache holds
    const bool told = write(ready[1], "x", 1) == 1;
    for (;;) pause();
    _exit(told ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  Database database = Database::open(file(), Mode::read_write_create);
  Statement rows(database, "SELECT count(*), max(a) FROM t");
  ASSERT_TRUE(rows.step());
  EXPECT_EQ(rows.integer(0), 1);
  EXPECT_EQ(rows.text(1), "kept");
  Statement integrity(database, "PRAGMA integrity_check");
  ASSERT_TRUE(integrity.step());
  EXPECT_EQ(integrity.text(0), "ok");
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace regtune
