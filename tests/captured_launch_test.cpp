// A captured launch as a plan: which integers it goes by, what its memory holds, and the sources that it refuses.
#include "captured_launch.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr std::uint64_t kIn = 0x7f0000000000;
constexpr std::uint64_t kOut = 0x7f0000100000;

// scale(const float* in, float* out, int n, unsigned long m, double factor)
KernelSignature signature() {
  KernelSignature scale;
  scale.mangled_name = "_Z5scalePKfPfimd";
  scale.name = "scale";
  scale.display = "scale(const float*, float*, int, unsigned long, double)";
  scale.parameters = {{"in", "const float*", 0, 8},
                      {"out", "float*", 8, 8},
                      {"n", "int", 16, 4},
                      {"m", "unsigned long", 24, 8},
                      {"factor", "double", 32, 8}};
  return scale;
}

template <class Value>
void put(std::string& block, std::size_t offset, Value value) {
  std::memcpy(block.data() + offset, &value, sizeof value);
}

CapturedLaunch captured() {
  CapturedLaunch launch;
  launch.kernel = "_Z5scalePKfPfimd";
  launch.shape = {{4, 1, 1}, {256, 1, 1}, 0};
  launch.program = "./app";
  launch.image = "abc";
  launch.launch = 2;
  launch.memory.ranges = {{kIn, 4096, 0, ElementType::u8}, {kOut, 4096, 4096, ElementType::u8}};
  launch.memory.parameters = {{0, 8}, {8, 8}, {16, 4}, {24, 8}, {32, 8}};
  std::string& block = launch.memory.parameter_block;
  block.resize(40);
  put(block, 0, kIn);
  put(block, 8, kOut + 16);
  put(block, 16, std::int32_t{-1000});
  put(block, 24, std::uint64_t{77});
  put(block, 32, 2.0);
  return launch;
}

std::vector<std::string> names(const std::vector<IntegerPlace>& places) {
  std::vector<std::string> found;
  for (const IntegerPlace& place : places) found.push_back(place.name);
  return found;
}

TEST(CapturedLaunch, GoesByItsIntegers) {
  EXPECT_EQ(names(integers_of(signature(), captured().memory)), (std::vector<std::string>{"n", "m"}));
}

// Some programs pass addresses as numbers: the next run's is another.
TEST(CapturedLaunch, AnAddressIsNoInteger) {
  CapturedLaunch launch = captured();
  put(launch.memory.parameter_block, 24, kOut + 4095);
  EXPECT_EQ(names(integers_of(signature(), launch.memory)), std::vector<std::string>{"n"});
  put(launch.memory.parameter_block, 24, kOut + 4096);
  EXPECT_EQ(names(integers_of(signature(), launch.memory)), (std::vector<std::string>{"n", "m"}));
}

TEST(CapturedLaunch, OfAKernelWithoutTypesFourBytesAreAnInteger) {
  KernelSignature plain = signature();
  for (KernelParameter& parameter : plain.parameters) parameter.type.clear();
  EXPECT_EQ(names(integers_of(plain, captured().memory)), std::vector<std::string>{"n"});
}

TEST(CapturedLaunch, AStructureOrAVectorIsNoInteger) {
  KernelSignature other = signature();
  other.parameters[2].type = "Box";
  other.parameters[3].type = "int2";
  EXPECT_TRUE(integers_of(other, captured().memory).empty());
}

TEST(CapturedLaunch, IsStoredUnderShapeAndIntegers) {
  const CapturedLaunch launch = captured();
  const auto integers = integers_of(signature(), launch.memory);
  const Sizes flat = sizes_of_launch(launch.shape, launch.memory.parameter_block, integers);
  EXPECT_EQ(flat, (Sizes{{"grid_x", 4}, {"block_x", 256}, {"n", -1000}, {"m", 77}}));
  const Sizes deep = sizes_of_launch({{4, 1, 3}, {16, 8, 1}, 1024}, launch.memory.parameter_block, {});
  EXPECT_EQ(
      deep,
      (Sizes{{"grid_x", 4}, {"grid_y", 1}, {"grid_z", 3}, {"block_x", 16}, {"block_y", 8}, {"shared_bytes", 1024}}));
}

TEST(CapturedLaunch, BecomesAPlanWithTypesOfWhatThePointersPointTo) {
  const WorkloadPlan plan = captured_workload(captured(), signature(), {});
  ASSERT_TRUE(plan.snapshot);
  EXPECT_EQ(plan.snapshot->ranges.at(0).type, ElementType::f32);
  EXPECT_EQ(plan.snapshot->ranges.at(1).type, ElementType::f32) << "into the middle of an allocation";
  ASSERT_EQ(plan.shapes.size(), 1u);
  EXPECT_EQ(plan.shapes[0], captured().shape);
  EXPECT_FALSE(plan.cooperative);
  EXPECT_FALSE(plan.cluster);
  EXPECT_FALSE(plan.snapshot->in_place);
  EXPECT_TRUE(plan.notes.empty());
  EXPECT_EQ(plan.sizes.at("m"), 77);
}

// One allocation that holds two kinds of values is compared byte by byte.
TEST(CapturedLaunch, TypesThatDisagreeTellNothing) {
  CapturedLaunch launch = captured();
  put(launch.memory.parameter_block, 8, kIn + 256);
  KernelSignature two = signature();
  two.parameters[1].type = "int*";
  const WorkloadPlan plan = captured_workload(launch, two, {});
  EXPECT_EQ(plan.snapshot->ranges.at(0).type, ElementType::u8);
}

TEST(CapturedLaunch, RefusesASourceWhoseKernelTakesOtherParameters) {
  KernelSignature fewer = signature();
  fewer.parameters.pop_back();
  KernelSignature wider = signature();
  wider.parameters[2].size_bytes = 8;
  for (const KernelSignature& other : {fewer, wider}) {
    try {
      captured_workload(captured(), other, {});
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_launch);
      EXPECT_NE(std::string(error.what()).find("is this the source that the program was built from"), std::string::npos)
          << error.what();
    }
  }
}

TEST(CapturedLaunch, FillsTheVariablesThatTheProgramHas) {
  CapturedLaunch launch = captured();
  std::vector<std::string> asked;
  launch.variables = [&](const std::vector<std::string>& wanted) {
    asked = wanted;
    return std::map<std::string, std::string>{{"table", "12345678"}};
  };
  const std::vector<CubinVariable> variables{{"table", 8, true}, {"left_out", 4, true}};
  const WorkloadPlan plan = captured_workload(launch, signature(), variables);
  EXPECT_EQ(asked, (std::vector<std::string>{"table", "left_out"}));
  ASSERT_EQ(plan.snapshot->variables.size(), 1u);
  EXPECT_EQ(plan.snapshot->variables[0].name, "table");
  EXPECT_EQ(plan.snapshot->variables[0].bytes, "12345678");
}

TEST(CapturedLaunch, RefusesAVariableOfAnotherSize) {
  CapturedLaunch launch = captured();
  launch.variables = [](const std::vector<std::string>&) {
    return std::map<std::string, std::string>{{"table", "1234"}};
  };
  try {
    captured_workload(launch, signature(), {{"table", 8, true}});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_launch);
    EXPECT_NE(std::string(error.what()).find("variable table has 8 bytes, and that of ./app has 4"), std::string::npos)
        << error.what();
  }
}

TEST(CapturedLaunch, InTheProgramsOwnContextNothingIsCopied) {
  CapturedLaunch launch = captured();
  Channel channel;
  launch.context = &channel;
  launch.memory.descriptor = 7;
  const WorkloadPlan plan = captured_workload(launch, signature(), {});
  EXPECT_TRUE(plan.snapshot->in_place);
  EXPECT_EQ(plan.snapshot->descriptor, -1);
}

TEST(CapturedLaunch, InTheProgramsOwnContextAllThatIsWrittenCanBePutBack) {
  Channel channel;
  const auto refusal = [&](std::uint64_t in, std::uint64_t out, int host_pointers) -> std::string {
    CapturedLaunch launch = captured();
    launch.context = &channel;
    launch.host_pointers = host_pointers;
    put(launch.memory.parameter_block, 0, in);
    put(launch.memory.parameter_block, 8, out);
    try {
      captured_workload(launch, signature(), {});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_launch);
      return error.what();
    }
    return "";
  };
  constexpr std::uint64_t kVariable = 0x7e0000000000;
  EXPECT_TRUE(refusal(kIn, kVariable, 0)
                  .starts_with("parameter out of scale(const float*, float*, int, unsigned long, "
                               "double) points to 0x7e0000000000, in none of"));
  EXPECT_EQ(refusal(kVariable, kOut, 0), "") << "nothing is written there";
  EXPECT_EQ(refusal(kIn, 0, 0), "");
  EXPECT_EQ(refusal(kIn, kOut + 4096, 0), "") << "where the buffer ends";
  EXPECT_EQ(refusal(kIn, kVariable, 1), "") << "memory of the host's, which the user allows by --in-process";
  CapturedLaunch beside = captured();
  put(beside.memory.parameter_block, 8, kVariable);
  EXPECT_NO_THROW(captured_workload(beside, signature(), {})) << "where nothing of the program's is written";
}

TEST(CapturedLaunch, TakesClustersFromTheLaunchOrTheCode) {
  CapturedLaunch launch = captured();
  launch.cluster = Dim3{2, 1, 1};
  WorkloadPlan plan = captured_workload(launch, signature(), {});
  ASSERT_TRUE(plan.cluster);
  EXPECT_FALSE(plan.cluster->declared);
  launch.cluster = Dim3{1, 1, 1};
  EXPECT_FALSE(captured_workload(launch, signature(), {}).cluster);
  KernelSignature declaring = signature();
  declaring.blocks_per_cluster = {4, 1, 1};
  plan = captured_workload(launch, declaring, {});
  ASSERT_TRUE(plan.cluster);
  EXPECT_TRUE(plan.cluster->declared);
  EXPECT_EQ(plan.cluster->blocks, (Dim3{4, 1, 1}));
}

TEST(CapturedLaunch, ThatWritesHostMemoryIsNeverCalledCompared) {
  CapturedLaunch launch = captured();
  launch.source_is_certain = true;
  EXPECT_TRUE(facts_of(launch, signature()).outputs_compared);
  launch.host_pointers = 1;
  EXPECT_FALSE(facts_of(launch, signature()).outputs_compared);
  const WorkloadPlan plan = captured_workload(launch, signature(), {});
  ASSERT_EQ(plan.notes.size(), 1u);
  EXPECT_NE(plan.notes[0].find("1 parameter of the launch points into the host's memory"), std::string::npos);
}

// Without either, the source may be of another version, which computes something else.
TEST(CapturedLaunch, IsOnlyComparedWhereTheSourceIsKnownToComputeTheSame) {
  CapturedLaunch launch = captured();
  EXPECT_FALSE(facts_of(launch, signature()).outputs_compared);
  launch.launched = [] {};
  EXPECT_TRUE(facts_of(launch, signature()).outputs_compared);
}

TEST(CapturedLaunch, LetsTheProgramLaunchOnceItsVariablesAreKnown) {
  CapturedLaunch launch = captured();
  std::vector<std::string> order;
  launch.variables = [&](const std::vector<std::string>&) {
    order.push_back("variables");
    return std::map<std::string, std::string>{};
  };
  launch.launched = [&] { order.push_back("launched"); };
  captured_workload(launch, signature(), {{"table", 8, true}});
  EXPECT_EQ(order, (std::vector<std::string>{"variables", "launched"}));
  order.clear();
  KernelSignature other = signature();
  other.parameters.pop_back();
  EXPECT_THROW(captured_workload(launch, other, {}), Error);
  EXPECT_TRUE(order.empty()) << "the program's launch is not made for nothing";
}

TEST(CapturedLaunch, TellsWhoseLaunchItWas) {
  const CapturedFacts facts = facts_of(captured(), signature());
  EXPECT_EQ(facts.program, "./app");
  EXPECT_EQ(facts.launch, 2);
  EXPECT_EQ(facts.image, "abc");
  EXPECT_EQ(facts.integers, (std::vector<IntegerPlace>{{"n", 16, 4}, {"m", 24, 8}}));
}

}  // namespace
}  // namespace regtune
