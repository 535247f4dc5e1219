#include "exit_codes.hpp"

#include <tuple>

namespace regtune {

const std::vector<ExitCode>& exit_codes() {
  static const std::vector<ExitCode> all{
      {0,
       "done: tuned and stored, whatever the verdict; found; no breach; a stored answer holds; tuning can work here"},
      {kExitMiss,
       "nothing is stored for what was asked, or there is nothing to verify, export or show; `regtune diff`: they "
       "differ"},
      {2, "the command line or the config file is not understood"},
      {3, "a file that was named cannot be read"},
      {4, "your code does not compile"},
      {5, "no kernel in the source, or none of that name"},
      {6, "several kernels, and none was named"},
      {7, "a kernel parameter has no value"},
      {8, "the launch description: syntax, unknown key, wrong type, bad expression"},
      {9, "a grid, block or size that no GPU can launch"},
      {10, "the buffers do not fit the GPU's memory"},
      {11, "the compiler does not know the architecture"},
      {12, "the cache is not a database of regtune's; `regtune db verify` found damage"},
      {13, "the cache cannot be written"},
      {14, "no compiler: NVRTC was not found, or is too old"},
      {15, "the GPU or its driver failed, or your own code does not run"},
      {16, "no budget makes the kernel launchable with this block"},
      {17, "`regtune check`: the code breaks a limit, or is worse than the baseline"},
      {18, "`regtune verify`, `regtune export --patch`: the stored answer does not hold, or its source has changed"},
      {kExitNoGpu, "no GPU: everything was compiled and analysed, nothing was timed or stored"},
      {70, "a bug of regtune"},
      {130, "interrupted by Ctrl-C; what was done is stored, and the same command goes on from there"},
      {143, "ended by SIGTERM; as above"}};
  return all;
}

int worse_exit_code(int a, int b) {
  const auto weight = [](int code) { return std::tuple(code != 0, code != kExitNoGpu, code); };
  return weight(a) < weight(b) ? b : a;
}

}  // namespace regtune
