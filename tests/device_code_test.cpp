// regtune's own code for the GPU compiles for every element type, on old and new architectures. Needs NVRTC, no GPU.
#include <set>

#include "device.hpp"
#include "nvrtc_compile.hpp"

namespace regtune {
namespace {

class DeviceCode : public NvrtcTest, public testing::WithParamInterface<int> {};

TEST_P(DeviceCode, HasWhatEveryPlanNeeds) {
  if (IsSkipped()) return;
  if (!supports(GetParam())) GTEST_SKIP() << "this NVRTC knows no sm_" << GetParam();
  WorkloadPlan plan;
  for (int type = 0; type <= static_cast<int>(ElementType::boolean); ++type) {
    BufferPlan buffer;
    buffer.type = static_cast<ElementType>(type);
    plan.parameters.emplace_back(buffer);
  }
  NvrtcRequest request = device_code_request(plan, "sm_" + std::to_string(GetParam()), {});
  const CompilerReply reply = nvrtc()->compile(request);
  ASSERT_TRUE(reply.compiled) << reply.log;
  EXPECT_EQ(reply.lowered_names.size(), 3 * plan.parameters.size());
  std::set<std::string> kernels;
  for (const CubinKernel& kernel : read_cubin(reply.cubin).kernels) kernels.insert(kernel.name);
  for (const std::string& name : reply.lowered_names) EXPECT_TRUE(kernels.contains(name)) << name;
  for (const char* name : {"regtune_guard", "regtune_check_guard", "regtune_checksum", "regtune_nothing"})
    EXPECT_TRUE(kernels.contains(name)) << name;
}

INSTANTIATE_TEST_SUITE_P(Architectures, DeviceCode, testing::Values(75, 90, 120),
                         [](const auto& tested) { return "sm_" + std::to_string(tested.param); });

}  // namespace
}  // namespace regtune
