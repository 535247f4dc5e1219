#pragma once
// A captured launch as a launch description that can be made again anywhere: its shape, its scalars with their exact
// values, and of each pointer the bytes from where it points to the end of its allocation, or to where another buffer
// begins. Refuses what no description can hold: addresses of the host, two buffers at one address, textures and tensor
// maps. Whether the memory itself holds addresses is the writer's to see (case_folder.hpp). Reads no memory.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "captured_launch.hpp"
#include "launch_description.hpp"
#include "signature.hpp"

namespace regtune {

// A buffer of the launch: which bytes of the program's memory, and where the description speaks of it.
struct CaseBuffer {
  std::string name;              // "in", "p.8", as messages call it
  std::uint64_t address = 0;     // where the pointer points
  std::int64_t bytes = 0;        // a whole number of elements
  std::int64_t file_offset = 0;  // of its first byte, in the snapshot's file
  ElementType type = ElementType::u8;
  int lanes = 1;
  bool writable = true;
  bool may_hold_addresses = true;  // false: its elements are numbers, and no address fits into one
  std::string ends_at;             // the buffer that begins where this one ends, in the same allocation; empty: none
  bool of_variable = false;        // in `globals`, else in `arguments`
  std::size_t argument = 0;
  int field = -1;  // of a structure; -1: the argument itself
};

// Bytes that are passed as they are, too many for the description's text.
struct CaseBytes {
  std::string name;
  std::string bytes;
  bool of_variable = false;
  std::size_t argument = 0;
};

struct CapturedCase {
  LaunchDescription description;  // without the names of data files
  std::vector<CaseBuffer> buffers;
  std::vector<CaseBytes> bytes;
};

// The kernel's parameters as far as the mangled name and the text tell; "": there is none.
KernelSignature captured_signature(const CapturedLaunch& captured, std::string_view source_text);

// `variables`: the module's, by name. Throws Error(bad_launch) with the parameter that no description can hold.
CapturedCase captured_case(const CapturedLaunch& captured, const KernelSignature& signature,
                           const std::map<std::string, std::string>& variables);

// The argument, field or variable of the description that a buffer fills.
ArgumentDescription& described(LaunchDescription& description, const CaseBuffer& buffer);

// The allocation in which an address lies; nullptr: in none.
const SnapshotRange* allocation_of(const SnapshotPlan& memory, std::uint64_t address);

}  // namespace regtune
