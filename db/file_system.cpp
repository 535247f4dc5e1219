#include "file_system.hpp"

#include <sys/vfs.h>

#include <algorithm>
#include <array>

namespace regtune {
namespace {

// statfs(2), linux/magic.h, and the file systems' own sources for those that are not in the kernel.
constexpr std::array<std::uint32_t, 18> network_types{
    0x6969,      // NFS
    0xff534d42,  // CIFS
    0x517b,      // SMB
    0xfe534d42,  // SMB2
    0x01021997,  // 9P
    0x65735546,  // FUSE
    0x00c36400,  // Ceph
    0x0bd00bd0,  // Lustre
    0x47504653,  // GPFS
    0x19830326,  // BeeGFS
    0x01161970,  // GFS2
    0x7461636f,  // OCFS2
    0x20030528,  // OrangeFS
    0xaad7aaea,  // PanFS
    0x5346414f,  // AFS
    0x6b414653,  // AFS of the kernel
    0x73757245,  // Coda
    0x786f4256,  // VirtualBox's shared folders
};

}  // namespace

bool is_network_file_system(std::uint32_t type) {
  return std::find(network_types.begin(), network_types.end(), type) != network_types.end();
}

bool lies_on_network_file_system(const std::filesystem::path& file) {
  struct statfs found {};
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (statfs(file.c_str(), &found) != 0 && statfs(folder.c_str(), &found) != 0) return false;
  return is_network_file_system(static_cast<std::uint32_t>(found.f_type));
}

}  // namespace regtune
