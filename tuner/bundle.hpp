#pragma once
// A bundle: a kernel compiled for several architectures under every budget, in one file, to be timed where there is no
// compiler. A line that says what it is, the hash of all that follows, a JSON document, and the machine code it names.
// What is read is data from anywhere: a file that was cut, changed or made by another version of regtune is refused.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "bundled_codes.hpp"
#include "compile.hpp"
#include "description.hpp"
#include "source.hpp"

namespace regtune {

// Of one architecture.
struct BundledUnit {
  CompileUnit unit;  // with its source and its hash: what was included is not there any more
  BundledCodes codes;
  CompiledCode device_code = {};     // regtune's own, for the element types of the launch
  std::string device_code_key = {};  // CompilePool::made_key
  std::string why_plain = {};        // why nothing is linked; empty: it is
};

struct Bundle {
  std::string regtune_version;
  std::string made;  // UTC, ISO 8601
  std::string host;
  CompilerIdentity compiler;
  Source source;
  // The text of the launch description, where it stood in a file of its own.
  std::optional<std::string> description;
  DescriptionFlags flags;                    // as given when it was made
  std::map<std::string, BundledUnit> units;  // by architecture
};

// Whether the file's first line says that it is one, whatever the rest is.
bool is_bundle(const std::filesystem::path& file);

std::string bundle_bytes(const Bundle& bundle);
// `file` is what the messages call it. Throws Error(bad_description).
Bundle bundle_from(std::string_view bytes, const std::string& file);

// Throw Error(file_not_found | usage).
void write_bundle(const Bundle& bundle, const std::filesystem::path& file);
Bundle read_bundle(const std::filesystem::path& file);

}  // namespace regtune
