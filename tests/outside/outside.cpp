// Says what is stored for one kernel, through the C++ interface.
#include <cstdio>
#include <regtune/lookup.hpp>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const regtune::Cache cache({.file = argv[1], .system_files = std::vector<std::filesystem::path>{}});
  const regtune::Answer answer = cache.find({.kernel = "transpose", .sizes = {{"n", 4096}}}, {.name = "NVIDIA H200"});
  if (!answer) return 1;
  std::printf("%s: %s\n", answer->signature.c_str(), answer->best.attribute.c_str());
}
