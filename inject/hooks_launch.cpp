// Launches, in each of the forms in which the driver takes them.
#include "exported.hpp"
#include "hooks.hpp"
#include "launch_watch.hpp"

namespace regtune {
namespace {

Launch extended_launch(const CUlaunchConfig& configuration, CUfunction function, void** parameters, void** extra,
                       bool per_thread) {
  Launch launch;
  launch.function = function;
  launch.shape = {{configuration.gridDimX, configuration.gridDimY, configuration.gridDimZ},
                  {configuration.blockDimX, configuration.blockDimY, configuration.blockDimZ},
                  static_cast<std::int64_t>(configuration.sharedMemBytes)};
  launch.stream = configuration.hStream;
  launch.parameters = parameters;
  launch.extra = extra;
  launch.per_thread_stream = per_thread;
  launch.configuration = &configuration;
  for (unsigned i = 0; i < configuration.numAttrs; ++i)
    if (configuration.attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      launch.is_cooperative = configuration.attrs[i].value.cooperative != 0;
  return launch;
}

CUresult instantiate(const char* name, CUgraphExec* executable, CUgraph graph, unsigned long long flags) {
  auto* const own = driver_function<decltype(cuGraphInstantiateWithFlags)>(name);
  if (!own) return CUDA_ERROR_NOT_FOUND;
  const CUresult code = own(executable, graph, flags);
  if (code == CUDA_SUCCESS && executable) watch_graph(*executable, graph);
  return code;
}

CUresult instantiate_with_parameters(const char* name, CUgraphExec* executable, CUgraph graph,
                                     CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  auto* const own = driver_function<decltype(cuGraphInstantiateWithParams)>(name);
  if (!own) return CUDA_ERROR_NOT_FOUND;
  const CUresult code = own(executable, graph, parameters);
  if (code == CUDA_SUCCESS && executable) watch_graph(*executable, graph);
  return code;
}

CUresult launch_graph(const char* name, CUgraphExec executable, CUstream stream) {
  auto* const own = driver_function<decltype(cuGraphLaunch)>(name);
  if (!own) return CUDA_ERROR_NOT_FOUND;
  watch_graph_launch(executable);
  return own(executable, stream);
}

}  // namespace
}  // namespace regtune

using namespace regtune;

REGTUNE_EXPORTED CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                         CUstream stream, void** parameters, void** extra) {
  return watch_launch(
      {function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, stream, parameters, extra});
}

REGTUNE_EXPORTED CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                              unsigned block_x, unsigned block_y, unsigned block_z,
                                              unsigned shared_bytes, CUstream stream, void** parameters, void** extra) {
  return watch_launch({function,
                       {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes},
                       stream,
                       parameters,
                       extra,
                       false,
                       true});
}

REGTUNE_EXPORTED CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                                    unsigned grid_z, unsigned block_x, unsigned block_y,
                                                    unsigned block_z, unsigned shared_bytes, CUstream stream,
                                                    void** parameters) {
  return watch_launch({function,
                       {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes},
                       stream,
                       parameters,
                       nullptr,
                       true});
}

REGTUNE_EXPORTED CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y,
                                                         unsigned grid_z, unsigned block_x, unsigned block_y,
                                                         unsigned block_z, unsigned shared_bytes, CUstream stream,
                                                         void** parameters) {
  return watch_launch({function,
                       {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes},
                       stream,
                       parameters,
                       nullptr,
                       true,
                       true});
}

REGTUNE_EXPORTED CUresult cuLaunchKernelEx(const CUlaunchConfig* configuration, CUfunction function, void** parameters,
                                           void** extra) {
  return watch_launch(extended_launch(*configuration, function, parameters, extra, false));
}

REGTUNE_EXPORTED CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* configuration, CUfunction function,
                                                void** parameters, void** extra) {
  return watch_launch(extended_launch(*configuration, function, parameters, extra, true));
}

REGTUNE_EXPORTED CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph,
                                                      unsigned long long flags) {
  return instantiate("cuGraphInstantiateWithFlags", executable, graph, flags);
}
REGTUNE_EXPORTED CUresult cuGraphInstantiateWithParams(CUgraphExec* executable, CUgraph graph,
                                                       CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  return instantiate_with_parameters("cuGraphInstantiateWithParams", executable, graph, parameters);
}
REGTUNE_EXPORTED CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* executable, CUgraph graph,
                                                            CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  return instantiate_with_parameters("cuGraphInstantiateWithParams_ptsz", executable, graph, parameters);
}
REGTUNE_EXPORTED CUresult cuGraphExecDestroy(CUgraphExec executable) {
  forget_graph(executable);
  return driver_function<decltype(cuGraphExecDestroy)>("cuGraphExecDestroy")(executable);
}
REGTUNE_EXPORTED CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  return launch_graph("cuGraphLaunch", executable, stream);
}
REGTUNE_EXPORTED CUresult cuGraphLaunch_ptsz(CUgraphExec executable, CUstream stream) {
  return launch_graph("cuGraphLaunch_ptsz", executable, stream);
}

namespace regtune {

std::span<const Hook> launch_hooks() {
  static const Hook rows[] = {
      REGTUNE_HOOK(cuLaunchKernel, "cuLaunchKernel", 4000, false),
      REGTUNE_HOOK(cuLaunchKernel_ptsz, "cuLaunchKernel", 7000, true),
      REGTUNE_HOOK(cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", 9000, false),
      REGTUNE_HOOK(cuLaunchCooperativeKernel_ptsz, "cuLaunchCooperativeKernel", 9000, true),
      REGTUNE_HOOK(cuLaunchKernelEx, "cuLaunchKernelEx", 11060, false),
      REGTUNE_HOOK(cuLaunchKernelEx_ptsz, "cuLaunchKernelEx", 11060, true),
      REGTUNE_HOOK(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", 11040, false),
      // The older forms of the name take other parameters, and are left alone.
      {"", "cuGraphInstantiate", 12000, false, reinterpret_cast<void*>(&cuGraphInstantiateWithFlags)},
      REGTUNE_HOOK(cuGraphInstantiateWithParams, "cuGraphInstantiateWithParams", 12000, false),
      REGTUNE_HOOK(cuGraphInstantiateWithParams_ptsz, "cuGraphInstantiateWithParams", 12000, true),
      REGTUNE_HOOK(cuGraphExecDestroy, "cuGraphExecDestroy", 10000, false),
      REGTUNE_HOOK(cuGraphLaunch, "cuGraphLaunch", 10000, false),
      REGTUNE_HOOK(cuGraphLaunch_ptsz, "cuGraphLaunch", 10000, true),
  };
  return rows;
}

}  // namespace regtune
