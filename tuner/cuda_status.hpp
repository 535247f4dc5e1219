#pragma once
// What a call of the CUDA driver answered, in a form that needs none of CUDA's headers.
#include <string>

namespace regtune {

struct CudaStatus {
  int code = 0;
  std::string text;  // "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered"
  bool ok() const { return code == 0; }
  bool out_of_memory() const;
  bool not_found() const;  // a module has nothing of that name
  // The launch was refused before anything ran; the context is as good as before.
  bool refused() const;
};

}  // namespace regtune
