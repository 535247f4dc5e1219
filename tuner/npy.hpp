#pragma once
// The header of a NumPy .npy file, versions 1 to 3: what its elements are, how many, and where they begin; and the data
// of such a file and of a raw one, compressed or not (data_file.hpp). Refuses big-endian data, Fortran order of more
// than one dimension, structured types, and a file that is shorter or longer than its header says. Source: NumPy,
// "numpy.lib.format", format versions 1.0, 2.0 and 3.0.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "data_file.hpp"

namespace regtune {

struct NpyHeader {
  std::string type;  // NumPy's, without the byte order: "f4", "i8", "b1"
  std::int64_t element_bytes = 0;
  std::int64_t count = 0;        // product of the shape
  std::int64_t data_offset = 0;  // bytes from the start of the file
};

// `head` is the beginning of the file (all of the header), `file_bytes` the size of all of it, where that is known,
// `name` is used in messages. Throws Error(bad_description).
NpyHeader parse_npy_header(std::string_view head, std::optional<std::int64_t> file_bytes, const std::string& name);

// Throws Error(file_not_found) when the file cannot be read, else as above.
NpyHeader read_npy_header(const std::filesystem::path& path);

// The beginning of such a file, of one dimension and version 1; the data follows. `type` as above: "f4".
std::string npy_header(std::string_view type, std::int64_t count);

// The data of a .npy file, from behind its header on, or that of any other file. Throws as above.
DataFile buffer_file(const std::filesystem::path& path);

// All of it. Throws Error(bad_description) for more than `most_bytes`, too, before it takes the memory.
std::string read_buffer_file(const std::filesystem::path& path, std::int64_t most_bytes);

}  // namespace regtune
