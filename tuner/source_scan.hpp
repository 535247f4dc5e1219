#pragma once
// Reads the author's text the way a person skims it: which kernels it declares, what their parameters are
// called, which bounds they carry. It gives names and hints only; which kernels exist, and their types, is the
// compiled code's to say. Macros stay unexpanded and both sides of an #if are read. Nothing here throws, and
// the time is linear in the text, whatever bytes it holds.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace regtune {

enum class TokenKind {
  identifier,  // keywords too
  number,
  string,  // with prefix and quotes; raw strings too
  character,
  punctuation,  // one byte each, so that ">>" closes two template argument lists
  comment,
  directive,  // from the # to the end of the line, continuation lines included
};

struct Token {
  TokenKind kind = TokenKind::punctuation;
  std::size_t offset = 0;  // bytes from the start of the text
  std::size_t length = 0;  // bytes as written, line continuations included
  int line = 1;            // of its first byte
};

// Every byte of `text` lies in exactly one token, or is white space or a line continuation. What is not closed ends
// with its line (strings, characters) or with the text (comments, raw strings).
std::vector<Token> tokenize(std::string_view text);

// What the token says, without line continuations.
std::string spelling(std::string_view text, const Token& token);

struct ScannedParameter {
  std::string name;  // empty when the text gives none
  std::string type;  // as written, without name, default value and __restrict__: "const float *"
};

struct ScannedKernel {
  std::string name;  // unqualified: "sgemm"; a call of a macro stays as it is written: "NAME(sgemm)"
  std::vector<ScannedParameter> parameters;
  int line = 0;           // of __global__
  std::size_t begin = 0;  // the declaration without its body is text[begin, end)
  std::size_t end = 0;
  std::string launch_bounds;  // what stands between the parentheses: "256, 5"; empty when not declared
  std::string max_registers;  // of __maxnreg__
  std::string block_size;     // of __block_size__
  bool is_template = false;
  bool is_extern_c = false;
  bool is_definition = false;  // a body follows
  std::size_t body = 0;        // of a definition: behind the brace that opens its body
};

// The kernels that `text` declares or defines, in its order.
std::vector<ScannedKernel> scan_kernels(std::string_view text);

// The text with one space wherever C++ needs one: "const float *", "Vec<4, float> &".
std::string join_tokens(std::string_view text, const std::vector<Token>& tokens, std::size_t first, std::size_t last);

}  // namespace regtune
