#pragma once
// What the name of a kernel's parameter says of it, as people name things: a length, the extent of an axis, an index.
// A guess from words alone; the type is the caller's to look at.
#include <string_view>

namespace regtune {

enum class ParameterRole {
  other,
  length,  // size, len, count, num_elements
  width,   // cols, nx
  height,  // rows, ny
  depth,   // nz
  inner,   // the k of a matrix product
  stride,  // pitch, lda: as long as a row
  // These mean something together only.
  letter_m,
  letter_n,
  letter_k,
};

ParameterRole parameter_role(std::string_view name);

// idx, indices, col_ind, permutation, neighbours ...: a buffer of such a name points into another.
bool is_index_name(std::string_view name);

}  // namespace regtune
