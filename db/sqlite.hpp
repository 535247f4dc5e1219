#pragma once
// SQLite behind three small types, and the only place that knows sqlite3.h. Every failure becomes an Error
// that names the file and says what to try: cache_read_only when the file or its folder cannot be written,
// cache_unusable otherwise. A file is taken to come from anywhere: nothing in it may call functions, and sizes are
// bounded. What the tables mean is not known here. A Database belongs to one thread at a time.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "regtune/error.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace regtune {

std::string sqlite_version();  // "3.40.1", of the library that is in this program

// What the file holds is no database, or not one that SQLite can read. kind() is cache_unusable.
class DamagedFile : public Error {
 public:
  explicit DamagedFile(const std::string& message) : Error(ErrorKind::cache_unusable, message) {}
};

class Database {
 public:
  enum class Mode { read_write_create, read_only };
  enum class Journal {
    write_ahead_log,  // readers and a writer side by side, on one machine
    rollback,         // safe on file systems that machines share
  };

  // Refuses folders, devices and pipes. The first read is made here, so a file that is no database is found
  // out now; nothing is written to the file. A writer in another process is waited for, as long as `patience`.
  static Database open(const std::filesystem::path& file, Mode mode,
                       std::chrono::milliseconds patience = std::chrono::seconds(30));

  void execute(const char* sql);      // one or several statements without results
  void use_journal(Journal journal);  // lasts in the file; one that others are using keeps what it has
  // Reads the whole file. Throws DamagedFile with what SQLite finds first.
  void require_soundness();
  // Changes when another connection has changed the file. Nobody is waited for.
  int data_version();
  // Nobody can change it under this connection's eyes: data_version stands still, and the file may not.
  bool is_immutable() const { return immutable_; }
  int user_version();
  void set_user_version(int version);  // part of the transaction it is called in
  int application_id();
  std::int64_t last_insert_id() const;

  // The error to throw when what the file holds cannot be used; `what` ends the sentence "cache FILE ...".
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  // How long a lock of another process has been waited for, and may be.
  struct Waiting {
    std::chrono::milliseconds patience;
    std::chrono::steady_clock::time_point deadline;
  };
  explicit Database(sqlite3* handle) : handle_(handle) {}
  static Database connect(const std::string& name, Mode mode, bool immutable, std::chrono::milliseconds patience);
  static int wait_for_the_others(void* waiting, int pauses_so_far);
  int integer_pragma(const char* sql);
  std::unique_ptr<Waiting> waiting_;  // SQLite holds its address
  std::unique_ptr<sqlite3, Close> handle_;
  bool immutable_ = false;
};

// A prepared statement. Must not outlive its Database. Columns count from 0; parameters are bound in order.
class Statement {
 public:
  Statement(const Database& database, std::string_view sql);

  // Binds all parameters anew; the text and blobs are copied. NaN is stored as NULL.
  template <typename... Values>
  Statement& bind(const Values&... values) {
    restart();
    int index = 0;
    (bind_one(++index, values), ...);
    return *this;
  }
  // Binds, runs to the end, and throws away any rows.
  template <typename... Values>
  void run(const Values&... values) {
    bind(values...);
    while (step()) {
    }
  }
  bool step();  // true while there is a row

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;       // NaN for NULL
  std::string text(int column) const;  // bytes of a blob likewise

  struct Blob {
    std::string_view bytes;
  };

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const;
  };
  void restart();
  void bind_one(int index, std::int64_t value);
  void bind_one(int index, int value) { bind_one(index, std::int64_t{value}); }
  void bind_one(int index, unsigned value) { bind_one(index, std::int64_t{value}); }
  void bind_one(int index, bool value) { bind_one(index, std::int64_t{value}); }
  void bind_one(int index, double value);
  void bind_one(int index, std::string_view value);
  void bind_one(int index, const std::string& value) { bind_one(index, std::string_view(value)); }
  void bind_one(int index, const char* value) { bind_one(index, std::string_view(value)); }
  void bind_one(int index, Blob value);
  void bind_one(int index, std::nullopt_t);
  template <typename T>
  void bind_one(int index, const std::optional<T>& value) {
    if (value) {
      bind_one(index, *value);
    } else {
      bind_one(index, std::nullopt);
    }
  }
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

// Undone unless committed. One that writes takes its lock at once, so that two writers queue up instead of
// deadlocking; one that reads sees the file as it was at its first read.
class Transaction {
 public:
  enum class Kind { write, read };
  explicit Transaction(Database& database, Kind kind = Kind::write);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace regtune
