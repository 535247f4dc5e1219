-- The schema of the cache file, version 1. Executed once, inside the transaction that also sets
-- application_id and user_version (store.cpp), so a file is either empty or complete.
--
-- A run is one tuning of one kernel. It is 'running' until its verdict is in; only a finished run answers a
-- look-up or replaces an earlier finished run of the same run_key. Everything below a run goes with it.
-- Source choices, compile results, sources and codes belong to no run: the next run takes them up.

-- What is compiled beside the register budget (record.hpp, SourceChoice). Row 0 is the author's. Few, never
-- changed and never removed.
CREATE TABLE source_choice (
  id                   INTEGER PRIMARY KEY,
  choice_hash          TEXT NOT NULL UNIQUE,  -- of all the fields
  renamed              INTEGER NOT NULL,
  register_usage_level INTEGER NOT NULL,      -- -1: not given
  instance             TEXT NOT NULL,         -- of a kernel template: 'scale<4, float>'; '': the author's
  spills_to_shared     INTEGER NOT NULL       -- the pragma enable_smem_spilling opens the kernel's body
) STRICT;
CREATE TABLE source_choice_macro (
  choice_id INTEGER NOT NULL REFERENCES source_choice (id),
  name      TEXT NOT NULL,
  value     TEXT NOT NULL,
  PRIMARY KEY (choice_id, name)
) STRICT, WITHOUT ROWID;
INSERT INTO source_choice VALUES (0, 'author', 0, -1, '', 0);

CREATE TABLE tuning_run (
  id                      INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused: a process may still hold it
  state                   TEXT NOT NULL CHECK (state IN ('running', 'finished')),
  finish_order            INTEGER,           -- rises with every finished run; independent of clocks
  begun_s                 INTEGER NOT NULL,  -- Unix time of the row
  process                 TEXT NOT NULL,     -- of the run: process_mark.hpp; says whether one that is running still is
  run_key                 TEXT NOT NULL,     -- hash of all that can change the answer: key.hpp, run_key
  kernel_name             TEXT NOT NULL,     -- bare name, for look-ups: "sgemm"
  sizes_hash              TEXT NOT NULL,
  options_hash            TEXT NOT NULL,
  gpu_model               TEXT,              -- normal form: key.hpp, gpu_model_key; NULL: nothing was timed
  regtune_version         TEXT NOT NULL,
  started                 TEXT NOT NULL,     -- UTC, ISO 8601
  host                    TEXT NOT NULL,
  architecture            TEXT NOT NULL,
  compiler                TEXT NOT NULL,
  route                   TEXT NOT NULL,
  source_path             TEXT NOT NULL,
  source_hash             TEXT NOT NULL,
  kernel                  TEXT NOT NULL,     -- mangled, template arguments included
  signature               TEXT NOT NULL,     -- demangled
  grid_x                  INTEGER NOT NULL,
  grid_y                  INTEGER NOT NULL,
  grid_z                  INTEGER NOT NULL,
  block_x                 INTEGER NOT NULL,
  block_y                 INTEGER NOT NULL,
  block_z                 INTEGER NOT NULL,
  dynamic_shared_bytes    INTEGER NOT NULL,
  margin                  REAL,              -- every REAL may be NULL: SQLite stores NaN so
  confidence              REAL,
  budget_s                REAL,
  timeout_ms              REAL,
  seed                    INTEGER NOT NULL,  -- the bits of an unsigned number
  launches_per_sample     INTEGER NOT NULL,
  restored                INTEGER NOT NULL,
  never_restore           INTEGER NOT NULL,  -- asked for: each launch finds what the one before left
  cold                    INTEGER NOT NULL,  -- L2 flushed before each launch
  sample_mode             TEXT NOT NULL,
  launch_overhead_ms      REAL,
  timer_resolution_ms     REAL,
  work_bytes              INTEGER NOT NULL,  -- of one launch, as its author counts them; 0: not said
  work_flops              INTEGER NOT NULL,
  peak_copy_gb_per_s      REAL,
  gpu_seconds             REAL,              -- that launches of the race took
  CHECK ((state = 'finished') = (finish_order IS NOT NULL))
) STRICT;
CREATE INDEX tuning_run_by_name ON tuning_run (kernel_name, sizes_hash, finish_order);
CREATE INDEX tuning_run_by_kernel ON tuning_run (kernel, sizes_hash, finish_order);
CREATE INDEX tuning_run_by_key ON tuning_run (run_key, state);
CREATE INDEX tuning_run_by_finish ON tuning_run (finish_order);

CREATE TABLE run_size (
  run_id INTEGER NOT NULL REFERENCES tuning_run (id) ON DELETE CASCADE,
  name   TEXT NOT NULL,
  value  INTEGER NOT NULL,
  PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;

-- The lists of texts of a run: compiler options, arguments as filled in, which of the launch was guessed, other
-- users of the GPU, what held its clocks down, the author's own launch bounds, the nvcc that was asked beside NVRTC,
-- the command line as it was typed.
CREATE TABLE run_line (
  run_id  INTEGER NOT NULL REFERENCES tuning_run (id) ON DELETE CASCADE,
  list    TEXT NOT NULL CHECK (list IN ('option', 'argument', 'guess', 'description', 'gpu_user', 'throttled_by',
                                        'no_counters', 'author_bounds', 'nvcc', 'command_line')),
  ordinal INTEGER NOT NULL,
  line    TEXT NOT NULL,
  PRIMARY KEY (run_id, list, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_gpu (
  run_id                          INTEGER PRIMARY KEY REFERENCES tuning_run (id) ON DELETE CASCADE,
  name                            TEXT NOT NULL,  -- as the driver spells it
  compute_major                   INTEGER NOT NULL,
  compute_minor                   INTEGER NOT NULL,
  sm_count                        INTEGER NOT NULL,
  memory_clock_mhz                INTEGER NOT NULL,  -- 0: not known
  driver_version                  TEXT NOT NULL,
  memory_bytes                    INTEGER NOT NULL,
  l2_bytes                        INTEGER NOT NULL,
  limits_compute_major            INTEGER NOT NULL,
  limits_compute_minor            INTEGER NOT NULL,
  max_threads_per_sm              INTEGER NOT NULL,
  max_blocks_per_sm               INTEGER NOT NULL,
  registers_per_sm                INTEGER NOT NULL,
  registers_per_block             INTEGER NOT NULL,
  register_allocation_unit        INTEGER NOT NULL,
  sub_partitions_per_sm           INTEGER NOT NULL,
  max_registers_per_thread        INTEGER NOT NULL,
  max_threads_per_block           INTEGER NOT NULL,
  shared_bytes_per_sm             INTEGER NOT NULL,
  shared_bytes_per_block          INTEGER NOT NULL,
  shared_bytes_per_block_optin    INTEGER NOT NULL,
  reserved_shared_bytes_per_block INTEGER NOT NULL,
  shared_allocation_unit_bytes    INTEGER NOT NULL
) STRICT;

-- What was read of the GPU's clocks during the rounds. Written with the verdict; no row where they cannot be read.
CREATE TABLE run_clocks (
  run_id           INTEGER PRIMARY KEY REFERENCES tuning_run (id) ON DELETE CASCADE,
  readings         INTEGER NOT NULL,
  min_sm_mhz       INTEGER NOT NULL,
  median_sm_mhz    INTEGER NOT NULL,
  max_sm_mhz       INTEGER NOT NULL,
  rounds_dropped   INTEGER NOT NULL,
  gave_up_dropping INTEGER NOT NULL
) STRICT;

-- What one launch of a finalist executed and moved, from the GPU's counters; no rows where they were not asked for or
-- not available (run_line, list 'no_counters').
CREATE TABLE counters (
  run_id                   INTEGER NOT NULL REFERENCES tuning_run (id) ON DELETE CASCADE,
  variant_id               INTEGER NOT NULL,
  local_load_instructions  REAL,
  local_store_instructions REAL,
  achieved_occupancy       REAL,
  l1_bytes                 REAL,
  l2_bytes                 REAL,
  dram_bytes               REAL,
  PRIMARY KEY (run_id, variant_id)
) STRICT, WITHOUT ROWID;

-- What nvcc makes of the author's code and of what is recommended; no rows where nvcc was not asked.
CREATE TABLE nvcc_code (
  run_id               INTEGER NOT NULL REFERENCES tuning_run (id) ON DELETE CASCADE,
  ordinal              INTEGER NOT NULL,
  variant_id           INTEGER NOT NULL,
  registers_per_thread INTEGER NOT NULL,
  spill_store_bytes    INTEGER NOT NULL,
  spill_load_bytes     INTEGER NOT NULL,
  failure              TEXT NOT NULL,
  speedup_low          REAL,
  speedup_median       REAL,
  speedup_high         REAL,
  rounds               INTEGER NOT NULL,
  finding              TEXT NOT NULL,
  PRIMARY KEY (run_id, ordinal)
) STRICT, WITHOUT ROWID;

-- What a GPU reads and writes when it copies: measured once for each model and driver.
CREATE TABLE copy_bandwidth (
  gpu_model      TEXT NOT NULL,  -- normal form: key.hpp, gpu_model_key
  driver_version TEXT NOT NULL,
  gb_per_s       REAL NOT NULL,
  PRIMARY KEY (gpu_model, driver_version)
) STRICT, WITHOUT ROWID;

-- One variant of a run: how it is compiled and launched, what its code says, and what became of it. The
-- facts are NULL together when it did not compile, the occupancy when it cannot be launched.
CREATE TABLE trial (
  run_id                     INTEGER NOT NULL REFERENCES tuning_run (id) ON DELETE CASCADE,
  variant_id                 INTEGER NOT NULL,
  policy                     TEXT NOT NULL,
  policy_first               INTEGER NOT NULL,  -- registers per thread, or max threads per block
  policy_second              INTEGER NOT NULL,  -- min blocks per SM
  variant_block_x            INTEGER NOT NULL,
  variant_block_y            INTEGER NOT NULL,
  variant_block_z            INTEGER NOT NULL,
  choice_id                  INTEGER NOT NULL REFERENCES source_choice (id),
  grid_x                     INTEGER NOT NULL,
  grid_y                     INTEGER NOT NULL,
  grid_z                     INTEGER NOT NULL,
  block_x                    INTEGER NOT NULL,
  block_y                    INTEGER NOT NULL,
  block_z                    INTEGER NOT NULL,
  dynamic_shared_bytes       INTEGER NOT NULL,
  registers_per_thread       INTEGER,
  register_ceiling           INTEGER,
  spill_store_bytes          INTEGER,
  spill_load_bytes           INTEGER,
  shared_spill_store_bytes   INTEGER,
  shared_spill_load_bytes    INTEGER,
  stack_frame_bytes          INTEGER,
  static_shared_bytes        INTEGER,
  max_threads_per_block      INTEGER,
  required_threads_per_block INTEGER,
  code_hash                  TEXT,
  budget_status              TEXT,
  budget_asked               INTEGER,
  budget_note                TEXT,
  active_blocks_per_sm       INTEGER,
  occupancy                  REAL,
  limiter                    TEXT,
  outcome                    TEXT NOT NULL,
  outcome_text               TEXT,     -- message or reason
  outcome_since              TEXT,     -- UTC, ISO 8601, of a code in quarantine
  same_code_as               INTEGER,
  limit_ms                   REAL,
  time_low_ms                REAL,
  time_median_ms             REAL,
  time_high_ms               REAL,
  speedup_low                REAL,
  speedup_median             REAL,
  speedup_high               REAL,
  PRIMARY KEY (run_id, variant_id)
) STRICT, WITHOUT ROWID;

-- One timing. Appended round by round, so that a killed run loses at most the round it was in.
CREATE TABLE sample (
  run_id     INTEGER NOT NULL REFERENCES tuning_run (id) ON DELETE CASCADE,
  variant_id INTEGER NOT NULL,
  phase      INTEGER NOT NULL CHECK (phase IN (0, 1, 2)),  -- 0 race, 1 confirmation, 2 L2 in the other state
  ordinal    INTEGER NOT NULL,
  round      INTEGER NOT NULL,
  ms         REAL,
  PRIMARY KEY (run_id, variant_id, phase, ordinal)
) STRICT, WITHOUT ROWID;

-- A code that faulted or did not end, with what it was launched on. Belongs to no run: no later run launches it
-- there, until it is asked to and the code is measured.
CREATE TABLE quarantine (
  launch_key     TEXT NOT NULL,  -- key.hpp, launch_key
  code_identity  TEXT NOT NULL,  -- key.hpp: code hash, block and dynamic shared memory
  kernel         TEXT NOT NULL,  -- mangled
  gpu_model      TEXT,
  driver_version TEXT NOT NULL,
  reason         TEXT NOT NULL,
  since          TEXT NOT NULL,  -- UTC, ISO 8601
  PRIMARY KEY (launch_key, code_identity)
) STRICT, WITHOUT ROWID;

CREATE TABLE verdict (
  run_id                   INTEGER PRIMARY KEY REFERENCES tuning_run (id) ON DELETE CASCADE,
  kind                     TEXT NOT NULL,
  reference_id             INTEGER NOT NULL,
  best_id                  INTEGER NOT NULL,
  best_in_source_id        INTEGER NOT NULL,
  speedup_low              REAL,
  speedup_median           REAL,
  speedup_high             REAL,
  speedup_in_source_low    REAL,
  speedup_in_source_median REAL,
  speedup_in_source_high   REAL,
  reason                   TEXT NOT NULL,
  best_renamed_id          INTEGER,  -- NULL: none gains by the rename
  speedup_renamed_low      REAL,
  speedup_renamed_median   REAL,
  speedup_renamed_high     REAL,
  best_other_way_id        INTEGER,  -- NULL: best_id is the best with L2 in the other state too
  speedup_other_way_low    REAL,
  speedup_other_way_median REAL,
  speedup_other_way_high   REAL,
  speedup_of_best_other_way_low    REAL,
  speedup_of_best_other_way_median REAL,
  speedup_of_best_other_way_high   REAL
) STRICT;

-- What a look-up reads, and all that it reads: one row for each finished run with a verdict, written with it. Complete
-- without the run, so that a file may hold answers alone. The checksum is over all the columns behind it, the run and
-- the order (answer.cpp): a row that went bad is a miss. Lists are netstrings: '1:n,8:16777216,'.
CREATE TABLE answer (
  id               INTEGER PRIMARY KEY,
  run_id           INTEGER UNIQUE REFERENCES tuning_run (id) ON DELETE CASCADE,  -- NULL: the answer alone
  finish_order     INTEGER NOT NULL,
  checksum         TEXT NOT NULL,
  kernel_name      TEXT NOT NULL,     -- bare name: key.hpp, bare_kernel_name
  kernel           TEXT NOT NULL,     -- mangled
  signature        TEXT NOT NULL,     -- demangled: template arguments, types of the parameters
  sizes            TEXT NOT NULL,
  options          TEXT NOT NULL,
  source_hash      TEXT NOT NULL,
  gpu_name         TEXT NOT NULL,     -- as the driver spells it; compared by key.hpp, gpu_model_key
  compute_major    INTEGER NOT NULL,
  compute_minor    INTEGER NOT NULL,
  sm_count         INTEGER NOT NULL,
  memory_clock_mhz INTEGER NOT NULL,
  architecture     TEXT NOT NULL,
  driver_version   TEXT NOT NULL,
  compiler         TEXT NOT NULL,
  regtune_version  TEXT NOT NULL,
  started          TEXT NOT NULL,     -- UTC, ISO 8601
  host             TEXT NOT NULL,
  verdict          TEXT NOT NULL,
  best_policy                          TEXT NOT NULL,
  best_policy_first                    INTEGER NOT NULL,
  best_policy_second                   INTEGER NOT NULL,
  best_block_x                         INTEGER NOT NULL,
  best_block_y                         INTEGER NOT NULL,
  best_block_z                         INTEGER NOT NULL,
  best_dynamic_shared_bytes            INTEGER NOT NULL,
  best_renamed                         INTEGER NOT NULL,
  best_register_usage_level            INTEGER NOT NULL,
  best_instance                        TEXT NOT NULL,
  best_macros                          TEXT NOT NULL,
  best_spills_to_shared                INTEGER NOT NULL,
  best_registers_per_thread            INTEGER NOT NULL,
  best_spill_store_bytes               INTEGER NOT NULL,
  best_static_shared_bytes             INTEGER NOT NULL,
  best_max_threads_per_block           INTEGER NOT NULL,
  best_required_threads_per_block      INTEGER NOT NULL,
  best_code_hash                       TEXT NOT NULL,
  best_speedup                         REAL,
  best_speedup_low                     REAL,
  best_speedup_high                    REAL,
  in_source_policy                     TEXT NOT NULL,
  in_source_policy_first               INTEGER NOT NULL,
  in_source_policy_second              INTEGER NOT NULL,
  in_source_block_x                    INTEGER NOT NULL,
  in_source_block_y                    INTEGER NOT NULL,
  in_source_block_z                    INTEGER NOT NULL,
  in_source_dynamic_shared_bytes       INTEGER NOT NULL,
  in_source_renamed                    INTEGER NOT NULL,
  in_source_register_usage_level       INTEGER NOT NULL,
  in_source_instance                   TEXT NOT NULL,
  in_source_macros                     TEXT NOT NULL,
  in_source_spills_to_shared           INTEGER NOT NULL,
  in_source_registers_per_thread       INTEGER NOT NULL,
  in_source_spill_store_bytes          INTEGER NOT NULL,
  in_source_static_shared_bytes        INTEGER NOT NULL,
  in_source_max_threads_per_block      INTEGER NOT NULL,
  in_source_required_threads_per_block INTEGER NOT NULL,
  in_source_code_hash                  TEXT NOT NULL,
  in_source_speedup                    REAL,
  in_source_speedup_low                REAL,
  in_source_speedup_high               REAL
) STRICT;
CREATE INDEX answer_by_name ON answer (kernel_name, checksum);
CREATE INDEX answer_by_kernel ON answer (kernel);

-- The checksums of all answers of one bare name as one: where it does not fit them an answer is missing, and the whole
-- name is a miss rather than answered by what happens to be left.
CREATE TABLE answer_group (
  kernel_name TEXT PRIMARY KEY,
  digest      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Rises with every change of the answers, so that readers need not read them again whenever a round is stored.
CREATE TABLE answer_generation (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  value INTEGER NOT NULL
) STRICT;
INSERT INTO answer_generation VALUES (1, 0);

-- A cubin, by the hash of its bytes, which is checked again when it is read. With a rowid, unlike the other
-- tables: in a WITHOUT ROWID table such large rows would leave a page only a few keys.
CREATE TABLE code (
  id           INTEGER PRIMARY KEY,
  content_hash TEXT NOT NULL UNIQUE,
  cubin        BLOB NOT NULL
) STRICT;

-- All that machine code depends on but the budget and the choice. Kernel '' is for the source as a whole.
CREATE TABLE compile_key (
  id              INTEGER PRIMARY KEY,
  source_hash     TEXT NOT NULL,
  options_hash    TEXT NOT NULL,
  compiler        TEXT NOT NULL,
  architecture    TEXT NOT NULL,
  kernel          TEXT NOT NULL,
  regtune_version TEXT NOT NULL,
  UNIQUE (source_hash, options_hash, compiler, architecture, kernel, regtune_version)
) STRICT;

-- What one policy compiles to. Cubins of one code_hash, entry, choice and launch limits are interchangeable, so
-- they share one row of code.
CREATE TABLE compile_result (
  key_id                     INTEGER NOT NULL REFERENCES compile_key (id) ON DELETE CASCADE,
  choice_id                  INTEGER NOT NULL REFERENCES source_choice (id),
  policy                     TEXT NOT NULL,
  policy_first               INTEGER NOT NULL,
  policy_second              INTEGER NOT NULL,
  registers_per_thread       INTEGER,
  register_ceiling           INTEGER,
  spill_store_bytes          INTEGER,
  spill_load_bytes           INTEGER,
  shared_spill_store_bytes   INTEGER,
  shared_spill_load_bytes    INTEGER,
  stack_frame_bytes          INTEGER,
  static_shared_bytes        INTEGER,
  max_threads_per_block      INTEGER,
  required_threads_per_block INTEGER,
  code_hash                  TEXT,
  budget_status              TEXT,
  budget_asked               INTEGER,
  budget_note                TEXT,
  failure                    TEXT,           -- the compiler's message; NULL when it compiled
  log_excerpt                TEXT NOT NULL,
  entry                      TEXT NOT NULL,  -- mangled name in the cubin; '': that of the key
  code_id                    INTEGER REFERENCES code (id),
  PRIMARY KEY (key_id, choice_id, policy, policy_first, policy_second)
) STRICT, WITHOUT ROWID;
CREATE INDEX compile_result_by_code ON compile_result (key_id, choice_id, code_hash);

-- What the first compilation of a source gave: the author's own code, with all kernels of the file.
CREATE TABLE compiled_source (
  key_id  INTEGER PRIMARY KEY REFERENCES compile_key (id) ON DELETE CASCADE,
  code_id INTEGER NOT NULL REFERENCES code (id),
  log     TEXT NOT NULL,
  seconds REAL
) STRICT;
CREATE TABLE lowered_name (
  key_id  INTEGER NOT NULL REFERENCES compiled_source (key_id) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,  -- of the name expression, as asked for
  name    TEXT NOT NULL,     -- mangled
  PRIMARY KEY (key_id, ordinal)
) STRICT, WITHOUT ROWID;
