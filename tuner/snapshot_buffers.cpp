#include "snapshot_buffers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "regtune/error.hpp"
#include "workload_message.hpp"

namespace regtune {
namespace {

// A launch that changes one byte costs copies of this much; sums of smaller pieces take more memory than they save.
constexpr std::int64_t kChunkBytes = 1 << 20;
// With fewer chunks several blocks share one, so that the GPU has work for all its multiprocessors.
constexpr std::size_t kFewChunks = 1024;
constexpr unsigned kMostBlocks = 16384;
// What codes need themselves, for their stack frames above all, is not taken for copies.
constexpr std::int64_t kLeftForLaunches = std::int64_t{512} << 20;
constexpr std::size_t kMostFindings = 4;  // told

}  // namespace

// What differs in one allocation.
struct SnapshotBuffers::Finding {
  std::size_t range = 0;
  bool stray = false;  // the reference changed nothing there
  ElementType type{};
  std::int64_t offset = 0;  // of the first
  unsigned long long differing = 0;
  double value = 0;
  double reference = 0;
};

void SnapshotBuffers::make(const Message& request) {
  plan_ = snapshot_of(request).value();
  for (const SnapshotParameter& parameter : plan_.parameters) {
    if (parameter.offset < 0 || parameter.bytes < 0 ||
        parameter.offset + parameter.bytes > static_cast<std::int64_t>(plan_.parameter_block.size()))
      throw Error(ErrorKind::internal, fmt::format("a captured parameter of {} bytes at {} is not in its block of {}",
                                                   parameter.bytes, parameter.offset, plan_.parameter_block.size()));
    parameters_.push_back(plan_.parameter_block.data() + parameter.offset);
  }
  memory_.make(plan_);
  own_code_.load(request);
  empty_kernel_ = own_code_.kernel("regtune_nothing");
  checksum_kernel_ = own_code_.kernel("regtune_checksum");
  cut_into_chunks();
  initial_sums_ = sums();
}

void SnapshotBuffers::cut_into_chunks() {
  const std::vector<SnapshotRange>& ranges = memory_.ranges();
  for (std::size_t i = 0; i < ranges.size(); ++i)
    for (std::int64_t done = 0; done < ranges[i].bytes; done += kChunkBytes) {
      chunks_.push_back({ranges[i].address + static_cast<DeviceAddress>(done),
                         static_cast<unsigned long long>(std::min(kChunkBytes, ranges[i].bytes - done))});
      range_of_.push_back(i);
    }
  run_of_.assign(chunks_.size(), -1);
  if (chunks_.empty()) return;
  const auto count = static_cast<std::int64_t>(chunks_.size());
  const auto table_bytes = count * static_cast<std::int64_t>(sizeof(Chunk));
  const std::string doing = fmt::format("allocating the sums of {} chunks", count);
  require(driver_.allocate(table_bytes, device_chunks_), doing);
  require(driver_.allocate(count * static_cast<std::int64_t>(sizeof(Sums::value_type)), device_sums_), doing);
  require(driver_.allocate(kChunkBytes, scratch_), doing);
  require(driver_.copy_to_device(device_chunks_, chunks_.data(), table_bytes), doing);
}

SnapshotBuffers::Sums SnapshotBuffers::sums() const {
  Sums found(chunks_.size());
  if (chunks_.empty()) return found;
  const auto bytes = static_cast<std::int64_t>(found.size() * sizeof(Sums::value_type));
  require(driver_.fill_bytes_async(device_sums_, 0, bytes), "preparing sums");
  auto chunks = device_chunks_;
  auto count = static_cast<unsigned long long>(chunks_.size());
  auto target = device_sums_;
  std::vector<void*> parameters{&chunks, &count, &target};
  const auto columns = static_cast<unsigned>(std::min<std::size_t>(chunks_.size(), kMostBlocks));
  const LaunchShape shape{{columns, chunks_.size() < kFewChunks ? 8u : 1u, 1}, {256, 1, 1}, 0};
  require(driver_.launch(checksum_kernel_, shape, parameters), "summing up the captured memory");
  require(driver_.copy_to_host(found.data(), device_sums_, bytes), "summing up the captured memory");
  return found;
}

std::vector<std::size_t> SnapshotBuffers::chunks_that_differ(const Sums& a, const Sums& b) const {
  std::vector<std::size_t> differing;
  for (std::size_t i = 0; i < chunks_.size(); ++i)
    if (a[i] != b[i]) differing.push_back(i);
  return differing;
}

const char* SnapshotBuffers::initial_of(std::size_t chunk) const {
  const SnapshotRange& range = memory_.ranges()[range_of_[chunk]];
  return memory_.initial(range) + (chunks_[chunk].address - range.address);
}

const char* SnapshotBuffers::result_of(std::size_t chunk) const {
  const SnapshotRange& range = memory_.ranges()[range_of_[chunk]];
  return memory_.result(range) + (chunks_[chunk].address - range.address);
}

// Requires: of one range.
std::int64_t SnapshotBuffers::bytes_of_chunks(std::size_t first, std::size_t chunks) const {
  const Chunk& last = chunks_[first + chunks - 1];
  return static_cast<std::int64_t>(last.address + last.bytes - chunks_[first].address);
}

std::string SnapshotBuffers::fill_variables(const LoadedKernel& loaded) const {
  for (const SnapshotVariable& variable : plan_.variables) {
    DeviceAddress address = 0;
    std::int64_t bytes = 0;
    const CudaStatus status = driver_.variable(loaded, variable.name, address, bytes);
    if (status.not_found()) continue;
    const auto captured = static_cast<std::int64_t>(variable.bytes.size());
    if (status.ok() && bytes != captured)
      return fmt::format(
          "the variable {} holds {} bytes, and {} were captured; is this the source that the application "
          "was built from?",
          variable.name, bytes, captured);
    const CudaStatus filled = status.ok() ? driver_.copy_to_device(address, variable.bytes.data(), captured) : status;
    if (!filled.ok()) return fmt::format("the variable {} cannot be filled: {}", variable.name, filled.text);
  }
  return "";
}

// 0: there is none to spare.
DeviceAddress SnapshotBuffers::room_on_device(std::int64_t bytes) const {
  std::int64_t free = 0;
  DeviceAddress address = 0;
  const bool fits = driver_.free_memory(free).ok() && bytes <= free - kLeftForLaunches;
  return fits && driver_.allocate(bytes, address).ok() ? address : 0;
}

// From here on `chunks` are restored and have a reference, which is what lay there at first until one is kept.
void SnapshotBuffers::follow(const std::vector<std::size_t>& chunks) {
  const std::size_t known = runs_.size();
  std::int64_t bytes = 0;
  for (const std::size_t chunk : chunks) {
    if (run_of_[chunk] >= 0) continue;
    const bool goes_on = runs_.size() > known && runs_.back().first + runs_.back().chunks == chunk &&
                         range_of_[runs_.back().first] == range_of_[chunk];
    if (!goes_on) runs_.push_back({chunk, 0, 0, 0, 0, nullptr});
    Run& run = runs_.back();
    ++run.chunks;
    run.bytes += static_cast<std::int64_t>(chunks_[chunk].bytes);
    run_of_[chunk] = static_cast<int>(runs_.size() - 1);
    // A run's place in the copies is as aligned as a type may need.
    bytes += (static_cast<std::int64_t>(chunks_[chunk].bytes) + 255) / 256 * 256;
  }
  if (bytes == 0) return;
  const DeviceAddress initial = room_on_device(bytes);  // where there is none, it is on the host as it is
  if (initial != 0) copies_.push_back(initial);
  const DeviceAddress references = room_on_device(bytes);
  char* host_references = nullptr;
  if (references != 0) {
    copies_.push_back(references);
  } else {
    host_references = new (std::nothrow) char[static_cast<std::size_t>(bytes)];
    if (host_references == nullptr)
      throw Error(ErrorKind::buffer_too_large, fmt::format("launches change {} MiB, and neither the GPU nor the host "
                                                           "has room for a copy of them; end what else uses them",
                                                           bytes >> 20));
    host_copies_.emplace_back(host_references);
  }
  std::int64_t place = 0;
  for (std::size_t i = known; i < runs_.size(); ++i) {
    Run& run = runs_[i];
    if (initial != 0) run.initial = initial + static_cast<DeviceAddress>(place);
    if (references != 0)
      run.reference = references + static_cast<DeviceAddress>(place);
    else
      run.host_reference = host_references + place;
    const char* const at_first = initial_of(run.first);
    const std::string doing = fmt::format("copying {} captured bytes", run.bytes);
    if (run.initial != 0) require(driver_.copy_to_device(run.initial, at_first, run.bytes), doing);
    if (run.reference != 0)
      require(driver_.copy_to_device(run.reference, at_first, run.bytes), doing);
    else
      std::memcpy(run.host_reference, at_first, static_cast<std::size_t>(run.bytes));
    place += (run.bytes + 255) / 256 * 256;
  }
}

// Without a reference nobody knows what launches change, but for the sums.
void SnapshotBuffers::restore_all() const {
  for (const std::size_t chunk : chunks_that_differ(sums(), initial_sums_))
    require(driver_.copy_to_device(chunks_[chunk].address, initial_of(chunk),
                                   static_cast<std::int64_t>(chunks_[chunk].bytes)),
            fmt::format("restoring the memory at {:#x}", chunks_[chunk].address));
}

void SnapshotBuffers::restore() {
  if (reference_sums_.empty()) {
    restore_all();
    return;
  }
  for (const Run& run : runs_) {
    const DeviceAddress target = chunks_[run.first].address;
    require(run.initial != 0 ? driver_.copy_on_device_async(target, run.initial, run.bytes)
                             : driver_.copy_to_device(target, initial_of(run.first), run.bytes),
            fmt::format("restoring the memory at {:#x}", target));
  }
}

std::vector<std::size_t> SnapshotBuffers::chunks_that_the_application_changed() const {
  std::vector<std::size_t> changed;
  for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk)
    if (std::memcmp(initial_of(chunk), result_of(chunk), chunks_[chunk].bytes) != 0) changed.push_back(chunk);
  return changed;
}

// What the author's code has left now against what the application's own launch did: the reference for a moment.
void SnapshotBuffers::require_result_of_application() {
  follow(chunks_that_the_application_changed());
  std::vector<std::size_t> followed;
  for (const Run& run : runs_) {
    const char* const left = result_of(run.first);
    if (run.reference != 0)
      require(driver_.copy_to_device(run.reference, left, run.bytes), "copying the application's result");
    else
      std::memcpy(run.host_reference, left, static_cast<std::size_t>(run.bytes));
    for (std::size_t i = 0; i < run.chunks; ++i) followed.push_back(run.first + i);
  }
  std::vector<Finding> findings;
  for (const Piece& piece : pieces_of(followed)) compare(piece, false, findings);
  if (findings.empty()) return;
  throw Error(
      ErrorKind::bad_launch,
      fmt::format("the code that was made of the source does not compute what the program's own launch did ({}): "
                  "is it the source that the program was built from, with its options (-D, "
                  "--option=-use_fast_math)? Where results differ from launch to launch, say what is close "
                  "enough: --rtol 1e-5",
                  text_of(findings)));
}

void SnapshotBuffers::keep_as_reference() {
  reference_sums_ = sums();
  follow(chunks_that_differ(reference_sums_, initial_sums_));
  if (memory_.has_result()) require_result_of_application();
  for (const Run& run : runs_) {
    const DeviceAddress source = chunks_[run.first].address;
    require(run.reference != 0 ? driver_.copy_on_device_async(run.reference, source, run.bytes)
                               : driver_.copy_to_host(run.host_reference, source, run.bytes),
            fmt::format("keeping the memory at {:#x}", source));
  }
}

// Chunks side by side are compared at once where their references lie on the device, and alike in what the reference
// did there.
std::vector<SnapshotBuffers::Piece> SnapshotBuffers::pieces_of(const std::vector<std::size_t>& chunks) const {
  const auto stray = [&](std::size_t chunk) { return reference_sums_[chunk] == initial_sums_[chunk]; };
  std::vector<Piece> pieces;
  for (const std::size_t chunk : chunks) {
    const Run* const run = &runs_[static_cast<std::size_t>(run_of_[chunk])];
    Piece* const last = pieces.empty() ? nullptr : &pieces.back();
    if (last && run->reference != 0 && last->run == run && last->first + last->chunks == chunk &&
        stray(last->first) == stray(chunk))
      ++last->chunks;
    else
      pieces.push_back({chunk, 1, run});
  }
  return pieces;
}

ElementDifference SnapshotBuffers::compare_elements(const Piece& piece, ElementType type,
                                                    const Tolerance& tolerance) const {
  const DeviceAddress values = chunks_[piece.first].address;
  const std::int64_t bytes = bytes_of_chunks(piece.first, piece.chunks);
  const auto place = static_cast<std::ptrdiff_t>(values - chunks_[piece.run->first].address);
  const std::string what = fmt::format("comparing the memory at {:#x}", values);
  DeviceAddress references = scratch_;
  if (piece.run->reference != 0)
    references = piece.run->reference + static_cast<DeviceAddress>(place);
  else
    require(driver_.copy_to_device(scratch_, piece.run->host_reference + place, bytes), what);
  const std::int64_t whole = bytes / size_bytes(type);
  ElementDifference found = own_code_.compare(type, values, references, whole, tolerance, what);
  // What is left at the end of an allocation is no whole element: it is one more, which differs or not.
  const auto done = static_cast<DeviceAddress>(whole * size_bytes(type));
  const std::int64_t left = bytes - static_cast<std::int64_t>(done);
  if (left == 0) return found;
  const ElementDifference rest = own_code_.compare(ElementType::u8, values + done, references + done, left, {}, what);
  if (rest.differing != 0 && found.differing++ == 0)
    found = {1, static_cast<unsigned long long>(whole), rest.value, rest.reference};
  return found;
}

void SnapshotBuffers::compare(const Piece& piece, bool bit_by_bit, std::vector<Finding>& findings) const {
  const std::size_t range = range_of_[piece.first];
  const bool stray = reference_sums_[piece.first] == initial_sums_[piece.first];
  const ElementType type = memory_.ranges()[range].type;
  Tolerance tolerance;
  if (!bit_by_bit && !stray && is_floating(type)) tolerance = {plan_.absolute_tolerance, plan_.relative_tolerance, 0};
  const ElementDifference found = compare_elements(piece, type, tolerance);
  if (found.differing == 0) return;
  if (findings.empty() || findings.back().range != range || findings.back().stray != stray) {
    const auto start = static_cast<std::int64_t>(chunks_[piece.first].address - memory_.ranges()[range].address);
    const auto offset = start + static_cast<std::int64_t>(found.first) * size_bytes(type);
    findings.push_back({range, stray, type, offset, 0, found.value, found.reference});
  }
  findings.back().differing += found.differing;
}

std::string SnapshotBuffers::text_of(const Finding& finding) const {
  const SnapshotRange& range = memory_.ranges()[finding.range];
  const std::int64_t size = size_bytes(finding.type);
  return fmt::format("{}{:#x} + {} (allocation of {} bytes): {} of {} {} elements differ, the first: {} instead of {}",
                     finding.stray ? "wrote where the author's code does not: " : "", range.address, finding.offset,
                     range.bytes, finding.differing, (range.bytes + size - 1) / size, to_string(finding.type),
                     finding.value, finding.reference);
}

std::string SnapshotBuffers::differences(bool bit_by_bit) {
  if (reference_sums_.size() != chunks_.size()) throw Error(ErrorKind::internal, "compared before a reference ran");
  const std::vector<std::size_t> differing = chunks_that_differ(sums(), reference_sums_);
  if (differing.empty()) return "";
  follow(differing);
  std::vector<Finding> findings;
  for (const Piece& piece : pieces_of(differing)) compare(piece, bit_by_bit, findings);
  return text_of(findings);
}

std::string SnapshotBuffers::text_of(const std::vector<Finding>& findings) const {
  std::string text;
  for (std::size_t i = 0; i < std::min(findings.size(), kMostFindings); ++i)
    text += (i == 0 ? "" : "; ") + text_of(findings[i]);
  if (findings.size() > kMostFindings) text += fmt::format("; and {} places more", findings.size() - kMostFindings);
  return text;
}

void SnapshotBuffers::release() {
  if (plan_.in_place && !initial_sums_.empty()) {
    restore_all();
    require(driver_.synchronize(), "restoring the application's memory");
  }
  for (const DeviceAddress address : copies_) driver_.free(address);
  for (const DeviceAddress address : {device_chunks_, device_sums_, scratch_})
    if (address != 0) driver_.free(address);
  copies_.clear();
  host_copies_.clear();
  runs_.clear();
  own_code_.unload();
}

}  // namespace regtune
