#pragma once
// How much CPU time a process has used, as the kernel counts it and to the nanosecond: user and system time of all its
// threads, whoever it belongs to. Its children are processes of their own and are not in it; a process that was reaped
// is told of no more.
#include <sys/types.h>

#include <optional>

namespace regtune {

// Seconds since the process began; empty when there is no such process.
std::optional<double> process_cpu_seconds(pid_t process);

}  // namespace regtune
