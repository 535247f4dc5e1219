#pragma once
// The messages of the injected library (inject/) as values: a launch that is offered, and the source of a kernel that
// the program compiled itself. Throws Message::exception for what no injected library says.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "captured_launch.hpp"
#include "worker.hpp"

namespace regtune {

// What a program told its NVRTC, written into `folder`: the source, and its headers beside it, where a compiler looks
// for them. `called`: by the program, for people. `options`: without the architecture, which is the GPU's.
struct ProgramSourceFile {
  std::filesystem::path file;
  std::string called;  // "scale.cu, compiled by the program"
  std::vector<std::string> options;
};
// Throws Error(internal) where the folder cannot be written.
ProgramSourceFile write_program_source(const Message& source, const std::filesystem::path& folder);

// The shape and the parameters; the memory is not asked for yet.
CapturedLaunch offered_launch(const Message& offer);

// Where the program's memory lies, and, `with_contents`, a copy of it: a file that no one else has, which this process
// owns from here on. Throws Error(buffer_too_large or gpu_failed) with what the program's side says.
void take_memory(Channel& program, CapturedLaunch& captured, bool with_contents);

// The program makes its launch, and what it left is copied behind the memory as it was before. Throws
// Error(gpu_failed).
void let_launch(Channel& program);

// The values of variables of the kernel's module.
std::map<std::string, std::string> take_variables(Channel& program, const std::vector<std::string>& names);

// What the kernel was loaded from: PTX or a fat binary. Throws Error(gpu_failed) with what the program's side says.
std::string take_image(Channel& program);

}  // namespace regtune
