/* regtune: which register budget was tuned for a kernel, asked at run time. C11. Needs SQLite, nothing of CUDA.
 *
 * Conventions
 *  1. Every function may be called by any thread at any time, but regtune_close, which must be the last for its cache.
 *     A process that was forked opens caches of its own.
 *  2. What can fail returns a regtune_status; REGTUNE_OK is 0. Misses have statuses too and are no failure: the caller
 *     leaves the kernel as it is. No function prints, exits or throws.
 *  3. Texts are UTF-8 and end with a zero. Texts that go in are only read during the call. Texts that come out belong
 *     to the cache and stay valid until regtune_close. In what goes in, NULL and "" both mean: not said.
 *  4. Structures begin with their own size, which the caller sets to sizeof: a later library fills or reads no more
 *     than that. REGTUNE_KEY, REGTUNE_GPU, REGTUNE_ANSWER and REGTUNE_OPTIONS set it, and leave the rest 0.
 *     regtune_budget and regtune_size have none: they stay as they are.
 *  5. A number that is 0 in regtune_gpu is not known and not compared; block 0 in regtune_key is not said.
 *  6. An answer says by which rung of the ladder it was found, and in what it is stale. On every rung but the exact one
 *     it was computed anew that both of its budgets can be launched on the GPU; what cannot be is never given.
 *  7. Names of constants are never renumbered. Unknown values may come from a later library: treat an unknown policy as
 *     REGTUNE_AUTHORS_OWN, an unknown status as a miss.
 */
#ifndef REGTUNE_H
#define REGTUNE_H

#include <stddef.h>
#include <stdint.h>

#if !defined(REGTUNE_API)
#  define REGTUNE_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct regtune_cache regtune_cache;

typedef enum regtune_status {
  REGTUNE_OK = 0,
  REGTUNE_NOT_FOUND = 1, /* nothing is stored that serves */
  REGTUNE_AMBIGUOUS = 2, /* several kernels answer to the name: say more of it, or pass the source tag */
  REGTUNE_STALE = 3,     /* there are answers, all stale, and the cache refuses those */
  REGTUNE_NOT_LEGAL = 4, /* there are answers, and none can be launched on this GPU with this block */
  REGTUNE_BAD_KEY = 5,   /* no name, a size twice, or more than 32 sizes */
  REGTUNE_BAD_CALL = 64, /* a null pointer, or a structure whose size is not set */
  REGTUNE_NO_MEMORY = 65
} regtune_status;

typedef enum regtune_match {
  REGTUNE_MATCH_NONE = 0,
  REGTUNE_MATCH_EXACT = 1,
  REGTUNE_MATCH_NEAREST_SIZES = 2,   /* this GPU; sizes nearest by logarithm: size_distance */
  REGTUNE_MATCH_SAME_CAPABILITY = 3, /* another GPU of this compute capability, the nearest number of SMs */
  REGTUNE_MATCH_SAME_FAMILY = 4      /* another GPU of this major compute capability */
} regtune_match;

/* Bits of regtune_answer.stale. */
enum { REGTUNE_STALE_DRIVER = 1, REGTUNE_STALE_COMPILER = 2, REGTUNE_STALE_SOURCE = 4 };

typedef enum regtune_policy {
  REGTUNE_AUTHORS_OWN = 0,      /* leave source and options as they are */
  REGTUNE_COMPILER_DEFAULT = 1, /* no bound and no cap */
  REGTUNE_REGISTER_CAP = 2,     /* --maxrregcount=registers */
  REGTUNE_LAUNCH_BOUNDS = 3,    /* __launch_bounds__(max_threads_per_block, min_blocks_per_sm), the latter if not 0 */
  REGTUNE_MAX_REGISTERS = 4     /* __maxnreg__(registers) */
} regtune_policy;

typedef struct regtune_options {
  size_t size;
  const char* file;         /* the user's cache; NULL: as the program finds it */
  const char* system_files; /* below it, files and folders, separated by colons; NULL: REGTUNE_CACHE_PATH, then
                               /usr/share/regtune; "": none */
  int check_interval_ms;    /* between two looks for other processes' changes; 0: 100; below 0: at every call */
  int refuse_stale;         /* not 0: a stale answer is a miss */
} regtune_options;

typedef struct regtune_size {
  const char* name;
  int64_t value;
} regtune_size;

typedef struct regtune_key {
  size_t size;
  const char* kernel;        /* "sgemm", "ns::sgemm<128, float>", the signature, or the mangled name */
  const regtune_size* sizes; /* all that the kernel was tuned for, in any order */
  size_t size_count;
  unsigned block[3];      /* that will be launched; 0, 0, 0: the caller takes the answer's */
  const char* source_tag; /* what the caller has now: not equal is stale */
  const char* compiler;   /* "13.0" */
  const char* driver;     /* "580.159.04" */
} regtune_key;

typedef struct regtune_gpu {
  size_t size;
  const char* name; /* cuDeviceGetName: "NVIDIA H200" */
  int compute_major;
  int compute_minor;
  int sm_count;
  int memory_clock_mhz;
} regtune_gpu;

typedef struct regtune_budget {
  regtune_policy policy;
  int registers;             /* of a cap or __maxnreg__ */
  int max_threads_per_block; /* of launch bounds */
  int min_blocks_per_sm;
  unsigned block[3];
  int registers_per_thread; /* that the code uses */
  double speedup;           /* over the author's code, and its confidence interval */
  double speedup_low;
  double speedup_high;
  const char* option;    /* "--maxrregcount=57", several apart by spaces, or "" */
  const char* attribute; /* "__launch_bounds__(256, 3)", "__maxnreg__(64)", or "" */
  const char* defines;   /* "-DUNROLL=4 -DTILE=16", or "" */
  const char* instance;  /* of a kernel template: "scale<4, float>", or "" */
  const char* statement; /* what the kernel's body begins with, beside the attribute, or "" */
} regtune_budget;

typedef struct regtune_answer {
  size_t size;
  regtune_match match;
  unsigned stale;           /* REGTUNE_STALE_*; 0: not stale */
  double size_distance;     /* doublings between the sizes asked for and those measured, added up */
  regtune_budget best;      /* by option or in the source */
  regtune_budget in_source; /* the best that the source can say itself */
  const char* verdict;      /* "improved", "no_gain", "inconclusive", "not_resolvable" */
  const char* kernel;       /* mangled */
  const char* signature;
  const char* gpu_name; /* that it was measured on, under */
  const char* driver;
  const char* compiler;
  const char* source_tag;
  const char* measured; /* UTC, ISO 8601 */
  const char* file;     /* that holds it */
} regtune_answer;

#define REGTUNE_OPTIONS \
  { sizeof(regtune_options), 0, 0, 0, 0 }
#define REGTUNE_KEY \
  { sizeof(regtune_key), 0, 0, 0, {0, 0, 0}, 0, 0, 0 }
#define REGTUNE_GPU \
  { sizeof(regtune_gpu), 0, 0, 0, 0, 0 }
#define REGTUNE_ANSWER \
  { .size = sizeof(regtune_answer) }

/* Opens nothing yet: files are looked at when they are needed, and need not exist. options may be NULL. *cache is NULL
 * after a failure. */
REGTUNE_API regtune_status regtune_open(const regtune_options* options, regtune_cache** cache);
REGTUNE_API void regtune_close(regtune_cache* cache); /* NULL is fine */

/* Fills *answer when REGTUNE_OK is returned, and only then. From memory: below 100 ns when it was asked before. */
REGTUNE_API regtune_status regtune_find(regtune_cache* cache, const regtune_key* key, const regtune_gpu* gpu,
                                        regtune_answer* answer);

/* What is wrong with the files: the sentence number `index`, cut off at `capacity` with its zero. Returns its whole
 * length, or 0 when there are not so many. text may be NULL when capacity is 0. */
REGTUNE_API size_t regtune_problem(regtune_cache* cache, size_t index, char* text, size_t capacity);

REGTUNE_API const char* regtune_status_text(regtune_status status); /* one sentence; never NULL */
REGTUNE_API const char* regtune_match_text(regtune_match match);    /* "exact", "nearest sizes", ... */
REGTUNE_API const char* regtune_version(void);                      /* "0.1.0" */

#ifdef __cplusplus
}
#endif
#endif /* REGTUNE_H */
