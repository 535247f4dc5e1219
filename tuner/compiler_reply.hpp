#pragma once
// What a compiler answers, whichever it is. A source that does not compile is an answer like any other.
#include <string>
#include <vector>

namespace regtune {

struct CompilerReply {
  bool compiled = false;
  std::string cubin;                       // machine code; empty when not compiled, or not asked for
  std::string lto_ir;                      // likewise
  std::string log;                         // the compiler's messages, with ptxas's report
  std::vector<std::string> lowered_names;  // mangled, one per name expression
};

}  // namespace regtune
