#include "answer_index.hpp"

#define XXH_INLINE_ALL
#include <time.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace regtune {
namespace {

// Half a KiB for each question. A process that asks for ever new sizes is answered under the lock from there on.
constexpr std::size_t most_entries = 16'384;

std::int64_t coarse_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);  // 7 ns: no system call
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;  // the finaliser of splitmix64
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// Whoever has the same hash is compared in full: a collision costs time and no wrong answer. A process has few GPUs,
// one driver, one compiler and one source for a kernel: their texts would cost each look-up more than they tell apart.
std::uint64_t hash_of(const Question& q) {
  std::uint64_t sizes = 0;  // a sum: their order does not count
  for (const SizeView& size : q.sizes) sizes += mixed(hash_of(size.text(), 2) + static_cast<std::uint64_t>(size.value));
  const auto wide = [](unsigned value) { return std::uint64_t{value}; };
  const std::uint64_t block = wide(q.block.x) << 40 | wide(q.block.y) << 20 | wide(q.block.z);
  return mixed(hash_of(q.kernel, 1) ^ sizes ^ block ^ wide(static_cast<unsigned>(q.sm_count)) << 52);
}

// Of two questions that fall together one has the place, and the other is found by its contents. They change places
// seldom, so that threads which ask both do not write to what all of them read.
constexpr std::int64_t replacement_pause_ns = 4'000'000;

std::size_t place_of(const regtune_key& key, const regtune_gpu& gpu) {
  const auto address = [](const char* text) {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(text));
  };
  std::uint64_t mix = address(key.kernel) * 0x9e3779b97f4a7c15u + address(gpu.name);  // 2^64 over the golden ratio
  for (std::size_t at = 0; at < key.size_count; ++at)
    mix = (mix ^ static_cast<std::uint64_t>(key.sizes[at].value)) * 0x9e3779b97f4a7c15u;
  return mix >> 55;
}

std::string_view view(const char* text) {
  return text ? std::string_view(text) : std::string_view();
}

bool is_whole(const Question& question) {
  if (question.kernel.empty() || question.sizes.size() > most_sizes) return false;
  for (std::size_t a = 0; a < question.sizes.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (question.sizes[a].text() == question.sizes[b].text()) return false;
  return true;
}

KernelKey key_of(const Question& question) {
  KernelKey key;
  key.kernel = question.kernel;
  for (const SizeView& size : question.sizes) key.sizes[std::string(size.text())] = size.value;
  if (question.block.volume() != 0) key.block = question.block;
  key.source_tag = question.source_tag;
  key.compiler = question.compiler;
  key.driver = question.driver;
  return key;
}

GpuId gpu_of(const Question& question) {
  return {std::string(question.gpu_name), question.compute_major, question.compute_minor, question.sm_count,
          question.memory_clock_mhz};
}

bool same_answer(const Answer& a, const Answer& b) {
  return a.policy == b.policy && a.match == b.match && a.miss == b.miss && a.stale == b.stale &&
         a.size_distance == b.size_distance;
}

}  // namespace

// A question with its own copies of the texts, all in one piece so that few cache lines are read, and its answer.
struct AnswerIndex::Entry {
  Entry(const Question& question, std::uint64_t hash_of_it) : hash(hash_of_it), asked(question) {
    std::size_t length = asked.kernel.size() + asked.gpu_name.size() + asked.source_tag.size() + asked.compiler.size() +
                         asked.driver.size() + 5;
    for (const SizeView& size : question.sizes) length += size.name_length + 1;
    texts.reserve(length);  // what keep() gives stays where it is
    asked.kernel = keep(asked.kernel);
    asked.gpu_name = keep(asked.gpu_name);
    for (const SizeView& size : question.sizes)
      sizes.push_back({keep(size.text()).data(), size.name_length, size.value});
    asked.sizes = sizes;
    asked.source_tag = keep(asked.source_tag);
    asked.compiler = keep(asked.compiler);
    asked.driver = keep(asked.driver);
  }
  Entry(const Entry&) = delete;

  const std::uint64_t hash;
  std::atomic<std::uint64_t> generation{0};  // of the index, when the answer was right
  std::atomic<const Kept*> kept{nullptr};
  Question asked;
  std::vector<SizeView> sizes;
  std::string texts;

  std::string_view keep(std::string_view text) {
    const std::size_t at = texts.size();
    texts += text;
    texts += '\0';
    return std::string_view(texts).substr(at, text.size());
  }

  // Whether it is this very question, its sizes in this order. Requires: all its texts came from C, so that each ends
  // at its first zero.
  bool is_for(const regtune_key& key, const regtune_gpu& gpu) const {
    const auto is = [](std::string_view ours, const char* theirs) {
      return theirs ? std::strcmp(ours.data(), theirs) == 0 : ours.empty();
    };
    if (asked.sm_count != gpu.sm_count || asked.compute_major != gpu.compute_major ||
        asked.compute_minor != gpu.compute_minor || asked.memory_clock_mhz != gpu.memory_clock_mhz ||
        asked.block != Dim3{key.block[0], key.block[1], key.block[2]} || sizes.size() != key.size_count)
      return false;
    for (std::size_t at = 0; at < sizes.size(); ++at)
      if (sizes[at].value != key.sizes[at].value || !is(sizes[at].text(), key.sizes[at].name)) return false;
    return is(asked.kernel, key.kernel) && is(asked.gpu_name, gpu.name) && is(asked.source_tag, key.source_tag) &&
           is(asked.compiler, key.compiler) && is(asked.driver, key.driver);
  }

  bool is_for(const Question& q) const {
    return asked.sm_count == q.sm_count && asked.compute_major == q.compute_major &&
           asked.compute_minor == q.compute_minor && asked.memory_clock_mhz == q.memory_clock_mhz &&
           asked.block == q.block && asked.kernel == q.kernel && asked.gpu_name == q.gpu_name &&
           asked.source_tag == q.source_tag && asked.compiler == q.compiler && asked.driver == q.driver &&
           same_sizes(q.sizes);
  }

  // As many, and each of these among those: they are the same, whatever the order.
  bool same_sizes(std::span<const SizeView> theirs) const {
    if (sizes.size() != theirs.size()) return false;
    for (const SizeView& mine : sizes) {
      bool found = false;
      for (const SizeView& one : theirs) found = found || (one.value == mine.value && one.text() == mine.text());
      if (!found) return false;
    }
    return true;
  }
};

// Open addressing, at most half full. Entries are added and never removed; a reader sees one whole or not at all.
class AnswerIndex::Table {
 public:
  explicit Table(std::size_t slots) : slots_(slots) {}
  std::size_t capacity() const { return slots_.size() / 2; }

  const Entry* find(const Question& question, std::uint64_t hash) const {
    for (std::size_t at = hash;; ++at) {
      const Entry* entry = slots_[at & (slots_.size() - 1)].load(std::memory_order_acquire);
      if (!entry || (entry->hash == hash && entry->is_for(question))) return entry;
    }
  }
  void add(const Entry& entry) {
    std::size_t at = entry.hash;
    while (slots_[at & (slots_.size() - 1)].load(std::memory_order_relaxed)) ++at;
    slots_[at & (slots_.size() - 1)].store(&entry, std::memory_order_release);
  }

 private:
  std::vector<std::atomic<const Entry*>> slots_;  // a power of two
};

AnswerIndex::AnswerIndex(std::vector<std::filesystem::path> files, std::chrono::milliseconds check_interval,
                         bool accept_stale)
    : interval_ns_(std::max<std::int64_t>(0, std::chrono::nanoseconds(check_interval).count())),
      accept_stale_(accept_stale) {
  files_.reserve(files.size());
  for (std::filesystem::path& file : files) files_.emplace_back(std::move(file));
  tables_.push_back(std::make_unique<Table>(64));
  table_ = tables_.back().get();
}

AnswerIndex::~AnswerIndex() = default;

bool AnswerIndex::is_current(const Entry& entry) const {
  return entry.generation.load(std::memory_order_acquire) == generation_.load(std::memory_order_acquire);
}

const AnswerIndex::Entry* AnswerIndex::find_entry(const Question& question, std::uint64_t hash) const {
  const Entry* entry = table_.load(std::memory_order_acquire)->find(question, hash);
  return entry && is_current(*entry) ? entry : nullptr;
}

Answer AnswerIndex::find(const Question& question) {
  look_for_changes_if_due();
  const std::uint64_t hash = hash_of(question);
  if (const Entry* entry = find_entry(question, hash)) return entry->kept.load(std::memory_order_acquire)->answer;
  return find_slowly(question, hash);
}

regtune_status AnswerIndex::find(const regtune_key& key, const regtune_gpu& gpu, regtune_answer& out) {
  if (key.size_count > most_sizes) return REGTUNE_BAD_KEY;
  const auto give = [&](const Answer& answer, const regtune_answer& in_c) {
    const std::size_t size = out.size;
    if (answer) out = in_c;
    out.size = size;
    return status_of(answer);
  };
  const std::int64_t now = look_for_changes_if_due();
  std::atomic<const Entry*>& recent = recent_[place_of(key, gpu)];
  const Entry* const before = recent.load(std::memory_order_acquire);
  const Entry* entry = before;
  if (!entry || !is_current(*entry) || !entry->is_for(key, gpu)) {
    SizeViews sizes(key.size_count);
    for (std::size_t at = 0; at < key.size_count; ++at) {
      const std::string_view name = view(key.sizes[at].name);
      sizes[at] = {name.data(), name.size(), key.sizes[at].value};
    }
    const Question question{view(key.kernel),     sizes.all(),         {key.block[0], key.block[1], key.block[2]},
                            view(key.source_tag), view(key.compiler),  view(key.driver),
                            view(gpu.name),       gpu.compute_major,   gpu.compute_minor,
                            gpu.sm_count,         gpu.memory_clock_mhz};
    const std::uint64_t hash = hash_of(question);
    entry = find_entry(question, hash);
    if (!entry) {
      const Answer answer = find_slowly(question, hash);
      return give(answer, c_answer(answer));
    }
    if (before != entry && (!before || now >= next_replacement_ns_.load(std::memory_order_relaxed))) {
      if (before) next_replacement_ns_.store(now + replacement_pause_ns, std::memory_order_relaxed);
      recent.store(entry, std::memory_order_release);
    }
  }
  const Kept& kept = *entry->kept.load(std::memory_order_acquire);
  return give(kept.answer, kept.in_c);
}

// One thread looks, the others go on with what there is. The first look is find_slowly's.
std::int64_t AnswerIndex::look_for_changes_if_due() {
  const std::int64_t now = coarse_now_ns();
  std::int64_t due = next_look_ns_.load(std::memory_order_relaxed);
  if (now < due || !next_look_ns_.compare_exchange_strong(due, now + interval_ns_)) return now;
  if (due == 0 || !mutex_.try_lock()) return now;
  const std::lock_guard held(mutex_, std::adopt_lock);
  look_for_changes();
  return now;
}

void AnswerIndex::look_for_changes() {
  has_looked_ = true;
  bool changed = false;
  for (CacheFile& file : files_) changed = file.look_for_changes() || changed;
  if (changed) generation_.fetch_add(1, std::memory_order_acq_rel);
}

Answer AnswerIndex::find_slowly(const Question& question, std::uint64_t hash) {
  if (!is_whole(question)) return {nullptr, Match::none, Miss::bad_key, {}, 0};
  const std::lock_guard lock(mutex_);
  if (!has_looked_) look_for_changes();
  const std::uint64_t generation = generation_.load(std::memory_order_acquire);
  // Entries are this index's own; the table hands them out unchangeable to readers.
  Entry* entry = const_cast<Entry*>(table_.load(std::memory_order_relaxed)->find(question, hash));
  if (entry && entry->generation.load(std::memory_order_relaxed) == generation) return entry->kept.load()->answer;
  const KernelKey key = key_of(question);
  const GpuId gpu = gpu_of(question);
  const Answer answer = climb_all(key, gpu);
  const bool is_new = !entry;
  if (is_new && entries_.size() >= most_entries) return answer;
  if (is_new) {
    entry = &entries_.emplace_back(question, hash);
  }
  const Kept* before = entry->kept.load(std::memory_order_relaxed);
  if (!before || !same_answer(before->answer, answer))
    entry->kept.store(&kept_.emplace_back(Kept{answer, c_answer(answer)}), std::memory_order_release);
  entry->generation.store(generation, std::memory_order_release);
  if (is_new) insert(*entry);
  return answer;
}

Answer AnswerIndex::climb_all(const KernelKey& key, const GpuId& gpu) {
  std::vector<Layer> layers;
  for (CacheFile& file : files_) layers.push_back(file.answers(key.kernel));
  return climb(key, gpu, layers, accept_stale_);
}

void AnswerIndex::insert(Entry& entry) {
  if (entries_.size() <= tables_.back()->capacity()) {
    tables_.back()->add(entry);
    return;
  }
  auto grown = std::make_unique<Table>(tables_.back()->capacity() * 4);
  for (const Entry& known : entries_) grown->add(known);  // this one is among them
  table_.store(grown.get(), std::memory_order_release);
  tables_.push_back(std::move(grown));
}

std::vector<std::string> AnswerIndex::problems() {
  const std::lock_guard lock(mutex_);
  if (!has_looked_) look_for_changes();
  std::vector<std::string> said;
  for (const CacheFile& file : files_)
    if (!file.problem().empty()) said.push_back(file.problem());
  return said;
}

std::vector<std::filesystem::path> AnswerIndex::files() const {
  std::vector<std::filesystem::path> paths;
  for (const CacheFile& file : files_) paths.push_back(file.path());
  return paths;
}

}  // namespace regtune
