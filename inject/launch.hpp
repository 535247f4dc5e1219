#pragma once
// One launch of a watched program, as it asked for it, and the driver's own function for it.
#include <cuda.h>

#include "record.hpp"

namespace regtune {

struct Launch {
  CUfunction function = nullptr;
  LaunchShape shape;
  CUstream stream = nullptr;
  void** parameters = nullptr;
  void** extra = nullptr;  // parameters as one block, instead of `parameters`
  bool is_cooperative = false;
  bool per_thread_stream = false;                 // a null stream means the thread's own
  const CUlaunchConfig* configuration = nullptr;  // of cuLaunchKernelEx: attributes stand in it
};

// As it was asked for, of this function.
CUresult launch_as_asked(const Launch& launch, CUfunction function);

// The handle by which functions that have no per-thread form know the stream.
CUstream stream_of(const Launch& launch);

}  // namespace regtune
