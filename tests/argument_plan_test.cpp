#include "argument_plan.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "description.hpp"
#include "regtune/error.hpp"
#include "workload.hpp"

namespace regtune {
namespace {

WorkloadPlan plan_struct(const std::string& value, int bytes, const std::string& more = "") {
  KernelSignature signature{"_Z1k6Params", "k", "k(Params)", {}};
  signature.parameters.push_back({"p", "Params", 0, bytes});
  return plan_workload(read_description("k.cu", "/*regtune\nsizes.n = 16\nblock = 32\ngrid = 1\nargs.p = " + value +
                                                    "\n" + more + "\n*/"),
                       signature);
}

StructPlan planned(const std::string& value, int bytes) {
  return std::get<StructPlan>(plan_struct(value, bytes).parameters.at(0));
}

std::string refusal(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

template <class T>
T at(const std::string& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// struct { char a; double b; float* c; short d; }
TEST(StructPlan, PutsFieldsWhereCWouldPutThem) {
  const StructPlan plan = planned(
      R"({struct = [{type = "char", value = 7}, {type = "double", value = 1.5}, {type = "float", buffer = "n"},
                    {type = "short", value = "n"}]})",
      32);
  ASSERT_EQ(plan.bytes.size(), 32u) << "the padding at the end is the parameter's";
  EXPECT_EQ(plan.bytes[0], 7);
  EXPECT_EQ(at<double>(plan.bytes, 8), 1.5);
  ASSERT_EQ(plan.pointers.size(), 1u);
  EXPECT_EQ(plan.pointers[0].offset_bytes, 16);
  EXPECT_EQ(plan.pointers[0].buffer.count, 16);
  EXPECT_TRUE(plan.pointers[0].buffer.output);
  EXPECT_EQ(at<std::int16_t>(plan.bytes, 24), 16);
}

TEST(StructPlan, TakesWrittenOffsetsAndNames) {
  const WorkloadPlan plan = plan_struct(
      R"({struct = [{offset = 4, type = "float", value = 2}, {offset = 16, name = "in", type = "const float", buffer = 4}]})",
      24);
  const auto& structure = std::get<StructPlan>(plan.parameters[0]);
  EXPECT_EQ(at<float>(structure.bytes, 4), 2.0F);
  EXPECT_EQ(structure.pointers[0].buffer.name, "p.in");
  EXPECT_FALSE(structure.pointers[0].buffer.output) << "a pointer to const is an input";
  ASSERT_EQ(buffers_of(plan).size(), 1u);
  EXPECT_EQ(structure.value, "{4: 2; 16: 4 x float, zeros}");
}

TEST(StructPlan, RefusesWhatDoesNotFit) {
  const auto says = [](const std::string& value, int bytes) { return refusal([&] { planned(value, bytes); }); };
  EXPECT_NE(says(R"({struct = [{type = "double", value = 1}]})", 4).find("takes 4 bytes"), std::string::npos);
  EXPECT_NE(says(R"({struct = [{type = "int", value = 1}, {offset = 2, type = "short", value = 1}]})", 8)
                .find("within the field before"),
            std::string::npos);
  EXPECT_NE(says(R"({struct = [{offset = 2, type = "int", value = 1}]})", 8).find("multiple"), std::string::npos);
  EXPECT_NE(says(R"({struct = [{value = 1}]})", 8).find("type = "), std::string::npos);
  EXPECT_NE(says(R"({struct = []})", 8).find("fields"), std::string::npos);
  EXPECT_NE(says(R"({struct = 3})", 8).find("list of fields"), std::string::npos);
  EXPECT_NE(says(R"({values = [1, 2], type = "float"})", 12).find("these are 8"), std::string::npos);
  EXPECT_NE(says(R"({struct = [{type = "int", value = 1}], init = "ones"})", 8).find("is for buffers"),
            std::string::npos);
}

TEST(StructPlan, TakesAVectorByItsValues) {
  const StructPlan plan = planned(R"({values = [1, 2, 3], type = "float"})", 12);
  EXPECT_EQ(at<float>(plan.bytes, 8), 3.0F);
}

TEST(StructPlan, ReadsItsBytesFromAFile) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("regtune_struct_" + std::to_string(getpid()) + ".bin");
  std::ofstream(file) << "abcdefgh";
  EXPECT_EQ(planned("{file = \"" + file.string() + "\"}", 8).bytes, "abcdefgh");
  EXPECT_NE(refusal([&] { planned("{file = \"" + file.string() + "\"}", 12); }).find("12 bytes"), std::string::npos);
  std::filesystem::remove(file);
  EXPECT_NE(refusal([&] { planned("{file = \"" + file.string() + "\"}", 8); }).find("there is no file"),
            std::string::npos);
}

TEST(Variables, AreNumbersArraysAndPointers) {
  const WorkloadPlan plan = plan_struct("{values = [1], type = \"int\"}", 4, R"toml([globals]
scale = { value = 2.5, type = "float" }
coeff = { values = [0.25, "1 / 2"], type = "double" }
table = { buffer = "n", type = "const int", init = "permutation(n)" }
)toml");
  ASSERT_EQ(plan.globals.size(), 3u);
  EXPECT_EQ(plan.globals[0].name, "scale");
  EXPECT_EQ(at<float>(plan.globals[0].bytes, 0), 2.5F);
  EXPECT_EQ(at<double>(plan.globals[1].bytes, 8), 0.5);
  ASSERT_EQ(plan.globals[2].pointers.size(), 1u);
  EXPECT_EQ(plan.globals[2].pointers[0].buffer.init.kind, BufferInit::Kind::permutation);
  EXPECT_EQ(plan.globals[2].pointers[0].buffer.name, "table");
  EXPECT_TRUE(plan.globals[2].fills_all);
}

TEST(BufferInit, UnderstandsIndices) {
  const Sizes names{{"n", 100}};
  const BufferInit modulo = parse_buffer_init("mod(n // 2)", ElementType::i32, names, "", {"args.x"});
  EXPECT_EQ(modulo.kind, BufferInit::Kind::modulo);
  EXPECT_EQ(modulo.a, 50);
  EXPECT_EQ(init_text(modulo), "mod(50)");
  EXPECT_EQ(parse_buffer_init("sorted(0, 10)", ElementType::f32, names, "", {}).kind, BufferInit::Kind::sorted);
  const auto says = [&](const char* text, ElementType type) {
    return refusal([&] { parse_buffer_init(text, type, names, "", {"args.x"}); });
  };
  EXPECT_NE(says("mod(0)", ElementType::i32).find("no numbers"), std::string::npos);
  EXPECT_NE(says("permutation(1000)", ElementType::u8).find("0 to 255"), std::string::npos);
  EXPECT_NE(says("mod(", ElementType::i32).find("not understood"), std::string::npos);
}

}  // namespace
}  // namespace regtune
