#include "launch_timer.hpp"

#include <algorithm>
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
  bool is_replaced = false;
};

// More than a GPU has queued would mean that nobody reads them.
constexpr std::size_t kMostRunning = 4096;

struct Timers {
  std::mutex mutex;
  std::map<CUcontext, float> empty_ms;  // what a pair is apart with nothing between
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

constexpr int kEmptyPairs = 5;

// The least of a few. Once for each context, behind whatever the stream has to do.
float time_of_nothing(CUstream stream) {
  Events events;
  float least = 0;
  if (driver().cuEventCreate_call(&events.started, CU_EVENT_DEFAULT) != CUDA_SUCCESS ||
      driver().cuEventCreate_call(&events.stopped, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
    return 0;
  for (int i = 0; i < kEmptyPairs; ++i) {
    float ms = 0;
    driver().cuEventRecord_call(events.started, stream);
    driver().cuEventRecord_call(events.stopped, stream);
    if (driver().cuEventSynchronize_call(events.stopped) != CUDA_SUCCESS ||
        driver().cuEventElapsedTime_call(&ms, events.started, events.stopped) != CUDA_SUCCESS)
      return 0;
    least = i == 0 ? ms : std::min(least, ms);
  }
  driver().cuEventDestroy_call(events.started);
  driver().cuEventDestroy_call(events.stopped);
  return least;
}

void measure_nothing(CUcontext context, CUstream stream) {
  const std::lock_guard lock(timers().mutex);
  const auto [known, is_new] = timers().empty_ms.try_emplace(context, 0.0f);
  if (is_new) known->second = time_of_nothing(stream);
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
      const float of_launch = std::max(ms - timers().empty_ms[oldest.context], 0.0f);
      LaunchEntry& entry = *oldest.entry;
      ++(oldest.is_replaced ? entry.replaced_timed : entry.timed);
      (oldest.is_replaced ? entry.replaced_timed_ns : entry.timed_ns) += static_cast<std::uint64_t>(of_launch * 1e6f);
      timers().unused[oldest.context].push_back(oldest.events);
    }
    running.pop_front();
  }
}

CUresult launch_timed(const Launch& launch, CUfunction function, LaunchEntry& entry) {
  read_finished_times();
  Running running{nullptr, {}, &entry, function != launch.function};
  driver().cuCtxGetCurrent_call(&running.context);
  if (!take_events(running.context, running.events)) return launch_as_asked(launch, function);
  const CUstream stream = stream_of(launch);
  measure_nothing(running.context, stream);
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
