#include "guess.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

namespace regtune {

std::string line_of(const Guess& guess) {
  return guess.key + " = " + guess.value;
}

std::vector<std::string> lines_of(const std::vector<Guess>& guesses) {
  std::vector<std::string> lines;
  for (const Guess& guess : guesses) lines.push_back(line_of(guess));
  return lines;
}

std::string advice_for_failure(const std::vector<Guess>& guesses, const std::string& failure) {
  const auto names = [&](const std::string& word) {
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    for (std::size_t at = failure.find(word); at != std::string::npos; at = failure.find(word, at + 1)) {
      const bool begins = at == 0 || !is_word(failure[at - 1]);
      const std::size_t end = at + word.size();
      if (begins && (end == failure.size() || !is_word(failure[end]))) return true;
    }
    return false;
  };
  std::vector<std::string> named;
  std::vector<std::string> sizes;
  for (const Guess& guess : guesses) {
    const bool is_argument = guess.key.starts_with("args.");
    // A name of one letter is in every sentence ("a").
    if (is_argument && guess.key.size() > 6 && names(guess.key.substr(5))) named.push_back(line_of(guess));
    if (!is_argument || guess.value.find("buffer") != std::string::npos) sizes.push_back(line_of(guess));
  }
  const std::vector<std::string>& lines = named.empty() ? sizes : named;
  if (lines.empty()) return "";
  return fmt::format(
      "\nThis launch was guessed. Write into the launch description what is true in place of:\n  {}\n`regtune init` "
      "writes all guesses into a file to start from.",
      fmt::join(lines, "\n  "));
}

}  // namespace regtune
