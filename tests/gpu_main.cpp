// gpu_tests may be started as the process that drives the GPU, as regtune itself is (device.hpp).
#include <gtest/gtest.h>

#include "device.hpp"

int main(int argc, char** argv) {
  if (const auto served = regtune::serve_profiled({argv + 1, argv + argc})) return *served;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
