#pragma once
// Cuts a text into what stands at its outermost level: functions, types, variables, macros, includes. Namespaces and
// extern "C" blocks are looked into, and member functions are items of their own inside their class. What an item is
// for is told by the qualifiers it is written with; nothing is expanded, and both sides of an #if are read. Nothing
// here throws, whatever bytes the text holds; a text that does not balance gives items that reach too far.
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regtune {

enum class ItemKind {
  kernel,     // __global__, written out
  device,     // a function or variable with __device__, __constant__, __managed__ or __shared__
  host_only,  // __host__ and not __device__
  function,   // without any qualifier: whose it is depends on who calls it
  type,       // class, struct, union, enum
  other,      // variables, typedefs, using declarations
  macro,      // a #define; its text is never taken away
};

struct TemplateParameter {
  std::string type;  // "typename", "int"; with its name for what else there is: "template <class> class C"
  std::string name;
  bool has_default = false;
};

struct SourceItem {
  ItemKind kind = ItemKind::other;
  std::size_t begin = 0;  // text[begin, end)
  std::size_t end = 0;
  int line = 1;  // of its first and of its last byte
  int last_line = 1;
  std::vector<std::string> names;  // that it declares
  std::vector<std::string> uses;   // every identifier in it
  int parent = -1;                 // the class of a member function, as an index
  // Of a member function with a body: where its initialisers, or else its body, begin. 0: it has none.
  std::size_t body = 0;
  bool is_operator = false;  // called without being named
  std::vector<TemplateParameter> template_parameters;
  std::vector<std::string> parameters;  // of a function template: "const T * in"
  std::string scope;                    // the namespaces around it, without nameless ones: "a::b"
};

struct IncludeLine {
  std::size_t begin = 0;  // the whole directive is text[begin, end)
  std::size_t end = 0;
  int line = 1;
  std::string name;
  bool in_quotes = false;
};

// What looks like a call or a launch: "sum<float, 4>(a, n)", "sum<<<grid, block>>>(a, n)".
struct SourceCall {
  std::string name;
  std::vector<std::string> arguments;                       // of the template, as far as they are written out
  std::vector<std::pair<std::size_t, std::size_t>> values;  // that it is given: text[first, second)
  std::size_t offset = 0;
  bool is_launch = false;
};

// Behind a directive that may end a part which the compiler skips, and with it every #line that stands there.
struct BranchEnd {
  std::size_t offset = 0;
  int next_line = 1;
};

struct SourceItems {
  std::vector<SourceItem> items;  // in the text's order, a class before its members
  std::vector<IncludeLine> includes;
  std::vector<SourceCall> calls;
  bool launches = false;                 // somewhere a kernel is launched
  std::vector<std::size_t> pragma_once;  // where such lines begin
  std::vector<BranchEnd> branch_ends;    // of every #else, #elif and #endif
};

SourceItems source_items(std::string_view text);

}  // namespace regtune
