#include "workload.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "description.hpp"
#include "expected_error.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

int bytes_of_type(const std::string& type) {
  const ParameterType parsed = parse_parameter_type(type);
  return parsed.pointer || !parsed.element ? 8 : size_bytes(*parsed.element);
}

KernelSignature signature(const std::vector<std::pair<std::string, std::string>>& parameters) {
  KernelSignature result{"_Z1kv", "k", "k(...)", {}};
  for (const auto& [name, type] : parameters) result.parameters.push_back({name, type, 0, bytes_of_type(type)});
  return result;
}

const KernelSignature saxpy = signature({{"x", "const float*"}, {"y", "float*"}, {"n", "unsigned long"}});

// The description begins in line 2 of the source k.cu.
LaunchDescription described(const std::string& toml) {
  return read_description("k.cu", "/*regtune\n" + toml + "\n*/");
}

constexpr char saxpy_toml[] = R"toml(sizes = { n = 1000, half = "n // 2" }
block = [128, 256]
grid = "ceil_div(n, block)"
args = { x = { buffer = "n", init = "uniform(-1, 1)" }, y = { buffer = "2 * n", tolerance = 0.5 }, n = "n" })toml";

WorkloadPlan plan_of(const std::string& toml, const KernelSignature& of = saxpy) {
  return plan_workload(described(toml), of);
}

// A kernel of one parameter p, described by `value`.
WorkloadPlan plan_one(const std::string& type, const std::string& value) {
  return plan_of("sizes = { n = 16 }\nblock = 64\ngrid = 1\nargs.p = " + value, signature({{"p", type}}));
}

void expect_refusal_one(const std::string& type, const std::string& value, const Texts& parts,
                        ErrorKind kind = ErrorKind::bad_description) {
  SCOPED_TRACE(type + " = " + value);
  Texts all = parts;
  all.push_back("k.cu:5: args.p");
  expect_error([&] { plan_one(type, value); }, kind, all);
}

template <typename T>
T scalar_as(const std::string& type, const std::string& value) {
  const WorkloadPlan plan = plan_one(type, value);
  const auto& scalar = std::get<ScalarPlan>(plan.parameters.at(0));
  T result{};
  EXPECT_EQ(scalar.bytes.size(), sizeof result) << type;
  std::memcpy(&result, scalar.bytes.data(), std::min(sizeof result, scalar.bytes.size()));
  return result;
}

TEST(Workload, PlansBuffersScalarsAndShapes) {
  const WorkloadPlan plan = plan_of(saxpy_toml);
  EXPECT_EQ(plan.sizes, (Sizes{{"n", 1000}, {"half", 500}}));
  EXPECT_EQ(plan.seed, 1u);
  EXPECT_TRUE(plan.notes.empty());
  ASSERT_EQ(plan.shapes.size(), 2u);
  EXPECT_EQ(plan.shapes[0].block, (Dim3{128, 1, 1}));
  EXPECT_EQ(plan.shapes[0].grid, (Dim3{8, 1, 1}));
  EXPECT_EQ(plan.shapes[1].grid, (Dim3{4, 1, 1}));
  EXPECT_EQ(plan.shapes[0].dynamic_shared_bytes, 0);
  ASSERT_EQ(plan.parameters.size(), 3u);
  const auto& x = std::get<BufferPlan>(plan.parameters[0]);
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.type, ElementType::f32);
  EXPECT_EQ(x.count, 1000);
  EXPECT_EQ(x.init.kind, BufferInit::Kind::uniform);
  EXPECT_EQ(x.init.a, -1);
  EXPECT_EQ(x.init.b, 1);
  EXPECT_FALSE(x.writable);
  EXPECT_FALSE(x.output);
  const auto& y = std::get<BufferPlan>(plan.parameters[1]);
  EXPECT_EQ(y.count, 2000);
  EXPECT_EQ(y.init.kind, BufferInit::Kind::zeros);
  EXPECT_TRUE(y.writable);
  EXPECT_TRUE(y.output);
  EXPECT_EQ(y.absolute_tolerance, 0.5);
  const auto& n = std::get<ScalarPlan>(plan.parameters[2]);
  EXPECT_EQ(n.bytes, std::string("\xe8\x03\0\0\0\0\0\0", 8));
  EXPECT_EQ(n.value, "1000");
}

TEST(Workload, DescribesArguments) {
  EXPECT_EQ(describe_arguments(plan_of(saxpy_toml), saxpy),
            (Texts{"x  const float*   1000 x float, uniform(-1, 1)",
                   "y  float*         2000 x float, zeros, output, atol 0.5", "n  unsigned long  1000"}));
}

TEST(Workload, TakesGridsAndSharedMemoryPerBlock) {
  const WorkloadPlan plan = plan_of(R"toml(block = ["32x8", "16x4x2"]
grid = "ceil_div(100, block_x), block_y, block_z"
dynamic_shared_bytes = "block * 4"
seed = 5)toml",
                                    signature({}));
  ASSERT_EQ(plan.shapes.size(), 2u);
  EXPECT_EQ(plan.shapes[0].grid, (Dim3{4, 8, 1}));
  EXPECT_EQ(plan.shapes[0].dynamic_shared_bytes, 1024);
  EXPECT_EQ(plan.shapes[1].grid, (Dim3{7, 4, 2}));
  EXPECT_EQ(plan.shapes[1].dynamic_shared_bytes, 512);
  EXPECT_EQ(plan.seed, 5u);
}

TEST(Workload, AssumesABlockAndSaysSo) {
  const WorkloadPlan plan = plan_of("grid = 3", signature({}));
  ASSERT_EQ(plan.shapes.size(), 1u);
  EXPECT_EQ(plan.shapes[0].block, (Dim3{256, 1, 1}));
  ASSERT_EQ(plan.notes.size(), 1u);
  EXPECT_NE(plan.notes[0].find("256"), std::string::npos);
}

TEST(Workload, AsksForAGrid) {
  expect_error([] { plan_of("sizes = { rows = 3 }\nblock = 64", signature({})); }, ErrorKind::bad_description,
               {"no grid", "grid = \"ceil_div(rows, block)\"", "--grid 'ceil_div(rows, block)'"});
}

TEST(Workload, RefusesLaunchesThatCudaRefuses) {
  const auto refused = [](const std::string& toml, const Texts& parts) {
    SCOPED_TRACE(toml);
    expect_error([&] { plan_of(toml, signature({})); }, ErrorKind::bad_launch, parts);
  };
  refused("sizes = { n = 0 }\ngrid = \"n\"", {"k.cu:3: grid", "\"n\"", "0 blocks in x"});
  refused("grid = -1", {"k.cu:2: grid", "-1 blocks in x"});
  refused("grid = \"1<<31\"", {"k.cu:2: grid", "2147483648 blocks in x"});
  refused("grid = \"1, 65536\"", {"k.cu:2: grid", "65536 blocks in y"});
  refused("grid = [1, 1, 65536]", {"k.cu:2: grid", "blocks in z"});
  refused("grid = 1\ndynamic_shared_bytes = -4", {"k.cu:3: dynamic_shared_bytes", "-4"});
  refused("grid = 1\ndynamic_shared_bytes = \"1<<40\"", {"k.cu:3: dynamic_shared_bytes"});
  refused("sizes = { n = -5 }\ngrid = 1", {"k.cu:2: sizes.n", "negative"});
  refused("grid = 1\nblock = 0", {"k.cu:3: block"});
  LaunchDescription description = described("grid = 1");
  for (const Dim3 block : {Dim3{0, 1, 1}, Dim3{1025, 1, 1}, Dim3{64, 32, 1}, Dim3{1, 1, 65}}) {
    description.blocks = {block};
    expect_error([&] { plan_workload(description, signature({})); }, ErrorKind::bad_launch, {"block"});
  }
  EXPECT_EQ(plan_of("grid = \"(1<<31) - 1, 65535, 65535\"", signature({})).shapes[0].grid,
            (Dim3{2147483647, 65535, 65535}));
}

TEST(Workload, RefusesBadExpressionsByLine) {
  expect_error([] { plan_of("grid = 1\n[sizes]\nn = 7\nm = \"n / 2\""); }, ErrorKind::bad_description,
               {"k.cu:5: sizes.m", "\"n / 2\"", "use //"});
  expect_error([] { plan_of("grid = 1\n[sizes]\nm = \"n\"\nn = 7"); }, ErrorKind::bad_description,
               {"k.cu:4: sizes.m", "unknown name 'n'"});
  expect_error([] { plan_of("grid = \"n +\""); }, ErrorKind::bad_description, {"k.cu:2: grid", "\"n +\""});
}

TEST(Workload, AsksForMissingArgumentsWithTheLineToWrite) {
  const std::string start = "sizes = { n = 8 }\nblock = 64\ngrid = 1\n";
  expect_error(
      [&] { plan_of(start); }, ErrorKind::missing_argument,
      {"parameter 0", "const float* x", "x = {buffer = \"n\", init = \"uniform(0, 1)\"}", "--arg 'x={buffer = \"n\""});
  expect_error([&] { plan_of(start + "args.x = {buffer = 1}"); }, ErrorKind::missing_argument,
               {"float* y", "y = {buffer = \"n\"}"});
  expect_error([&] { plan_of(start + "args.x = {buffer = 1}\nargs.y = {buffer = 1}"); }, ErrorKind::missing_argument,
               {"unsigned long n", "n = \"n\""});
  expect_error(
      [&] {
        plan_of(start, signature({{"p", "Particle*"}}));
      },
      ErrorKind::missing_argument, {"type = \"float\""});
  expect_error(
      [&] {
        plan_of(start, signature({{"arg0", ""}}));
      },
      ErrorKind::missing_argument, {"arg0 = {buffer = \"n\", type = \"float\"}"});
}

// What the message proposes is accepted.
TEST(Workload, TheLineToWriteIsValid) {
  EXPECT_NO_THROW(plan_one("const float*", "{buffer = \"n\", init = \"uniform(0, 1)\"}"));
  EXPECT_NO_THROW(plan_one("Particle*", "{buffer = \"n\", type = \"float\"}"));
  EXPECT_NO_THROW(plan_one("", "{buffer = \"n\", type = \"float\"}"));
}

TEST(Workload, RefusesArgumentsThatFitNoParameter) {
  expect_error(
      [] {
        plan_of("grid = 1\nargs.input = 3", signature({{"inputs", "int"}, {"n", "int"}}));
      },
      ErrorKind::bad_description, {"k.cu:3: args.input", "did you mean \"inputs\"?", "inputs, n"});
  expect_error(
      [] {
        plan_of("grid = 1\nargs.2 = 3", signature({{"a", "int"}, {"b", "int"}}));
      },
      ErrorKind::bad_description, {"k.cu:3: args.2", "a, b"});
  expect_error([] { plan_of("grid = 1\nargs.x = 3", signature({})); }, ErrorKind::bad_description,
               {"k.cu:3: args.x", "none"});
  expect_error(
      [] {
        plan_of("grid = 1\n[args]\na = 3\n0 = 4", signature({{"a", "int"}}));
      },
      ErrorKind::bad_description, {"k.cu:5: args.0", "k.cu:4: args.a"});
}

TEST(Workload, FindsParametersByPosition) {
  const WorkloadPlan plan = plan_of("grid = 1\n[args]\n1 = 3\n0 = 4", signature({{"arg0", "int"}, {"arg1", "int"}}));
  EXPECT_EQ(std::get<ScalarPlan>(plan.parameters[0]).value, "4");
  EXPECT_EQ(std::get<ScalarPlan>(plan.parameters[1]).value, "3");
}

TEST(Workload, EncodesScalarsAsTheParameterTakesThem) {
  EXPECT_EQ(scalar_as<std::int32_t>("int", "-7"), -7);
  EXPECT_EQ(scalar_as<std::int8_t>("signed char", "-128"), -128);
  EXPECT_EQ(scalar_as<std::uint8_t>("unsigned char", "255"), 255);
  EXPECT_EQ(scalar_as<std::uint16_t>("unsigned short", "\"1<<15\""), 32768);
  EXPECT_EQ(scalar_as<std::int64_t>("long", "-9223372036854775807"), -INT64_MAX);
  EXPECT_EQ(scalar_as<std::uint64_t>("unsigned long long", "\"2^63\""), std::uint64_t{1} << 63);
  EXPECT_EQ(scalar_as<std::uint64_t>("size_t", "\"n * n\""), 256u);
  EXPECT_EQ(scalar_as<std::uint32_t>("unsigned int", "4294967295"), UINT32_MAX);
  EXPECT_EQ(scalar_as<std::uint8_t>("bool", "true"), 1);
  EXPECT_EQ(scalar_as<float>("float", "0.1"), 0.1f);
  EXPECT_EQ(scalar_as<float>("const float", "\"n / 3\""), static_cast<float>(16.0 / 3));
  EXPECT_EQ(scalar_as<float>("float", "\"(1<<60) + (1<<36) + 1\""),
            static_cast<float>((std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1));
  EXPECT_EQ(scalar_as<double>("double", "\"1/3\""), 1.0 / 3);
  EXPECT_EQ(scalar_as<double>("double", "inf"), INFINITY);
  EXPECT_EQ(scalar_as<std::int32_t>("int", "3.0"), 3);
  EXPECT_EQ(scalar_as<std::uint16_t>("__half", "1"), 0x3C00);
  EXPECT_EQ(scalar_as<std::uint16_t>("__nv_bfloat16", "-2"), 0xC000);
  EXPECT_EQ(std::get<ScalarPlan>(plan_one("bool", "0").parameters[0]).value, "false");
  EXPECT_EQ(std::get<ScalarPlan>(plan_one("float", "2.5").parameters[0]).value, "2.5");
}

TEST(Workload, TakesEnumerationsAsInt) {
  KernelSignature of = signature({{"p", "ns::Colour"}});
  of.parameters[0].size_bytes = 4;
  const auto plan = plan_of("grid = 1\nargs.p = -3", of);
  EXPECT_EQ(std::get<ScalarPlan>(plan.parameters[0]).bytes, std::string("\xfd\xff\xff\xff"));
}

TEST(Workload, RefusesValuesOutOfTheTypesRange) {
  expect_refusal_one("unsigned char", "256", {"256", "unsigned char p", "0 to 255"});
  expect_refusal_one("signed char", "-129", {"-128 to 127"});
  expect_refusal_one("int", "\"1<<31\"", {"\"1<<31\"", "2147483648"});
  expect_refusal_one("int", "2.5", {"2.5", "integers"});
  expect_refusal_one("int", "nan", {"integers"});
  expect_refusal_one("unsigned long", "-1", {"2^64"});
  expect_refusal_one("unsigned long", "\"2.0^64\"", {"2^64"});
  expect_refusal_one("long", "\"2.0^63\"", {"2^63"});
  expect_refusal_one("bool", "2", {"0 to 1"});
  expect_refusal_one("float", "1e39", {"float p"});
  expect_refusal_one("__half", "65520", {"-65504 to 65504"});
  expect_refusal_one("__nv_bfloat16", "3.4e38", {"__nv_bfloat16"});
}

TEST(Workload, RefusesParametersItCannotFill) {
  KernelSignature of = signature({{"p", "Options"}});
  of.parameters[0].size_bytes = 24;
  expect_error([&] { plan_of("grid = 1\nargs.p = 3", of); }, ErrorKind::bad_description,
               {"k.cu:3: args.p", "24 bytes of type Options", "{struct = [{"});
  expect_refusal_one("float4", "1", {"float4"});
  expect_refusal_one("", "1", {"type unknown", "type = "});
  EXPECT_EQ(scalar_as<double>("", "{value = 1.5, type = \"double\"}"), 1.5);
  expect_refusal_one("int", "{value = 1, type = \"double\"}", {"4 bytes", "double"});
  expect_refusal_one("int", "{buffer = 4}", {"no pointer but int"});
  expect_refusal_one("float*", "3", {"is a pointer", "p = {buffer = \"n\"}", "null"});
  expect_refusal_one("Particle*", "{buffer = \"n\"}", {"elements of Particle", "type = \"float\""});
  expect_refusal_one("float**", "{buffer = \"n\"}", {"elements of float*"});
  expect_refusal_one("void*", "{buffer = \"n\"}", {"elements of void"});
  expect_refusal_one("Particle*", "{buffer = \"n\", type = \"Particle\"}", {"type = \"Particle\""});
  expect_refusal_one("float*", "{buffer = \"n\", type = \"float*\"}", {"type = \"float*\""});
}

TEST(Workload, PassesNullPointers) {
  const WorkloadPlan plan = plan_one("const float*", "0");
  const auto& scalar = std::get<ScalarPlan>(plan.parameters[0]);
  EXPECT_EQ(scalar.bytes, std::string(8, '\0'));
  EXPECT_EQ(scalar.value, "null");
}

TEST(Workload, CountsBaseElementsOfVectorTypes) {
  const auto buffer = [](const std::string& type, const std::string& value) {
    return std::get<BufferPlan>(plan_one(type, value).parameters[0]);
  };
  EXPECT_EQ(buffer("float4*", "{buffer = \"n\"}").count, 64);
  EXPECT_EQ(buffer("float4*", "{buffer = \"n\"}").type, ElementType::f32);
  EXPECT_EQ(buffer("const uchar3*", "{buffer = \"n\"}").count, 48);
  EXPECT_EQ(buffer("__half2*", "{buffer = \"n\"}").type, ElementType::f16);
  EXPECT_EQ(buffer("__half2*", "{buffer = \"n\"}").count, 32);
  EXPECT_EQ(buffer("Particle*", "{buffer = \"n\", type = \"double2\"}").count, 32);
  EXPECT_TRUE(buffer("Particle*", "{buffer = \"n\", type = \"double2\"}").output);
  EXPECT_FALSE(buffer("float*", "{buffer = \"n\", output = false}").output);
  EXPECT_TRUE(buffer("float*", "{buffer = \"n\", output = false}").writable);
}

TEST(Workload, BuffersAreLargeEnoughForEveryBlock) {
  const std::string start = "block = [64, 256, 128]\ngrid = 1\nargs.p = ";
  const WorkloadPlan plan = plan_of(start + "{buffer = \"ceil_div(1000, block)\"}", signature({{"p", "float*"}}));
  EXPECT_EQ(std::get<BufferPlan>(plan.parameters[0]).count, 16);
  expect_error(
      [&] {
        plan_of(start + "\"block\"", signature({{"p", "int"}}));
      },
      ErrorKind::bad_description, {"k.cu:4: args.p", "depends on the block"});
  EXPECT_NO_THROW(plan_of(start + "nan", signature({{"p", "float"}})));
}

TEST(Workload, RefusesImpossibleLengths) {
  expect_refusal_one("float*", "{buffer = -1}", {"buffer", "negative"}, ErrorKind::bad_launch);
  expect_refusal_one("float*", "{buffer = \"1<<62\"}", {"64 bits"}, ErrorKind::buffer_too_large);
  expect_refusal_one("float4*", "{buffer = \"1<<61\"}", {"64 bits"}, ErrorKind::buffer_too_large);
  expect_refusal_one("float*", "{buffer = \"n / 3\"}", {"use //"});
  expect_error(
      [] {
        plan_of("grid = 1\n[args]\na = {buffer = \"1<<60\"}\nb = {buffer = \"1<<60\"}",
                signature({{"a", "float*"}, {"b", "float*"}}));
      },
      ErrorKind::buffer_too_large, {"k.cu:5: args.b"});
}

TEST(Workload, ReadsInitialData) {
  const auto init = [](const std::string& text) {
    return std::get<BufferPlan>(plan_one("float*", "{buffer = \"n\", init = \"" + text + "\"}").parameters[0]).init;
  };
  EXPECT_EQ(init("ones").kind, BufferInit::Kind::ones);
  EXPECT_EQ(init("iota").kind, BufferInit::Kind::iota);
  EXPECT_EQ(init("normal(3, 0.5)").kind, BufferInit::Kind::normal);
  EXPECT_EQ(init("normal(3, 0.5)").a, 3);
  EXPECT_EQ(init("normal( 3,0.5 )").b, 0.5);
  for (const char* text : {"random", "uniform", "uniform()", "uniform(1)", "uniform(1,)", "uniform(1,2,3)",
                           "uniform(a,b)", "uniform(nan, 1)", "uniform(0, inf)", "uniform(2, 1)", "normal(0, -1)",
                           "uniform(0, 1", "uniform(-1e39, 1)", "uniform(1 2)", "file:"}) {
    expect_error([&] { init(text); },
                 std::string(text) == "file:" ? ErrorKind::file_not_found : ErrorKind::bad_description,
                 {"k.cu:5: args.p"});
  }
  expect_refusal_one("unsigned char*", "{buffer = 1, init = \"uniform(0, 300)\"}", {"0 to 255"});
  EXPECT_NO_THROW(plan_one("unsigned char*", "{buffer = 1, init = \"uniform(0, 256)\"}"));
  expect_refusal_one("const float*", "{buffer = 1, tolerance = 1}", {"no output"});
  expect_refusal_one("const float*", "{buffer = 1, ulps = 1}", {"no output"});
  expect_refusal_one("int*", "{buffer = 1, ulps = 1}", {"floating-point", "int", "atol"});
  for (const char* type : {"__half*", "__nv_bfloat16*", "float*", "double*"})
    EXPECT_EQ(std::get<BufferPlan>(plan_one(type, "{buffer = 1, ulps = 4}").parameters[0]).ulp_tolerance, 4) << type;
}

TEST(Workload, ChecksDataFiles) {
  const fs::path folder = fs::temp_directory_path() / ("regtune_workload_" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::string npy = "\x93NUMPY\x01";
  npy += std::string("\0\x76\0", 3) + "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4), }";
  npy.resize(128, ' ');
  std::ofstream(folder / "a.npy", std::ios::binary) << npy + std::string(64, '\0');
  std::ofstream(folder / "a.bin", std::ios::binary) << std::string(64, '\0');
  std::ofstream(folder / "a.txt", std::ios::binary) << std::string(64, '\0');
  const auto plan = [&](const std::string& type, const std::string& length, const std::string& file) {
    const std::string toml = "/*regtune grid = 1\nargs.p = {buffer = " + length + ", init = \"file:" + file + "\"}*/";
    return std::get<BufferPlan>(
        plan_workload(read_description(folder / "k.cu", toml), signature({{"p", type}})).parameters[0]);
  };
  EXPECT_EQ(plan("float*", "16", "a.npy").init.path, (folder / "a.npy").string());
  EXPECT_EQ(plan("float4*", "4", "a.npy").count, 16);
  EXPECT_EQ(plan("double*", "8", (folder / "a.bin").string()).init.kind, BufferInit::Kind::file);
  const std::string line = (folder / "k.cu").string() + ":2: args.p";
  expect_error([&] { plan("float*", "15", "a.npy"); }, ErrorKind::bad_description, {line, "16 elements", "15"});
  expect_error([&] { plan("int*", "16", "a.npy"); }, ErrorKind::bad_description, {line, "f4", "i4"});
  expect_error([&] { plan("float*", "17", "a.bin"); }, ErrorKind::bad_description, {line, "64 bytes", "68"});
  expect_error([&] { plan("float*", "16", "a.txt"); }, ErrorKind::bad_description, {line, ".npy or .bin"});
  std::ofstream(folder / "b.bin.zst", std::ios::binary) << "not compressed";
  expect_error([&] { plan("float*", "16", "b.bin.zst"); }, ErrorKind::bad_description, {"b.bin.zst", "Zstandard"});
  expect_error([&] { plan("float*", "16", "none.bin"); }, ErrorKind::file_not_found, {line, "none.bin"});
  expect_error([&] { plan("float*", "16", "."); }, ErrorKind::file_not_found, {line});
  fs::remove_all(folder);
}

TEST(Workload, UnderstandsEverySpellingOfAType) {
  const auto check = [](const char* text, ElementType element, int lanes, bool pointer, bool pointee_const) {
    const ParameterType type = parse_parameter_type(text);
    EXPECT_EQ(type.element, element) << text;
    EXPECT_EQ(type.lanes, lanes) << text;
    EXPECT_EQ(type.pointer, pointer) << text;
    EXPECT_EQ(type.pointee_const, pointee_const) << text;
  };
  for (const char* text : {"const float*", "float const *", "float const* __restrict__",
                           "const float * const __restrict__", "const float[]"}) {
    check(text, ElementType::f32, 1, true, true);
  }
  check("float* const", ElementType::f32, 1, true, false);
  check("unsigned", ElementType::u32, 1, false, false);
  check("long unsigned int", ElementType::u64, 1, false, false);
  check("unsigned long long*", ElementType::u64, 1, true, false);
  check("short int", ElementType::i16, 1, false, false);
  check("char", ElementType::i8, 1, false, false);
  check("std::uint8_t*", ElementType::u8, 1, true, false);
  check("cuda::std::int64_t", ElementType::i64, 1, false, false);
  check("ulonglong2*", ElementType::u64, 2, true, false);
  check("double4_16a*", ElementType::f64, 4, true, false);
  check("__nv_bfloat162 const*", ElementType::bf16, 2, true, true);
  for (const char* text : {"Vec<4, const float*>", "float5", "float8", "Particle*", "float**", "void*", "long double",
                           "", "*", "<<<", "unsigned float"}) {
    EXPECT_FALSE(parse_parameter_type(text).element) << text;
  }
  EXPECT_FALSE(parse_parameter_type("Vec<4, const float*>").pointer);
  EXPECT_EQ(parse_parameter_type("const ns::Vec<4, float>*").base, "ns::Vec<4, float>");
}

// Every value half way between two neighbours goes to the even one, and anything beside it to the nearer one.
TEST(Workload, RoundsTo16BitsOnceToNearestEven) {
  const auto bits = [](ElementType type, double value) {
    const std::optional<std::string> bytes = encode(type, value);
    std::uint16_t result = 0;
    if (!bytes) return std::uint16_t{0xFFFF};
    std::memcpy(&result, bytes->data(), 2);
    return result;
  };
  const auto half_value = [](std::uint16_t pattern) {
    const int exponent = pattern >> 10;
    const int mantissa = pattern & 0x3FF;
    return exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  };
  const auto bfloat_value = [](std::uint16_t pattern) {
    return double{std::bit_cast<float>(std::uint32_t{pattern} << 16)};
  };
  const auto check = [&](ElementType type, std::uint16_t infinity, const auto& value_of) {
    for (std::uint16_t pattern = 0; pattern + 1 < infinity; ++pattern) {
      const auto next = static_cast<std::uint16_t>(pattern + 1);
      const double low = value_of(pattern);
      const double middle = (low + value_of(next)) / 2;
      ASSERT_EQ(bits(type, low), pattern);
      ASSERT_EQ(bits(type, middle), pattern % 2 == 0 ? pattern : next) << low;
      ASSERT_EQ(bits(type, std::nextafter(middle, 0.0)), pattern) << low;
      ASSERT_EQ(bits(type, std::nextafter(middle, INFINITY)), next) << low;
      ASSERT_EQ(bits(type, -middle), (pattern % 2 == 0 ? pattern : next) | 0x8000) << low;
    }
    EXPECT_EQ(bits(type, INFINITY), infinity);
    EXPECT_EQ(bits(type, -INFINITY), infinity | 0x8000);
    EXPECT_GT(bits(type, NAN) & 0x7FFF, infinity);
    EXPECT_FALSE(encode(type, 1e300));
  };
  check(ElementType::f16, 0x7C00, half_value);
  check(ElementType::bf16, 0x7F80, bfloat_value);
  EXPECT_EQ(bits(ElementType::f16, 65519.99), 0x7BFF);
  EXPECT_FALSE(encode(ElementType::f16, 65520.0));
}

TEST(Workload, CountsWhatALaunchDoes) {
  const std::string toml = saxpy_toml;
  EXPECT_EQ(plan_of(toml).work, Work{});
  const WorkloadPlan plan = plan_of("metric = { bytes = \"12 * n\", flops = \"2 * half\" }\n" + toml);
  EXPECT_EQ(plan.work.bytes, 12000);
  EXPECT_EQ(plan.work.flops, 1000);
  for (const char* bad : {"0", "-n", "block", "nil"})
    expect_error([&] { plan_of("metric.bytes = \"" + std::string(bad) + "\"\n" + toml); }, ErrorKind::bad_description,
                 {"metric.bytes"});
}

TEST(Workload, TheGridFollowsWhatIsTuned) {
  const LaunchDescription description = described(
      "sizes = { n = 4096 }\nblock = 64\ngrid = \"n // (block * UNROLL)\"\ndynamic_shared_bytes = \"4 * UNROLL\"\n"
      "args.p = {buffer = \"n + UNROLL\"}");
  const KernelSignature of = signature({{"p", "float*"}});
  const WorkloadPlan plan =
      plan_workload(description, of, {{{64, 1, 1}, {{"UNROLL", 1}}}, {{64, 1, 1}, {{"UNROLL", 4}}}});
  ASSERT_EQ(plan.shapes.size(), 2u);
  EXPECT_EQ(plan.shapes[0].grid.x, 64u);
  EXPECT_EQ(plan.shapes[1].grid.x, 16u);
  EXPECT_EQ(plan.shapes[1].dynamic_shared_bytes, 16);
  EXPECT_EQ(std::get<BufferPlan>(plan.parameters[0]).count, 4100) << "the largest of all";
  expect_error(
      [&] {
        plan_workload(description, of, {{{64, 1, 1}, {{"UNROLL", 128}}}});
      },
      ErrorKind::bad_launch, {"gives 0 blocks in x for a block of 64 and UNROLL = 128"});
}

TEST(Workload, AScalarMayNotDependOnWhatIsTuned) {
  const LaunchDescription description = described("block = 64\ngrid = 1\nargs.n = \"UNROLL\"");
  const KernelSignature of = signature({{"n", "int"}});
  EXPECT_NO_THROW(plan_workload(description, of, {{{64, 1, 1}, {{"UNROLL", 2}}}}));
  expect_error(
      [&] {
        plan_workload(description, of, {{{64, 1, 1}, {{"UNROLL", 2}}}, {{64, 1, 1}, {{"UNROLL", 4}}}});
      },
      ErrorKind::bad_description, {"\"UNROLL\" depends on the block or on a tuned name"});
}

}  // namespace
}  // namespace regtune
