#include "device_slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "gnu_extensions.hpp"
#include "macro_expansion.hpp"
#include "source_scan.hpp"
#include "stand_ins.hpp"
#include "toolkit_headers.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

constexpr int kMostDepth = 60;            // of headers in headers
constexpr std::size_t kMostFiles = 2000;  // of one project
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::uintmax_t kLargestHeader = 16 << 20;

std::optional<std::string> read_text(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_regular_file(path, failure) || fs::file_size(path, failure) > kLargestHeader) return {};
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// Everything but the ends of lines, and but the directives, whose #if and #endif may belong to what stands around.
void blank(std::string& text, std::size_t begin, std::size_t end) {
  const auto wipe = [&text](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i)
      if (text[i] != '\n' && text[i] != '\r') text[i] = ' ';
  };
  const std::string written = text.substr(begin, end - begin);
  std::size_t at = 0;
  for (const Token& token : tokenize(written)) {
    const std::string_view directive = std::string_view(written).substr(token.offset, token.length);
    if (token.kind != TokenKind::directive || directive.find("pragma") != std::string_view::npos) continue;
    wipe(begin + at, begin + token.offset);
    at = token.offset + token.length;
  }
  wipe(begin + at, end);
}

// Names that nvcc gives every source and the run-time compiler does not.
bool uses_host_name(const SourceItem& item) {
  static const std::set<std::string> names = {
      "uint",           "ushort",       "ulong",   "uchar",   "std",     "M_PI",        "FLT_MAX",
      "FLT_MIN",        "DBL_MAX",      "DBL_MIN", "INT_MAX", "INT_MIN", "FLT_EPSILON", "DBL_EPSILON",
      "CUDART_VERSION", "CUDA_VERSION", "assert",  "ssize_t", "NAN",     "INFINITY",    "UINT_MAX"};
  return std::any_of(item.uses.begin(), item.uses.end(), [](const std::string& use) { return names.count(use) > 0; });
}

// "using namespace std;", without which device code may not find its names.
bool names_namespace(const SourceItem& item) {
  return item.kind == ItemKind::other && item.parent < 0 && item.uses.size() >= 2 && item.uses.size() <= 5 &&
         std::find(item.uses.begin(), item.uses.end(), "using") != item.uses.end() &&
         std::find(item.uses.begin(), item.uses.end(), "namespace") != item.uses.end();
}

// "a::b" -> a, b.
std::vector<std::string> parts_of(const std::string& scope) {
  std::vector<std::string> parts;
  for (const Token& token : tokenize(scope))
    if (token.kind == TokenKind::identifier) parts.push_back(spelling(scope, token));
  return parts;
}

std::string quoted(const std::string& path) {
  std::string text = "\"";
  for (const char c : path) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

}  // namespace

DeviceSlice::DeviceSlice(const fs::path& path, std::string text, SliceFolders folders,
                         const std::vector<std::string>& pre_included, const std::vector<std::string>& wanted)
    : folders_(std::move(folders)), wanted_(wanted) {
  for (const std::string& file : pre_included)
    if (auto included = read_text(file)) pre_included_.push_back(add_file(file, std::move(*included), 0));
  main_ = add_file(path, std::move(text), 0);
  for (const File& file : files_) {
    if (file.found.launches || file.is_rewritten) holds_host_code_ = true;
    for (const Include& include : file.includes)
      if (include.origin == Origin::stand_in || include.origin == Origin::nowhere || include.line.name == "cuda.h")
        holds_host_code_ = true;
    for (const SourceItem& item : file.found.items) {
      if (names_namespace(item)) in_use_.insert(item.uses.begin(), item.uses.end());
      if (item.kind == ItemKind::host_only || item.kind == ItemKind::function || uses_host_name(item))
        holds_host_code_ = true;
    }
  }
  write_macros_out();
  follow_names();
}

int DeviceSlice::add_file(const fs::path& path, std::string text, int depth) {
  std::error_code failure;
  fs::path canonical = fs::weakly_canonical(path, failure);
  if (failure) canonical = path;
  const auto index = static_cast<int>(files_.size());
  known_[canonical] = index;
  File file;
  file.path = path;
  file.text = std::move(text);
  if (file.text.starts_with(kByteOrderMark)) file.text.replace(0, kByteOrderMark.size(), kByteOrderMark.size(), ' ');
  if (auto rewritten = with_lambdas_for_statement_expressions(file.text)) {
    file.text = std::move(*rewritten);
    file.is_rewritten = true;
  }
  file.found = source_items(file.text);
  file.refused.assign(file.found.items.size(), false);
  for (const IncludeLine& line : file.found.includes) file.includes.push_back({line, Origin::nowhere, -1});
  files_.push_back(std::move(file));
  File resolved = files_.back();  // files_ grows below
  resolve(resolved, depth);
  files_[static_cast<std::size_t>(index)] = std::move(resolved);
  return index;
}

void DeviceSlice::resolve(File& file, int depth) {
  for (Include& include : file.includes) {
    const std::string& name = include.line.name;
    std::vector<fs::path> candidates;
    if (include.line.in_quotes) candidates.push_back(file.path.parent_path() / name);
    for (const std::string& folder : folders_.project) candidates.push_back(fs::path(folder) / name);
    const auto mine = std::find_if(candidates.begin(), candidates.end(), is_there);
    const bool toolkits = std::any_of(folders_.toolkit.begin(), folders_.toolkit.end(),
                                      [&](const std::string& folder) { return is_there(fs::path(folder) / name); });
    if (mine != candidates.end()) {
      std::error_code failure;
      const fs::path canonical = fs::weakly_canonical(*mine, failure);
      const auto known = known_.find(canonical);
      std::optional<std::string> text;
      if (known != known_.end())
        include.file = known->second;
      else if (depth < kMostDepth && files_.size() < kMostFiles && (text = read_text(*mine)))
        include.file = add_file(mine->lexically_normal(), std::move(*text), depth + 1);
      if (include.file >= 0) include.origin = Origin::project;
    } else if (has_stand_in(name)) {
      include.origin = Origin::stand_in;
    } else if (toolkits) {
      include.origin = Origin::toolkit;
    }
  }
}

// From the kernels to everything that they name, as far as the namespaces that they name lead.
void DeviceSlice::follow_names() {
  std::multimap<std::string, std::pair<File*, std::size_t>> declared;
  std::set<std::string> kernel_macros;  // macros that write __global__
  std::set<std::string> device_macros;  // macros that write __device__
  for (File& file : files_) {
    file.kept.assign(file.found.items.size(), false);
    for (std::size_t i = 0; i < file.found.items.size(); ++i) {
      const SourceItem& item = file.found.items[i];
      for (const std::string& name : item.names) declared.emplace(name, std::pair(&file, i));
      if (item.kind != ItemKind::macro) continue;
      const auto writes = [&item](const char* word) {
        return std::find(item.uses.begin(), item.uses.end(), word) != item.uses.end();
      };
      if (writes("__global__")) kernel_macros.insert(item.names.front());
      if (writes("__device__")) device_macros.insert(item.names.front());
    }
  }
  reached_.clear();
  std::vector<std::string> open = wanted_;
  for (const LaunchedInstance& instance : instances())
    for (const Token& token : tokenize(instance.name))
      if (token.kind == TokenKind::identifier) open.push_back(spelling(instance.name, token));
  const auto keep = [&open](File& file, std::size_t i) {
    const SourceItem& item = file.found.items[i];
    const bool parent_is_out = item.parent >= 0 && file.refused[static_cast<std::size_t>(item.parent)];
    if (file.kept[i] || file.refused[i] || parent_is_out || item.kind == ItemKind::host_only) return;
    file.kept[i] = true;
    open.insert(open.end(), item.uses.begin(), item.uses.end());
    for (const std::string& part : parts_of(item.scope)) open.push_back(part);
  };
  // What stands in a namespace that nothing has named yet waits for that, by its last part.
  std::multimap<std::string, std::pair<File*, std::size_t>> waiting;
  const auto keep_in_sight = [&](File& file, std::size_t i, const std::string& name) {
    const SourceItem& item = file.found.items[i];
    const std::vector<std::string> parts = parts_of(item.scope);
    const bool is_wanted = std::find(wanted_.begin(), wanted_.end(), name) != wanted_.end();
    const bool in_sight =
        is_wanted || parts.empty() || reached_.count(parts.back()) > 0 || in_use_.count(parts.back()) > 0;
    if (in_sight)
      keep(file, i);
    else
      waiting.emplace(parts.back(), std::pair(&file, i));
  };
  for (File& file : files_)
    for (std::size_t i = 0; i < file.found.items.size(); ++i) {
      const SourceItem& item = file.found.items[i];
      if (item.kind == ItemKind::kernel || !is_root(item, kernel_macros, device_macros)) continue;
      keep_in_sight(file, i, "");
    }
  for (File& file : files_)
    for (std::size_t i = 0; i < file.found.items.size(); ++i)
      if (file.found.items[i].kind == ItemKind::kernel && file.found.items[i].parent < 0) keep(file, i);
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    if (!reached_.insert(name).second) continue;
    const auto [begin, end] = declared.equal_range(name);
    for (auto at = begin; at != end; ++at) keep_in_sight(*at->second.first, at->second.second, name);
    const auto [first, last] = waiting.equal_range(name);
    for (auto at = first; at != last; ++at) keep(*at->second.first, at->second.second);
  }
}

// Where names are followed from, beside the kernels. An operator is called without being named.
bool DeviceSlice::is_root(const SourceItem& item, const std::set<std::string>& kernel_macros,
                          const std::set<std::string>& device_macros) const {
  if (item.parent >= 0 || item.kind == ItemKind::macro) return false;
  const auto is_made_by = [&item](const std::set<std::string>& macros) {
    return std::any_of(item.uses.begin(), item.uses.end(),
                       [&](const std::string& use) { return macros.count(use) > 0; });
  };
  return is_made_by(kernel_macros) ||
         (item.is_operator && (item.kind == ItemKind::device || is_made_by(device_macros)));
}

bool DeviceSlice::is_needed_include(const Include& include) const {
  const std::string& name = include.line.name;
  if (include.origin == Origin::nowhere || !can_serve_device(name)) return false;
  if (include.origin == Origin::stand_in && !name.starts_with("cub/"))
    return name.ends_with(".h") || name == "cassert" || reached_.count("std") > 0;
  const std::optional<std::string> library = library_word(name);
  if (!library) return true;
  return !library->empty() &&
         (libraries_.count(*library) > 0 || std::any_of(reached_.begin(), reached_.end(), [&](const std::string& word) {
            return word.find(*library) != std::string::npos;
          }));
}

std::string DeviceSlice::blanked(const File& file) const {
  std::string text = file.text;
  const auto wipe_directive = [&text](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      if (text[i] != '\n' && text[i] != '\r') text[i] = ' ';
  };
  for (std::size_t i = 0; i < file.found.items.size(); ++i) {
    const SourceItem& item = file.found.items[i];
    if (item.kind == ItemKind::macro) continue;
    const bool out = file.refused[i] || item.kind == ItemKind::host_only;
    if (item.parent < 0) {
      if (out || !(file.kept[i] || names_namespace(item))) blank(text, item.begin, item.end);
    } else if (out && item.body != 0 && item.kind != ItemKind::host_only) {
      blank(text, item.body, item.end);
      text[item.body] = ';';
    } else if (out) {
      blank(text, item.begin, item.end);
    }
  }
  for (const std::size_t at : file.found.pragma_once) wipe_directive(at, std::min(text.find('\n', at), text.size()));
  return text;
}

void DeviceSlice::render(int index, std::vector<int>& open, std::string& out) const {
  const File& file = files_[static_cast<std::size_t>(index)];
  const std::string shown = quoted(file.path.string());
  const std::string text = blanked(file);
  const bool once = !file.found.pragma_once.empty();
  if (once) out += fmt::format("#ifndef REGTUNE_ONCE_{0}\n#define REGTUNE_ONCE_{0}\n", index);
  out += fmt::format("#line 1 {}\n", shown);
  open.push_back(index);
  std::size_t at = 0;
  bool holds_headers = false;
  // A header inside a part that the compiler skips takes its #line with it: the next branch says the line again.
  const auto append_up_to = [&](std::size_t end) {
    for (const BranchEnd& branch : file.found.branch_ends) {
      if (!holds_headers || branch.offset < at || branch.offset > end) continue;
      out.append(text, at, branch.offset - at);
      out += fmt::format("\n#line {} {}", branch.next_line, shown);
      at = branch.offset;
    }
    out.append(text, at, end - at);
    at = end;
  };
  for (const Include& include : file.includes) {
    const bool stays = include.origin != Origin::project && is_needed_include(include);
    if (stays || include.line.begin < at) continue;
    append_up_to(include.line.begin);
    at = include.line.end;
    const bool recursive = std::find(open.begin(), open.end(), include.file) != open.end();
    if (include.origin != Origin::project || recursive) continue;
    holds_headers = true;
    out += '\n';
    render(include.file, open, out);
    out += fmt::format(
        "\n#line {} {}",
        include.line.line +
            static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(include.line.begin),
                                        text.begin() + static_cast<std::ptrdiff_t>(include.line.end), '\n')) +
            1,
        shown);
  }
  append_up_to(text.size());
  open.pop_back();
  if (once) out += "\n#endif\n";
}

std::string DeviceSlice::text() const {
  std::string out;
  std::vector<int> open;
  for (const int index : pre_included_) {
    render(index, open, out);
    out += '\n';
  }
  render(main_, open, out);
  return out;
}

// The innermost declaration at that line that may go, as an index.
std::optional<std::size_t> DeviceSlice::culprit(const File& file, int line) {
  int found = -1;
  for (std::size_t i = 0; i < file.found.items.size(); ++i) {
    const SourceItem& item = file.found.items[i];
    const bool there = item.line <= line && line <= item.last_line;
    if (!there || file.refused[i] || item.kind == ItemKind::macro || item.kind == ItemKind::host_only) continue;
    const auto outermost = item.parent < 0 ? i : static_cast<std::size_t>(item.parent);
    if (!file.kept[outermost] && !names_namespace(item)) continue;
    found = static_cast<int>(i);
  }
  if (found < 0) return {};
  const auto index = static_cast<std::size_t>(found);
  if (file.found.items[index].kind == ItemKind::kernel) return {};
  return index;
}

// "using namespace" may name what a header has that was left out.
bool DeviceSlice::asks_for_library(const SourceItem& item) {
  return names_namespace(item) && std::any_of(item.uses.begin(), item.uses.end(), [&](const std::string& use) {
           return is_library_word(use) && libraries_.insert(use).second;
         });
}

bool DeviceSlice::take_out(const std::vector<Complaint>& complaints) {
  // Found first and taken out afterwards: a second complaint about a member must not take its class along.
  std::vector<std::pair<File*, std::size_t>> culprits;
  for (const Complaint& complaint : complaints)
    for (File& file : files_)
      if (file.path.string() == complaint.file)
        if (const auto index = culprit(file, complaint.line)) culprits.emplace_back(&file, *index);
  for (const auto& [file, index] : culprits)
    if (!asks_for_library(file->found.items[index])) file->refused[index] = true;
  if (!culprits.empty()) follow_names();
  return !culprits.empty();
}

void DeviceSlice::write_macros_out() {
  MacroTable macros;
  bool any_template = false;
  for (const File& file : files_) {
    read_macros(file.text, macros);
    any_template = any_template || (file.text.find("__global__") != std::string::npos &&
                                    file.text.find("template") != std::string::npos);
  }
  if (!any_template) return;
  for (const File& file : files_) {
    WrittenOut written{with_macros_written_out(file.text, macros), {}};
    written.items = source_items(written.text);
    written_out_.push_back(std::move(written));
  }
}

bool DeviceSlice::bring_back(const std::vector<std::string>& names) {
  bool any = false;
  for (const std::string& name : names) {
    if (std::find(wanted_.begin(), wanted_.end(), name) != wanted_.end()) continue;
    for (const File& file : files_)
      for (std::size_t i = 0; i < file.found.items.size(); ++i) {
        const SourceItem& item = file.found.items[i];
        const bool declares = std::find(item.names.begin(), item.names.end(), name) != item.names.end();
        const bool may_return = item.parent < 0 && item.kind != ItemKind::macro && item.kind != ItemKind::host_only;
        if (!declares || !may_return || file.kept[i] || file.refused[i]) continue;
        wanted_.push_back(name);
        any = true;
        break;
      }
  }
  if (any) follow_names();
  return any;
}

std::vector<LaunchedInstance> DeviceSlice::instances() const {
  std::vector<ScannedText> texts;
  for (const WrittenOut& written : written_out_) texts.push_back({written.text, &written.items});
  return launched_instances(texts, refusals_);
}

std::vector<std::string> DeviceSlice::notes() const {
  std::vector<std::string> notes;
  for (const File& file : files_) {
    std::set<std::string> out, refused, absent;
    for (std::size_t i = 0; i < file.found.items.size(); ++i) {
      const SourceItem& item = file.found.items[i];
      if (item.names.empty() || item.kind == ItemKind::macro) continue;
      if (file.refused[i])
        refused.insert(fmt::format("{} (line {})", item.names.front(), item.line));
      else if (item.parent < 0 && !file.kept[i])
        out.insert(item.names.front());
    }
    for (const Include& include : file.includes)
      if (include.origin != Origin::project && !is_needed_include(include))
        absent.insert("<" + include.line.name + ">");
    const std::string where = file.path.string();
    if (file.is_rewritten)
      notes.push_back(where + ": GNU statement expressions, ({ ... }), are compiled as lambdas called on the spot");
    if (!out.empty())
      notes.push_back(fmt::format("{}: left out, since no kernel names it: {}", where, fmt::join(out, ", ")));
    if (!refused.empty())
      notes.push_back(
          fmt::format("{}: left out, since it does not compile for the device: {}", where, fmt::join(refused, ", ")));
    if (!absent.empty())
      notes.push_back(
          fmt::format("{}: not included, since device code uses none of it: {}", where, fmt::join(absent, ", ")));
  }
  for (const LaunchedInstance& instance : instances())
    if (instance.is_guess)
      notes.push_back(fmt::format("{}: its template arguments are a guess; name others with --kernel '{}<...>'",
                                  instance.name, instance.kernel));
  return notes;
}

}  // namespace regtune
