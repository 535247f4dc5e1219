#include "bundle.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "key.hpp"
#include "record_json.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFirstLine = "regtune bundle 1\n";
constexpr std::size_t kHashDigits = 32;

// Machine code and sources, whatever bytes they hold: each once, behind the document, which names it by its number.
class Blobs {
 public:
  int put(const std::string& bytes) {
    const auto [place, is_new] = number_.try_emplace(content_hash(bytes), static_cast<int>(all_.size()));
    if (is_new) all_.push_back(bytes);
    return place->second;
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::map<std::string, int> number_;
  std::vector<std::string> all_;
};

Json compiled_json(const CompiledCode& code, Blobs& blobs) {
  return {{"cubin", blobs.put(code.cubin)}, {"log", code.log}, {"lowered_names", code.lowered_names}};
}

CompiledCode compiled_from(const Json& json, const std::vector<std::string>& blobs) {
  CompiledCode code;
  code.compiled = true;
  code.cubin = blobs.at(json.at("cubin").get<std::size_t>());
  json.at("log").get_to(code.log);
  json.at("lowered_names").get_to(code.lowered_names);
  return code;
}

const char* name_of(Way way) {
  return way == Way::linked ? "linked" : "plain";
}

Way way_from(const Json& json) {
  const std::string name = json.get<std::string>();
  if (name != "linked" && name != "plain") throw std::out_of_range("way");
  return name == "linked" ? Way::linked : Way::plain;
}

Json code_json(const BundledCode& bundled, Blobs& blobs) {
  const BuildCode& code = bundled.code;
  Json json{{"way", name_of(bundled.way)},
            {"of", bundled.kernel},
            {"policy", policy_json(code.build.policy)},
            {"choice", choice_json(code.build.choice)},
            {"kernel", code.kernel},
            {"failure", code.failure}};
  if (code.facts) json["facts"] = static_facts_json(*code.facts);
  if (code.facts) json["cubin"] = blobs.put(code.cubin);
  return json;
}

BundledCode code_from(const Json& json, const std::vector<std::string>& blobs) {
  BundledCode bundled{way_from(json.at("way")), json.at("of").get<std::string>(), {}};
  BuildCode& code = bundled.code;
  code.build = {policy_from_json(json.at("policy")), choice_from_json(json.at("choice"))};
  json.at("kernel").get_to(code.kernel);
  json.at("failure").get_to(code.failure);
  if (json.contains("facts")) {
    code.facts = static_facts_from_json(json.at("facts"));
    code.cubin = blobs.at(json.at("cubin").get<std::size_t>());
  }
  return bundled;
}

Json unit_json(const BundledUnit& bundled, Blobs& blobs) {
  const CompileUnit& unit = bundled.unit;
  Json codes = Json::array();
  for (const BundledCode& code : bundled.codes.codes()) codes.push_back(code_json(code, blobs));
  return {{"options", unit.options},
          {"author_cap", unit.author_cap},
          {"name_expressions", unit.name_expressions},
          {"keeps_cluster", unit.keeps_cluster},
          {"device_text", blobs.put(unit.device_text)},
          {"launched_instances", unit.launched_instances},
          {"source_notes", unit.source_notes},
          {"source_hash", unit.known_hash},
          {"why_plain", bundled.why_plain},
          {"first", compiled_json(bundled.codes.first_code().value(), blobs)},
          {"device_code", compiled_json(bundled.device_code, blobs)},
          {"device_code_key", bundled.device_code_key},
          {"codes", codes}};
}

BundledUnit unit_from(const Json& json, const std::string& architecture, const Bundle& bundle,
                      const std::vector<std::string>& blobs) {
  BundledUnit bundled;
  CompileUnit& unit = bundled.unit;
  unit.front_end = bundle.compiler.front_end;
  unit.source = bundle.source;
  unit.architecture = architecture;
  json.at("options").get_to(unit.options);
  json.at("author_cap").get_to(unit.author_cap);
  json.at("name_expressions").get_to(unit.name_expressions);
  json.at("keeps_cluster").get_to(unit.keeps_cluster);
  unit.device_text = blobs.at(json.at("device_text").get<std::size_t>());
  json.at("launched_instances").get_to(unit.launched_instances);
  json.at("source_notes").get_to(unit.source_notes);
  json.at("source_hash").get_to(unit.known_hash);
  json.at("why_plain").get_to(bundled.why_plain);
  std::vector<BundledCode> codes;
  for (const Json& code : json.at("codes")) codes.push_back(code_from(code, blobs));
  bundled.codes = BundledCodes(compiled_from(json.at("first"), blobs), std::move(codes));
  bundled.device_code = compiled_from(json.at("device_code"), blobs);
  json.at("device_code_key").get_to(bundled.device_code_key);
  return bundled;
}

Json compiler_json(const CompilerIdentity& compiler) {
  return {{"name", compiler.name},
          {"is_nvcc", compiler.front_end == FrontEnd::nvcc},
          {"is_ptxas", compiler.front_end == FrontEnd::ptxas},
          {"linker", compiler.linker},
          {"why_no_linker", compiler.why_no_linker},
          {"linker_takes_no_cache", compiler.linker_takes_no_cache}};
}

CompilerIdentity compiler_from(const Json& json) {
  CompilerIdentity compiler;
  json.at("name").get_to(compiler.name);
  if (json.at("is_nvcc").get<bool>()) compiler.front_end = FrontEnd::nvcc;
  if (json.value("is_ptxas", false)) compiler.front_end = FrontEnd::ptxas;
  json.at("linker").get_to(compiler.linker);
  json.at("why_no_linker").get_to(compiler.why_no_linker);
  json.at("linker_takes_no_cache").get_to(compiler.linker_takes_no_cache);
  return compiler;
}

Json optional_json(const std::optional<std::string>& text) {
  return text ? Json(*text) : Json();
}

std::optional<std::string> optional_from(const Json& json) {
  if (json.is_null()) return {};
  return json.get<std::string>();
}

Json flags_json(const DescriptionFlags& flags) {
  return {{"kernel", optional_json(flags.kernel)},
          {"sizes", flags.sizes},
          {"block", optional_json(flags.block)},
          {"grid", optional_json(flags.grid)},
          {"shared", optional_json(flags.dynamic_shared_bytes)},
          {"arguments", flags.arguments},
          {"options", flags.options},
          {"pre_included_files", flags.pre_included_files},
          {"defines", flags.defines},
          {"seed", flags.seed ? Json(*flags.seed) : Json()},
          {"tune", flags.tune},
          {"metrics", flags.metrics}};
}

DescriptionFlags flags_from(const Json& json) {
  DescriptionFlags flags;
  flags.kernel = optional_from(json.at("kernel"));
  json.at("sizes").get_to(flags.sizes);
  flags.block = optional_from(json.at("block"));
  flags.grid = optional_from(json.at("grid"));
  flags.dynamic_shared_bytes = optional_from(json.at("shared"));
  json.at("arguments").get_to(flags.arguments);
  json.at("options").get_to(flags.options);
  json.at("pre_included_files").get_to(flags.pre_included_files);
  json.at("defines").get_to(flags.defines);
  if (!json.at("seed").is_null()) flags.seed = json.at("seed").get<std::uint64_t>();
  json.at("tune").get_to(flags.tune);
  json.at("metrics").get_to(flags.metrics);
  return flags;
}

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw Error(ErrorKind::bad_description, fmt::format("{}: {}; make the bundle again", file, why));
}

// Takes a number of bytes off the front.
std::string_view take(std::string_view& bytes, std::size_t count, const std::string& file) {
  if (bytes.size() < count) refuse(file, "the bundle is cut off");
  const std::string_view taken = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return taken;
}

std::size_t take_number(std::string_view& bytes, const std::string& file) {
  std::size_t number = 0;
  const std::string_view digits = take(bytes, bytes.find('\n') == std::string_view::npos ? 0 : bytes.find('\n'), file);
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failure != std::errc() || end != digits.data() + digits.size()) refuse(file, "the bundle is damaged");
  take(bytes, 1, file);
  return number;
}

Bundle from_document(const Json& json, const std::vector<std::string>& blobs) {
  Bundle bundle;
  json.at("regtune_version").get_to(bundle.regtune_version);
  json.at("made").get_to(bundle.made);
  json.at("host").get_to(bundle.host);
  bundle.compiler = compiler_from(json.at("compiler"));
  bundle.source = {json.at("source_path").get<std::string>(), blobs.at(json.at("source").get<std::size_t>())};
  bundle.description = optional_from(json.at("description"));
  bundle.flags = flags_from(json.at("flags"));
  for (const auto& [architecture, unit] : json.at("units").items()) {
    const std::optional<GpuLimits> limits = gpu_limits(architecture);
    if (!limits) throw std::out_of_range(architecture);
    bundle.compiler.architectures.push_back(limits->compute_major * 10 + limits->compute_minor);
    bundle.units[architecture] = unit_from(unit, architecture, bundle, blobs);
  }
  return bundle;
}

std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in || std::filesystem::is_directory(file))
    throw Error(ErrorKind::file_not_found,
                fmt::format("{}: cannot be read; is the path right, and may you read the file?", file.string()));
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

bool is_bundle(const std::filesystem::path& file) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(file, failure)) return false;
  std::ifstream in(file, std::ios::binary);
  std::string line(kFirstLine.size(), '\0');
  in.read(line.data(), static_cast<std::streamsize>(line.size()));
  // Of whatever version: the first word decides.
  return line.starts_with(kFirstLine.substr(0, kFirstLine.rfind(' ') + 1));
}

std::string bundle_bytes(const Bundle& bundle) {
  Blobs blobs;
  Json units = Json::object();
  for (const auto& [architecture, unit] : bundle.units) units[architecture] = unit_json(unit, blobs);
  Json document{{"regtune_version", bundle.regtune_version},
                {"made", bundle.made},
                {"host", bundle.host},
                {"compiler", compiler_json(bundle.compiler)},
                {"source_path", bundle.source.path.string()},
                {"source", blobs.put(bundle.source.text)},
                {"description", optional_json(bundle.description)},
                {"flags", flags_json(bundle.flags)},
                {"units", units}};
  Json sizes = Json::array();
  for (const std::string& blob : blobs.all()) sizes.push_back(blob.size());
  document["blobs"] = sizes;
  // A compiler's message may quote a source in another encoding.
  const std::string text = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string rest = fmt::format("{}\n{}", text.size(), text);
  for (const std::string& blob : blobs.all()) rest += blob;
  return fmt::format("{}{}\n", kFirstLine, content_hash(rest)) + rest;
}

namespace {

// There are whole numbers only in a bundle. The library would take 1e300 for an int, whatever that gives.
void require_whole_numbers(const Json& json, const std::string& file) {
  if (json.is_number_float()) refuse(file, fmt::format("the bundle's document is wrong ({} is no count)", json.dump()));
  if (json.is_structured())
    for (const Json& part : json) require_whole_numbers(part, file);
}

}  // namespace

Bundle bundle_from(std::string_view bytes, const std::string& file) {
  if (!bytes.starts_with(kFirstLine)) refuse(file, "this is no bundle of this version of regtune");
  bytes.remove_prefix(kFirstLine.size());
  const std::string_view hash = take(bytes, kHashDigits + 1, file);
  if (content_hash(bytes) + "\n" != hash) refuse(file, "the bundle is damaged or cut off");
  const std::string_view text = take(bytes, take_number(bytes, file), file);
  try {
    const Json json = Json::parse(text);
    require_whole_numbers(json, file);
    std::vector<std::string> blobs;
    for (const Json& size : json.at("blobs")) blobs.emplace_back(take(bytes, size.get<std::size_t>(), file));
    // Facts and hashes are this version's reading of the code.
    const std::string version = json.at("regtune_version").get<std::string>();
    if (version != REGTUNE_VERSION)
      refuse(file, fmt::format("it was made by regtune {}, and this is {}", version, REGTUNE_VERSION));
    return from_document(json, blobs);
  } catch (const Json::exception& wrong) {
    refuse(file, fmt::format("the bundle's document is wrong ({})", wrong.what()));
  } catch (const std::out_of_range& wrong) {
    refuse(file, fmt::format("the bundle's document is wrong ({})", wrong.what()));
  }
}

void write_bundle(const Bundle& bundle, const std::filesystem::path& file) {
  std::ofstream out(file, std::ios::binary);
  out << bundle_bytes(bundle);
  if (!out.flush())
    throw Error(
        ErrorKind::usage,
        fmt::format("-o {}: cannot be written; is there such a folder, and may you write in it?", file.string()));
}

Bundle read_bundle(const std::filesystem::path& file) {
  return bundle_from(read_bytes(file), file.string());
}

}  // namespace regtune
