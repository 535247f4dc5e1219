#include "launched_instances.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "source_scan.hpp"

namespace regtune {
namespace {

constexpr std::size_t kMostOfOneKernel = 3;
constexpr std::size_t kMostInstances = 24;
constexpr int kMostCallers = 4;  // of callers

using Arguments = std::vector<std::string>;

std::vector<std::string> words_in(const std::string& text) {
  std::vector<std::string> words;
  for (const Token& token : tokenize(text))
    if (token.kind == TokenKind::identifier) words.push_back(spelling(text, token));
  return words;
}

std::string with_word(const std::string& text, const std::string& word, const std::string& replacement) {
  std::string result;
  std::size_t at = 0;
  for (const Token& token : tokenize(text)) {
    if (token.kind != TokenKind::identifier || spelling(text, token) != word) continue;
    result += text.substr(at, token.offset - at) + replacement;
    at = token.offset + token.length;
  }
  return result + text.substr(at);
}

class InstanceFinder {
 public:
  explicit InstanceFinder(const std::vector<ScannedText>& texts) : texts_(texts) {
    for (const ScannedText& text : texts)
      for (const SourceItem& item : text.items->items) {
        if (item.kind == ItemKind::kernel && !item.template_parameters.empty() && !item.names.empty() && item.body != 0)
          kernels_.emplace(item.names.front(), &item);
        if (item.parent < 0 && item.kind != ItemKind::function && item.kind != ItemKind::host_only)
          known_.insert(item.names.begin(), item.names.end());
      }
  }

  std::vector<LaunchedInstance> run(const std::map<std::string, int>& refusals) {
    std::vector<LaunchedInstance> instances;
    for (const auto& [kernel, item] : kernels_) {
      const auto refused = refusals.find(kernel);
      int tries = refused == refusals.end() ? 0 : refused->second;
      std::set<Arguments> launched;
      for (const ScannedText& text : texts_)
        for (const TemplateCall& call : text.items->calls)
          if (call.is_launch && call.name == kernel) resolve(text, call.offset, call.arguments, 0, launched);
      std::set<std::string> names;
      bool is_guess = false;
      for (const Arguments& arguments : launched)
        if (const auto whole = complete(arguments, *item, 0, is_guess)) names.insert(instance(kernel, *whole));
      if (!names.empty() && !is_guess && tries > 0) --tries, names.clear();
      if (names.empty() || tries > 0) {
        names.clear();
        is_guess = true;
        if (const auto whole = complete({}, *item, tries, is_guess)) names.insert(instance(kernel, *whole));
      }
      std::size_t taken = 0;
      for (const std::string& name : names)
        if (taken++ < kMostOfOneKernel && instances.size() < kMostInstances)
          instances.push_back({name, kernel, is_guess});
    }
    return instances;
  }

 private:
  static std::string instance(const std::string& kernel, const Arguments& arguments) {
    return fmt::format("{}<{}>", kernel, fmt::join(arguments, ", "));
  }

  bool can_be_named(const std::string& word) const {
    static const std::set<std::string> words = {
        "int",     "unsigned", "float",   "double",        "char",    "short",    "long",    "bool",
        "signed",  "true",     "false",   "const",         "__half",  "half",     "size_t",  "float2",
        "float3",  "float4",   "double2", "int2",          "int3",    "int4",     "uint2",   "uint4",
        "uchar4",  "uint8_t",  "int8_t",  "uint16_t",      "int16_t", "uint32_t", "int32_t", "uint64_t",
        "int64_t", "uint",     "half2",   "__nv_bfloat16", "sizeof",  "uchar",    "ushort"};
    return words.count(word) > 0 || known_.count(word) > 0;
  }

  // The innermost function that the offset lies in.
  static const SourceItem* enclosing(const ScannedText& text, std::size_t offset) {
    const SourceItem* found = nullptr;
    for (const SourceItem& item : text.items->items)
      if (item.kind != ItemKind::macro && item.begin <= offset && offset < item.end) found = &item;
    return found;
  }

  // "const int word = 256;", "using word = float;" within the function.
  static std::optional<std::string> local_value(const ScannedText& text, const SourceItem& function,
                                                const std::string& word) {
    const std::string_view body = text.text.substr(function.begin, function.end - function.begin);
    const std::vector<Token> tokens = tokenize(body);
    bool is_constant = false;
    for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
      const std::string said = tokens[i].kind == TokenKind::identifier ? spelling(body, tokens[i]) : "";
      if (said == "const" || said == "constexpr" || said == "using") is_constant = true;
      if (body[tokens[i].offset] == ';' || body[tokens[i].offset] == '{') is_constant = false;
      if (!is_constant || said != word || body[tokens[i + 1].offset] != '=') continue;
      std::size_t last = i + 2;
      while (last < tokens.size() && body[tokens[last].offset] != ';' && body[tokens[last].offset] != ',') ++last;
      return join_tokens(body, tokens, i + 2, last);
    }
    return {};
  }

  void resolve(const ScannedText& text, std::size_t offset, Arguments arguments, int depth,
               std::set<Arguments>& found) const {
    const SourceItem* function = enclosing(text, offset);
    for (std::string& argument : arguments)
      for (const std::string& word : words_in(argument)) {
        if (can_be_named(word) || function == nullptr) continue;
        const auto& parameters = function->template_parameters;
        const bool is_parameter = std::any_of(parameters.begin(), parameters.end(),
                                              [&](const auto& parameter) { return parameter.name == word; });
        if (is_parameter) return resolve_in_callers(*function, arguments, depth, found);
        const std::optional<std::string> value = local_value(text, *function, word);
        if (!value) return;
        argument = with_word(argument, word, words_in(*value).empty() ? "(" + *value + ")" : *value);
      }
    for (const std::string& argument : arguments)
      for (const std::string& word : words_in(argument))
        if (!can_be_named(word)) return;
    found.insert(std::move(arguments));
  }

  void resolve_in_callers(const SourceItem& function, const Arguments& arguments, int depth,
                          std::set<Arguments>& found) const {
    if (depth >= kMostCallers || function.names.empty()) return;
    for (const ScannedText& text : texts_)
      for (const TemplateCall& call : text.items->calls) {
        if (call.name != function.names.front() || found.size() > kMostInstances) continue;
        Arguments handed = arguments;
        for (std::string& argument : handed)
          for (std::size_t i = 0; i < function.template_parameters.size() && i < call.arguments.size(); ++i)
            argument = with_word(argument, function.template_parameters[i].name, call.arguments[i]);
        if (handed != arguments) resolve(text, call.offset, std::move(handed), depth + 1, found);
      }
  }

  // With likely arguments for those that are to be deduced.
  static std::optional<Arguments> complete(Arguments arguments, const SourceItem& kernel, int tries, bool& is_guess) {
    static const std::vector<std::string> types = {"float", "int", "double", "unsigned int"};
    for (std::size_t i = arguments.size(); i < kernel.template_parameters.size(); ++i) {
      const TemplateParameter& parameter = kernel.template_parameters[i];
      if (parameter.has_default) break;
      const bool is_type = parameter.type == "typename" || parameter.type == "class";
      if (parameter.type.find("...") != std::string::npos) break;
      if (tries >= static_cast<int>(types.size())) return {};
      std::string name = parameter.name;
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      const bool is_block = name.find("block") != std::string::npos || name.find("thread") != std::string::npos;
      static const std::set<std::string> numbers = {"int",   "unsigned",  "unsigned int", "size_t",
                                                    "uint",  "const int", "uint32_t",     "int32_t",
                                                    "short", "long",      "unsigned long"};
      if (!is_type && parameter.type != "bool" && numbers.count(parameter.type) == 0) return {};
      is_guess = true;
      arguments.push_back(is_type                    ? types[static_cast<std::size_t>(tries)]
                          : parameter.type == "bool" ? "false"
                          : is_block                 ? "256"
                                                     : "4");
    }
    return arguments;
  }

  const std::vector<ScannedText>& texts_;
  std::map<std::string, const SourceItem*> kernels_;
  std::set<std::string> known_;
};

}  // namespace

std::vector<LaunchedInstance> launched_instances(const std::vector<ScannedText>& texts,
                                                 const std::map<std::string, int>& refusals) {
  return InstanceFinder(texts).run(refusals);
}

}  // namespace regtune
