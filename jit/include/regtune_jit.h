/* regtune: a kernel's source in, a loaded function out, compiled with the register budget that was tuned for it. C11.
 * The CUDA driver and NVRTC are opened when they are needed and never linked; neither of their headers is.
 *
 * Conventions: those of regtune.h, and
 *  1. A CUDA context must be current in the calling thread. What is loaded lives in it, and goes with it.
 *  2. One question is answered once in each context: threads that ask the same meanwhile wait for the first. What is
 *     equal in source, options, key and block is the same question. Failures are kept too, but those of the driver.
 *  3. The code is, in this order: the one that was timed, from the cache file, where source and options are those that
 *     were tuned (their tags are equal), the architecture is this GPU's, the file and its folder belong to this user or
 *     to root and nobody else may write them, and the code has its hash: NVRTC is then not opened at all; else the
 *     source compiled by NVRTC under the stored budget; else, where nothing is stored, or the budget does not compile
 * or load, compiled as its author wrote it. The last is no failure: `origin` and `looked_up` tell.
 *  4. Compiling happens in this process. A compiler that crashes takes it along.
 */
#ifndef REGTUNE_JIT_H
#define REGTUNE_JIT_H

#include "regtune.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct regtune_jit regtune_jit;
struct CUfunc_st; /* struct CUfunc_st* is cuda.h's CUfunction */

typedef enum regtune_jit_status {
  REGTUNE_JIT_OK = 0,
  REGTUNE_JIT_NO_DRIVER = 1,    /* no NVIDIA driver, or no GPU */
  REGTUNE_JIT_NO_CONTEXT = 2,   /* no context is current in this thread */
  REGTUNE_JIT_NO_COMPILER = 3,  /* NVRTC is needed and was not found */
  REGTUNE_JIT_NOT_COMPILED = 4, /* the source does not compile as its author wrote it */
  REGTUNE_JIT_NOT_LOADED = 5,   /* the driver refused the code */
  REGTUNE_JIT_BAD_CALL = 64,    /* a null pointer, a size that is not set, an option that is the library's to choose */
  REGTUNE_JIT_NO_MEMORY = 65
} regtune_jit_status;

typedef enum regtune_jit_origin {
  REGTUNE_JIT_STORED = 1,   /* the code that was timed */
  REGTUNE_JIT_COMPILED = 2, /* compiled here under the stored budget */
  REGTUNE_JIT_AUTHORS = 3   /* compiled here as its author wrote it */
} regtune_jit_origin;

typedef struct regtune_jit_source {
  size_t size;
  const char* text; /* CUDA C++; NULL: read from `path` */
  const char* path; /* of the file: for messages, and what the source includes is looked for beside it; may be NULL */
  const char* const* options; /* as given when it was tuned: "-DTILE=16"; the architecture is the library's */
  size_t option_count;
} regtune_jit_source;

typedef struct regtune_jit_kernel {
  size_t size;
  struct CUfunc_st* function;
  regtune_jit_origin origin;
  regtune_status looked_up; /* what the look-up gave; REGTUNE_OK: `answer` is set */
  regtune_answer answer;
  unsigned block[3];           /* to launch with: the key's, else the answer's; 0, 0, 0: as the author does */
  size_t dynamic_shared_bytes; /* that was measured with that block; allowed to the function where above 48 KiB */
  const char* entry;           /* its mangled name */
} regtune_jit_kernel;

#define REGTUNE_JIT_SOURCE \
  { sizeof(regtune_jit_source), 0, 0, 0, 0 }
#ifdef __cplusplus
static inline regtune_jit_kernel regtune_jit_no_kernel(void) {
  regtune_jit_kernel kernel{};
  kernel.size = sizeof kernel;
  return kernel;
}
#  define REGTUNE_JIT_KERNEL regtune_jit_no_kernel()
#else
#  define REGTUNE_JIT_KERNEL \
    { .size = sizeof(regtune_jit_kernel) }
#endif

/* `options` are those of regtune_open, and may be NULL. Opens nothing yet. */
REGTUNE_API regtune_jit_status regtune_jit_open(const regtune_options* options, regtune_jit** jit);
/* The last call. Functions stay as long as their contexts; texts do not. */
REGTUNE_API void regtune_jit_close(regtune_jit* jit);

/* The key's source_tag is made from the source where the caller leaves it empty. Fills *kernel when REGTUNE_JIT_OK is
 * returned, and only then. */
REGTUNE_API regtune_jit_status regtune_jit_load(regtune_jit* jit, const regtune_jit_source* source,
                                                const regtune_key* key, regtune_jit_kernel* kernel);

/* What this thread's last regtune_jit_load has to say: of a failure the reason, with the compiler's messages; of a
 * budget or a stored code that could not be used, why. Valid until the thread's next one. Never NULL. */
REGTUNE_API const char* regtune_jit_message(void);
REGTUNE_API const char* regtune_jit_status_text(regtune_jit_status status); /* one sentence; never NULL */
REGTUNE_API const char* regtune_jit_version(void);

#ifdef __cplusplus
}
#endif
#endif /* REGTUNE_JIT_H */
