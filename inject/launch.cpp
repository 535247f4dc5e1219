#include "launch.hpp"

#include "driver_functions.hpp"

namespace regtune {
namespace {

// Both forms have one signature.
template <class Function>
Function* form_of(const char* plain, const char* per_thread, bool wants_per_thread) {
  Function* const found = wants_per_thread ? driver_function<Function>(per_thread) : nullptr;
  return found ? found : driver_function<Function>(plain);
}

}  // namespace

CUresult launch_as_asked(const Launch& launch, CUfunction function) {
  static auto* const kernel = driver_function<decltype(cuLaunchKernel)>("cuLaunchKernel");
  static auto* const kernel_of_thread =
      form_of<decltype(cuLaunchKernel)>("cuLaunchKernel", "cuLaunchKernel_ptsz", true);
  const LaunchShape& shape = launch.shape;
  const auto shared = static_cast<unsigned>(shape.dynamic_shared_bytes);
  if (launch.configuration) {
    auto* const extended =
        form_of<decltype(cuLaunchKernelEx)>("cuLaunchKernelEx", "cuLaunchKernelEx_ptsz", launch.per_thread_stream);
    return extended ? extended(launch.configuration, function, launch.parameters, launch.extra) : CUDA_ERROR_NOT_FOUND;
  }
  if (launch.is_cooperative) {
    auto* const cooperative = form_of<decltype(cuLaunchCooperativeKernel)>(
        "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel_ptsz", launch.per_thread_stream);
    return cooperative ? cooperative(function, shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x, shape.block.y,
                                     shape.block.z, shared, launch.stream, launch.parameters)
                       : CUDA_ERROR_NOT_FOUND;
  }
  auto* const plain = launch.per_thread_stream ? kernel_of_thread : kernel;
  return plain ? plain(function, shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x, shape.block.y, shape.block.z,
                       shared, launch.stream, launch.parameters, launch.extra)
               : CUDA_ERROR_NOT_FOUND;
}

CUstream stream_of(const Launch& launch) {
  return !launch.stream && launch.per_thread_stream ? CU_STREAM_PER_THREAD : launch.stream;
}

}  // namespace regtune
