#include "link_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace regtune {
namespace {

// What becomes of an option of NVRTC's at the link.
enum class Stage {
  front_end,  // it has done its work in the LTO-IR
  truth,      // =true or =false, nvJitLink's own name takes 1 or 0
  fast_math,
  ptxas,
  value,  // nvJitLink takes the same value under its own name
  line_info,
  cap,
  whole_program,  // decides the kind of output; the LTO-IR is always whole
};

enum class Takes { nothing, value };

struct Option {
  std::string_view long_name;   // without dashes
  std::string_view short_name;  // likewise; empty: none
  Takes takes;
  Stage stage;
  std::string_view at_link;  // nvJitLink's name
};

// NVRTC 13.0. What is not here is refused, above all what reaches the optimizer and has no name at the link:
// --restrict (a kernel of three pointers had 32 registers by NVRTC and 20 by the link, and NVRTC keeps it for later
// compilations of its process), --Ofast-compile, --extra-device-vectorization, --device-stack-protector; and -G, which
// gives other code there.
constexpr std::array options = {
    Option{"ftz", "ftz", Takes::value, Stage::truth, "-ftz"},
    Option{"prec-div", "prec-div", Takes::value, Stage::truth, "-prec-div"},
    Option{"prec-sqrt", "prec-sqrt", Takes::value, Stage::truth, "-prec-sqrt"},
    Option{"fmad", "fmad", Takes::value, Stage::truth, "-fma"},
    Option{"use_fast_math", "use_fast_math", Takes::nothing, Stage::fast_math, ""},
    Option{"ptxas-options", "Xptxas", Takes::value, Stage::ptxas, "-Xptxas"},
    Option{"jump-table-density", "jtd", Takes::value, Stage::value, "-jump-table-density"},
    Option{"generate-line-info", "lineinfo", Takes::nothing, Stage::line_info, "-lineinfo"},
    Option{"maxrregcount", "maxrregcount", Takes::value, Stage::cap, ""},
    Option{"gpu-architecture", "arch", Takes::value, Stage::whole_program, ""},
    Option{"dlink-time-opt", "dlto", Takes::nothing, Stage::whole_program, ""},

    Option{"define-macro", "D", Takes::value, Stage::front_end, ""},
    Option{"undefine-macro", "U", Takes::value, Stage::front_end, ""},
    Option{"include-path", "I", Takes::value, Stage::front_end, ""},
    Option{"pre-include", "include", Takes::value, Stage::front_end, ""},
    Option{"no-source-include", "no-source-include", Takes::nothing, Stage::front_end, ""},
    Option{"std", "std", Takes::value, Stage::front_end, ""},
    Option{"dopt", "dopt", Takes::value, Stage::front_end, ""},  // without -G it changes nothing
    Option{"builtin-move-forward", "builtin-move-forward", Takes::value, Stage::front_end, ""},
    Option{"builtin-initializer-list", "builtin-initializer-list", Takes::value, Stage::front_end, ""},
    Option{"device-as-default-execution-space", "default-device", Takes::nothing, Stage::front_end, ""},
    Option{"device-int128", "device-int128", Takes::nothing, Stage::front_end, ""},
    Option{"device-float128", "device-float128", Takes::nothing, Stage::front_end, ""},
    Option{"minimal", "minimal", Takes::nothing, Stage::front_end, ""},
    Option{"modify-stack-limit", "modify-stack-limit", Takes::value, Stage::front_end, ""},
    Option{"frandom-seed", "frandom-seed", Takes::value, Stage::front_end, ""},
    Option{"no-cache", "no-cache", Takes::nothing, Stage::front_end, ""},
    Option{"pch", "pch", Takes::nothing, Stage::front_end, ""},
    Option{"create-pch", "create-pch", Takes::value, Stage::front_end, ""},
    Option{"use-pch", "use-pch", Takes::value, Stage::front_end, ""},
    Option{"pch-dir", "pch-dir", Takes::value, Stage::front_end, ""},
    Option{"pch-verbose", "pch-verbose", Takes::value, Stage::front_end, ""},
    Option{"pch-messages", "pch-messages", Takes::value, Stage::front_end, ""},
    Option{"instantiate-templates-in-pch", "instantiate-templates-in-pch", Takes::value, Stage::front_end, ""},
    Option{"disable-warnings", "w", Takes::nothing, Stage::front_end, ""},
    Option{"optimization-info", "opt-info", Takes::value, Stage::front_end, ""},
    Option{"display-error-number", "err-no", Takes::nothing, Stage::front_end, ""},
    Option{"no-display-error-number", "no-err-no", Takes::nothing, Stage::front_end, ""},
    Option{"diag-error", "diag-error", Takes::value, Stage::front_end, ""},
    Option{"diag-suppress", "diag-suppress", Takes::value, Stage::front_end, ""},
    Option{"diag-warn", "diag-warn", Takes::value, Stage::front_end, ""},
    Option{"brief-diagnostics", "brief-diag", Takes::value, Stage::front_end, ""},
    Option{"time", "time", Takes::value, Stage::front_end, ""},
    Option{"fdevice-time-trace", "fdevice-time-trace", Takes::value, Stage::front_end, ""},
};

// ptxas is the same program behind both, and was given each of these through both.
constexpr std::array ptxas_options = {
    "O",
    "O0",
    "O1",
    "O2",
    "O3",
    "opt-level",
    "dlcm",
    "def-load-cache",
    "flcm",
    "force-load-cache",
    "dscm",
    "def-store-cache",
    "fscm",
    "force-store-cache",
    "allow-expensive-optimizations",
    "register-usage-level",
    "fmad",
    "disable-optimizer-consts",
    "opt-fp-atomics",
    "override-directive-values",
    "sp-bounds-check",
    "preserve-relocs",
    "Ofc",
    "Ofast-compile",
    "split-compile",
    "v",
    "verbose",
    "warn-spills",
    "warn-on-spills",
    "warn-lmem-usage",
    "warn-on-local-memory-usage",
    "lineinfo",
    "generate-line-info",
    "suppress-stack-size-warning",
    "Werror",
    "w",
    "disable-warnings",
};

// One option of the list with its value, whatever the spelling: "--ftz=true"; "-ftz", "true"; "-DX=1"; "-D", "X".
struct Given {
  const Option* option = nullptr;  // nullptr: not known
  std::string text;                // as the user wrote it
  std::string value;
  std::size_t next = 0;  // where the following option stands
};

Given read_option(const std::vector<std::string>& list, std::size_t at) {
  Given given{nullptr, list[at], "", at + 1};
  const std::string_view text = list[at];
  if (!text.starts_with('-')) return given;
  const bool is_long = text.starts_with("--");
  const std::string_view body = text.substr(is_long ? 2 : 1);
  const std::size_t equals = body.find('=');
  const std::string_view name = body.substr(0, equals);
  const Option* option = std::find_if(options.begin(), options.end(), [&](const Option& candidate) {
    return name == (is_long ? candidate.long_name : candidate.short_name);
  });
  if (option == options.end()) {
    // -DX, -Idir: the value may follow the letter at once.
    const bool joined = !is_long && body.size() > 1 && (body[0] == 'D' || body[0] == 'U' || body[0] == 'I');
    if (!joined) return given;
    option = std::find_if(options.begin(), options.end(),
                          [&](const Option& o) { return o.short_name == body.substr(0, 1); });
    given.value = body.substr(1);
  } else if (equals != std::string_view::npos) {
    if (option->takes == Takes::nothing) return given;
    given.value = body.substr(equals + 1);
  } else if (option->takes == Takes::value) {
    if (at + 1 == list.size()) return given;
    given.value = list[at + 1];
    given.text += ' ' + list[at + 1];
    given.next = at + 2;
  }
  given.option = option;
  return given;
}

bool knows_ptxas_option(std::string_view text) {
  if (!text.starts_with('-') || text.find_first_of(" ,\t\"'") != std::string_view::npos) return false;
  text.remove_prefix(text.starts_with("--") ? 2 : 1);
  const std::string_view name = text.substr(0, text.find('='));
  return std::find(ptxas_options.begin(), ptxas_options.end(), name) != ptxas_options.end();
}

// How floating-point arithmetic is done: what is said of one setting wins over --use_fast_math wherever it stands,
// and the last of several wins.
struct Arithmetic {
  bool fast_math = false;
  std::array<std::optional<bool>, 4> said;  // in the order of `options`

  void add_to(std::vector<std::string>& link) const {
    // What --use_fast_math stands for: -ftz=1 -prec-div=0 -prec-sqrt=0 -fma=1.
    constexpr std::array fast = {true, false, false, true};
    for (std::size_t i = 0; i < said.size(); ++i) {
      if (!said[i] && !fast_math) continue;
      link.push_back(fmt::format("{}={}", options[i].at_link, said[i].value_or(fast[i]) ? 1 : 0));
    }
  }
};

}  // namespace

std::optional<std::vector<std::string>> link_options(const LinkOptionsRequest& request, std::string& why_not) {
  std::vector<std::string> link = {"-arch=" + request.architecture, "-lto", "-Xptxas=-v"};
  if (request.takes_no_cache) link.emplace_back("-no-cache");
  Arithmetic arithmetic;
  std::string given_cap;
  for (std::size_t at = 0; at < request.given.size();) {
    const Given given = read_option(request.given, at);
    at = given.next;
    if (given.option == nullptr) {
      why_not = fmt::format(
          "regtune does not know how the compiler option {} is said to nvJitLink, so every budget is compiled "
          "whole by NVRTC",
          given.text);
      return std::nullopt;
    }
    switch (given.option->stage) {
      case Stage::truth:
        arithmetic.said[static_cast<std::size_t>(given.option - options.data())] = given.value == "true";
        break;
      case Stage::fast_math:
        arithmetic.fast_math = true;
        break;
      case Stage::ptxas:
        if (!knows_ptxas_option(given.value)) {
          why_not = fmt::format(
              "regtune does not know whether nvJitLink hands {} to ptxas as NVRTC does, so every budget is "
              "compiled whole by NVRTC",
              given.text);
          return std::nullopt;
        }
        if (given.value != "-v" && given.value != "--verbose") link.push_back("-Xptxas=" + given.value);
        break;
      case Stage::value:
        link.push_back(fmt::format("{}={}", given.option->at_link, given.value));
        break;
      case Stage::line_info:
        link.emplace_back(given.option->at_link);
        break;
      case Stage::cap:
        given_cap = given.value;
        break;
      case Stage::front_end:
      case Stage::whole_program:
        break;
    }
  }
  arithmetic.add_to(link);
  if (request.cap != 0) given_cap = std::to_string(request.cap);
  if (!given_cap.empty()) link.push_back("-maxrregcount=" + given_cap);
  if (!request.kernel.empty()) {
    link.push_back("-kernels-used=" + request.kernel);
    // Without it, naming the kernels means that nobody outside sets a variable: __constant__ tables would be folded
    // into the code, and what cudaMemcpyToSymbol writes would be ignored.
    link.emplace_back("-variables-used=*");
  }
  return link;
}

}  // namespace regtune
