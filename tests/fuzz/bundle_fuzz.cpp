// A bundle, as `regtune FILE.rtb` reads it. The hash over it is made anew, since no change would get behind it. What is
// accepted can be written and read again.
#include "bundle.hpp"

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "fuzz_input.hpp"
#include "json_mutation.hpp"
#include "key.hpp"

using namespace regtune;

namespace {

constexpr std::string_view kFirstLine = "regtune bundle 1\n";
constexpr std::size_t kHashLine = 33;

// What stands behind the hash: "<length>\n<document><blobs>".
std::string_view rest_of(std::string_view bytes) {
  if (!bytes.starts_with(kFirstLine) || bytes.size() < kFirstLine.size() + kHashLine) return bytes;
  return bytes.substr(kFirstLine.size() + kHashLine);
}

std::string with_hash(std::string_view rest) {
  return std::string(kFirstLine) + content_hash(std::string(rest)) + "\n" + std::string(rest);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  const std::string_view rest = rest_of(text_of(data, size));
  const std::size_t line = rest.find('\n');
  const std::size_t length = line == std::string_view::npos ? 0 : std::strtoul(std::string(rest).c_str(), nullptr, 10);
  if (seed % 8 == 0 || length == 0 || length > rest.size() - line - 1) return LLVMFuzzerMutate(data, size, max_size);
  const nlohmann::json document = nlohmann::json::parse(rest.substr(line + 1, length), nullptr, false);
  if (!document.is_object() || document.empty()) return LLVMFuzzerMutate(data, size, max_size);
  const std::string changed = with_one_value_changed(document, seed);
  const std::string whole =
      with_hash(std::to_string(changed.size()) + "\n" + changed + std::string(rest.substr(line + 1 + length)));
  if (whole.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, whole.data(), whole.size());
  return whole.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = text_of(data, size);
  accepts([&] { bundle_from(bytes, "as it is"); });
  Bundle bundle;
  if (!accepts([&] { bundle = bundle_from(with_hash(rest_of(bytes)), "hashed again"); })) return 0;
  const std::string written = bundle_bytes(bundle);
  if (bundle_bytes(bundle_from(written, "written")) != written) std::abort();
  return 0;
}
