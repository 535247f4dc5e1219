#pragma once
// What runs in the compile server and in the workers that are forked from it: the compilers, the linker, and the LTO-IR
// that others will need again. Requests and answers are messages; who waits for them, and for how long, is
// compile.hpp's.
#include "compile_request.hpp"
#include "fork_server.hpp"
#include "worker.hpp"

namespace regtune {

Message request_message(const CompilerRequest& request);
CompilerRequest request_from(const Message& message);

// Answers {"identify"}, {"identify_nvcc", "nvcc_file"} and {"identify_ptxas"} with what the compiler is, or
// {"failure"},
// {"load_linker"} when nvJitLink is there for all workers that are forked later, and every request with its code.
ForkServer compile_server();

}  // namespace regtune
