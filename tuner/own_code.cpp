#include "own_code.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace regtune {

void OwnCode::load(const Message& request) {
  cubin_ = bytes_of(request.at("device_code"));
  for (const auto& [type, names] : request.at("functions").items())
    for (const auto& [purpose, name] : names.items())
      functions_[type + " " + purpose] = kernel(name.get<std::string>());
  require(driver_.allocate(sizeof(ElementDifference), result_), "allocating a result");
}

LoadedKernel OwnCode::kernel(const std::string& name) {
  LoadedKernel loaded;
  require(driver_.load(cubin_, name, 0, loaded), "loading regtune's own device code");
  loaded_.push_back(loaded);
  return loaded;
}

CudaStatus OwnCode::run(ElementType type, const std::string& purpose, std::vector<void*> parameters,
                        std::int64_t elements) const {
  const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>((elements + 255) / 256, 1, 8192));
  const LaunchShape shape{{blocks, 1, 1}, {static_cast<unsigned>(elements == 1 ? 1 : 256), 1, 1}, 0};
  return driver_.launch(functions_.at(fmt::format("{} {}", to_string(type), purpose)), shape, parameters);
}

ElementDifference OwnCode::compare(ElementType type, DeviceAddress values, DeviceAddress references, std::int64_t count,
                                   const Tolerance& tolerance, const std::string& what) const {
  ElementDifference difference;
  if (count == 0) return difference;
  require(driver_.copy_to_device(result_, &difference, sizeof difference), what);
  auto elements = static_cast<unsigned long long>(count);
  double absolute = tolerance.absolute;
  double relative = tolerance.relative;
  auto ulps = static_cast<unsigned long long>(tolerance.ulps);
  auto result = result_;
  require(run(type, "compare", {&values, &references, &elements, &absolute, &relative, &ulps, &result}, count), what);
  require(run(type, "show", {&values, &references, &result}, 1), what);
  require(driver_.copy_to_host(&difference, result_, sizeof difference), what);
  return difference;
}

void OwnCode::unload() {
  for (const LoadedKernel& kernel : loaded_) driver_.unload(kernel);
  loaded_.clear();
  functions_.clear();
  if (result_ != 0) driver_.free(result_);
  result_ = 0;
}

}  // namespace regtune
