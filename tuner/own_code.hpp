#pragma once
// regtune's own code on the GPU (device_code.cu), as a "plan" request brings it: loaded, launched, unloaded. Knows how
// two pieces of memory are compared, and nothing of what lies in them.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "driver.hpp"
#include "element_type.hpp"
#include "worker.hpp"

namespace regtune {

// As device_code.cu declares it.
struct ElementDifference {
  unsigned long long differing = 0;
  unsigned long long first = ~0ull;  // smallest index among them; all ones: none
  double value = 0;                  // at `first`, of the variant and of the reference
  double reference = 0;
};

// A value is close enough within any of the three. All zero: bit by bit.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
  std::int64_t ulps = 0;
};

class OwnCode {
 public:
  explicit OwnCode(const Driver& driver) : driver_(driver) {}

  // Throws Error(gpu_failed).
  void load(const Message& request);
  // A kernel that is made for no element type: "regtune_nothing".
  LoadedKernel kernel(const std::string& name);
  // `purpose`: "fill", "compare", "show". One thread for each of `elements`, or a loop.
  CudaStatus run(ElementType type, const std::string& purpose, std::vector<void*> parameters,
                 std::int64_t elements) const;
  // Of `count` elements at two addresses. Waits. `what`: for a failure, "comparing out".
  ElementDifference compare(ElementType type, DeviceAddress values, DeviceAddress references, std::int64_t count,
                            const Tolerance& tolerance, const std::string& what) const;
  void unload();

 private:
  const Driver& driver_;
  std::string cubin_;
  std::vector<LoadedKernel> loaded_;
  std::map<std::string, LoadedKernel> functions_;  // "float fill"
  DeviceAddress result_ = 0;                       // of a comparison
};

}  // namespace regtune
