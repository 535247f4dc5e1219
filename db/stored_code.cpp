#include "stored_code.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "key.hpp"
#include "sqlite.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

// Of one file or folder; one that is not there is fine. A folder that others may write is fine where they cannot take
// away what is not theirs (/tmp).
std::string why_not_safe(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return "";
  if (status.st_uid != geteuid() && status.st_uid != 0) return path.string() + " belongs to another user";
  const bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  const bool sticky_folder = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  return others_write && !sticky_folder ? "others may write " + path.string() : "";
}

}  // namespace

std::string why_not_trusted(const fs::path& file) {
  std::error_code failure;
  const fs::path real = fs::canonical(file, failure);
  if (failure) return file.string() + " cannot be found";
  for (const fs::path& path :
       {real, real.parent_path(), fs::path(real.string() + "-wal"), fs::path(real.string() + "-journal")})
    if (std::string why = why_not_safe(path); !why.empty()) return why;
  return "";
}

std::optional<StoredCode> stored_code(const TunedPolicy& answer, std::string& why_not) {
  why_not.clear();
  if (answer.file.empty() || answer.best.code_hash.empty()) return std::nullopt;
  try {
    Database database = Database::open(answer.file, Database::Mode::read_only, std::chrono::milliseconds(200));
    // Codes of one hash and the same launch limits are one code (schema.sql); the hash says nothing of the limits.
    Statement select(database,
                     "SELECT code.cubin, code.content_hash, compile_result.entry, compile_key.kernel FROM compile_key "
                     "JOIN compile_result ON compile_result.key_id = compile_key.id "
                     "JOIN code ON code.id = compile_result.code_id "
                     "WHERE compile_key.source_hash = ? AND compile_key.architecture = ? AND compile_key.kernel = ? "
                     "AND compile_result.code_hash = ? AND compile_result.max_threads_per_block = ? "
                     "AND compile_result.required_threads_per_block = ? ORDER BY code.id DESC LIMIT 1");
    const TunedBudget& best = answer.best;
    select.bind(answer.source_tag, answer.architecture, answer.kernel, best.code_hash, best.max_threads_per_block,
                best.required_threads_per_block);
    if (!select.step()) return std::nullopt;
    StoredCode code{select.text(0), select.text(2)};
    if (content_hash(code.cubin) != select.text(1)) {
      why_not = answer.file + " holds a code that is not what was written";
      return std::nullopt;
    }
    if (code.entry.empty()) code.entry = select.text(3);
    // Asked last, so that what was read is what was looked at.
    why_not = why_not_trusted(answer.file);
    if (!why_not.empty()) {
      why_not = "the stored code is not loaded: " + why_not;
      return std::nullopt;
    }
    return code;
  } catch (const Error& error) {
    why_not = error.what();
    return std::nullopt;
  }
}

}  // namespace regtune
