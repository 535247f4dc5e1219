#include "launch_watch.hpp"

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "driver_functions.hpp"
#include "inside.hpp"
#include "kernels.hpp"
#include "launch_timer.hpp"
#include "offered_launch.hpp"
#include "replacement.hpp"
#include "supervisor_link.hpp"

namespace regtune {
namespace {

// Of a program that captures a graph in some thread, calls are refused that could spoil it; not in a thread of this
// mode, which says that it knows what it does.
class RelaxedCapture {
 public:
  RelaxedCapture() {
    if (driver().cuThreadExchangeStreamCaptureMode_call) driver().cuThreadExchangeStreamCaptureMode_call(&mode_);
  }
  ~RelaxedCapture() {
    if (driver().cuThreadExchangeStreamCaptureMode_call) driver().cuThreadExchangeStreamCaptureMode_call(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// A launch on a capturing stream becomes a node of a graph, and runs with that.
bool is_being_captured(const Launch& launch) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const auto ask = driver().cuStreamIsCapturing_call;
  return ask && ask(stream_of(launch), &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// What a program has not waited for when it ends is not timed; most wait for their results.
void read_times_at_exit() {
  const Inside inside;
  read_finished_times();
}

void read_times_when_the_program_ends() {
  static const bool asked = std::atexit(&read_times_at_exit) == 0;
  static_cast<void>(asked);
}

struct Graphs {
  std::mutex mutex;
  std::map<CUgraphExec, std::vector<LaunchEntry*>> kernels;
};

Graphs& graphs() {
  static Graphs* const all = new Graphs;
  return *all;
}

}  // namespace

CUresult watch_launch(const Launch& launch) {
  if (Inside::is_own_work() || !SupervisorLink::of_this_process()) return launch_as_asked(launch, launch.function);
  wait_while_a_launch_is_tuned();
  WatchedShape* const watched = watched_shape(launch.function, launch.shape, launch.is_cooperative);
  if (!watched) return launch_as_asked(launch, launch.function);
  const Inside inside;
  const RelaxedCapture relaxed;
  if (is_being_captured(launch)) return launch_as_asked(launch, launch.function);
  read_times_when_the_program_ends();
  LaunchEntry& entry = *watched->entry;
  const std::uint64_t before = entry.launches.fetch_add(1, std::memory_order_relaxed);
  CUfunction function = launch.function;
  if (watched->kernel->interest == Interest::tuned)
    if (const std::optional<CUresult> launched = offer_launch(launch, *watched)) return *launched;
  if (watched->kernel->interest == Interest::replaced) {
    if (const CUfunction tuned = replacement_of(launch, *watched)) {
      function = tuned;
      entry.replaced.fetch_add(1, std::memory_order_relaxed);
    }
  }
  return is_timed(before) ? launch_timed(launch, function, entry) : launch_as_asked(launch, function);
}

void watch_graph(CUgraphExec executable, CUgraph graph) {
  if (Inside::is_own_work() || !SupervisorLink::of_this_process()) return;
  std::vector<LaunchEntry*> found;
  std::size_t count = 0;
  const DriverFunctions& calls = driver();
  if (!calls.cuGraphGetNodes_call || calls.cuGraphGetNodes_call(graph, nullptr, &count) != CUDA_SUCCESS) return;
  std::vector<CUgraphNode> nodes(count);
  if (calls.cuGraphGetNodes_call(graph, nodes.data(), &count) != CUDA_SUCCESS) return;
  for (CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    CUDA_KERNEL_NODE_PARAMS kernel{};
    if (calls.cuGraphNodeGetType_call(node, &type) != CUDA_SUCCESS || type != CU_GRAPH_NODE_TYPE_KERNEL) continue;
    if (calls.cuGraphKernelNodeGetParams_call(node, &kernel) != CUDA_SUCCESS) continue;
    const CUfunction handle = kernel.func ? kernel.func : reinterpret_cast<CUfunction>(kernel.kern);
    const LaunchShape shape{{kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ},
                            {kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ},
                            static_cast<std::int64_t>(kernel.sharedMemBytes)};
    if (WatchedShape* const watched = watched_shape(handle, shape, false)) found.push_back(watched->entry);
  }
  const std::lock_guard lock(graphs().mutex);
  graphs().kernels[executable] = std::move(found);
}

void forget_graph(CUgraphExec executable) {
  const std::lock_guard lock(graphs().mutex);
  graphs().kernels.erase(executable);
}

void watch_graph_launch(CUgraphExec executable) {
  if (Inside::is_own_work()) return;
  wait_while_a_launch_is_tuned();
  const std::lock_guard lock(graphs().mutex);
  const auto found = graphs().kernels.find(executable);
  if (found == graphs().kernels.end()) return;
  for (LaunchEntry* const entry : found->second) ++entry->in_graphs;
}

}  // namespace regtune
