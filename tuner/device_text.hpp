#pragma once
// Finds the text under which the run-time compiler takes an author's file: the file as it is where that compiles, else
// its device part (device_slice.hpp), with what the compiler still refuses taken out in a bounded number of tries.
// It judges by the compiler's messages only, and never takes out a kernel.
#include "compile.hpp"
#include "description.hpp"
#include "device_slice.hpp"
#include "source.hpp"

namespace regtune {

// The unit with the text that compiles, and with what was done in its notes. Throws Error(source_not_compiled) with
// the compiler's lines about the device part where none does.
CompileUnit unit_for_device(CompileUnit unit, const LaunchDescription& description, CompilePool& pool);

// What the compiler's log says of errors: "k.cu(12): error: ..." Its warnings are left out.
std::vector<Complaint> complaints_in(const std::string& log);

}  // namespace regtune
