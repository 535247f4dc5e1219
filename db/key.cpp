#include "key.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace regtune {
namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string without_space(std::string_view text) {
  std::string result;
  std::copy_if(text.begin(), text.end(), std::back_inserter(result), [](char c) { return !is_space(c); });
  return result;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

void append_length(std::string& bytes, std::size_t length) {
  char little_endian[8];
  for (int byte = 0; byte < 8; ++byte) little_endian[byte] = static_cast<char>(std::uint64_t{length} >> (8 * byte));
  bytes.append(little_endian, sizeof little_endian);
}

// "f(int (*)(float))" -> "f". A name may itself begin with a bracket: "(anonymous namespace)::f".
std::string_view without_parameters(std::string_view text) {
  text = trimmed(text);
  if (!text.ends_with(')')) return text;
  int depth = 0;
  for (std::size_t at = text.size(); at-- > 0;) {
    if (text[at] == ')') ++depth;
    if (text[at] == '(' && --depth == 0) return at == 0 ? text : trimmed(text.substr(0, at));
  }
  return text;
}

// The positions that lie outside all brackets are where a name may be cut. `at` is called with each.
template <typename Visit>
void for_each_outside_brackets(std::string_view text, Visit visit) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (depth == 0) visit(at);
    if ((c == '>' || c == ')' || c == ']') && depth > 0) --depth;
  }
}

// "void ns::sgemm<128, float>(float*)" -> "ns::sgemm<128,float>". Templates are demangled with the type that
// they return, other functions without.
std::string qualified_name(std::string_view signature) {
  const std::string_view name = without_parameters(signature);
  // "sgemm <128>", as a user may write it, has a space but no type in front.
  std::size_t start = 0;
  for_each_outside_brackets(name, [&](std::size_t at) {
    const std::string_view rest = trimmed(name.substr(at));
    if (is_space(name[at]) && !rest.empty() && rest.front() != '<' && rest.front() != ':') start = at + 1;
  });
  std::string result = without_space(name.substr(start));
  if (result.starts_with("::")) result.erase(0, 2);
  return result;
}

std::string without_template_arguments(std::string_view qualified) {
  if (!qualified.ends_with('>')) return std::string(qualified);
  int depth = 0;
  for (std::size_t at = qualified.size(); at-- > 0;) {
    if (qualified[at] == '>') ++depth;
    if (qualified[at] == '<' && --depth == 0) return std::string(qualified.substr(0, at));
  }
  return std::string(qualified);
}

bool is_or_ends_with_name(std::string_view qualified, std::string_view wanted) {
  if (!qualified.ends_with(wanted)) return false;
  qualified.remove_suffix(wanted.size());
  return qualified.empty() || qualified.ends_with("::");
}

}  // namespace

std::string gpu_model_key(std::string_view name) {
  std::string text;
  for (const char c : name) text += is_space(c) ? ' ' : lower(c);
  // (TM), (R), (C), the signs themselves, and the no-break space, in UTF-8. Each counts as a space.
  constexpr std::array<std::string_view, 7> ignored = {"(tm)",     "(r)",      "(c)",     "\xe2\x84\xa2",
                                                       "\xc2\xae", "\xc2\xa9", "\xc2\xa0"};
  for (const std::string_view sign : ignored) {
    for (auto at = text.find(sign); at != std::string::npos; at = text.find(sign)) text.replace(at, sign.size(), " ");
  }
  std::string key;
  for (const char c : text) {
    if (c != ' ' || (!key.empty() && key.back() != ' ')) key += c;
  }
  if (key.ends_with(' ')) key.pop_back();
  constexpr std::string_view maker = "nvidia";
  // Labels of clusters join the words with hyphens: "NVIDIA-H200".
  while (key.size() > maker.size() + 1 && key.starts_with(maker) &&
         std::string_view(" -_").find(key[maker.size()]) != std::string_view::npos) {
    key.erase(0, maker.size() + 1);
  }
  return key;
}

FieldHash& FieldHash::add(std::string_view tag, std::string_view value) {
  if (bytes_.empty()) bytes_.reserve(1024);  // a look-up hashes each row that it reads
  append_length(bytes_, tag.size());
  bytes_ += tag;
  append_length(bytes_, value.size());
  bytes_ += value;
  return *this;
}

FieldHash& FieldHash::add(std::string_view tag, std::int64_t value) {
  char digits[24];
  const char* end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  return add(tag, {digits, static_cast<std::size_t>(end - digits)});
}

std::string FieldHash::hex() const {
  return content_hash(bytes_);
}

std::string content_hash(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  std::string hex;
  hex.reserve(2 * sizeof canonical.digest);
  for (const unsigned char byte : canonical.digest) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

std::string hash_of(const Sizes& sizes) {
  FieldHash hash;
  for (const auto& [name, value] : sizes) hash.add(name, value);
  return hash.hex();
}

std::string hash_of_options(const std::vector<std::string>& options) {
  FieldHash hash;
  for (const std::string& option : options) hash.add("option", option);
  return hash.hex();
}

std::string hash_of(const SourceChoice& choice) {
  FieldHash hash;
  hash.add("renamed", choice.renamed ? 1 : 0).add("register usage level", choice.register_usage_level);
  for (const auto& [name, value] : choice.macros) hash.add("macro", name).add("value", value);
  hash.add("instance", choice.instance).add("spills to shared", choice.spills_to_shared ? 1 : 0);
  return hash.hex();
}

std::string bare_kernel_name(std::string_view signature) {
  const std::string name = without_template_arguments(qualified_name(signature));
  std::size_t start = 0;
  for_each_outside_brackets(name, [&](std::size_t at) {
    if (name.compare(at, 2, "::") == 0) start = at + 2;
  });
  return name.substr(start);
}

bool kernel_answers_to(std::string_view mangled, std::string_view signature, std::string_view wanted) {
  std::string asked = without_space(wanted);
  if (asked.starts_with("::")) asked.erase(0, 2);
  if (asked.empty()) return false;
  if (asked == without_space(mangled) || asked == without_space(signature)) return true;
  const std::string qualified = qualified_name(signature.empty() ? mangled : signature);
  return is_or_ends_with_name(qualified, asked) || is_or_ends_with_name(without_template_arguments(qualified), asked);
}

std::string code_identity(const StaticFacts& facts, const LaunchShape& shape) {
  const auto extents = [](Dim3 size) {
    return std::to_string(size.x) + "x" + std::to_string(size.y) + "x" + std::to_string(size.z);
  };
  return facts.code_hash + "/" + extents(shape.grid) + "/" + extents(shape.block) + "/" +
         std::to_string(shape.dynamic_shared_bytes);
}

std::string launch_key(const TuningRecord& record) {
  FieldHash hash;
  hash.add("kernel", record.kernel).add("sizes", hash_of(record.sizes));
  for (const std::string& argument : record.arguments) hash.add("argument", argument);
  const Dim3 grid = record.author_shape.grid;
  hash.add("grid", std::to_string(grid.x) + "x" + std::to_string(grid.y) + "x" + std::to_string(grid.z));
  if (record.gpu) hash.add("gpu", gpu_model_key(record.gpu->id.name));
  return hash.hex();
}

std::string run_key(const TuningRecord& record) {
  FieldHash hash;
  hash.add("kernel", record.kernel).add("signature", record.signature);
  hash.add("sizes", hash_of(record.sizes)).add("options", hash_of_options(record.options));
  hash.add("source", record.source_hash).add("architecture", record.architecture);
  hash.add("compiler", record.compiler).add("regtune", record.regtune_version);
  hash.add("seed", static_cast<std::int64_t>(record.settings.seed));
  if (record.settings.cold) hash.add("cold", 1);
  if (record.settings.never_restore) hash.add("never_restore", 1);
  for (const std::string& argument : record.arguments) hash.add("argument", argument);
  const auto add_extents = [&](std::string_view tag, Dim3 size) {
    hash.add(tag, std::to_string(size.x) + "x" + std::to_string(size.y) + "x" + std::to_string(size.z));
  };
  std::vector<LaunchShape> shapes = {record.author_shape};
  for (const Trial& trial : record.trials)
    if (std::find(shapes.begin(), shapes.end(), trial.shape) == shapes.end()) shapes.push_back(trial.shape);
  for (const LaunchShape& shape : shapes) {
    add_extents("grid", shape.grid);
    add_extents("block", shape.block);
    hash.add("dynamic shared", shape.dynamic_shared_bytes);
  }
  std::vector<SourceChoice> choices = {SourceChoice{}};
  for (const Trial& trial : record.trials) {
    const SourceChoice& choice = trial.variant.choice;
    if (std::find(choices.begin(), choices.end(), choice) != choices.end()) continue;
    choices.push_back(choice);
    hash.add("choice", hash_of(choice));
  }
  if (record.gpu) {
    hash.add("gpu", gpu_model_key(record.gpu->id.name)).add("driver", record.gpu->driver_version);
    hash.add("compute major", record.gpu->id.compute_major).add("compute minor", record.gpu->id.compute_minor);
    hash.add("SMs", record.gpu->id.sm_count).add("memory clock", record.gpu->id.memory_clock_mhz);
  }
  return hash.hex();
}

}  // namespace regtune
