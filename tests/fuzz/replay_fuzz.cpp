// A recorded run or series, as `regtune replay` reads it, decides it and prints it. What is accepted can be written as
// a record and read again.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "fuzz_input.hpp"
#include "json_mutation.hpp"
#include "record_json.hpp"
#include "replay_command.hpp"

using namespace regtune;

namespace {

// A file in memory that holds the input.
std::string file_of(const std::uint8_t* data, std::size_t size) {
  static const int descriptor = memfd_create("replay", 0);
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  return "/proc/self/fd/" + std::to_string(descriptor);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

// Bytes that are changed at random are hardly ever JSON any more, and no reader of records sees them.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  const nlohmann::json document = nlohmann::json::parse(text_of(data, size), nullptr, false);
  if (seed % 8 == 0 || !document.is_object() || document.empty()) return LLVMFuzzerMutate(data, size, max_size);
  const std::string changed = with_one_value_changed(document, seed);
  if (changed.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ReplayRequest request;
  request.file = file_of(data, size);
  request.margin = 0.01;
  Replay replayed;
  if (!accepts([&] { replayed = replay(request); })) return 0;
  replay_text(replayed, ReportStyle{});
  const nlohmann::json written = record_json(replayed.record);
  if (record_json(record_from_json(written, "written")) != written) std::abort();
  return 0;
}
