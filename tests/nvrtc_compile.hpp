#pragma once
// For the tests that need a real NVRTC: opens it once, and turns a source into its cubin and its report.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cubin.hpp"
#include "nvrtc.hpp"
#include "ptxas_report.hpp"
#include "regtune/error.hpp"
#include "toolkit.hpp"

namespace regtune {

// Skips, with the reason, where there is no NVRTC at all.
class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    static std::string reason;
    if (!nvrtc() && reason.empty()) {
      try {
        nvrtc().emplace(Nvrtc::open());
      } catch (const Error& error) {
        reason = error.what();
      }
    }
    if (!nvrtc()) GTEST_SKIP() << reason;
  }

  static std::optional<Nvrtc>& nvrtc() {
    static std::optional<Nvrtc> opened;
    return opened;
  }

  static CompilerReply reply_to(const std::string& source, std::vector<std::string> options) {
    static const bool takes_seed = nvrtc()->accepts_option("--frandom-seed=test");
    options.emplace_back("--ptxas-options=-v");
    if (takes_seed) options.emplace_back("--frandom-seed=test");
    if (nvrtc()->has_own_cache()) options.emplace_back("--no-cache");
    for (const auto& folder : include_folders(nvrtc()->library_path())) options.push_back("-I" + folder.string());
    return nvrtc()->compile({source, "test.cu", options, {}});
  }

  struct Compiled {
    std::string bytes;
    std::string log;
    Cubin cubin;
    PtxasReport report;

    const CubinKernel& kernel(const std::string& name) const {
      for (const auto& kernel : cubin.kernels) {
        if (kernel.name == name) return kernel;
      }
      throw std::runtime_error("no kernel " + name);
    }
    const PtxasEntry& entry(const std::string& name) const {
      const PtxasEntry* entry = report.find(name);
      if (entry == nullptr) throw std::runtime_error("no report on " + name + " in: " + log);
      return *entry;
    }
  };

  static Compiled compile(const std::string& source, int architecture, std::vector<std::string> options = {}) {
    options.push_back("--gpu-architecture=sm_" + std::to_string(architecture));
    CompilerReply reply = reply_to(source, options);
    if (!reply.compiled) throw std::runtime_error(reply.log);
    Cubin cubin = read_cubin(reply.cubin);
    PtxasReport report = read_ptxas_report(reply.log);
    return {std::move(reply.cubin), std::move(reply.log), std::move(cubin), std::move(report)};
  }

  // For what came between CUDA 12.4 and 12.9, the two versions that are tested with.
  static bool older_than_12_9() { return nvrtc()->major() == 12 && nvrtc()->minor() < 9; }

  // CUDA 12.6 knows no architecture after sm_90.
  static bool supports(int architecture) {
    const std::vector<int> supported = nvrtc()->supported_architectures();
    return std::find(supported.begin(), supported.end(), architecture) != supported.end();
  }

  static std::string cap(int registers) { return "--maxrregcount=" + std::to_string(registers); }
};

}  // namespace regtune
