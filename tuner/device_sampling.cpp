#include "device_sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <vector>

#include "record_json.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

// A sample of a short kernel spans this much GPU time, so that an event's resolution and the gap before the first
// launch are no issue.
constexpr double kSampleMs = 1;
constexpr int kMostLaunches = 1000;
// Launches shorter than this are over before the host has put the next one on the stream.
constexpr double kShortMs = 0.05;
constexpr int kEmptyLaunches = 41;
// What every GPU with clusters takes.
constexpr std::uint64_t kPortableClusterBlocks = 8;
// What the driver's documentation states of events (cuEventElapsedTime).
constexpr double kStatedResolutionMs = 0.0005;
// NVML is asked while the GPU works, so that nothing waits for it where it answers within a sample; where it takes
// longer it is asked so seldom that it costs a twentieth of the time at most.
constexpr double kClocksEveryMs = 20;
constexpr double kClocksShare = 20;
constexpr std::int64_t kCopyBytes = std::int64_t{256} << 20;

Message failure_of_launch(const CudaStatus& status) {
  if (status.refused()) return {{"refused", "the driver refused the launch: " + status.text}};
  return {{"faulted", status.text}};
}

int launches_that_fill(double sample_ms, double launch_ms) {
  return static_cast<int>(
      std::clamp(std::ceil(sample_ms / std::max(launch_ms, 1e-4)), 1.0, static_cast<double>(kMostLaunches)));
}

}  // namespace

void DeviceSampling::prepare_flushing() {
  // A buffer that does not fit is no failure: the author's buffers come first.
  if (l2_bytes_ <= 0 || !driver_.allocate(2 * l2_bytes_, flushed_).ok()) flushed_ = 0;
}

Message DeviceSampling::load(const Message& request) {
  const int id = request.at("id");
  if (candidates_.contains(id)) return {{"ok", true}};
  LoadedKernel loaded;
  auto shape = request.at("shape").get<LaunchShape>();
  const std::string cubin = bytes_of(request.at("cubin"));
  const CudaStatus status = driver_.load(cubin, request.at("kernel"), shape.dynamic_shared_bytes, loaded);
  if (!status.ok()) return {{"refused", "the driver does not load this code: " + status.text}};
  if (const std::string failure = data_.fill_variables(loaded); !failure.empty()) {
    driver_.unload(loaded);
    return {{"refused", failure}};
  }
  std::optional<Message> refusal;
  if (cluster_) refusal = why_no_cluster_fits(loaded, shape);
  if (cooperative_) refusal = cut_to_resident(loaded, shape);
  if (refusal) {
    driver_.unload(loaded);
    return std::move(*refusal);
  }
  candidates_[id] = {
      loaded, shape, {}, variables_.read(loaded, request.value("variables", std::vector<std::string>()))};
  return {{"ok", true}};
}

void DeviceSampling::launch_in_clusters(const ClusterPlan& cluster) {
  if (const std::string why_not = driver_.why_no_clusters(); !why_not.empty())
    throw Error(ErrorKind::gpu_failed, why_not);
  cluster_ = cluster;
}

// A cluster's blocks are resident together on the multiprocessors of one part of the GPU: that limits a launch too.
std::optional<Message> DeviceSampling::why_no_cluster_fits(const LoadedKernel& loaded, const LaunchShape& shape) const {
  const Dim3& blocks = cluster_->blocks;
  if (blocks.volume() > kPortableClusterBlocks)
    if (const CudaStatus status = driver_.allow_any_cluster_size(loaded); !status.ok())
      return Message{
          {"refused", fmt::format("the driver allows no clusters of {} blocks: {}", blocks.volume(), status.text)}};
  int clusters = 0;
  if (const CudaStatus status = driver_.resident_clusters(loaded, shape, blocks, clusters); !status.ok())
    return Message{{"refused", "the driver does not say how many clusters are resident: " + status.text}};
  if (clusters > 0) return {};
  return Message{{"refused", fmt::format("the GPU has no room for one cluster of {} x {} x {} blocks of this code: its "
                                         "registers or its shared memory are too many",
                                         blocks.x, blocks.y, blocks.z)}};
}

// Every budget has its own occupancy, and so its own grid, as a program finds it that asks the runtime for it.
std::optional<Message> DeviceSampling::cut_to_resident(const LoadedKernel& loaded, LaunchShape& shape) const {
  std::int64_t resident = 0;
  if (const CudaStatus status = driver_.resident_blocks(loaded, shape, resident); !status.ok())
    return Message{{"refused", "the driver does not say how many blocks are resident: " + status.text}};
  const std::int64_t layer = std::int64_t{cuts_grid_ ? 1 : shape.grid.x} * shape.grid.y * shape.grid.z;
  if (resident < layer)
    return Message{{"refused", fmt::format("a cooperative launch of {} blocks at least, and {} are resident at once",
                                           layer, resident)}};
  if (cuts_grid_) shape.grid.x = static_cast<unsigned>(std::min<std::int64_t>(shape.grid.x, resident / layer));
  return {};
}

void DeviceSampling::restore(Loaded& candidate) {
  data_.restore();
  variables_.restore(candidate.variables);
}

CudaStatus DeviceSampling::launch(const Loaded& candidate) const {
  if (cooperative_) return driver_.launch_cooperative(candidate.kernel, candidate.shape, data_.parameters());
  if (cluster_ && !cluster_->declared)
    return driver_.launch_in_clusters(candidate.kernel, candidate.shape, cluster_->blocks, data_.parameters());
  return driver_.launch(candidate.kernel, candidate.shape, data_.parameters());
}

Message DeviceSampling::unload(int id) {
  if (const auto found = candidates_.find(id); found != candidates_.end()) {
    if (found->second.graph.executable) driver_.destroy(found->second.graph);
    variables_.release(found->second.variables);
    driver_.unload(found->second.kernel);
    candidates_.erase(found);
  }
  return {{"ok", true}};
}

void DeviceSampling::release() {
  while (!candidates_.empty()) unload(candidates_.begin()->first);
  if (flushed_ != 0) driver_.free(flushed_);
  flushed_ = 0;
}

void DeviceSampling::read_clocks() {
  reading_.reset();
  if (clocks_due_ && std::chrono::steady_clock::now() < *clocks_due_) return;
  reading_ = clocks_.read();
  clocks_due_ = after_ms(std::max(kClocksEveryMs, reading_ ? kClocksShare * reading_->cost_us / 1000 : 0));
}

DeviceSampling::Timed DeviceSampling::stop_and_read(int launches) {
  // A launch that faults is told by whichever call comes next.
  if (const CudaStatus status = driver_.stop_timer(); !status.ok()) return {0, Message{{"faulted", status.text}}};
  read_clocks();
  double ms = 0;
  if (const CudaStatus status = driver_.timed_ms(ms); !status.ok()) return {0, Message{{"faulted", status.text}}};
  gpu_ms_ += ms;
  return {ms / launches, {}};
}

// Every launch goes through here or through time_graph, and its return code is the first thing looked at: a refused
// launch must never be timed as an empty pair of events.
DeviceSampling::Timed DeviceSampling::time_launches(const Loaded& candidate, int launches) {
  require(driver_.start_timer(), "recording an event");
  for (int i = 0; i < launches; ++i)
    if (const CudaStatus status = launch(candidate); !status.ok()) return {0, failure_of_launch(status)};
  return stop_and_read(launches);
}

std::optional<Message> DeviceSampling::make_graph(Loaded& candidate) {
  const Dim3* const cluster = cluster_ && !cluster_->declared ? &cluster_->blocks : nullptr;
  const CudaStatus made =
      driver_.make_graph(candidate.kernel, candidate.shape, data_.parameters(), launches_, candidate.graph, cluster);
  if (!made.ok()) return Message{{"refused", "the driver refused a graph of the launch: " + made.text}};
  // The first replay brings the graph to the GPU.
  if (const CudaStatus status = driver_.launch(candidate.graph); !status.ok()) return failure_of_launch(status);
  if (const CudaStatus status = driver_.synchronize(); !status.ok()) return Message{{"faulted", status.text}};
  return {};
}

DeviceSampling::Timed DeviceSampling::time_graph(Loaded& candidate) {
  if (!candidate.graph.executable)
    if (auto failure = make_graph(candidate)) return {0, std::move(failure)};
  require(driver_.start_timer(), "recording an event");
  if (const CudaStatus status = driver_.launch(candidate.graph); !status.ok()) return {0, failure_of_launch(status)};
  return stop_and_read(launches_);
}

DeviceSampling::Timed DeviceSampling::time_warm(Loaded& candidate) {
  if (restored_) restore(candidate);
  return mode_ == SampleMode::graph ? time_graph(candidate) : time_launches(candidate, launches_);
}

// The author's code on its own data: what it leaves is the reference, and whether it can be launched again and again.
std::optional<Message> DeviceSampling::run_first(Loaded& candidate) {
  variables_.forget_reference();
  restore(candidate);
  if (const Timed first = time_launches(candidate, 1); first.failure) return first.failure;
  if (const std::string damage = data_.damage(); !damage.empty())
    throw Error(
        ErrorKind::bad_description,
        fmt::format("the author's own code {}: nothing it computes can be trusted. Is the buffer as long as the "
                    "grid needs, and does the kernel check its index against the size? compute-sanitizer shows "
                    "the line",
                    damage));
  data_.keep_as_reference();
  variables_.keep_as_reference(candidate.variables);
  // A second launch on what the first left: a difference means that the kernel reads what it writes, so
  // each timed launch needs the initial data; or that it never gives the same result twice.
  if (Timed second = time_launches(candidate, 1); second.failure) {
    for (auto& [how, told] : second.failure->items())
      told = "in its second launch, which finds what the first one left: " + told.get<std::string>();
    return second.failure;
  }
  restored_ = !data_.differences(true).empty() || !variables_.differences(candidate.variables).empty();
  if (!restored_) return {};
  restore(candidate);
  if (const Timed again = time_launches(candidate, 1); again.failure) return again.failure;
  if (const std::string beyond = data_.differences(false); !beyond.empty())
    throw Error(ErrorKind::bad_description,
                fmt::format("the author's own code gives another result each time ({}); atomics on floating-point "
                            "numbers do that. Say what is close enough: {}",
                            beyond, data_.example_of_tolerance()));
  variables_.leave_out_what_varies(candidate.variables);
  return {};
}

// `ms`: of the last launch.
std::optional<Message> DeviceSampling::launch_for(double wanted_ms, Loaded& candidate, double& ms) {
  double launched_ms = 0;
  for (int i = 0; i == 0 || (i < kMostLaunches && launched_ms < wanted_ms); ++i) {
    if (restored_) restore(candidate);
    const Timed timed = time_launches(candidate, 1);
    if (timed.failure) return timed.failure;
    ms = timed.ms;
    launched_ms += ms;
  }
  return {};
}

// A launch that is timed alone shows its gap too, so of a short one the count is found again from a graph's own time.
std::optional<Message> DeviceSampling::choose_way(Loaded& candidate, double& ms) {
  launches_ = restored_ ? 1 : launches_that_fill(kSampleMs, ms);
  mode_ = launches_ == 1 ? SampleMode::one_launch : SampleMode::back_to_back;
  if (launches_ == 1 || ms >= kShortMs || cooperative_) return {};
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (const auto failure = make_graph(candidate)) {
      if (!failure->contains("refused")) return failure;
      candidate.graph = {};
      mode_ = SampleMode::back_to_back;
      return {};
    }
    const Timed timed = time_graph(candidate);
    if (timed.failure) return timed.failure;
    mode_ = SampleMode::graph;
    ms = timed.ms;
    const int wanted = launches_that_fill(kSampleMs, ms);
    if (wanted <= launches_ * 5 / 4) return {};
    driver_.destroy(candidate.graph);
    candidate.graph = {};
    launches_ = wanted;
  }
  return {};
}

// What one launch is timed as that does nothing, in the place where samples of one launch stand: behind a restoring of
// buffers or a flush.
void DeviceSampling::measure_timer(Loaded& candidate) {
  std::vector<double> times;
  std::vector<void*> none;
  for (int i = 0; i < kEmptyLaunches; ++i) {
    if (restored_)
      restore(candidate);
    else
      flush();
    require(driver_.start_timer(), "recording an event");
    require(driver_.launch(data_.empty_kernel(), {{1, 1, 1}, {32, 1, 1}, 0}, none), "launching an empty kernel");
    require(driver_.stop_timer(), "recording an event");
    double ms = 0;
    require(driver_.timed_ms(ms), "timing an empty kernel");
    times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  launch_overhead_ms_ = times[times.size() / 2];
  timer_resolution_ms_ = kStatedResolutionMs;
  constexpr double kNanosecond = 1e-6;  // the driver's figures are floats
  for (std::size_t i = 1; i < times.size(); ++i)
    if (const double step = times[i] - times[i - 1]; step > kNanosecond)
      timer_resolution_ms_ = std::min(timer_resolution_ms_, step);
}

Message DeviceSampling::reference(int id) {
  const double gpu_ms_before = gpu_ms_;
  if (auto failed = run_first(candidates_.at(id))) return *failed;
  if (never_restore_) restored_ = false;
  return {{"gpu_ms", gpu_ms_ - gpu_ms_before}, {"written_variables", variables_.written()}};
}

Message DeviceSampling::warm_up(const Message& request) {
  Loaded& candidate = candidates_.at(request.at("id").get<int>());
  const double gpu_ms_before = gpu_ms_;
  const bool as_before = request.contains("as_before");
  if (as_before) {
    const Message& before = request.at("as_before");
    restored_ = before.at("restored");
    launches_ = before.at("launches_per_sample");
    mode_ = sample_mode_from_string(before.at("sample_mode").get<std::string>()).value_or(SampleMode::back_to_back);
  }
  double ms = 0;
  if (auto failed = launch_for(request.at("for_ms"), candidate, ms)) return *failed;
  if (!as_before) {
    if (auto failed = choose_way(candidate, ms)) return *failed;
    measure_timer(candidate);
  }
  return {{"ms", ms},
          {"launches_per_sample", launches_},
          {"restored", restored_},
          {"sample_mode", to_string(mode_)},
          {"can_flush", flushed_ != 0},
          {"launch_overhead_ms", launch_overhead_ms_},
          {"timer_resolution_ms", timer_resolution_ms_},
          {"gpu_ms", gpu_ms_ - gpu_ms_before}};
}

Message DeviceSampling::check(int id) {
  Loaded& candidate = candidates_.at(id);
  restore(candidate);
  const Timed timed = time_launches(candidate, 1);
  if (timed.failure) return *timed.failure;
  if (const std::string damage = data_.damage(); !damage.empty()) return {{"wrong", damage}};
  if (const std::string found = data_.differences(false); !found.empty()) return {{"wrong", found}};
  if (const std::string found = variables_.differences(candidate.variables); !found.empty()) return {{"wrong", found}};
  return reply_with_time(timed);
}

Message DeviceSampling::launch_once(int id) {
  Loaded& candidate = candidates_.at(id);
  restore(candidate);
  return reply_with_time(time_launches(candidate, 1));
}

Message DeviceSampling::sample(int id) {
  return reply_with_time(time_warm(candidates_.at(id)));
}

void DeviceSampling::flush() const {
  if (flushed_ != 0) require(driver_.fill_bytes_async(flushed_, 0, 2 * l2_bytes_), "flushing the L2 cache");
}

Message DeviceSampling::sample_cold(int id) {
  if (flushed_ == 0)
    throw Error(ErrorKind::buffer_too_large,
                fmt::format("flushing the L2 cache takes {} MiB of the GPU's memory, and they are not free beside the "
                            "buffers; choose smaller sizes with --set",
                            2 * l2_bytes_ >> 20));
  Loaded& candidate = candidates_.at(id);
  if (restored_) restore(candidate);
  flush();
  return reply_with_time(time_launches(candidate, 1));
}

Message DeviceSampling::copy_bandwidth() const {
  // Behind each other in one buffer, as large as there is memory for.
  std::int64_t bytes = kCopyBytes;
  DeviceAddress memory = 0;
  while (!driver_.allocate(2 * bytes, memory).ok())
    if ((bytes /= 2) < (1 << 20)) return {{"gb_per_s", 0}};
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    require(driver_.start_timer(), "recording an event");
    require(driver_.copy_on_device_async(memory, memory + static_cast<DeviceAddress>(bytes), bytes), "copying");
    require(driver_.stop_timer(), "recording an event");
    double ms = 0;
    require(driver_.timed_ms(ms), "timing a copy");
    if (ms > 0) best = std::max(best, 2 * static_cast<double>(bytes) / (ms * 1e6));
  }
  driver_.free(memory);
  return {{"gb_per_s", best}};
}

Message DeviceSampling::reply_with_time(const Timed& timed) {
  if (timed.failure) return *timed.failure;
  Message reply{{"ms", timed.ms}};
  if (reading_)
    reply["clocks"] = {
        {"sm_mhz", reading_->sm_mhz}, {"throttled_by", reading_->throttled_by}, {"cost_us", reading_->cost_us}};
  reading_.reset();
  return reply;
}

}  // namespace regtune
