#include "cache_file.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "answer_rows.hpp"
#include "key.hpp"
#include "schema.hpp"

namespace regtune {
namespace {

using namespace std::chrono_literals;

// A writer holds a lock that readers feel for milliseconds, and only where there is no write-ahead log.
constexpr auto patience = 200ms;
// A process asks for few kernels; one that asks for ever new names shall not fill its memory.
constexpr std::size_t most_kept_kernels = 4096;

}  // namespace

std::optional<CacheFile::Identity> CacheFile::identity() const {
  struct stat status {};
  if (stat(path_.c_str(), &status) != 0) return std::nullopt;
  Identity found{status.st_dev, status.st_ino, 0, 0};
  if (database_ && !database_->is_immutable()) return found;
  found.bytes = status.st_size;
  found.modified_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return found;
}

void CacheFile::close() {
  must_read_again_ = false;
  database_.reset();
  kept_.clear();
}

void CacheFile::open() {
  close();
  opened_ = identity();  // before it is opened: a file that takes its place meanwhile is seen the next time
  problem_.clear();
  if (!opened_) return;
  try {
    Database database = Database::open(path_, Database::Mode::read_only, patience);
    const SchemaState state = schema_state(database);
    if (state == SchemaState::older)
      database.refuse("is of an earlier schema version: tune into it once, which brings it forward");
    if (state == SchemaState::empty) return;
    data_version_ = database.data_version();
    generation_ = answer_generation(database);
    database_ = std::move(database);
    if (!database_->is_immutable()) {
      opened_->bytes = 0;
      opened_->modified_ns = 0;
    }
  } catch (const Error& error) {
    problem_ = error.what();
  }
}

bool CacheFile::look_for_changes() {
  // One that could not be used is tried again: it may be complete by now, or no longer locked.
  if (!database_ || identity() != opened_) {
    const bool was_there = database_.has_value();
    open();
    return was_there || database_.has_value();
  }
  try {
    const int version = database_->data_version();
    if (version == data_version_ && !must_read_again_) return false;
    data_version_ = version;
    const std::int64_t generation = answer_generation(*database_);
    if (generation == generation_ && !must_read_again_) return false;
    generation_ = generation;
    must_read_again_ = false;
    problem_.clear();
  } catch (const Error& error) {
    problem_ = error.what();
    return false;  // what was read is still what was stored
  }
  kept_.clear();
  return true;
}

std::vector<const TunedPolicy*> CacheFile::read(const std::string& kernel) {
  std::vector<const TunedPolicy*> answers;
  Transaction reading(*database_, Transaction::Kind::read);
  std::vector<std::string> names = bare_names_of(*database_, kernel);
  const std::string bare = bare_kernel_name(kernel);
  if (std::find(names.begin(), names.end(), bare) == names.end()) names.push_back(bare);
  for (const std::string& name : names) {
    StoredAnswers stored = read_answers(*database_, name);
    if (stored.damaged)
      problem_ = "cache " + path_.string() + " is damaged: what it holds of " + name +
                 " is not what was written. Tune again, which sets it aside, or move it away";
    for (TunedPolicy& answer : stored.answers) {
      std::unique_ptr<TunedPolicy>& known = policies_[answer.checksum];
      if (!known) {
        answer.file = path_.string();
        known = std::make_unique<TunedPolicy>(std::move(answer));
      }
      answers.push_back(known.get());
    }
  }
  return answers;
}

const std::vector<const TunedPolicy*>& CacheFile::answers(const std::string& kernel) {
  static const std::vector<const TunedPolicy*> none;
  if (!database_) return none;
  if (const auto found = kept_.find(kernel); found != kept_.end()) return found->second;
  std::vector<const TunedPolicy*> answers;
  try {
    answers = read(kernel);
  } catch (const Error& error) {
    problem_ = error.what();
    must_read_again_ = true;  // it may be readable then: a lock goes away
    return none;
  }
  if (kept_.size() >= most_kept_kernels) kept_.clear();
  return kept_.emplace(kernel, std::move(answers)).first->second;
}

}  // namespace regtune
