#pragma once
// The keys of the cache: one normal form of a GPU's name, hashes of lists of fields, the names that a
// kernel answers to, and the key of a whole run. Used on store and on look-up alike, so that both agree.
// Pure functions of their arguments: no file, no clock, no environment.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record.hpp"

namespace regtune {

// "NVIDIA GeForce RTX(TM) 4090 " -> "geforce rtx 4090". Case, the maker's name in front, trademark signs
// and the amount of white space do not count; everything else does (memory size, form factor, MIG profile).
std::string gpu_model_key(std::string_view name);

// XXH3-128 over tagged fields, each with its length, so that two different lists of fields are never the
// same bytes.
class FieldHash {
 public:
  FieldHash& add(std::string_view tag, std::string_view value);
  FieldHash& add(std::string_view tag, std::int64_t value);
  std::string hex() const;  // 32 lower-case digits

 private:
  std::string bytes_;
};

std::string content_hash(std::string_view bytes);  // 32 hex digits over the bytes alone

std::string hash_of(const Sizes& sizes);
std::string hash_of(const SourceChoice& choice);
std::string hash_of_options(const std::vector<std::string>& options);

// The bare name in a demangled signature or in what a user says: "void ns::sgemm<128, float>(float*)" -> "sgemm".
std::string bare_kernel_name(std::string_view signature);

// True when a user who says `wanted` means the kernel: mangled name, whole signature, qualified or bare name,
// with or without template arguments. White space does not count.
bool kernel_answers_to(std::string_view mangled, std::string_view signature, std::string_view wanted);

// One code as it is launched: two variants of one kernel with the same identity are one candidate.
std::string code_identity(const StaticFacts& facts, const LaunchShape& shape);

// What the codes of a run are launched on: the kernel, its sizes and arguments, the grid and the model of the GPU.
// Neither the driver nor the seed of the data.
std::string launch_key(const TuningRecord& record);

// Hash of all that can change the answer of a run. Host and date cannot, and neither do the settings of the
// measurement but its seed: a later run of the same key takes the earlier one's place.
// The lists of blocks and of source choices are those of the trials, or the author's alone while there are none.
// The route to the codes is not in it: all routes give the same code.
std::string run_key(const TuningRecord& record);

}  // namespace regtune
