#pragma once
// Whether a file lies on a file system that several machines share. There SQLite's write-ahead log is unsafe: it needs
// memory that all users of the file share. What is not known counts as local, but for FUSE, which may be anything.
#include <cstdint>
#include <filesystem>

namespace regtune {

bool is_network_file_system(std::uint32_t type);  // statfs's f_type
// Of the file, or of its folder while there is no file.
bool lies_on_network_file_system(const std::filesystem::path& file);

}  // namespace regtune
