#pragma once
// What a program launched: each kernel with its launches, the time they took, its registers and what limits its
// occupancy, and the shapes in which it ran; and which of them are worth tuning first. Made from what its processes
// told and counted; launches nothing and times nothing.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "launch_table.hpp"
#include "occupancy.hpp"
#include "record.hpp"

namespace regtune {

// What a process told of a kernel when it first launched it.
struct ToldKernel {
  std::uint32_t number = 0;  // its entries in the process's table have it
  std::string name;          // mangled
  std::string image;         // hash of what it was loaded from; "": not seen
  std::string image_form;    // "PTX", "fat binary", "cubin"; "": not known
  int device = 0;
  int compute_major = 0;
  int compute_minor = 0;
  int registers_per_thread = 0;
  int local_bytes = 0;  // per thread: spills and addressable arrays
  int static_shared_bytes = 0;
  int max_threads_per_block = 0;
  bool from_nvrtc = false;  // the program compiled it itself
};
// Throws Message::exception for what no injected library says.
ToldKernel told_kernel(const nlohmann::json& message);

// "void scale<4>(float*, int)" -> "scale<4>", as --kernel takes it.
std::string kernel_name(const std::string& mangled_name);

struct ListedShape {
  LaunchShape shape;
  bool is_cooperative = false;
  bool is_sum = false;  // of all shapes of the kernel that found no room of their own
  std::uint64_t launches = 0;
  std::uint64_t in_graphs = 0;
  std::uint64_t timed = 0;  // of `launches`
  std::uint64_t replaced = 0;
  double ms = 0;           // of all launches, as far as those that were timed tell
  double replaced_ms = 0;  // of those with tuned code
};

struct ListedKernel {
  ToldKernel told;
  std::string signature;  // demangled
  std::uint64_t launches = 0;
  std::uint64_t in_graphs = 0;
  std::uint64_t replaced = 0;
  double ms = 0;
  std::optional<Occupancy> occupancy;  // of the shape that took most of the time
  std::vector<ListedShape> shapes;     // the longest first
};

class LaunchListing {
 public:
  void add_kernel(int process, ToldKernel kernel);
  // What a process has counted so far. Once for each process.
  void add_counts(int process, const LaunchTable& table);
  const ToldKernel* find(int process, std::uint32_t number) const;

  // Those of one name and image in one, whichever process launched them; the longest first.
  std::vector<ListedKernel> kernels() const;

 private:
  struct Counted {
    int process = 0;
    ToldKernel kernel;
    std::vector<ListedShape> shapes;
  };
  std::vector<Counted> counted_;
};

// `columns`: 0: lines of any width.
std::string listing_text(const std::vector<ListedKernel>& kernels, int columns);
nlohmann::json listing_json(const std::vector<ListedKernel>& kernels);

}  // namespace regtune
