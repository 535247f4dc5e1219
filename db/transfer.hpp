#pragma once
// How finished runs go from one cache file to another: into a small one that is shipped, or from files of elsewhere
// into one that is in use. Where both have an answer to the same question the better-founded stays. The file that is
// read is not trusted: a run counts only if its answer is what was written, a code only if its hash fits. Unfinished
// runs, quarantine and bandwidths stay where they are.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "record.hpp"

namespace regtune {

// The run with what its verdict names alone, numbered anew: the reference, the best, the best in the source, and what
// else is named. Without the samples of the race.
TuningRecord winners_only(const TuningRecord& run);

// What became of one run of a file that was merged.
struct MergedRun {
  enum class Fate { added, replaced, kept_ours, known };
  Fate fate = Fate::added;
  TuningRecord run;    // of the file; without its trials
  std::string reason;  // why the better one is better; empty: there was no other
};

struct MergeReport {
  std::vector<MergedRun> runs;
  std::size_t damaged = 0;  // runs whose answers are not what was written: left out
  std::size_t codes = 0;    // of winners
};

// A new file that holds winners_only of the runs of `cache` with these ids, and their codes, to be read only: rollback
// journal, no free pages. In place of `file` once it is whole. Throws Error.
void export_runs(const std::filesystem::path& cache, const std::vector<std::int64_t>& runs,
                 const std::filesystem::path& file);

// Into the cache `into`, which is made where it is not there. Throws Error(file_not_found) for a `from` that is not
// there or holds nothing, Error(cache_unusable) for one that is no cache.
MergeReport merge_file(const std::filesystem::path& from, const std::filesystem::path& into);
// A run of its own, as --record writes it. Requires: a GPU and a verdict.
MergeReport merge_run(const TuningRecord& run, const std::filesystem::path& into);

// "more rounds": in what `a` is better founded than `b`; empty: it is not. Both answer the same question.
std::string better_founded(const TuningRecord& a, const TuningRecord& b);

}  // namespace regtune
