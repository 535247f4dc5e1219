#include "file_system.hpp"

#include <gtest/gtest.h>

#include "store.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

std::string journal_of(const std::filesystem::path& file) {
  Database database = Database::open(file, Database::Mode::read_only);
  Statement mode(database, "PRAGMA journal_mode");
  return mode.step() ? mode.text(0) : "";
}

TEST(FileSystem, TellsSharedOnesByTheirType) {
  for (const std::uint32_t shared : {0x6969u, 0xff534d42u, 0xfe534d42u, 0x65735546u, 0x0bd00bd0u, 0x01021997u})
    EXPECT_TRUE(is_network_file_system(shared)) << std::hex << shared;
  for (const std::uint32_t local : {0xef53u, 0x01021994u, 0x794c7630u, 0x58465342u, 0x9123683eu, 0x2fc12fc1u, 0u})
    EXPECT_FALSE(is_network_file_system(local)) << std::hex << local;
}

TEST(FileSystem, AFileThatIsNotThereLiesWhereItsFolderLies) {
  EXPECT_FALSE(lies_on_network_file_system("/proc/none"));
  EXPECT_FALSE(lies_on_network_file_system("/nowhere/at/all")) << "what is not known counts as local";
}

TEST(FileSystem, OfTheCacheDecidesItsJournal) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "cache.db";
  if (lies_on_network_file_system(file)) GTEST_SKIP() << "the temporary folder is shared between machines";
  Store::open(file);
  EXPECT_EQ(journal_of(file), "wal");
  Database::open(file, Database::Mode::read_write_create).use_journal(Database::Journal::rollback);
  EXPECT_EQ(journal_of(file), "delete") << "as on a shared one";
  Store::open(file);
  EXPECT_EQ(journal_of(file), "wal") << "a file that came from a shared one";
}

}  // namespace
}  // namespace regtune
