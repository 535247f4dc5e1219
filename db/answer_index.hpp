#pragma once
// The answers that were asked for, in memory, for any number of threads. The hot path reads a coarse clock and an
// immutable table: no lock, no system call, no allocation. A question of C is found by the addresses of its texts,
// which are those of the last time at most call sites, and compared text by text; by its contents where that fails.
// What it does not find is looked up under a lock, in the files' rows of that kernel alone. Tables and answers live as
// long as the index, so that nobody waits for readers; an answer is replaced only where it changed.
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "c_answer.hpp"
#include "cache_file.hpp"
#include "ladder.hpp"
#include "regtune/tuned_policy.hpp"

namespace regtune {

// A question without copies. All of it outlives the call.
// Not initialised on its own: a hot path makes several and fills those that it needs.
struct SizeView {
  const char* name;
  std::size_t name_length;
  std::int64_t value;
  std::string_view text() const { return {name, name_length}; }
};
struct Question {
  std::string_view kernel;
  std::span<const SizeView> sizes;  // in any order
  Dim3 block{0, 0, 0};              // 0: not said
  std::string_view source_tag;
  std::string_view compiler;
  std::string_view driver;
  std::string_view gpu_name;
  int compute_major = 0;
  int compute_minor = 0;
  int sm_count = 0;
  int memory_clock_mhz = 0;
};
inline constexpr std::size_t most_sizes = 32;

// Room for the sizes of one question: on the stack for as many as kernels have, which costs nothing to prepare.
class SizeViews {
 public:
  explicit SizeViews(std::size_t count) : count_(count) {
    if (count > few_.size()) many_.resize(count);
  }
  SizeView& operator[](std::size_t at) { return count_ > few_.size() ? many_[at] : few_[at]; }
  std::span<const SizeView> all() const { return {count_ > few_.size() ? many_.data() : few_.data(), count_}; }

 private:
  std::size_t count_;
  std::array<SizeView, 6> few_;
  std::vector<SizeView> many_;
};

class AnswerIndex {
 public:
  AnswerIndex(std::vector<std::filesystem::path> files, std::chrono::milliseconds check_interval, bool accept_stale);
  ~AnswerIndex();

  // What it points to lives as long as the index. Throws std::bad_alloc.
  Answer find(const Question& question);
  // The same for C: fills `out`, but for its size, and only where the status is REGTUNE_OK.
  regtune_status find(const regtune_key& key, const regtune_gpu& gpu, regtune_answer& out);

  std::vector<std::string> problems();
  std::vector<std::filesystem::path> files() const;

 private:
  struct Entry;
  class Table;
  // In both languages, since to gather the C structure's texts costs more than all the rest of a look-up.
  struct Kept {
    Answer answer;
    regtune_answer in_c;
  };
  // Null where nothing is kept that is still right.
  const Entry* find_entry(const Question& question, std::uint64_t hash) const;
  bool is_current(const Entry& entry) const;
  std::int64_t look_for_changes_if_due();  // the coarse time that it read
  void look_for_changes();                 // holds the lock
  Answer find_slowly(const Question& question, std::uint64_t hash);
  Answer climb_all(const KernelKey& key, const GpuId& gpu);
  void insert(Entry& entry);

  const std::int64_t interval_ns_;
  const bool accept_stale_;
  std::atomic<const Table*> table_{nullptr};
  std::atomic<std::int64_t> next_look_ns_{0};
  std::atomic<std::uint64_t> generation_{1};             // rises when any answer may have changed
  std::array<std::atomic<const Entry*>, 512> recent_{};  // by the addresses of a question of C
  std::atomic<std::int64_t> next_replacement_ns_{0};     // in recent_

  std::mutex mutex_;  // all below
  bool has_looked_ = false;
  std::vector<CacheFile> files_;
  std::vector<std::unique_ptr<Table>> tables_;  // the last one is in use
  std::deque<Entry> entries_;
  std::deque<Kept> kept_;
};

}  // namespace regtune
