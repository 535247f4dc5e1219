// A launch as a running program made it, written down and read again: the same launch has to come out of it.
#include "captured_case.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "case_folder.hpp"
#include "case_source.hpp"
#include "description.hpp"
#include "exact_number.hpp"
#include "npy.hpp"
#include "regtune/error.hpp"
#include "temporary_folder.hpp"
#include "workload.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

template <class T>
std::string bytes_of_value(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <class T>
std::string bytes_of_all(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::vector<float> numbers(std::size_t count, float first = 0) {
  std::vector<float> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

// A launch that nobody made: memory, put together allocation by allocation, and parameters.
class MadeUpLaunch {
 public:
  explicit MadeUpLaunch(const std::string& mangled) {
    launch.kernel = mangled;
    launch.program = "./app";
    launch.shape = {{4, 1, 1}, {256, 1, 1}, 0};
    launch.memory.descriptor = memfd_create("made up", MFD_CLOEXEC);
  }
  MadeUpLaunch(const MadeUpLaunch&) = delete;
  MadeUpLaunch& operator=(const MadeUpLaunch&) = delete;
  ~MadeUpLaunch() { close(launch.memory.descriptor); }

  void add_memory(std::uint64_t address, const std::string& bytes) {
    const auto size = static_cast<std::int64_t>(bytes.size());
    launch.memory.ranges.push_back({address, size, written_});
    EXPECT_EQ(pwrite(launch.memory.descriptor, bytes.data(), bytes.size(), written_), size);
    written_ += size;
  }
  template <class T>
  void add_parameter(const T& value) {
    std::string& block = launch.memory.parameter_block;
    block.resize((block.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    launch.memory.parameters.push_back({static_cast<std::int64_t>(block.size()), sizeof(T)});
    block += bytes_of_value(value);
  }
  KernelSignature signature(const std::string& text = "") const { return captured_signature(launch, text); }
  CapturedCase made(const std::string& text = "", const std::map<std::string, std::string>& variables = {}) const {
    return captured_case(launch, signature(text), variables);
  }

  CapturedLaunch launch;

 private:
  std::int64_t written_ = 0;
};

constexpr std::int64_t kMostBytes = 16 << 20;
constexpr std::uint64_t kIn = 0x7f0000000000;
constexpr std::uint64_t kOut = 0x7f0000100000;
constexpr const char* kScale = "_Z5scalePKfPfif";  // scale(const float*, float*, int, float)
constexpr const char* kScaleText =
    "__global__ void scale(const float* in, float* out, int n, float a) { out[n] = in[n] * a; }\n";

// Writes it, and reads what was written.
LaunchDescription written_and_read(const MadeUpLaunch& made, const fs::path& folder, CapturedCase captured) {
  write_case_data(captured, made.launch.memory, folder);
  write_case_file(folder / "k.regtune.toml", case_text(captured, "made up"));
  return read_description(folder / "k.cu", "");
}

template <class Action>
std::string refusal(const Action& action, ErrorKind kind) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "was taken";
  return "";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t files_in(const fs::path& folder, const std::string& extension) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) count += entry.path().extension() == extension ? 1 : 0;
  return count;
}

TEST(CapturedCase, ComesBackAsTheLaunchThatItWas) {
  const TemporaryFolder folder;
  MadeUpLaunch made(kScale);
  made.add_memory(kIn, bytes_of_all(numbers(1000)));
  made.add_memory(kOut, bytes_of_all(numbers(1000, 7)));
  made.add_parameter(kIn);
  made.add_parameter(kOut);
  made.add_parameter(1000);
  made.add_parameter(0.1F);
  made.launch.shape = {{4, 3, 1}, {32, 8, 1}, 512};
  const WorkloadPlan plan =
      plan_workload(written_and_read(made, folder.path(), made.made(kScaleText)), made.signature(kScaleText));
  ASSERT_EQ(plan.shapes.size(), 1U);
  EXPECT_EQ(plan.shapes.front(), made.launch.shape);
  EXPECT_EQ(plan.sizes, (Sizes{{"n", 1000}}));
  ASSERT_EQ(plan.parameters.size(), 4U);
  const auto& in = std::get<BufferPlan>(plan.parameters[0]);
  EXPECT_EQ(in.count, 1000);
  EXPECT_EQ(in.type, ElementType::f32);
  EXPECT_FALSE(in.output);
  EXPECT_EQ(read_buffer_file(in.init.path, kMostBytes), bytes_of_all(numbers(1000)));
  const auto& out = std::get<BufferPlan>(plan.parameters[1]);
  EXPECT_TRUE(out.output);
  EXPECT_EQ(read_buffer_file(out.init.path, kMostBytes), bytes_of_all(numbers(1000, 7)));
  EXPECT_EQ(std::get<ScalarPlan>(plan.parameters[2]).bytes, bytes_of_value(1000));
  EXPECT_EQ(std::get<ScalarPlan>(plan.parameters[3]).bytes, bytes_of_value(0.1F));
}

TEST(CapturedCase, KeepsTheWayOfTheLaunchAndItsTolerance) {
  const TemporaryFolder folder;
  MadeUpLaunch made("_Z4stepPf");
  made.add_memory(kOut, bytes_of_all(numbers(8)));
  made.add_parameter(kOut);
  made.launch.is_cooperative = true;
  made.launch.cluster = Dim3{2, 1, 1};
  made.launch.memory.relative_tolerance = 1e-5;
  const LaunchDescription read = written_and_read(made, folder.path(), made.made());
  EXPECT_TRUE(read.cooperative);
  ASSERT_EQ(read.cluster.size(), 3U);
  EXPECT_EQ(read.cluster.front().text, "2");
  // A name that no text shows is the position's.
  ASSERT_EQ(read.arguments.size(), 1U);
  EXPECT_EQ(read.arguments.front().parameter, "0");
  EXPECT_DOUBLE_EQ(read.arguments.front().relative_tolerance, 1e-5);
}

TEST(CapturedCase, BuffersBeginWhereTheyPointAndEndWhereTheNextBegins) {
  const TemporaryFolder folder;
  MadeUpLaunch made(kScale);
  made.add_memory(kIn, bytes_of_all(numbers(100)));
  made.add_parameter(kIn + 10 * sizeof(float));
  made.add_parameter(kIn + 60 * sizeof(float));
  made.add_parameter(40);
  made.add_parameter(1.0F);
  const CapturedCase captured = made.made(kScaleText);
  ASSERT_EQ(captured.buffers.size(), 2U);
  EXPECT_EQ(captured.buffers[0].ends_at, "out");
  EXPECT_TRUE(holds(case_text(captured, "x"), "ends where out begins"));
  const WorkloadPlan plan = plan_workload(written_and_read(made, folder.path(), captured), made.signature(kScaleText));
  const std::vector<float> all = numbers(100);
  EXPECT_EQ(read_buffer_file(std::get<BufferPlan>(plan.parameters[0]).init.path, kMostBytes),
            bytes_of_all(std::vector<float>(all.begin() + 10, all.begin() + 60)));
  EXPECT_EQ(read_buffer_file(std::get<BufferPlan>(plan.parameters[1]).init.path, kMostBytes),
            bytes_of_all(std::vector<float>(all.begin() + 60, all.end())));
}

TEST(CapturedCase, TwoPointersToOnePlaceCannotBeDescribedUnlessBothRead) {
  MadeUpLaunch in_place(kScale);
  in_place.add_memory(kIn, bytes_of_all(numbers(100)));
  in_place.add_parameter(kIn);
  in_place.add_parameter(kIn);
  in_place.add_parameter(100);
  in_place.add_parameter(1.0F);
  const std::string said = refusal([&] { in_place.made(kScaleText); }, ErrorKind::bad_launch);
  EXPECT_TRUE(holds(said, "in and out") && holds(said, "overlap") && holds(said, "regtune run")) << said;

  const TemporaryFolder folder;
  MadeUpLaunch both_read("_Z3dotPKfS0_Pf");
  both_read.add_memory(kIn, bytes_of_all(numbers(100)));
  both_read.add_memory(kOut, bytes_of_all(numbers(1)));
  both_read.add_parameter(kIn);
  both_read.add_parameter(kIn);
  both_read.add_parameter(kOut);
  const LaunchDescription read = written_and_read(both_read, folder.path(), both_read.made());
  ASSERT_EQ(read.arguments.size(), 3U);
  EXPECT_EQ(read.arguments[0].init, read.arguments[1].init);
  EXPECT_EQ(files_in(folder.path(), ".npy"), 2U);
}

TEST(CapturedCase, LargeBuffersAreCompressedWhereThatMakesThemSmaller) {
  const TemporaryFolder folder;
  MadeUpLaunch made(kScale);
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> noise(10000);
  for (std::uint64_t& word : noise) word = random();
  made.add_memory(kIn, bytes_of_all(numbers(20000)));
  made.add_memory(kOut, bytes_of_all(noise));
  made.add_parameter(kIn);
  made.add_parameter(kOut);
  made.add_parameter(1000);
  made.add_parameter(1.0F);
  CapturedCase captured = made.made(kScaleText);
  const CaseFiles files = write_case_data(captured, made.launch.memory, folder.path());
  EXPECT_EQ(files.count, 2);
  EXPECT_EQ(files.bytes, 160000);
  EXPECT_LT(files.stored_bytes, 140000);
  EXPECT_EQ(captured.description.arguments[0].init, "file:in.npy.zst");
  EXPECT_EQ(captured.description.arguments[1].init, "file:out.npy") << "it gets no smaller";
  EXPECT_FALSE(fs::exists(folder.path() / "out.npy.zst"));
  write_case_file(folder.path() / "k.regtune.toml", case_text(captured, "made up"));
  const WorkloadPlan plan = plan_workload(read_description(folder.path() / "k.cu", ""), made.signature(kScaleText));
  EXPECT_EQ(read_buffer_file(std::get<BufferPlan>(plan.parameters[0]).init.path, kMostBytes),
            bytes_of_all(numbers(20000)));
  EXPECT_EQ(read_buffer_file(std::get<BufferPlan>(plan.parameters[1]).init.path, kMostBytes), bytes_of_all(noise));
}

TEST(CapturedCase, BuffersThatHoldTheSameShareAFile) {
  const TemporaryFolder folder;
  MadeUpLaunch made(kScale);
  made.add_memory(kIn, bytes_of_all(numbers(1000)));
  made.add_memory(kOut, bytes_of_all(numbers(1000)));
  made.add_parameter(kIn);
  made.add_parameter(kOut);
  made.add_parameter(1000);
  made.add_parameter(1.0F);
  CapturedCase captured = made.made(kScaleText);
  const CaseFiles files = write_case_data(captured, made.launch.memory, folder.path());
  EXPECT_EQ(files.count, 1);
  EXPECT_EQ(files.bytes, 4000);
  EXPECT_EQ(captured.description.arguments[0].init, "file:in.npy");
  EXPECT_EQ(captured.description.arguments[1].init, "file:in.npy");
}

TEST(CapturedCase, MemoryThatHoldsAddressesIsRefusedBeforeAnythingIsWritten) {
  const TemporaryFolder folder;
  MadeUpLaunch made("_Z4walkP4NodePf");
  std::vector<std::uint64_t> nodes(16, 3);
  nodes[5] = kOut + 8;
  made.add_memory(kIn, bytes_of_all(nodes));
  made.add_memory(kOut, bytes_of_all(numbers(16)));
  made.add_parameter(kIn);
  made.add_parameter(kOut);
  CapturedCase captured = made.made("__global__ void walk(Node* nodes, float* sums) {}\n");
  const std::string said =
      refusal([&] { write_case_data(captured, made.launch.memory, folder.path() / "case"); }, ErrorKind::bad_launch);
  EXPECT_TRUE(holds(said, "nodes points to memory that holds addresses") && holds(said, "byte 40")) << said;
  EXPECT_FALSE(fs::exists(folder.path() / "case"));
}

// Two floats can look like an address; a kernel that takes them as floats follows none.
TEST(CapturedCase, NumbersThatLookLikeAddressesAreNumbers) {
  const TemporaryFolder folder;
  MadeUpLaunch made(kScale);
  made.add_memory(kIn, bytes_of_value(kOut));
  made.add_memory(kOut, bytes_of_all(numbers(2)));
  made.add_parameter(kIn);
  made.add_parameter(kOut);
  made.add_parameter(2);
  made.add_parameter(1.0F);
  CapturedCase captured = made.made(kScaleText);
  EXPECT_EQ(write_case_data(captured, made.launch.memory, folder.path()).count, 2);
}

TEST(CapturedCase, PointersToNothingOfTheProgramsAreRefusedByName) {
  MadeUpLaunch made(kScale);
  made.add_memory(kOut, bytes_of_all(numbers(4)));
  made.add_parameter(std::uint64_t{0x55550000});
  made.add_parameter(kOut);
  made.add_parameter(4);
  made.add_parameter(1.0F);
  const std::string said = refusal([&] { made.made(kScaleText); }, ErrorKind::bad_launch);
  EXPECT_TRUE(holds(said, "parameter in ") && holds(said, "memory of the host")) << said;
}

TEST(CapturedCase, NullPointersAndHiddenTypesComeBack) {
  const TemporaryFolder folder;
  MadeUpLaunch made("scale");  // extern "C", and no text
  made.add_memory(kOut, bytes_of_all(numbers(4)));
  made.add_parameter(std::uint64_t{0});
  made.add_parameter(kOut);
  made.add_parameter(1.5F);
  const WorkloadPlan plan = plan_workload(written_and_read(made, folder.path(), made.made()), made.signature());
  EXPECT_EQ(std::get<StructPlan>(plan.parameters[0]).bytes, std::string(8, '\0'));
  EXPECT_EQ(std::get<BufferPlan>(plan.parameters[1]).type, ElementType::u8);
  EXPECT_EQ(std::get<BufferPlan>(plan.parameters[1]).count, 16);
  EXPECT_EQ(std::get<StructPlan>(plan.parameters[2]).bytes, bytes_of_value(1.5F));
}

TEST(CapturedCase, StructuresAndVariablesKeepTheirBytesAndTheirPointers) {
  struct Parameters {
    std::uint64_t data;
    float scale;
    int none;
    double tail;
  };
  const TemporaryFolder folder;
  MadeUpLaunch made("_Z4step10ParametersPf");
  made.add_memory(kIn, bytes_of_all(numbers(4)));
  made.add_memory(kOut, bytes_of_all(numbers(4, 1)));
  made.add_parameter(Parameters{kIn, 0.3F, 0, 2.5});
  made.add_parameter(kOut);
  const std::vector<float> table = numbers(100);
  const WorkloadPlan plan =
      plan_workload(written_and_read(made, folder.path(),
                                     made.made("", {{"coeff", bytes_of_value(0.25F)}, {"table", bytes_of_all(table)}})),
                    made.signature());
  const auto& structure = std::get<StructPlan>(plan.parameters[0]);
  EXPECT_EQ(structure.bytes, bytes_of_value(Parameters{0, 0.3F, 0, 2.5}));
  ASSERT_EQ(structure.pointers.size(), 1U);
  EXPECT_EQ(structure.pointers[0].offset_bytes, 0);
  EXPECT_EQ(read_buffer_file(structure.pointers[0].buffer.init.path, kMostBytes), bytes_of_all(numbers(4)));
  ASSERT_EQ(plan.globals.size(), 2U);
  EXPECT_EQ(plan.globals[0].bytes, bytes_of_value(0.25F));
  EXPECT_EQ(plan.globals[1].bytes, bytes_of_all(table));
}

TEST(CapturedCase, AFolderInUseIsRefused) {
  const TemporaryFolder folder;
  require_new_folder(folder.path() / "new");
  require_new_folder(folder.path());
  folder.write("k.cu", "");
  EXPECT_TRUE(holds(refusal([&] { require_new_folder(folder.path()); }, ErrorKind::usage), "no empty folder"));
}

TEST(ExactNumber, GivesTheSameBytesOrNothing) {
  const auto text_of = [](ElementType type, const auto& value) { return exact_number(type, bytes_of_value(value)); };
  EXPECT_EQ(text_of(ElementType::f32, 0.1F), "0.1");
  EXPECT_EQ(text_of(ElementType::f32, -0.0F), "-0.0");
  EXPECT_EQ(text_of(ElementType::f64, 1e300), "1e+300");
  EXPECT_EQ(text_of(ElementType::f16, std::uint16_t{0x3E00}), "1.5");
  EXPECT_EQ(text_of(ElementType::bf16, std::uint16_t{0x3FC0}), "1.5");
  EXPECT_EQ(text_of(ElementType::i32, -5), "-5");
  EXPECT_EQ(text_of(ElementType::u8, std::uint8_t{255}), "255");
  EXPECT_EQ(text_of(ElementType::u64, std::numeric_limits<std::uint64_t>::max()), std::nullopt);
  EXPECT_EQ(text_of(ElementType::boolean, std::uint8_t{2}), std::nullopt);
}

TEST(CaseSource, IsCopiedWithWhatItIncludes) {
  const TemporaryFolder folder;
  const fs::path source = folder.write("src/k.cu", "#include \"detail/a.h\"\n#include <b.h>\nint n;\n");
  folder.write("src/detail/a.h", "// a\n");
  folder.write("inc/b.h", "#include \"c.h\"\n");
  folder.write("inc/c.h", "// c\n");
  const fs::path into = folder.path() / "case";
  const CaseSource copied = copy_source(source, {(folder.path() / "inc").string()}, {"-DX=1"}, into);
  EXPECT_EQ(copied.file, "k.cu");
  EXPECT_EQ(copied.options, std::vector<std::string>{"-DX=1"});
  EXPECT_EQ(copied.include_folders, std::vector<fs::path>{"include1"});
  EXPECT_TRUE(copied.notes.empty());
  EXPECT_TRUE(holds(whole_text(source, {(folder.path() / "inc").string()}, {}), "// c"));
  for (const char* file : {"k.cu", "detail/a.h", "include1/b.h", "include1/c.h"})
    EXPECT_TRUE(fs::exists(into / file)) << file;
}

TEST(CaseSource, AFolderOfIncludesBesideTheSourceStaysOne) {
  const TemporaryFolder folder;
  const fs::path source = folder.write("k.cu", "#include <a.h>\n");
  folder.write("include/a.h", "// a\n");
  const fs::path into = folder.path() / "case";
  const CaseSource copied = copy_source(source, {(folder.path() / "include").string()}, {}, into);
  EXPECT_EQ(copied.include_folders, std::vector<fs::path>{"include1"});
  EXPECT_TRUE(fs::exists(into / "include1/a.h"));
}

TEST(CaseSource, VariablesOfTheModuleAreFoundInTheText) {
  const std::vector<std::string> names = variables_in(
      "__constant__ float coeff[3];\nstatic __device__ int steps = 4;\n__device__ float f(int x) { return x; }\n"
      "// __constant__ int no;\nint host;\n");
  EXPECT_EQ(names, (std::vector<std::string>{"coeff", "_ZL5coeff", "steps", "_ZL5steps"}));
}

}  // namespace
}  // namespace regtune
