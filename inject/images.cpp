#include "images.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>

#include "driver_functions.hpp"
#include "key.hpp"
#include "supervisor_socket.hpp"

namespace regtune {
namespace {

// A fat binary as nvcc embeds it: the wrapper that the runtime is given, and the header it points to.
struct FatBinaryWrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void* data;
  const void* file_name;
};
struct FatBinaryHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;
};
constexpr std::uint32_t kWrapperMagic = 0x466243b1;
constexpr std::uint32_t kFatBinaryMagic = 0xba55ed50;

std::uint32_t first_word(const void* image) {
  std::uint32_t word = 0;
  std::memcpy(&word, image, sizeof word);
  return word;
}

std::uint64_t elf_bytes(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return 0;
  std::uint64_t end = header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
  end = std::max(end, header.e_phoff + std::uint64_t{header.e_phnum} * header.e_phentsize);
  const char* const bytes = static_cast<const char*>(image);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + std::uint64_t{i} * header.e_shentsize, sizeof section);
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end;
}

bool is_ptx(const void* image) {
  const std::string_view text(static_cast<const char*>(image), strnlen(static_cast<const char*>(image), 4096));
  return text.find(".version") != std::string_view::npos;
}

// The bytes of an image that the driver is about to read anyhow.
std::string_view bytes_in_memory(const void* image) {
  if (first_word(image) == kWrapperMagic) {
    FatBinaryWrapper wrapper;
    std::memcpy(&wrapper, image, sizeof wrapper);
    image = wrapper.data;
    if (!image) return {};
  }
  const char* const bytes = static_cast<const char*>(image);
  if (first_word(image) == kFatBinaryMagic) {
    FatBinaryHeader header;
    std::memcpy(&header, image, sizeof header);
    return {bytes, header.header_bytes + header.bytes};
  }
  if (std::memcmp(bytes, ELFMAG, SELFMAG) == 0) return {bytes, elf_bytes(image)};
  return is_ptx(image) ? std::string_view(bytes) : std::string_view();
}

ImageForm form_of(std::string_view bytes) {
  if (first_word(bytes.data()) == kFatBinaryMagic) return ImageForm::fat_binary;
  return std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0 ? ImageForm::cubin : ImageForm::ptx;
}

// Of the executable or of a library: mapped until that is unloaded, which unloads its code first.
bool lies_in_a_file(const void* address) {
  Dl_info found{};
  return dladdr(address, &found) != 0;
}

bool images_are_wanted() {
  return std::getenv(kImagesVariable) != nullptr;
}

struct KeptImage {
  ImageForm form = ImageForm::unknown;
  std::string copy;
  std::string_view in_place;  // empty: in `copy`, or not kept
};

struct Images {
  std::mutex mutex;
  std::map<std::string, KeptImage> kept;  // by hash
  std::map<CUmodule, std::string> modules;
  std::map<CUlibrary, std::string> libraries;
  std::map<std::string, ProgramSource> sources;
};

// Never destroyed: a program launches until its last moment.
Images& images() {
  static Images* const all = new Images;
  return *all;
}

bool is_loaded(const std::string& hash) {
  const auto is_it = [&](const auto& loaded) { return loaded.second == hash; };
  return std::any_of(images().modules.begin(), images().modules.end(), is_it) ||
         std::any_of(images().libraries.begin(), images().libraries.end(), is_it);
}

template <class Map, class Key>
void forget(Map& map, Key key) {
  const std::lock_guard lock(images().mutex);
  const auto found = map.find(key);
  if (found == map.end()) return;
  const std::string hash = found->second;
  map.erase(found);
  if (images_are_wanted() && !is_loaded(hash)) images().kept.erase(hash);
}

template <class Map, class Key>
std::string found_in(const Map& map, Key key) {
  const std::lock_guard lock(images().mutex);
  const auto found = map.find(key);
  return found == map.end() ? "" : found->second;
}

}  // namespace

std::string image_hash(const void* image) {
  if (!image) return "";
  const std::string_view bytes = bytes_in_memory(image);
  if (bytes.empty()) return "";
  return content_hash(bytes);
}

std::string note_image(const void* image) {
  if (!image) return "";
  const std::string_view bytes = bytes_in_memory(image);
  if (bytes.empty()) return "";
  std::string hash = content_hash(bytes);
  if (!images_are_wanted()) return hash;
  KeptImage kept{form_of(bytes), "", {}};
  if (kept.form != ImageForm::cubin && lies_in_a_file(bytes.data()))
    kept.in_place = bytes;
  else if (kept.form != ImageForm::cubin)
    kept.copy = bytes;
  const std::lock_guard lock(images().mutex);
  images().kept.insert_or_assign(hash, std::move(kept));
  return hash;
}

std::string note_image_file(const char* file) {
  if (!file) return "";
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  bytes.resize(bytes.size() + sizeof(Elf64_Ehdr));  // a header may be looked for in the shortest file
  return note_image(bytes.data());
}

ImageForm form_of_image(const std::string& hash) {
  const std::lock_guard lock(images().mutex);
  const auto found = images().kept.find(hash);
  return found == images().kept.end() ? ImageForm::unknown : found->second.form;
}

std::string bytes_of_image(const std::string& hash) {
  const std::lock_guard lock(images().mutex);
  const auto found = images().kept.find(hash);
  if (found == images().kept.end()) return "";
  return found->second.in_place.empty() ? found->second.copy : std::string(found->second.in_place);
}

void remember_module(CUmodule module, std::string hash) {
  const std::lock_guard lock(images().mutex);
  images().modules[module] = std::move(hash);
}
void remember_library(CUlibrary library, std::string hash) {
  const std::lock_guard lock(images().mutex);
  images().libraries[library] = std::move(hash);
}
void forget_module(CUmodule module) {
  forget(images().modules, module);
}
void forget_library(CUlibrary library) {
  forget(images().libraries, library);
}
std::string hash_of_module(CUmodule module) {
  std::string hash = found_in(images().modules, module);
  if (!hash.empty() || !driver().cuLibraryGetModule_call) return hash;
  const std::lock_guard lock(images().mutex);
  for (const auto& [library, of_library] : images().libraries) {
    CUmodule found = nullptr;
    if (driver().cuLibraryGetModule_call(&found, library) == CUDA_SUCCESS && found == module) return of_library;
  }
  return "";
}
std::string hash_of_library(CUlibrary library) {
  return found_in(images().libraries, library);
}

void remember_source(const std::string& hash, ProgramSource source) {
  const std::lock_guard lock(images().mutex);
  images().sources[hash] = std::move(source);
}

std::optional<ProgramSource> source_of_image(const std::string& hash) {
  const std::lock_guard lock(images().mutex);
  const auto found = images().sources.find(hash);
  if (found == images().sources.end()) return std::nullopt;
  return found->second;
}

}  // namespace regtune
