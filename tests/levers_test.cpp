#include "levers.hpp"

#include <gtest/gtest.h>

#include "regtune/error.hpp"

namespace regtune {
namespace {

TEST(Levers, AreNamedInAnyOrder) {
  EXPECT_EQ(levers_from("usage-level"), (Levers{true, false}));
  EXPECT_EQ(levers_from("smem-spill"), (Levers{false, true}));
  EXPECT_EQ(levers_from("smem-spill,usage-level"), (Levers{true, true}));
  EXPECT_EQ(levers_from(kAllLevers), (Levers{true, true})) << "a bare --levers means all";
  for (const char* wrong : {"", "usage", "usage-level,", ",smem-spill", "smem-spill,cutlass"})
    EXPECT_THROW(levers_from(wrong), Error) << wrong;
}

TEST(Levers, TheFileToTuneIsNoList) {
  for (const char* list : {"smem-spill", "usage-level,smem-spill", "smem_spill", "usage"})
    EXPECT_EQ(reads_as_levers(list), std::string(list).find('_') == std::string::npos) << list;
  for (const char* other : {"k.cu", "--json", "dir/k", "-q", ""}) EXPECT_FALSE(reads_as_levers(other)) << other;
}

}  // namespace
}  // namespace regtune
