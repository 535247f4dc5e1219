#pragma once
// The cache of tuning runs: one SQLite file, every call one transaction. A run is begun, filled while it
// goes on, and finished; a killed one loses at most what it had not handed over. An unfinished run never
// answers a look-up and never replaces a finished one. A look-up reads only: it creates no file. Refuses
// files of other programs and of newer versions. All calls throw Error(cache_unusable | cache_read_only).
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache_path.hpp"
#include "earlier_run.hpp"
#include "past_rows.hpp"
#include "record.hpp"
#include "sqlite.hpp"
#include "trial_rows.hpp"

namespace regtune {

struct RoundSample {
  int variant_id = 0;
  double ms = 0;  // per launch
};

struct LookupKey {
  std::string kernel;                   // bare, qualified or mangled name, or the whole signature
  Sizes sizes;                          // all of them, and no others
  std::optional<std::string> gpu_name;  // in any spelling that gpu_model_key makes equal; empty: any GPU
};

struct StoredRun {
  std::int64_t id = 0;
  std::string kernel;  // mangled
  std::string signature;
  std::string architecture;
  GpuId gpu;
  std::string started;
  Sizes sizes;
};

// Who tunes a key: this process, or another one that was earlier.
struct KeyClaim {
  std::int64_t run = 0;  // this process's; 0 where another tunes the key
  std::optional<OtherRun> other;
};

class Store {
 public:
  // For tuning: creates the folders, the file and the schema where they are missing, brings an older file forward, and
  // sets a damaged one aside (salvage.hpp). Reads all of it once.
  static Store open(const std::filesystem::path& file);
  // For look-ups: read-only. Empty when there is no such file, or nothing was ever stored in it.
  static std::optional<Store> open_existing(const std::filesystem::path& file);

  // Everything of `head` but samples, outcomes and verdict. Its trials may be empty; where they hold the
  // variants that are planned, their blocks are part of the run's key already now. Returns the run.
  std::int64_t begin(const TuningRecord& head);
  // The same, unless a process that can be seen to be alive is at that key already. Of two that come at once, one gets
  // the run.
  KeyClaim claim(const TuningRecord& head);
  // False once the run is finished, its process has ended, or it was removed.
  bool is_going_on(std::int64_t run);
  // Empty where the run is not finished.
  std::optional<TuningRecord> finished(std::int64_t run);
  // Forgets the trials and samples of a run that begins again with other codes.
  void start_over(std::int64_t run);
  void add_round(std::int64_t run, Phase phase, int round, std::span<const RoundSample> samples);
  // Its samples are those of add_round. A code that faulted or did not end is kept in quarantine from now on, and
  // one that was measured leaves it.
  void set_outcome(std::int64_t run, const Trial& trial);
  // Stores the whole record, samples included, in place of what was handed over before, and removes older
  // finished runs of the same key, with what interrupted ones of that key have left.
  void finish(std::int64_t run, const TuningRecord& record);

  // Compilations belong to no run: they are kept before one is begun, without one, and for the next. A policy
  // that does not compile may be kept too; a compiler that crashed or was stopped should not be.
  void keep_result(const CompileKey& key, const RegisterPolicy& policy, const SourceChoice& choice,
                   const CompileResult& result);
  void keep_results(const CompileKey& key, std::span<const KeptResult> results);  // all in one transaction
  // One whose cubin no longer matches its hash counts as not kept. The cubin may be another policy's, of the same
  // code and launch limits under the same choice: its register ceiling is then that one's; the facts are true.
  std::optional<CompileResult> kept_result(const CompileKey& key, const RegisterPolicy& policy,
                                           const SourceChoice& choice);
  std::vector<KeptResult> kept_results(const CompileKey& key);  // of all policies and choices, in no order
  // For results that turned out not to be what the compiler gives.
  void forget_results(const CompileKey& key);

  // The first compilation of a source, which says what kernels there are. The kernel of the key does not count.
  void keep_source(const CompileKey& key, const KeptSource& source);
  std::optional<KeptSource> kept_source(const CompileKey& key);

  // What runs of the key of `head` have left that were begun and not finished, and whose processes have ended; a run
  // of another machine counts as ended after a day.
  EarlierRun interrupted(const TuningRecord& head);
  // Codes that faulted or did not end when they were launched on the same as in `head`, by code_identity.
  std::map<std::string, Quarantined> quarantine(const TuningRecord& head);
  // What a copy on a GPU of this model reads and writes under this driver.
  std::optional<double> copy_bandwidth(const GpuState& gpu);
  void keep_copy_bandwidth(const GpuState& gpu, double gb_per_s);

  // What add_round stored, whatever became of the variant.
  std::vector<Sample> samples(std::int64_t run, int variant_id, Phase phase);

  // The newest finished run with a verdict. A name that several kernels share finds the newest of them all.
  std::optional<TuningRecord> find(const LookupKey& key);
  // Finished runs with a verdict, newest first: of the kernels that answer to the name, or all when empty.
  std::vector<StoredRun> list(std::string_view kernel = {});
  // A run as it stands, finished or not. Empty when there is none of that id.
  std::optional<TuningRecord> load(std::int64_t run);
  // What became of a damaged file when this one was opened; else empty.
  const std::string& mended() const { return mended_; }

 private:
  explicit Store(Database database) : database_(std::move(database)) {}
  Database database_;
  std::string mended_;
};

}  // namespace regtune
