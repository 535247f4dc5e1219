#pragma once
// `regtune init`: a launch description to start from, with everything that regtune guesses filled in and the reason
// behind each guess. Compiles the kernel once, launches nothing, and never overwrites a file.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compilation.hpp"
#include "description.hpp"
#include "inference.hpp"
#include "progress.hpp"

namespace regtune {

struct InitRequest {
  std::filesystem::path source;
  DescriptionFlags flags;  // what is known already
  CompilerWish compiler;
  std::optional<std::string> architecture;  // one
  int device = 0;
  double compile_limit_s = 600;
  bool print = false;  // as a comment block for the source, instead of a side file
};

struct InitResult {
  std::string signature;
  std::string text;            // TOML
  std::filesystem::path file;  // that was written; empty when the text is to be printed
  std::vector<Guess> guesses;
  std::vector<std::string> missing;  // what could not be guessed, a line for each parameter
};

// Throws Error(usage) where there is a description already, and what compiling and choosing a kernel throw.
InitResult init(const InitRequest& request, Progress& progress);

std::string init_text(const InitResult& result);
nlohmann::json init_json(const InitResult& result);

}  // namespace regtune
