#pragma once
// For a word that nobody knows: the one that was meant, where a slip of the keyboard lies between the two. Says nothing
// rather than something far-fetched.
#include <optional>
#include <string>
#include <vector>

namespace regtune {

// The known word that is the fewest letters inserted, left out, changed or swapped away from `word`, whatever their
// case; empty where that is more than a third of the word's letters. Of words as near the first.
std::optional<std::string> nearest_word(const std::string& word, const std::vector<std::string>& known);

// "; did you mean decayWide?", or nothing.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known,
                         const std::string& in_front = "");

}  // namespace regtune
