#include "salvage.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <fstream>
#include <set>

#include "answer.hpp"
#include "answer_rows.hpp"
#include "key.hpp"
#include "regtune/error.hpp"
#include "run_rows.hpp"
#include "schema.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

// Held by one process at a time for one folder; goes with the process, and leaves no file behind.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder) : handle_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (handle_ >= 0) flock(handle_, LOCK_EX);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock() {
    if (handle_ >= 0) close(handle_);
  }

 private:
  int handle_;
};

// Rows of a table from both ends up to where SQLite can read no further.
std::set<std::int64_t> readable_runs(Database& damaged) {
  std::set<std::int64_t> runs;
  for (const char* order : {"", " ORDER BY id DESC"}) {
    try {
      Statement select(damaged, std::string("SELECT id FROM tuning_run NOT INDEXED WHERE state = 'finished'") + order);
      while (select.step()) runs.insert(select.integer(0));
    } catch (const Error&) {
      // What came before stays.
    }
  }
  return runs;
}

// The run, if what it says now is what its answer said when it was written.
std::optional<TuningRecord> sound_run(Database& damaged, std::int64_t run) {
  try {
    Statement select(damaged, "SELECT checksum, finish_order FROM answer WHERE run_id = ?");
    if (!select.bind(run).step()) return std::nullopt;
    std::optional<TuningRecord> record = read_run(damaged, run);
    std::optional<TunedPolicy> answer = record ? answer_of(*record) : std::nullopt;
    if (!answer) return std::nullopt;
    answer->run = run;
    answer->finish_order = select.integer(1);
    return checksum_of(*answer) == select.text(0) ? std::move(record) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void copy_quarantine(Database& damaged, Database& fresh) {
  try {
    Statement select(damaged,
                     "SELECT launch_key, code_identity, kernel, gpu_model, driver_version, reason, since FROM "
                     "quarantine");
    while (select.step()) {
      const auto model = select.is_null(3) ? std::nullopt : std::optional(select.text(3));
      Statement(fresh, "INSERT OR REPLACE INTO quarantine VALUES (?, ?, ?, ?, ?, ?, ?)")
          .run(select.text(0), select.text(1), select.text(2), model, select.text(4), select.text(5), select.text(6));
    }
  } catch (const Error&) {
    // A code that is launched once more costs a fault at the most.
  }
}

struct Salvaged {
  std::size_t runs = 0;
  std::size_t lost = 0;
};

Salvaged copy_what_can_be_read(const fs::path& from, const fs::path& to) {
  Database fresh = Database::open(to, Database::Mode::read_write_create);
  bring_forward(fresh);
  Salvaged salvaged;
  try {
    Database damaged = Database::open(from, Database::Mode::read_only);
    Transaction transaction(fresh);
    std::int64_t order = 0;
    std::set<std::string> names;
    for (const std::int64_t run : readable_runs(damaged)) {
      const std::optional<TuningRecord> record = sound_run(damaged, run);
      ++(record ? salvaged.runs : salvaged.lost);
      if (!record) continue;
      write_finished_run(fresh, 0, *record, ++order);
      names.insert(bare_kernel_name(record->signature.empty() ? record->kernel : record->signature));
    }
    for (const std::string& name : names) seal_answers(fresh, name);
    copy_quarantine(damaged, fresh);
    transaction.commit();
  } catch (const Error&) {
    return {};  // not even its first page can be read
  }
  return salvaged;
}

fs::path free_name_beside(const fs::path& file) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> stamp{};
  std::strftime(stamp.data(), stamp.size(), "%Y%m%dT%H%M%SZ", &utc);
  fs::path name = file;
  name += std::string(".damaged-") + stamp.data();
  for (int copy = 2; fs::exists(name); ++copy) {
    name = file;
    name += std::string(".damaged-") + stamp.data() + "-" + std::to_string(copy);
  }
  return name;
}

void rename_with_log(const fs::path& from, const fs::path& to) {
  fs::rename(from, to);
  std::error_code ignored;
  for (const char* ending : {"-wal", "-journal"}) {
    const std::string log = from.string() + ending;
    if (fs::file_size(log, ignored) == 0)
      fs::remove(log, ignored);
    else
      fs::rename(log, to.string() + ending, ignored);
  }
  fs::remove(from.string() + "-shm", ignored);
}

ino_t inode_of(const fs::path& file) {
  struct stat status {};
  return stat(file.c_str(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

bool bears_our_mark(const fs::path& file) {
  // SQLite keeps application_id at offset 68 of the file, in big-endian order.
  std::ifstream in(file, std::ios::binary);
  std::array<char, 72> head{};
  if (!in.read(head.data(), head.size())) return false;
  return std::string_view(head.data() + 68, 4) == "regN";
}

std::string set_aside_and_salvage(const fs::path& file) {
  const ino_t found_damaged = inode_of(file);
  const FolderLock lock(file.has_parent_path() ? file.parent_path() : ".");
  if (inode_of(file) != found_damaged) return "cache " + file.string() + " was mended by another process just now";
  fs::path fresh = file;
  fresh += ".salvaged-" + std::to_string(getpid());
  const fs::path aside = free_name_beside(file);
  try {
    fs::remove(fresh);
    const Salvaged salvaged = copy_what_can_be_read(file, fresh);
    rename_with_log(file, aside);
    fs::rename(fresh, file);
    std::string said = "cache " + file.string() + " is damaged: it was set aside as " + aside.string() + "; " +
                       std::to_string(salvaged.runs) + " finished runs were salvaged into a new one";
    if (salvaged.lost > 0) said += ", " + std::to_string(salvaged.lost) + " were not readable";
    return said;
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    fs::remove(fresh, ignored);
    throw Error(ErrorKind::cache_read_only, "cache " + file.string() + " is damaged, and could not be set aside (" +
                                                error.code().message() +
                                                "): move it away, or name another file with --cache FILE");
  }
}

}  // namespace regtune
