#pragma once
// The machine code that a program loads: which module is of which image, by the hash of its bytes, and which images
// came out of the program's own NVRTC, with the source and the options that it gave. Where regtune wants it, images
// that can hold PTX are kept, for as long as something is loaded from them. Nothing is loaded or compiled here.
#include <cuda.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace regtune {

// What a program told its NVRTC.
struct ProgramSource {
  std::string text;
  std::string name;
  std::vector<std::pair<std::string, std::string>> headers;  // include name and text
  std::vector<std::string> options;
};

enum class ImageForm { unknown, ptx, fat_binary, cubin };

// 32 hex digits over the bytes of a cubin, a fat binary or PTX text, as it lies in memory: its length is in it.
// Empty for anything else.
std::string image_hash(const void* image);
// The same of an image that the program loads: its form is known from then on, and its bytes are kept where regtune
// wants images. What lies in the program's own files is not copied: it stays there while it is loaded.
std::string note_image(const void* image);
std::string note_image_file(const char* file);

ImageForm form_of_image(const std::string& hash);
// The bytes of PTX or a fat binary. Empty where they were not kept.
std::string bytes_of_image(const std::string& hash);

// A library's module, as its functions name it, is known by the library's image.
void remember_module(CUmodule module, std::string hash);
void remember_library(CUlibrary library, std::string hash);
void forget_module(CUmodule module);
void forget_library(CUlibrary library);
// "" where it was loaded in a way that is not seen.
std::string hash_of_module(CUmodule module);
std::string hash_of_library(CUlibrary library);

void remember_source(const std::string& hash_of_image, ProgramSource source);
std::optional<ProgramSource> source_of_image(const std::string& hash);

}  // namespace regtune
