#pragma once
// The text that a compiler is given for one budget: the author's behind a prelude that strips the declared bounds and
// puts others on every kernel. The prelude stands behind the leading includes, no kernel is renamed but where that is
// asked for, and every message of the compiler keeps the author's line numbers. It compiles nothing.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "macros.hpp"
#include "regtune/types.hpp"

namespace regtune {

// The end of the leading run of directives and comments that holds all its includes, outside any #if. Nothing
// of it may declare a kernel: the prelude stands behind it.
std::size_t end_of_headers(std::string_view text);

// True when the kernel that is wanted stands in the text itself and not in a header.
bool holds_kernel(std::string_view text, const std::optional<std::string>& wanted);

// Where the name without its namespaces begins in "ns::sgemm<128, float>".
std::size_t begin_of_last_name(const std::string& name);

// What the wanted kernel's name is compared with: "ns::sgemm<128, float>" -> "sgemm".
std::string last_name(const std::string& wanted);

// True when the wanted kernel declares a third launch bound, the blocks of a cluster, and the text can keep it: the
// preprocessor counts the arguments, so that no bound of the file may have commas of its own in a template's.
bool declares_cluster(std::string_view text, const std::optional<std::string>& wanted);

struct AuthorText {
  std::string text;
  std::string file_name;                    // as messages name it
  bool splits_headers = false;              // the wanted kernel stands behind the leading includes: holds_kernel
  bool keeps_cluster = false;               // declares_cluster
  Macros macros = {};                       // other values than the author's
  std::optional<std::string> renamed = {};  // the kernel, unqualified, that is to be called cutlass_<name>
  std::optional<std::string> spills_to_shared = {};  // the kernel whose body opens with the pragma for that
};

// Taken apart where headers that are precompiled end.
struct BudgetText {
  std::string headers;  // empty: there is no such part
  std::string rest;
};
BudgetText budget_text(const AuthorText& author, const RegisterPolicy& policy);

}  // namespace regtune
