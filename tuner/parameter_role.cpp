#include "parameter_role.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

namespace regtune {
namespace {

// "numElements_" -> num, elements; "N" -> n; "nx" -> nx.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  bool after_lower = false;
  for (const char c : name) {
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if ((!letter || (upper && after_lower)) && !words.back().empty()) words.emplace_back();
    if (letter) words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    after_lower = letter && !upper;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

template <std::size_t N>
bool any_of_words(const std::vector<std::string>& words, const std::array<std::string_view, N>& known) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(known.begin(), known.end(), word) != known.end();
  });
}

constexpr std::array<std::string_view, 11> kWidth = {"width", "w",    "cols", "ncols",   "columns", "nx",
                                                     "dimx",  "xdim", "sx",   "numcols", "xsize"};
constexpr std::array<std::string_view, 10> kHeight = {"height", "h",    "rows", "nrows",   "ny",
                                                      "dimy",   "ydim", "sy",   "numrows", "ysize"};
constexpr std::array<std::string_view, 7> kDepth = {"depth", "nz", "planes", "slices", "dimz", "zdim", "zsize"};
constexpr std::array<std::string_view, 7> kStride = {"stride", "pitch", "ld", "lda", "ldb", "ldc", "ldd"};
constexpr std::array<std::string_view, 15> kLength = {"size",   "len",          "length", "count",   "elements",
                                                      "elems",  "numel",        "total",  "items",   "nelem",
                                                      "nelems", "elementcount", "nitems", "npoints", "ntot"};
constexpr std::array<std::string_view, 3> kNumber = {"num", "n", "nb"};
// So many of these is how often something is done, or which one is meant, and no length of the data.
constexpr std::array<std::string_view, 18> kNoLength = {
    "iterations", "iters", "iter",   "steps", "step",  "loops", "repeat",  "repeats", "blocks",
    "threads",    "seed",  "offset", "start", "begin", "id",    "classes", "warps",   "passes"};
constexpr std::array<std::string_view, 15> kIndex = {"idx",    "index", "indices",     "indexes",   "ind",
                                                     "perm",   "map",   "permutation", "neighbors", "neighbours",
                                                     "lookup", "ids",   "colidx",      "rowptr",    "edges"};

}  // namespace

ParameterRole parameter_role(std::string_view name) {
  const std::vector<std::string> words = words_of(name);
  if (words.empty() || any_of_words(words, kNoLength)) return ParameterRole::other;
  if (words.size() == 1) {
    if (words.front() == "m") return ParameterRole::letter_m;
    if (words.front() == "n") return ParameterRole::letter_n;
    if (words.front() == "k") return ParameterRole::letter_k;
  }
  if (any_of_words(words, kStride)) return ParameterRole::stride;
  if (any_of_words(words, kWidth)) return ParameterRole::width;
  if (any_of_words(words, kHeight)) return ParameterRole::height;
  if (any_of_words(words, kDepth)) return ParameterRole::depth;
  if (any_of_words(words, kLength)) return ParameterRole::length;
  const bool counts = words.size() > 1 && std::find(kNumber.begin(), kNumber.end(), words.front()) != kNumber.end();
  return counts ? ParameterRole::length : ParameterRole::other;
}

bool is_index_name(std::string_view name) {
  return any_of_words(words_of(name), kIndex);
}

}  // namespace regtune
