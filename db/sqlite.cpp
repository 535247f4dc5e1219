#include "sqlite.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <random>
#include <thread>
#include <utility>

#include "regtune/error.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto longest_pause = 25ms;
// A cubin is a few MiB at the most, and the rest are lines of text.
constexpr int most_bytes_of_a_value = 256 << 20;
constexpr std::string_view another_file = "name another file with --cache FILE";

std::string file_of(sqlite3* handle) {
  const char* name = handle ? sqlite3_db_filename(handle, "main") : nullptr;
  return name && *name ? name : "(unnamed)";
}

bool is_write_denied(const fs::path& folder) {
  return access(folder.c_str(), W_OK) != 0 && errno != ENOENT;
}

[[noreturn]] void fail_read_only(const std::string& file) {
  throw Error(ErrorKind::cache_read_only, "cache " + file + " cannot be written: make the file and its folder " +
                                              "writable, or " + std::string(another_file));
}

// `code` is SQLite's result; the connection still holds its message and the system's error.
[[noreturn]] void fail(sqlite3* handle, int code, const std::string& file) {
  const std::string detail = handle ? sqlite3_errmsg(handle) : sqlite3_errstr(code);
  const std::string cache = "cache " + file;
  const auto unusable = [](const std::string& text) { return Error(ErrorKind::cache_unusable, text); };
  switch (code & 0xff) {
    case SQLITE_READONLY:
    case SQLITE_PERM:
      fail_read_only(file);
    case SQLITE_NOTADB:
      throw DamagedFile(cache + " is not a regtune cache (it is no SQLite database): " + std::string(another_file));
    case SQLITE_CORRUPT:
      throw DamagedFile(cache + " is damaged (" + detail + "): move it away, or " + std::string(another_file));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw unusable(cache + " is held by another process for too long: wait for it, or " + std::string(another_file));
    case SQLITE_FULL:
      throw unusable(cache + " cannot grow (the disk is full): make room, or " + std::string(another_file));
    case SQLITE_CANTOPEN:
      // SQLite tries again for reading, and then reports that second attempt: the folder tells more.
      if (is_write_denied(fs::path(file).parent_path())) fail_read_only(file);
      throw unusable(cache + " cannot be opened (" + detail + "): check the path, or " + std::string(another_file));
    case SQLITE_IOERR:
      throw unusable(cache + " cannot be read or written (" + detail + "): check the disk, or " +
                     std::string(another_file));
    default:
      throw unusable(cache + ": " + detail + "; move the file away, or " + std::string(another_file));
  }
}

void check(sqlite3* handle, int code) {
  if (code != SQLITE_OK) fail(handle, code, file_of(handle));
}

// A file: URI of an absolute path; the characters that a URI gives a meaning to are escaped.
std::string uri_of(const std::string& path, std::string_view query) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%') {
      uri += "%25";
    } else if (c == '?') {
      uri += "%3f";
    } else if (c == '#') {
      uri += "%23";
    } else {
      uri += c;
    }
  }
  return uri + "?" + std::string(query);
}

// What SQLite would open only to fail or hang later, and what it would overwrite: it takes a file of a few
// bytes for an empty database. The smallest real one has a page of 512 bytes.
void refuse_what_is_no_database(const fs::path& file, const fs::file_status& status) {
  if (!fs::exists(status)) return;
  if (fs::is_regular_file(status)) {
    std::error_code error;
    const auto bytes = fs::file_size(file, error);
    if (!error && bytes > 0 && bytes < 512) fail(nullptr, SQLITE_NOTADB, file.string());
    return;
  }
  const char* what = fs::is_directory(status) ? " is a folder" : " is not a regular file";
  throw Error(ErrorKind::cache_unusable, "cache " + file.string() + what + ": " + std::string(another_file));
}

}  // namespace

std::string sqlite_version() {
  return sqlite3_libversion();
}

void Database::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

// Pauses differ from process to process and from time to time, so that those who wait do not all come back at once, and
// stay short, so that nobody is passed over for long.
int Database::wait_for_the_others(void* waiting_of_the_connection, int pauses_so_far) {
  auto& waiting = *static_cast<Waiting*>(waiting_of_the_connection);
  const auto now = std::chrono::steady_clock::now();
  if (pauses_so_far == 0) waiting.deadline = now + waiting.patience;
  if (now >= waiting.deadline) return 0;
  thread_local std::minstd_rand random(static_cast<unsigned>(getpid()) ^
                                       static_cast<unsigned>(now.time_since_epoch().count()));
  const auto most = std::min<std::chrono::microseconds>(200us * (1 << std::min(pauses_so_far, 10)), longest_pause);
  std::uniform_int_distribution<std::int64_t> pause(most.count() / 4, most.count());
  std::this_thread::sleep_for(std::chrono::microseconds(pause(random)));
  return 1;
}

Database Database::connect(const std::string& name, Mode mode, bool immutable, std::chrono::milliseconds patience) {
  const int access = mode == Mode::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* raw = nullptr;
  const std::string target = immutable ? uri_of(name, "immutable=1") : name;
  const int code =
      sqlite3_open_v2(target.c_str(), &raw, access | SQLITE_OPEN_NOMUTEX | (immutable ? SQLITE_OPEN_URI : 0), nullptr);
  Database database(raw);
  if (code != SQLITE_OK && mode == Mode::read_only) {
    throw Error(ErrorKind::cache_unusable, "cache " + name + " cannot be read (" + sqlite3_errstr(code) +
                                               "): make it readable, or " + std::string(another_file));
  }
  if (code != SQLITE_OK) fail(raw, code, name);
  database.immutable_ = immutable;
  sqlite3_extended_result_codes(raw, 1);
  database.waiting_ = std::make_unique<Waiting>(Waiting{patience, {}});
  check(raw, sqlite3_busy_handler(raw, wait_for_the_others, database.waiting_.get()));
  // The file may come from anywhere: nothing in it may call functions, and a wrong cell is found out early.
  check(raw, sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr));
  check(raw, sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr));
  check(raw, sqlite3_db_config(raw, SQLITE_DBCONFIG_DQS_DML, 0, nullptr));
  check(raw, sqlite3_db_config(raw, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr));
  sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, most_bytes_of_a_value);
  // Not mapped into memory: a file that is cut off under a mapping kills the process.
  database.execute("PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON; PRAGMA mmap_size = 0");
  return database;
}

Database Database::open(const fs::path& file, Mode mode, std::chrono::milliseconds patience) {
  if (file.empty()) throw Error(ErrorKind::cache_unusable, "the cache has an empty name: " + std::string(another_file));
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  refuse_what_is_no_database(file, status);
  if (mode == Mode::read_only && !fs::exists(status)) {
    throw Error(ErrorKind::cache_unusable, "cache " + file.string() + " does not exist; check the path");
  }
  // Absolute, so that no name has a meaning of its own to SQLite (":memory:").
  const std::string name = fs::absolute(file).string();
  Database database = connect(name, mode, false, patience);
  const char* const look = "SELECT 1 FROM sqlite_schema";  // reads the file for the first time
  if (mode == Mode::read_only) {
    // A file with a write-ahead log needs a second file beside it, which a read-only folder cannot get. When
    // the log was written back, the file alone is whole and nobody can change it: SQLite's immutable mode.
    const int code = sqlite3_exec(database.handle_.get(), look, nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return database;
    const int primary = code & 0xff;
    if (primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY) {
      const auto log_bytes = fs::file_size(name + "-wal", error);
      if (error || log_bytes == 0) database = connect(name, mode, true, patience);
    }
  } else if (sqlite3_db_readonly(database.handle_.get(), "main") == 1) {
    fail_read_only(name);
  }
  database.execute(look);
  // With a write-ahead log, only a power cut can take the last transactions; a killed process loses none.
  if (mode == Mode::read_write_create) database.execute("PRAGMA synchronous = NORMAL");
  return database;
}

void Database::execute(const char* sql) {
  check(handle_.get(), sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr));
}

void Database::use_journal(Journal journal) {
  const bool log = journal == Journal::write_ahead_log;
  {
    Statement mode(*this, "PRAGMA journal_mode");
    if (mode.step() && (mode.text(0) == "wal") == log) return;
  }
  // SQLite does not wait for other processes here (it could deadlock), so this does, for those who are as new as this
  // one: whoever has the file open for longer keeps it as it is.
  const auto deadline = std::chrono::steady_clock::now() + 2s;
  auto pause = 1ms;
  for (;;) {
    const char* sql = log ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE";
    const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return;
    if ((code & 0xff) != SQLITE_BUSY && (code & 0xff) != SQLITE_LOCKED) check(handle_.get(), code);
    if (std::chrono::steady_clock::now() > deadline) return;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, 100ms);
  }
}

void Database::require_soundness() {
  Statement look(*this, "PRAGMA quick_check(1)");
  const std::string found = look.step() ? look.text(0) : "no answer";
  if (found == "ok") return;
  throw DamagedFile("cache " + file_of(handle_.get()) + " is damaged (" + found + "): move it away, or " +
                    std::string(another_file));
}

int Database::data_version() {
  return integer_pragma("PRAGMA data_version");
}

int Database::integer_pragma(const char* sql) {
  Statement statement(*this, sql);
  return statement.step() ? static_cast<int>(statement.integer(0)) : 0;
}

int Database::user_version() {
  return integer_pragma("PRAGMA user_version");
}
int Database::application_id() {
  return integer_pragma("PRAGMA application_id");
}

void Database::set_user_version(int version) {
  execute(("PRAGMA user_version = " + std::to_string(version)).c_str());
}

std::int64_t Database::last_insert_id() const {
  return sqlite3_last_insert_rowid(handle_.get());
}

void Database::refuse(const std::string& what) const {
  throw Error(ErrorKind::cache_unusable, "cache " + file_of(handle_.get()) + " " + what);
}

void Statement::Finalize::operator()(sqlite3_stmt* handle) const {
  sqlite3_finalize(handle);
}

Statement::Statement(const Database& database, std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v2(database.handle_.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
  handle_.reset(raw);
  check(database.handle_.get(), code);
}

void Statement::restart() {
  sqlite3_reset(handle_.get());  // repeats the last step's error, which was thrown already
  sqlite3_clear_bindings(handle_.get());
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3* database = sqlite3_db_handle(handle_.get());
  fail(database, code, file_of(database));
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}

double Statement::real(int column) const {
  return is_null(column) ? std::numeric_limits<double>::quiet_NaN() : sqlite3_column_double(handle_.get(), column);
}

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(handle_.get(), column);
  const int size = sqlite3_column_bytes(handle_.get(), column);
  return bytes ? std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size)) : std::string();
}

void Statement::bind_one(int index, std::int64_t value) {
  check(sqlite3_db_handle(handle_.get()), sqlite3_bind_int64(handle_.get(), index, value));
}

void Statement::bind_one(int index, double value) {
  check(sqlite3_db_handle(handle_.get()), sqlite3_bind_double(handle_.get(), index, value));
}

void Statement::bind_one(int index, std::string_view value) {
  const char* bytes = value.data() ? value.data() : "";  // a null pointer would be NULL, not an empty text
  check(sqlite3_db_handle(handle_.get()),
        sqlite3_bind_text64(handle_.get(), index, bytes, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind_one(int index, Blob value) {
  const char* bytes = value.bytes.data() ? value.bytes.data() : "";
  check(sqlite3_db_handle(handle_.get()),
        sqlite3_bind_blob64(handle_.get(), index, bytes, value.bytes.size(), SQLITE_TRANSIENT));
}

void Statement::bind_one(int index, std::nullopt_t) {
  check(sqlite3_db_handle(handle_.get()), sqlite3_bind_null(handle_.get(), index));
}

Transaction::Transaction(Database& database, Kind kind) : database_(database) {
  database_.execute(kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const std::exception&) {
    // SQLite rolled back by itself (a full disk does that); there is nothing left to undo.
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace regtune
