#include "did_you_mean.hpp"

#include <algorithm>
#include <cctype>

namespace regtune {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Damerau's distance, neighbours swapped counting as one (optimal string alignment).
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> of(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) of[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) of[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      of[i][j] = std::min({of[i - 1][j] + 1, of[i][j - 1] + 1, of[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        of[i][j] = std::min(of[i][j], of[i - 2][j - 2] + 1);
    }
  return of[a.size()][b.size()];
}

constexpr std::size_t kLongestWord = 64;

}  // namespace

std::optional<std::string> nearest_word(const std::string& word, const std::vector<std::string>& known) {
  if (word.size() < 2 || word.size() > kLongestWord) return {};
  const std::string meant = lower(word);
  const std::string* nearest = nullptr;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestWord) continue;
    const std::string told = lower(candidate);
    // What begins alike is an abbreviation, however long the rest is.
    const std::size_t apart = meant.size() >= 3 && told.starts_with(meant) ? 1 : distance(meant, told);
    if (apart >= least) continue;
    least = apart;
    nearest = &candidate;
  }
  if (!nearest) return {};
  return *nearest;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known, const std::string& in_front) {
  const std::optional<std::string> nearest = nearest_word(word, known);
  return nearest ? "; did you mean " + in_front + *nearest + "?" : "";
}

}  // namespace regtune
