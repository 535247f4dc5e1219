/* A small library with one CUDA kernel, which runs with the register budget that was tuned for the GPU at hand. */
#ifndef DECAY_H
#define DECAY_H

#include <stddef.h>

/* out[i] = the decay series of in[i], on the device. A context must be current. `source` is the path of
 * kernels/decay_wide.cu; `cache` a file of regtune's, or NULL for the user's. Returns NULL, or what went wrong: valid
 * until the thread's next call. Prints where its code came from, once, when `talk` is not 0. */
const char* decay(const char* source, const char* cache, unsigned long long in, unsigned long long out, unsigned long n,
                  int talk);

#endif
