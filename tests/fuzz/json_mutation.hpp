#pragma once
// For fuzzers of formats that hold JSON: bytes that are changed at random are hardly ever JSON any more, so values are
// changed instead, one at a time.
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace regtune {

// What a number, a text or a list may be replaced by: each has been the end of some reader.
inline const nlohmann::json kStrange[] = {nullptr,
                                          true,
                                          -1,
                                          0,
                                          1,
                                          255,
                                          std::numeric_limits<std::int32_t>::max(),
                                          std::numeric_limits<std::int64_t>::min(),
                                          std::numeric_limits<std::uint64_t>::max(),
                                          -0.0,
                                          1e-308,
                                          1e308,
                                          "",
                                          "author",
                                          nlohmann::json::array(),
                                          nlohmann::json::object()};

// Another value in one place of the document, or the place gone.
inline std::string with_one_value_changed(nlohmann::json document, unsigned seed) {
  std::minstd_rand random(seed);
  const nlohmann::json leaves = document.flatten();
  const auto draw = [&](std::size_t count) { return static_cast<std::ptrdiff_t>(random() % count); };
  const auto leaf = std::next(leaves.begin(), draw(leaves.size()));
  nlohmann::json::json_pointer place(leaf.key());
  if (random() % 4 == 0 && !place.parent_pointer().empty()) place = place.parent_pointer();
  nlohmann::json& value = document[place];
  if (random() % 3 == 0)
    value = *std::next(leaves.begin(), draw(leaves.size()));
  else
    value = kStrange[draw(std::size(kStrange))];
  return document.dump();
}

}  // namespace regtune
