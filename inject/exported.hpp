#pragma once
// What every file of hooks takes: a hook is a function of CUDA's own name, which programs find in this library first.
#include <cuda.h>

#include "driver_functions.hpp"
#include "inside.hpp"

#define REGTUNE_EXPORTED extern "C" __attribute__((visibility("default")))

// A row of the table of hooks (hooks.hpp).
#define REGTUNE_HOOK(symbol, asked, since, per_thread) \
  { #symbol, asked, since, per_thread, reinterpret_cast < void*>(&symbol) }
