#include "expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <lua.hpp>
#include <memory>

#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr std::size_t max_text_bytes = 4096;
constexpr std::size_t max_memory_bytes = 1 << 20;
constexpr int max_instructions = 100000;
constexpr int max_values = 3;
constexpr char checked_type[] = "integer";

// The words of Lua 5.4, and the names that every expression sees.
constexpr std::array reserved_words = {
    "and",   "break",   "do",  "else", "elseif",  "end",    "false",   "for",  "function", "goto",    "if",
    "in",    "local",   "nil", "not",  "or",      "repeat", "return",  "then", "true",     "until",   "while",
    "block", "block_x", "inf", "nan",  "block_y", "min",    "block_z", "max",  "ceil_div", "round_up"};

using Number = std::variant<std::int64_t, double>;
using Boxed = std::variant<std::monostate, std::int64_t, double, bool>;  // monostate: not a number at all

// All that crosses Lua's C code: Lua leaves its functions by longjmp, so nothing with a destructor may live
// there. The vectors and strings of the result are made outside.
struct Run {
  const char* chunk = nullptr;
  std::size_t chunk_bytes = 0;
  const Sizes* names = nullptr;
  int count = 0;
  std::array<Boxed, max_values> values;
  std::array<const char*, max_values> types{};
};

void push_checked(lua_State* lua, std::int64_t value) {
  void* memory = lua_newuserdatauv(lua, sizeof value, 0);
  std::memcpy(memory, &value, sizeof value);
  luaL_setmetatable(lua, checked_type);
}

Boxed boxed(lua_State* lua, int index) {
  if (const void* memory = luaL_testudata(lua, index, checked_type)) {
    std::int64_t value = 0;
    std::memcpy(&value, memory, sizeof value);
    return value;
  }
  if (lua_isboolean(lua, index)) return lua_toboolean(lua, index) != 0;
  if (lua_type(lua, index) != LUA_TNUMBER) return std::monostate{};
  if (lua_isinteger(lua, index)) return std::int64_t{lua_tointeger(lua, index)};
  return lua_tonumber(lua, index);
}

std::optional<std::int64_t> exact_integer(double value) {
  if (!(value >= -0x1p63 && value < 0x1p63) || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

Number number_operand(lua_State* lua, int index) {
  const Boxed value = boxed(lua, index);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  luaL_error(lua, "a %s is not a number; write one, or a size's name", luaL_typename(lua, index));
  return std::int64_t{0};
}

std::int64_t integer_operand(lua_State* lua, int index) {
  const Number value = number_operand(lua, index);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  const std::optional<std::int64_t> exact = exact_integer(std::get<double>(value));
  if (!exact) luaL_error(lua, "%f is not an integer; use // for integer division", std::get<double>(value));
  return exact.value_or(0);
}

double real(Number value) {
  return std::visit([](auto number) { return static_cast<double>(number); }, value);
}

[[noreturn]] void overflow(lua_State* lua) {
  luaL_error(lua, "the result does not fit in 64 bits; choose smaller sizes");
  std::abort();  // luaL_error does not return, but C cannot say so.
}

std::int64_t floor_quotient(lua_State* lua, std::int64_t a, std::int64_t b) {
  if (b == 0) luaL_error(lua, "division by zero; write a divisor of 1 or more");
  if (a == std::numeric_limits<std::int64_t>::min() && b == -1) overflow(lua);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::int64_t shifted(lua_State* lua, std::int64_t a, std::int64_t by, bool left) {
  if (by < 0) luaL_error(lua, "a shift by a negative number; write 0 or more");
  if (!left) return by > 63 ? (a < 0 ? -1 : 0) : a >> by;
  if (a == 0) return 0;
  if (by > 62) overflow(lua);
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, std::int64_t{1} << by, &result)) overflow(lua);
  return result;
}

std::int64_t ceil_quotient(lua_State* lua, std::int64_t a, std::int64_t b) {
  if (b <= 0) luaL_error(lua, "ceil_div and round_up need a positive second number; write 1 or more");
  return a / b + (a % b > 0 ? 1 : 0);
}

// A power of integers is one where a double holds it exactly.
int push_power(lua_State* lua, double base, double exponent, bool integers) {
  const double result = std::pow(base, exponent);
  if (integers && std::abs(result) <= 0x1p53 && result == std::floor(result)) {
    push_checked(lua, static_cast<std::int64_t>(result));
  } else {
    lua_pushnumber(lua, result);
  }
  return 1;
}

// The ratio of integers is one where it is exact; else a float, as long as rounding does not hide the remainder.
int push_ratio(lua_State* lua, Number left, Number right) {
  if (left.index() == 0 && right.index() == 0) {
    const std::int64_t a = std::get<std::int64_t>(left);
    const std::int64_t b = std::get<std::int64_t>(right);
    const std::int64_t quotient = floor_quotient(lua, a, b);
    if (a % b == 0) {
      push_checked(lua, quotient);
      return 1;
    }
    const double rounded = real(left) / real(right);
    if (rounded == std::floor(rounded)) luaL_error(lua, "the quotient is not an integer; use // for integer division");
  }
  lua_pushnumber(lua, real(left) / real(right));
  return 1;
}

// The operator of a metamethod is its upvalue.
int arithmetic(lua_State* lua) {
  const char operation = static_cast<char>(lua_tointeger(lua, lua_upvalueindex(1)));
  const Number left = number_operand(lua, 1);
  const Number right = number_operand(lua, 2);
  const bool integers = left.index() == 0 && right.index() == 0;
  if (!integers && std::strchr("+-*i%n", operation) != nullptr) {
    const double a = real(left);
    const double b = real(right);
    double result = 0;
    if (operation == '+') result = a + b;
    if (operation == '-') result = a - b;
    if (operation == '*') result = a * b;
    if (operation == 'i') result = std::floor(a / b);
    if (operation == '%') result = a - std::floor(a / b) * b;
    if (operation == 'n') result = -a;
    lua_pushnumber(lua, result);
    return 1;
  }
  if (operation == '^') return push_power(lua, real(left), real(right), integers);
  if (operation == '/') return push_ratio(lua, left, right);
  const std::int64_t a = integer_operand(lua, 1);
  const std::int64_t b = integer_operand(lua, 2);
  std::int64_t result = 0;
  bool wrapped = false;
  switch (operation) {
    case '+':
      wrapped = __builtin_add_overflow(a, b, &result);
      break;
    case '-':
      wrapped = __builtin_sub_overflow(a, b, &result);
      break;
    case '*':
      wrapped = __builtin_mul_overflow(a, b, &result);
      break;
    case 'n':
      wrapped = __builtin_sub_overflow(std::int64_t{0}, a, &result);
      break;
    case 'i':
      result = floor_quotient(lua, a, b);
      break;
    case '%':
      if (b == 0) luaL_error(lua, "division by zero; write a divisor of 1 or more");
      result = b == -1 ? 0 : a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
      break;
    case '<':
      result = shifted(lua, a, b, true);
      break;
    case '>':
      result = shifted(lua, a, b, false);
      break;
    case '&':
      result = a & b;
      break;
    case '|':
      result = a | b;
      break;
    case 'x':
      result = a ^ b;
      break;
    default:
      result = ~a;
      break;
  }
  if (wrapped) overflow(lua);
  push_checked(lua, result);
  return 1;
}

int compare(lua_State* lua) {
  const char operation = static_cast<char>(lua_tointeger(lua, lua_upvalueindex(1)));
  const Number left = number_operand(lua, 1);
  const Number right = number_operand(lua, 2);
  const bool integers = left.index() == 0 && right.index() == 0;
  const bool less = integers ? std::get<std::int64_t>(left) < std::get<std::int64_t>(right) : real(left) < real(right);
  const bool equal = integers ? left == right : real(left) == real(right);
  lua_pushboolean(lua, operation == '=' ? equal : less || (operation == 'l' && equal));
  return 1;
}

int ceil_div(lua_State* lua) {
  push_checked(lua, ceil_quotient(lua, integer_operand(lua, 1), integer_operand(lua, 2)));
  return 1;
}

int round_up(lua_State* lua) {
  const std::int64_t step = integer_operand(lua, 2);
  std::int64_t result = 0;
  if (__builtin_mul_overflow(ceil_quotient(lua, integer_operand(lua, 1), step), step, &result)) overflow(lua);
  push_checked(lua, result);
  return 1;
}

// min and max: the upvalue says which.
int extreme(lua_State* lua) {
  const bool want_less = lua_toboolean(lua, lua_upvalueindex(1)) != 0;
  int best = 1;
  (void)number_operand(lua, 1);
  for (int index = 2; index <= lua_gettop(lua); ++index) {
    const Number value = number_operand(lua, index);
    const Number so_far = number_operand(lua, best);
    const bool less = value.index() == 0 && so_far.index() == 0 ? value < so_far : real(value) < real(so_far);
    if (less == want_less && value != so_far) best = index;
  }
  lua_pushvalue(lua, best);
  return 1;
}

// Integer literals reach Lua as the names _24 and _0x18 (see chunk_of), so that they too are checked.
int unknown_name(lua_State* lua) {
  const char* name = lua_type(lua, 2) == LUA_TSTRING ? lua_tostring(lua, 2) : "?";
  if (name[0] != '_' || name[1] < '0' || name[1] > '9') return luaL_error(lua, "unknown name '%s'", name);
  const bool hexadecimal = name[1] == '0' && (name[2] == 'x' || name[2] == 'X');
  const char* digits = name + (hexadecimal ? 3 : 1);
  const char* end = digits + std::strlen(digits);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(digits, end, value, hexadecimal ? 16 : 10);
  if (error == std::errc::result_out_of_range)
    return luaL_error(lua, "the number %s does not fit in 64 bits; write a smaller one", name + 1);
  if (error != std::errc{} || stop != end || *digits == '-')
    return luaL_error(lua, "malformed number '%s'; write it as 24, 0x18 or 2.5", name + 1);
  push_checked(lua, value);
  return 1;
}

void too_long(lua_State* lua, lua_Debug*) {
  luaL_error(lua, "takes too long; write arithmetic alone");
}

void set_operator(lua_State* lua, const char* event, lua_CFunction function, char operation) {
  lua_pushinteger(lua, operation);
  lua_pushcclosure(lua, function, 1);
  lua_setfield(lua, -2, event);
}

void prepare(lua_State* lua, const Sizes& names) {
  luaL_newmetatable(lua, checked_type);
  constexpr std::pair<const char*, char> operators[] = {
      {"__add", '+'},  {"__sub", '-'}, {"__mul", '*'},  {"__div", '/'}, {"__idiv", 'i'},
      {"__mod", '%'},  {"__pow", '^'}, {"__unm", 'n'},  {"__shl", '<'}, {"__shr", '>'},
      {"__band", '&'}, {"__bor", '|'}, {"__bxor", 'x'}, {"__bnot", '~'}};
  for (const auto& [event, operation] : operators) set_operator(lua, event, arithmetic, operation);
  set_operator(lua, "__eq", compare, '=');
  set_operator(lua, "__lt", compare, '<');
  set_operator(lua, "__le", compare, 'l');
  lua_pop(lua, 1);

  lua_pushglobaltable(lua);
  lua_createtable(lua, 0, 1);
  lua_pushcfunction(lua, unknown_name);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
  lua_pop(lua, 1);
  lua_register(lua, "ceil_div", ceil_div);
  lua_register(lua, "round_up", round_up);
  for (const bool want_less : {true, false}) {
    lua_pushboolean(lua, want_less);
    lua_pushcclosure(lua, extreme, 1);
    lua_setglobal(lua, want_less ? "min" : "max");
  }
  lua_pushnumber(lua, std::numeric_limits<double>::infinity());
  lua_setglobal(lua, "inf");
  lua_pushnumber(lua, std::numeric_limits<double>::quiet_NaN());
  lua_setglobal(lua, "nan");
  for (const auto& [name, value] : names) {
    push_checked(lua, value);
    lua_setglobal(lua, name.c_str());
  }
}

int protected_run(lua_State* lua) {
  Run& run = *static_cast<Run*>(lua_touserdata(lua, 1));
  lua_settop(lua, 0);
  prepare(lua, *run.names);
  if (luaL_loadbufferx(lua, run.chunk, run.chunk_bytes, "=e", "t") != LUA_OK) return lua_error(lua);
  lua_sethook(lua, too_long, LUA_MASKCOUNT, max_instructions);
  lua_call(lua, 0, LUA_MULTRET);
  lua_sethook(lua, nullptr, 0, 0);
  run.count = lua_gettop(lua);
  for (int index = 0; index < std::min(run.count, max_values); ++index) {
    run.values[static_cast<std::size_t>(index)] = boxed(lua, index + 1);
    run.types[static_cast<std::size_t>(index)] = luaL_typename(lua, index + 1);
  }
  return 0;
}

void* allocate(void* budget, void* old, std::size_t old_bytes, std::size_t new_bytes) {
  auto& left = *static_cast<std::size_t*>(budget);
  if (old == nullptr) old_bytes = 0;  // Lua passes a type tag there.
  if (new_bytes == 0) {
    std::free(old);
    left += old_bytes;
    return nullptr;
  }
  if (new_bytes > old_bytes && new_bytes - old_bytes > left) return nullptr;
  void* memory = std::realloc(old, new_bytes);
  if (memory != nullptr) left = left + old_bytes - new_bytes;
  return memory;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

[[noreturn]] void refuse(const Expression& expression, std::string_view what) {
  throw Error(ErrorKind::bad_description,
              fmt::format("{}: {}: {}", expression.origin.text, in_quotes(expression.text), what));
}

// "return <text>" with integer literals turned into names; strings, tables and comments are not let through.
std::string chunk_of(const Expression& expression) {
  const std::string& text = expression.text;
  if (text.size() > max_text_bytes)
    refuse(expression, fmt::format("longer than {} characters; write a shorter one", max_text_bytes));
  std::string chunk = "return ";
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    const std::size_t begin = at;
    if (is_letter(c)) {
      while (at < text.size() && (is_letter(text[at]) || is_digit(text[at]))) ++at;
      chunk.append(text, begin, at - begin);
      continue;
    }
    if (is_digit(c) || (c == '.' && at + 1 < text.size() && is_digit(text[at + 1]))) {
      const bool hexadecimal = c == '0' && at + 1 < text.size() && (text[at + 1] == 'x' || text[at + 1] == 'X');
      const std::string_view exponent = hexadecimal ? "pP" : "eE";
      bool real = false;
      while (at < text.size() && (is_letter(text[at]) || is_digit(text[at]) || text[at] == '.')) {
        const bool marks_exponent = exponent.find(text[at]) != std::string_view::npos;
        real = real || marks_exponent || text[at] == '.';
        ++at;
        if (marks_exponent && at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
      }
      if (!real) chunk += '_';
      chunk.append(text, begin, at - begin);
      continue;
    }
    if (std::string_view(" \t\r\n+-*/%^()<>=~&|.,").find(c) == std::string_view::npos) {
      refuse(expression, fmt::format("{} has no place in an expression; write numbers, names, operators and {}",
                                     in_quotes(text.substr(at, 1)), "ceil_div, round_up, min, max"));
    }
    if (text.compare(at, 2, "--") == 0) refuse(expression, "\"--\" would begin a comment; write a - (-b)");
    chunk += c;
    ++at;
  }
  return chunk;
}

std::string explained(std::string message, const Sizes& names) {
  if (message.starts_with("e:")) {
    const std::size_t colon = message.find(": ");
    if (colon != std::string::npos) message.erase(0, colon + 2);
  }
  if (message.find("not enough memory") != std::string::npos) return "takes too much memory; write arithmetic alone";
  if (!message.starts_with("unknown name")) {
    // Lua's own messages say what it stopped at and no more.
    const bool ours = message.find("; ") != std::string::npos;
    return ours ? message : message + "; write numbers, names, operators and ceil_div, round_up, min, max";
  }
  std::string known;
  for (const auto& [name, value] : names) known += name + ", ";
  return fmt::format("{}; choose of {}ceil_div, round_up, min, max", message, known);
}

struct Value {
  Boxed value;
  const char* type = "nothing";
};

std::vector<Value> run_expression(const Expression& expression, const Sizes& names) {
  const std::string chunk = chunk_of(expression);
  std::size_t budget = max_memory_bytes;
  const std::unique_ptr<lua_State, decltype(&lua_close)> lua(lua_newstate(allocate, &budget), lua_close);
  if (lua == nullptr) refuse(expression, "no memory to evaluate it; end what else uses the machine's memory");
  Run run{.chunk = chunk.data(), .chunk_bytes = chunk.size(), .names = &names, .values = {}};
  lua_pushcfunction(lua.get(), protected_run);
  lua_pushlightuserdata(lua.get(), &run);
  if (lua_pcall(lua.get(), 1, 0, 0) != LUA_OK) {
    const char* message = lua_type(lua.get(), -1) == LUA_TSTRING ? lua_tostring(lua.get(), -1) : "failed";
    refuse(expression, explained(message, names));
  }
  if (run.count == 0) refuse(expression, "gives no value; write a number or an expression such as ceil_div(n, block)");
  if (run.count > max_values)
    refuse(expression, fmt::format("gives {} values; write at most {}", run.count, max_values));
  std::vector<Value> values;
  for (int index = 0; index < run.count; ++index) {
    values.push_back({run.values[static_cast<std::size_t>(index)], run.types[static_cast<std::size_t>(index)]});
  }
  return values;
}

std::int64_t integer_of(const Expression& expression, const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.value)) return *integer;
  const auto* real = std::get_if<double>(&value.value);
  if (real == nullptr)
    refuse(expression,
           fmt::format("gives a {}, not an integer; write a number, a size's name or arithmetic", value.type));
  const std::optional<std::int64_t> exact = exact_integer(*real);
  if (!exact && std::abs(*real) < 0x1p63) {
    refuse(expression, fmt::format("gives {}, which is not an integer; use // for integer division", *real));
  }
  if (!exact) refuse(expression, fmt::format("gives {}, which does not fit in 64 bits; choose smaller sizes", *real));
  return *exact;
}

}  // namespace

std::vector<std::int64_t> evaluate_integers(const Expression& expression, const Sizes& names) {
  std::vector<std::int64_t> integers;
  for (const Value& value : run_expression(expression, names)) integers.push_back(integer_of(expression, value));
  return integers;
}

std::int64_t evaluate_size(const Expression& expression, const Sizes& names) {
  const std::vector<std::int64_t> integers = evaluate_integers(expression, names);
  if (integers.size() != 1)
    refuse(expression, fmt::format("gives {} values where one is wanted; write one", integers.size()));
  return integers.front();
}

std::variant<std::int64_t, double> evaluate_number(const Expression& expression, const Sizes& names) {
  const std::vector<Value> values = run_expression(expression, names);
  if (values.size() != 1)
    refuse(expression, fmt::format("gives {} values where one is wanted; write one", values.size()));
  const Value& value = values.front();
  if (const auto* truth = std::get_if<bool>(&value.value)) return std::int64_t{*truth ? 1 : 0};
  if (const auto* real = std::get_if<double>(&value.value)) return *real;
  return integer_of(expression, value);
}

std::optional<std::string> why_not_a_size_name(std::string_view name) {
  if (name.empty() || name.size() > 64) return "has no characters, or more than 64";
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
  if (!plain || is_digit(name.front())) return "is not made of letters, digits and _";
  if (name.size() > 1 && name[0] == '_' && is_digit(name[1])) return "begins with _ and a digit";
  if (std::find(reserved_words.begin(), reserved_words.end(), name) != reserved_words.end()) {
    return "has a meaning of its own in expressions";
  }
  return std::nullopt;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t shown = 80;
  std::string result = "\"";
  for (const char c : text.substr(0, shown)) result += c >= ' ' && c <= '~' ? c : '?';
  return result + (text.size() > shown ? "...\"" : "\"");
}

}  // namespace regtune
