#pragma once
// How long launches take: a pair of events around some of them, read later, when both are over, so that the program
// never waits. All of the first few of a shape are timed, then one in eight, then one in sixty-four.
#include "kernels.hpp"
#include "launch.hpp"

namespace regtune {

// Whether the next launch of an entry is one to time.
bool is_timed(std::uint64_t launches_before);

// Launches it between two events, whose time is added to the entry when it is known.
CUresult launch_timed(const Launch& launch, CUfunction function, LaunchEntry& entry);

// Adds what is over by now; without waiting.
void read_finished_times();

}  // namespace regtune
