#include "launched_instances.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include "source_scan.hpp"
#include "template_deduction.hpp"

namespace regtune {
namespace {

constexpr std::size_t kMostOfOneKernel = 3;
constexpr std::size_t kMostInstances = 24;
constexpr int kMostCallers = 6;   // of callers
constexpr int kMostCalls = 5000;  // that are followed
constexpr int kMostSteps = 24;    // from a name to what it stands for
constexpr std::size_t kLongestArgument = 500;

using Arguments = std::vector<std::string>;

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
 private:
  struct Kernel {
    const ScannedText* text;
    const SourceItem* item;
  };

 public:
  explicit InstanceFinder(const std::vector<ScannedText>& texts) : texts_(texts) {
    for (const ScannedText& text : texts)
      for (const SourceItem& item : text.items->items) {
        if (item.kind == ItemKind::kernel && !item.template_parameters.empty() && !item.names.empty() && item.body != 0)
          kernels_.emplace(item.names.front(), Kernel{&text, &item});
        for (const FreeName& part : free_names(item.scope)) namespaces_.insert(part.word);
        // A name that stands outside of all namespaces as well is taken to be that one.
        if (item.parent < 0 && item.kind != ItemKind::macro)
          for (const std::string& name : item.names)
            if (const auto known = scopes_.emplace(name, item.scope).first; item.scope.empty()) known->second.clear();
      }
  }

  std::vector<LaunchedInstance> run(const std::map<std::string, int>& refusals) {
    std::vector<LaunchedInstance> instances;
    for (const auto& [kernel, found] : kernels_) {
      const auto refused = refusals.find(kernel);
      bool is_guess = false;
      for (const std::string& name : names_of(found, refused == refusals.end() ? 0 : refused->second, is_guess))
        if (instances.size() < kMostInstances) instances.push_back({name, kernel, is_guess});
    }
    return instances;
  }

 private:
  // The instances of a kernel that the compiler is asked for after so many refusals: those that are launched, one of
  // those, guesses.
  std::vector<std::string> names_of(const Kernel& kernel, int refusals, bool& is_guess) const {
    std::set<Arguments> launched;
    for (const ScannedText& text : texts_)
      for (const SourceCall& call : text.items->calls)
        if (call.is_launch && call.name == kernel.item->names.front())
          resolve(text, call.offset, with_deduced(text, call, *kernel.item), 0, launched);
    std::set<std::string> names;
    Arguments known;  // of a launch that does not say all
    for (const Arguments& arguments : launched) {
      bool guesses = false;
      const auto whole = complete(arguments, kernel, 0, guesses);
      if (whole && !guesses)
        names.insert(instance(kernel, *whole));
      else if (arguments.size() > known.size())
        known = arguments;
    }
    std::vector<std::vector<std::string>> choices;
    if (!names.empty()) choices.emplace_back(names.begin(), names.end());
    if (names.size() > kMostOfOneKernel) choices.front().resize(kMostOfOneKernel);
    if (names.size() > 1) choices.push_back({*names.begin()}), choices.push_back({*names.rbegin()});
    if (refusals < static_cast<int>(choices.size())) return choices[static_cast<std::size_t>(refusals)];
    is_guess = true;
    const auto whole = complete(known, kernel, refusals - static_cast<int>(choices.size()), is_guess);
    if (!whole) return {};
    return {instance(kernel, *whole)};
  }

  // As it is called from outside all namespaces.
  std::string instance(const Kernel& kernel, const Arguments& arguments) const {
    std::string name = in_scope(kernel.item->scope, kernel.item->names.front());
    for (std::size_t i = 0; i < arguments.size(); ++i) name += (i == 0 ? "<" : ", ") + qualified(arguments[i]);
    return name + (arguments.empty() ? "<>" : ">");
  }

  static std::string in_scope(const std::string& scope, const std::string& name) {
    return scope.empty() ? name : scope + "::" + name;
  }

  std::string qualified(std::string argument) const {
    for (const FreeName& name : free_names(argument))
      if (namespaces_.count(name.word) > 0) {
        continue;
      } else if (const auto scope = scopes_.find(name.word); scope != scopes_.end()) {
        argument = with_word(argument, name.word, in_scope(scope->second, name.word));
      }
    return argument;
  }

  // The innermost function that the offset lies in.
  static const SourceItem* enclosing(const ScannedText& text, std::size_t offset) {
    const SourceItem* found = nullptr;
    for (const SourceItem& item : text.items->items)
      if (item.kind != ItemKind::macro && item.begin <= offset && offset < item.end) found = &item;
    return found;
  }

  static bool is_parameter_of(const SourceItem& function, const std::string& word) {
    return std::any_of(function.template_parameters.begin(), function.template_parameters.end(),
                       [&](const TemplateParameter& parameter) { return parameter.name == word; });
  }

  // The function around a place, as a text and an offset in it; the whole text where there is none.
  static std::pair<std::string_view, std::size_t> surroundings(const ScannedText& text, std::size_t offset) {
    const SourceItem* function = enclosing(text, offset);
    if (function == nullptr) return {text.text, offset};
    return {text.text.substr(function->begin, function->end - function->begin), offset - function->begin};
  }

  // What is written out, and what follows from the values behind it.
  static Arguments with_deduced(const ScannedText& text, const SourceCall& call, const SourceItem& callee) {
    Arguments arguments = call.arguments;
    const auto [around, place] = surroundings(text, call.offset);
    for (std::size_t i = arguments.size(); i < callee.template_parameters.size(); ++i) {
      std::optional<std::string> argument;
      for (std::size_t at = 0; !argument && at < call.values.size() && at < callee.parameters.size(); ++at) {
        const auto [begin, end] = call.values[at];
        if (const auto type = expression_type_at(around, place, text.text.substr(begin, end - begin)))
          argument = deduced_argument(callee.template_parameters[i].name, callee.parameters[at], *type);
      }
      if (!argument) break;
      arguments.push_back(*argument);
    }
    return arguments;
  }

  // Local constants and aliases by their values, over and over; then the parameters of the host's template around.
  void resolve(const ScannedText& text, std::size_t offset, Arguments arguments, int depth,
               std::set<Arguments>& found) const {
    const SourceItem* function = enclosing(text, offset);
    const auto [around, place] = surroundings(text, offset);
    bool asks_callers = false;
    for (int steps = 0; steps < kMostSteps; ++steps) {
      bool changed = false;
      asks_callers = false;
      for (std::string& argument : arguments)
        for (const FreeName& name : free_names(argument)) {
          if (function != nullptr && is_parameter_of(*function, name.word)) {
            asks_callers = true;
            continue;
          }
          // What no declaration of the function explains is the file's, or a header's.
          if (function == nullptr || argument.size() > kLongestArgument) continue;
          const std::optional<std::string> value = constant_at(around, place, name.word);
          if (!value || *value == name.word) continue;
          argument = with_word(argument, name.word, free_names(*value).empty() ? "(" + *value + ")" : *value);
          changed = true;
          break;
        }
      if (!changed) break;
    }
    if (asks_callers)
      resolve_in_callers(*function, arguments, depth, found);
    else
      found.insert(std::move(arguments));
  }

  void resolve_in_callers(const SourceItem& function, const Arguments& arguments, int depth,
                          std::set<Arguments>& found) const {
    if (depth >= kMostCallers || function.names.empty()) return;
    for (const ScannedText& text : texts_)
      for (const SourceCall& call : text.items->calls) {
        if (call.name != function.names.front() || found.size() > kMostInstances || --calls_left_ < 0) continue;
        const Arguments given = with_deduced(text, call, function);
        Arguments handed = arguments;
        for (std::string& argument : handed)
          for (std::size_t i = 0; i < function.template_parameters.size() && i < given.size(); ++i)
            argument = with_word(argument, function.template_parameters[i].name, given[i]);
        if (handed != arguments) resolve(text, call.offset, std::move(handed), depth + 1, found);
      }
  }

  // True where the kernel reads .x or .y of something that is not the thread's own place in the grid.
  static bool uses_vectors(const Kernel& kernel) {
    static const std::set<std::string> grid = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
    const std::string_view text = kernel.text->text.substr(kernel.item->begin, kernel.item->end - kernel.item->begin);
    const std::vector<Token> tokens = tokenize(text);
    for (std::size_t i = 2; i < tokens.size(); ++i) {
      const std::string word = spelling(text, tokens[i]);
      const bool is_member = (word == "x" || word == "y") && text[tokens[i - 1].offset] == '.';
      if (is_member && grid.count(spelling(text, tokens[i - 2])) == 0) return true;
    }
    return false;
  }

  static std::string likely_value(const TemplateParameter& parameter) {
    std::string name = parameter.name;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    static const std::set<std::string> numbers = {"int",   "unsigned",  "unsigned int", "size_t",
                                                  "uint",  "const int", "uint32_t",     "int32_t",
                                                  "short", "long",      "unsigned long"};
    if (parameter.type == "bool") return "false";
    if (numbers.count(parameter.type) == 0) return "(" + parameter.type + ")0";  // of an enumeration
    return name.find("block") != std::string::npos || name.find("thread") != std::string::npos ? "256" : "4";
  }

  // With likely arguments for those that are to be deduced.
  static std::optional<Arguments> complete(Arguments arguments, const Kernel& kernel, int tries, bool& is_guess) {
    static const std::vector<std::string> scalars = {"float",        "int",           "double",
                                                     "unsigned int", "unsigned char", "float2"};
    static const std::vector<std::string> vectors = {"float2", "float4", "float3", "double2", "int2", "float"};
    const std::vector<std::string>& types = uses_vectors(kernel) ? vectors : scalars;
    bool any_type = false;
    for (std::size_t i = arguments.size(); i < kernel.item->template_parameters.size(); ++i) {
      const TemplateParameter& parameter = kernel.item->template_parameters[i];
      if (parameter.has_default || parameter.type.find("...") != std::string::npos) break;
      const bool is_type = parameter.type == "typename" || parameter.type == "class";
      if (tries >= static_cast<int>(types.size()) || parameter.type.find('<') != std::string::npos) return {};
      any_type = any_type || is_type;
      is_guess = true;
      arguments.push_back(is_type ? types[static_cast<std::size_t>(tries)] : likely_value(parameter));
    }
    if (tries > 0 && !any_type) return {};  // nothing else to try
    return arguments;
  }

  const std::vector<ScannedText>& texts_;
  std::map<std::string, Kernel> kernels_;
  std::set<std::string> namespaces_ = {"std", "cuda", "cub", "thrust"};
  std::map<std::string, std::string> scopes_;  // of the names that the file declares
  mutable int calls_left_ = kMostCalls;
};

}  // namespace

std::vector<LaunchedInstance> launched_instances(const std::vector<ScannedText>& texts,
                                                 const std::map<std::string, int>& refusals) {
  return InstanceFinder(texts).run(refusals);
}

}  // namespace regtune
