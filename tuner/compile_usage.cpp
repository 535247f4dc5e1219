#include "compile_usage.hpp"

#include "process_cpu.hpp"

namespace regtune {

using Clock = std::chrono::steady_clock;

double clock_seconds(Clock::time_point at) {
  return std::chrono::duration<double>(at.time_since_epoch()).count();
}

void CompileUsage::add_answer(const Message& reply, int id, Clock::time_point given) {
  const pid_t process = reply.at("pid").get<pid_t>();
  const double cpu_s = reply.at("cpu_s").get<double>();
  answered_cpu_s_ += cpu_s;
  spans_.push_back({id, process, clock_seconds(given), reply.at("begun_s").get<double>(),
                    reply.at("ended_s").get<double>(), clock_seconds(Clock::now()), cpu_s});
  double& peak = peak_mib_of_[process];
  peak_mib_ += reply.at("peak_mib").get<double>() - peak;
  peak = reply.at("peak_mib").get<double>();
}

void CompileUsage::add_end(pid_t process) {
  ended_cpu_s_ += process_cpu_seconds(process).value_or(0);
}

void CompileUsage::add_cut_short(pid_t process, int id, Clock::time_point given, Clock::time_point begun) {
  const double now_s = clock_seconds(Clock::now());
  cut_short_.push_back({id, process, clock_seconds(given), clock_seconds(begun), now_s, now_s, 0});
}

}  // namespace regtune
