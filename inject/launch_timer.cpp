#include "launch_timer.hpp"

#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "driver_functions.hpp"

namespace regtune {
namespace {

struct Events {
  CUevent started = nullptr;
  CUevent stopped = nullptr;
};
struct Running {
  CUcontext context = nullptr;
  Events events;
  LaunchEntry* entry = nullptr;
};

// More than a GPU has queued would mean that nobody reads them.
constexpr std::size_t kMostRunning = 4096;

struct Timers {
  std::mutex mutex;
  std::map<CUcontext, std::vector<Events>> unused;
  std::deque<Running> running;
};

Timers& timers() {
  static Timers* const all = new Timers;
  return *all;
}

bool take_events(CUcontext context, Events& events) {
  const std::lock_guard lock(timers().mutex);
  std::vector<Events>& unused = timers().unused[context];
  if (!unused.empty()) {
    events = unused.back();
    unused.pop_back();
    return true;
  }
  if (timers().running.size() >= kMostRunning) return false;
  return driver().cuEventCreate_call(&events.started, CU_EVENT_DEFAULT) == CUDA_SUCCESS &&
         driver().cuEventCreate_call(&events.stopped, CU_EVENT_DEFAULT) == CUDA_SUCCESS;
}

}  // namespace

bool is_timed(std::uint64_t launches_before) {
  if (launches_before < 8) return true;
  return launches_before % (launches_before < 256 ? 8 : 64) == 0;
}

void read_finished_times() {
  const std::lock_guard lock(timers().mutex);
  std::deque<Running>& running = timers().running;
  while (!running.empty()) {
    const Running& oldest = running.front();
    const CUresult state = driver().cuEventQuery_call(oldest.events.stopped);
    if (state == CUDA_ERROR_NOT_READY) return;
    float ms = 0;
    if (state == CUDA_SUCCESS &&
        driver().cuEventElapsedTime_call(&ms, oldest.events.started, oldest.events.stopped) == CUDA_SUCCESS) {
      ++oldest.entry->timed;
      oldest.entry->timed_ns += static_cast<std::uint64_t>(ms * 1e6);
      timers().unused[oldest.context].push_back(oldest.events);
    }
    running.pop_front();
  }
}

CUresult launch_timed(const Launch& launch, CUfunction function, LaunchEntry& entry) {
  read_finished_times();
  Running running{nullptr, {}, &entry};
  driver().cuCtxGetCurrent_call(&running.context);
  if (!take_events(running.context, running.events)) return launch_as_asked(launch, function);
  const CUstream stream = stream_of(launch);
  const bool began = driver().cuEventRecord_call(running.events.started, stream) == CUDA_SUCCESS;
  const CUresult code = launch_as_asked(launch, function);
  const bool ended =
      code == CUDA_SUCCESS && began && driver().cuEventRecord_call(running.events.stopped, stream) == CUDA_SUCCESS;
  const std::lock_guard lock(timers().mutex);
  if (ended)
    timers().running.push_back(running);
  else
    timers().unused[running.context].push_back(running.events);
  return code;
}

}  // namespace regtune
