// Reads cubins that the test builds byte by byte, so that each rule can be seen alone and without a compiler.
#include "cubin.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "cubin_builder.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

// One 16-byte instruction: opcode in the low 12 bits, log of the access width in bits 73 to 75.
std::string instruction(std::uint64_t opcode, std::uint64_t width) {
  return packed(opcode) + packed(width << 9);
}

constexpr std::uint64_t ldl = 0x983, stl = 0x387, lds = 0x984;
constexpr std::uint64_t bits_32 = 4, bits_64 = 5, bits_128 = 6;

// One kernel, with the given code and attributes, and resources of 40 registers and a 16-byte frame.
CubinBuilder one_kernel(const std::string& code, const std::string& attributes, std::uint32_t sm = 90,
                        const std::string& name = "k") {
  CubinBuilder builder(sm);
  const auto symbol = builder.function(name, builder.code(name, code), true);
  builder.section(".nv.info." + name, attributes);
  builder.section(".nv.info",
                  sized(0x2f, words(symbol, 40)) + sized(0x11, words(symbol, 16)) + sized(0x12, words(symbol, 48)));
  return builder;
}

CubinKernel only_kernel(const CubinBuilder& builder) {
  const Cubin cubin = read_cubin(builder.bytes());
  EXPECT_EQ(cubin.kernels.size(), 1u);
  return cubin.kernels.at(0);
}

void expect_refused(const std::string& bytes, const std::string& reason) {
  try {
    read_cubin(bytes);
    ADD_FAILURE() << "accepted; expected: " << reason;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::source_not_compiled);
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }
}

const std::string some_code = instruction(0x901, 0) + instruction(0x902, 0);

TEST(Cubin, ReadsResourcesAndLimits) {
  const CubinKernel kernel = only_kernel(
      one_kernel(some_code, short_value(0x1b, 64) + sized(0x05, words(32, 8, 1)) + sized(0x10, words(16, 2, 4))));
  EXPECT_EQ(kernel.name, "k");
  EXPECT_EQ(kernel.registers_per_thread, 40);
  EXPECT_EQ(kernel.stack_frame_bytes, 48);
  EXPECT_EQ(kernel.register_ceiling, 64);
  EXPECT_EQ(kernel.max_threads_per_block, 256);
  EXPECT_EQ(kernel.required_threads_per_block, 128);
  EXPECT_EQ(kernel.code_hash.size(), 32u);
}

TEST(Cubin, ACeilingThatIsNotGivenIs255) {
  EXPECT_EQ(only_kernel(one_kernel(some_code, "")).register_ceiling, 255);
  EXPECT_EQ(only_kernel(one_kernel(some_code, "")).max_threads_per_block, 0);
}

TEST(Cubin, SumsTheWidthsOfListedSpillsOnly) {
  const std::string code = instruction(stl, bits_32) + instruction(ldl, bits_64) + instruction(stl, bits_128) +
                           instruction(ldl, bits_32) + instruction(lds, bits_32);
  // The load at 48 is not listed: a local array. The one at 64 spills to shared memory, which is counted apart.
  const CubinKernel kernel = only_kernel(one_kernel(code, sized(0x55, words(1, 0, 1, 16, 1, 32, 1, 64))));
  EXPECT_EQ(kernel.spill_store_bytes, 20);
  EXPECT_EQ(kernel.spill_load_bytes, 8);
  EXPECT_EQ(kernel.shared_spill_load_bytes, 4);
  EXPECT_EQ(kernel.shared_spill_store_bytes, 0);
}

TEST(Cubin, AddsSpillsAndRegistersOfCalledFunctions) {
  const auto build = [](bool called, std::uint64_t width) {
    CubinBuilder builder;
    const auto kernel_section = builder.code("k", instruction(stl, bits_32));
    const auto kernel = builder.function("k", kernel_section, true);
    const auto inner = builder.function("f", builder.code("f", instruction(ldl, width)), false);
    builder.section(".nv.info.k", sized(0x55, words(1, 0)));
    builder.section(".nv.info.f", sized(0x55, words(1, 0)));
    builder.section(".nv.info", sized(0x2f, words(kernel, 20)) + sized(0x2f, words(inner, 50)));
    if (called) builder.relocation(kernel_section, 0, inner);
    return only_kernel(builder);
  };
  EXPECT_EQ(build(false, bits_64).registers_per_thread, 20);
  EXPECT_EQ(build(false, bits_64).spill_load_bytes, 0);
  EXPECT_EQ(build(true, bits_64).registers_per_thread, 50);
  EXPECT_EQ(build(true, bits_64).spill_load_bytes, 8);
  EXPECT_EQ(build(true, bits_64).spill_store_bytes, 4);
  EXPECT_NE(build(true, bits_64).code_hash, build(true, bits_128).code_hash);
  EXPECT_EQ(build(false, bits_64).code_hash, build(false, bits_128).code_hash);
}

TEST(Cubin, FollowsTheCallGraphAndItsCycles) {
  CubinBuilder builder;
  const auto kernel = builder.function("k", builder.code("k", some_code), true);
  const auto f = builder.function("f", builder.code("f", instruction(stl, bits_32)), false);
  const auto g = builder.function("g", builder.code("g", instruction(stl, bits_64)), false);
  for (const char* name : {"f", "g"}) builder.section(std::string(".nv.info.") + name, sized(0x55, words(1, 0)));
  builder.section(".nv.callgraph", words(0, -1, kernel, f, f, g, g, f, 0, -2, kernel, 1));
  EXPECT_EQ(only_kernel(builder).spill_store_bytes, 12);
}

TEST(Cubin, ReadsParametersOfBothForms) {
  // The middle bits are flags, as compilers write them: pointers are marked from sm_100 on.
  const std::string attributes = sized(0x17, words(0, 1 | 8 << 16, 8u << 18 | 0x1f500)) +
                                 sized(0x17, words(0, 0 | 0 << 16, 1u << 18 | 0x1f000)) +
                                 sized(0x45, words(0, 2 | 5008u << 16, 0x05000000 | 20000));
  const CubinKernel kernel = only_kernel(one_kernel(some_code, attributes));
  ASSERT_EQ(kernel.parameters.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(kernel.parameters[static_cast<std::size_t>(i)].ordinal, i);
  EXPECT_EQ(kernel.parameters[0].size_bytes, 1);
  EXPECT_EQ(kernel.parameters[1].offset_bytes, 8);
  EXPECT_EQ(kernel.parameters[1].size_bytes, 8);
  EXPECT_EQ(kernel.parameters[2].offset_bytes, 5008);
  EXPECT_EQ(kernel.parameters[2].size_bytes, 20000);
}

TEST(Cubin, LeavesTheReserveOutOfStaticSharedMemory) {
  const auto shared = [](std::uint32_t sm, std::uint64_t size) {
    CubinBuilder builder = one_kernel(some_code, "", sm);
    builder.section(".nv.shared.k", "", 8, 3, 0, size);
    return only_kernel(builder).static_shared_bytes;
  };
  EXPECT_EQ(shared(80, 512), 512);
  EXPECT_EQ(shared(90, 1536), 512);
  EXPECT_EQ(shared(120, 1024), 0);
}

TEST(Cubin, TheHashDependsOnCodeConstantsAndResourcesAlone) {
  const auto hash = [](const CubinBuilder& builder) { return only_kernel(builder).code_hash; };
  const std::string base = hash(one_kernel(some_code, ""));
  EXPECT_EQ(hash(one_kernel(some_code, short_value(0x1b, 64))), base);
  EXPECT_EQ(hash(one_kernel(some_code, sized(0x05, words(256, 1, 1)))), base);
  EXPECT_EQ(hash(one_kernel(some_code, sized(0x10, words(256, 1, 1)))), base);
  EXPECT_EQ(hash(one_kernel(some_code, "", 90, "another_name")), base);
  EXPECT_NE(hash(one_kernel(some_code + some_code, "")), base);
  EXPECT_NE(hash(one_kernel(some_code, "", 100)), base);
  const auto with = [](const std::string& name, const std::string& data) {
    CubinBuilder builder = one_kernel(some_code, "");
    builder.section(name, data);
    return builder;
  };
  for (const char* bank : {".nv.constant2.k", ".nv.constant3", ".nv.global.init"}) {
    EXPECT_NE(hash(with(bank, "1234")), base) << bank;
    EXPECT_NE(hash(with(bank, "1234")), hash(with(bank, "1235"))) << bank;
  }
  EXPECT_EQ(hash(with(".nv.constant2.other", "1234")), base);
  EXPECT_EQ(hash(with(".debug_line", "1234")), base);
  CubinBuilder more_registers(90);
  const auto symbol = more_registers.function("k", more_registers.code("k", some_code), true);
  more_registers.section(".nv.info", sized(0x2f, words(symbol, 41)) + sized(0x12, words(symbol, 48)));
  EXPECT_NE(hash(more_registers), base);
}

TEST(Cubin, HashesRelocationsByNameAndNotByNumber) {
  const auto hash = [](const std::string& target, bool extra_symbol) {
    CubinBuilder builder;
    const auto section = builder.code("k", some_code);
    if (extra_symbol) builder.function("unrelated", 0, false);
    builder.function("k", section, true);
    builder.relocation(section, 16, builder.function(target, 0, false));
    return only_kernel(builder).code_hash;
  };
  EXPECT_EQ(hash("vprintf", false), hash("vprintf", true));
  EXPECT_NE(hash("vprintf", false), hash("malloc", false));
}

TEST(Cubin, ListsKernelsByName) {
  CubinBuilder builder;
  builder.function("second", builder.code("second", some_code), true);
  builder.function("first", builder.code("first", some_code), true);
  const Cubin cubin = read_cubin(builder.bytes());
  ASSERT_EQ(cubin.kernels.size(), 2u);
  EXPECT_EQ(cubin.kernels[0].name, "first");
  EXPECT_EQ(cubin.sm, 90);
}

TEST(Cubin, RefusesWhatIsNotACubin) {
  expect_refused("", "no 64-bit ELF header");
  expect_refused(std::string(1000, 'x'), "no 64-bit ELF header");
  const std::string good = one_kernel(some_code, "").bytes();
  std::string bad = good;
  bad[18] = 62;
  expect_refused(bad, "the machine is not CUDA");
  bad = good;
  bad[16] = 1;
  expect_refused(bad, "not linked");
  expect_refused(one_kernel(some_code, "", 70).bytes(), "sm_70");
}

TEST(Cubin, RefusesAttributesThatLeaveTheFile) {
  expect_refused(one_kernel(some_code, std::string("\x04\x05\xff\xff", 4)).bytes(), "an attribute's value");
  expect_refused(one_kernel(some_code, std::string("\x09\x05\x00\x00", 4)).bytes(), "an attribute of format 9");
  expect_refused(one_kernel(some_code, sized(0x55, words(1, 1 << 20))).bytes(), "a spilling instruction");
  expect_refused(one_kernel(some_code, sized(0x55, words(1, 0xfffffff8u))).bytes(), "a spilling instruction");
  expect_refused(one_kernel(some_code, sized(0x05, words(-1, -1, -1))).bytes(), "a thread count");
  expect_refused(one_kernel(some_code, sized(0x05, words(32))).bytes(), "a thread count");
  CubinBuilder huge = one_kernel(some_code, "");
  huge.section(".nv.shared.k", "", 8, 3, 0, ~std::uint64_t{0});
  expect_refused(huge.bytes(), "static shared memory");
}

TEST(Cubin, RefusesSectionsThatOverlap) {
  std::string bytes = one_kernel(some_code, "").bytes();
  // Every section is made to cover the whole file.
  std::uint64_t table;
  std::memcpy(&table, bytes.data() + 40, sizeof table);
  for (std::uint64_t at = table + 64; at + 64 <= bytes.size(); at += 64) {
    const std::string whole = packed(std::uint64_t{0}) + packed(std::uint64_t{bytes.size()});
    bytes.replace(at + 24, 16, whole);
  }
  expect_refused(bytes, "sections overlap");
}

TEST(Cubin, DamagedFilesAreReadOrRefused) {
  CubinBuilder builder = one_kernel(instruction(stl, bits_32), sized(0x55, words(1, 0)) + short_value(0x1b, 64));
  builder.section(".nv.callgraph", words(0, -1, 1, 1));
  builder.relocation(1, 0, 1);
  const std::string whole = builder.bytes();
  std::mt19937_64 random(7);
  int refused = 0;
  const auto survive = [&](const std::string& bytes) {
    try {
      read_cubin(bytes);
    } catch (const Error&) {
      ++refused;
    }
  };
  for (std::size_t size = 0; size < whole.size(); ++size) survive(whole.substr(0, size));
  EXPECT_GE(refused, static_cast<int>(whole.size()) - 64);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int value : {0, 1, 0x7f, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(value);
      survive(damaged);
    }
  }
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    for (int k = 0; k < 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    survive(damaged);
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace regtune
