#pragma once
// A launch as it was caught in an application: where its memory lies and in which file the bytes are, and the block of
// its parameters. Plain values: the addresses mean something to the GPU alone, and the descriptor to the process that
// opened it and to its children. Whether they are right nobody can tell here.
#include <cstdint>
#include <string>
#include <vector>

#include "element_type.hpp"

namespace regtune {

// One allocation of the application.
struct SnapshotRange {
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  std::int64_t file_offset = 0;
  ElementType type = ElementType::u8;  // of what lies in it; u8 where that is not known: compared byte by byte
};

struct SnapshotParameter {
  std::int64_t offset = 0;  // in the block
  std::int64_t bytes = 0;
};

// A __constant__ or __device__ variable of the kernel's module, by its name there.
struct SnapshotVariable {
  std::string name;
  std::string bytes;
};

struct SnapshotPlan {
  int descriptor = -1;                // of the file; -1: none, the memory itself has the initial data (in_place only)
  std::vector<SnapshotRange> ranges;  // by address, none over another; several may share a page
  std::string parameter_block;
  std::vector<SnapshotParameter> parameters;  // in the kernel's order
  std::vector<SnapshotVariable> variables;
  double absolute_tolerance = 0;  // of floating-point elements
  double relative_tolerance = 0;
  bool in_place = false;  // the memory is there: the launch is made in the application itself
};

}  // namespace regtune
