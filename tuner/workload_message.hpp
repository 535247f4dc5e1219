#pragma once
// The plan of a workload as the message that the child process gets which owns the GPU, and back what is read there as
// a whole: how a texture is read, what a tensor map views, what was captured.
#include "worker.hpp"
#include "workload.hpp"

namespace regtune {

// Members: seed, parameters, globals, cooperative, cluster, snapshot. A parameter is a buffer; or has "bytes", those of
// a scalar or a structure with its "pointers"; or "texture" or "tensor_map", a layout, with the "buffer" under it or,
// of a map, the name of another one under "of".
Message workload_message(const WorkloadPlan& plan);

TextureLayout texture_of(const Message& layout);
TensorMapLayout tensor_map_of(const Message& layout);
// Nothing: no clusters.
std::optional<ClusterPlan> cluster_of(const Message& request);
// Nothing: the launch was not captured.
std::optional<SnapshotPlan> snapshot_of(const Message& request);

}  // namespace regtune
