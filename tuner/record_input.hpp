#pragma once
// Whichever runs a person names: by a record that --record or --json wrote (FILE.json), by a cache file (FILE.db, or
// FILE.db:KERNEL for one kernel of it), or by a kernel of one's own cache. A name that is a file's is that file's.
// Reads only. A file that is neither is an Error(bad_description | cache_unusable); a name that nothing is stored of is
// none.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record.hpp"

namespace regtune {

struct RecordFilter {
  std::optional<std::filesystem::path> cache;  // empty: where it is elsewhere
  Sizes sizes;                                 // of the run, all of them; empty: any
  std::optional<std::string> gpu;              // in any spelling that gpu_model_key makes equal; empty: any
  // Also runs that a newer one of the same kernel, sizes, GPU, driver and compiler has superseded, as when the source
  // was another.
  bool superseded = false;
};

struct NamedRecords {
  std::string from;                   // "run.json", "cache /home/me/.cache/regtune/regtune.db"
  std::vector<TuningRecord> records;  // the newest first; each has trials
  std::string miss;                   // where there are none: what was looked for, and what is there
};

NamedRecords records_named(const std::string& subject, const RecordFilter& filter);

// Whether a name is a file's, or was meant to be.
bool names_a_file(const std::string& subject);

}  // namespace regtune
