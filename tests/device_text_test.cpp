#include "device_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "cubin.hpp"
#include "regtune/error.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

TEST(DeviceText, ReadsErrorsAndNoWarnings) {
  const std::vector<Complaint> complaints = complaints_in(
      "a b.cu(12): error: identifier \"x\" is undefined\n  int y = x;\n"
      "h.h(3): warning #177-D: variable\n/n/c.h(4): catastrophic error: cannot open source file \"d.h\"\nerror\n");
  ASSERT_EQ(complaints.size(), 2u);
  EXPECT_EQ(complaints[0].file, "a b.cu");
  EXPECT_EQ(complaints[0].line, 12);
  EXPECT_EQ(complaints[1].file, "/n/c.h");
  EXPECT_EQ(complaints[1].line, 4);
}

class DeviceTextOfFile : public testing::Test {
 protected:
  CompileUnit unit_of(const std::string& text) {
    const std::filesystem::path file = folder_.path() / "k.cu";
    std::ofstream(file) << text;
    const LaunchDescription description;
    return unit_for_device(compile_unit({file, text}, description, "sm_90", pool_.identity()), description, pool_);
  }
  std::vector<std::string> kernels_of(const CompileUnit& unit) {
    CompileJob job;
    job.request = compile_request(unit, {AuthorsOwn{}}, NvrtcOutput::cubin, "");
    const CompiledCode code = pool_.prepare(std::move(job));
    EXPECT_TRUE(code.compiled) << code.failure;
    std::vector<std::string> names;
    if (code.compiled)
      for (const CubinKernel& kernel : read_cubin(code.cubin).kernels) names.push_back(kernel.name);
    return names;
  }

  TemporaryFolder folder_;
  CompilePool pool_{1, 120};
};

TEST_F(DeviceTextOfFile, TextThatCompilesStaysAsItIs) {
  // Its macro has the name of one that hosts define, which alone makes it worth a try.
  const CompileUnit unit = unit_of(
      "#define M_PI 3.14\n__device__ double twice(double x) { return 2 * x; }\n"
      "__global__ void k(double* a) { a[0] = twice(M_PI); }\n");
  EXPECT_TRUE(unit.device_text.empty());
  EXPECT_TRUE(unit.source_notes.empty());
}

TEST_F(DeviceTextOfFile, AWholeProgramOfAStrangerCompiles) {
  const CompileUnit unit = unit_of(R"(#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>
#include <no_such_library.h>
#include <cuda_runtime.h>
using namespace std;
#define CHECK(x) do { if ((x) != cudaSuccess) exit(1); } while (0)
typedef std::vector<float> Data;
static Data table(10);
constexpr float kHalf = 0.5f;
struct Shape { float x; Shape(float a) : x(a) {} void print() const { std::cout << x; } };
float helper(float x) { return std::sqrt(x) * kHalf + std::max(x, 1.0f); }
__device__ uint mix(uint a) { return a * 3u; }
__launch_bounds__(128, 5) __global__ void k(float* a, uint n) {
  if (mix(n) < 5) a[threadIdx.x] = helper(a[0]) + Shape(2).x + numeric_limits<float>::max() + FLT_MAX + M_PI;
}
template <typename T> __global__ void fill(T* a) { a[threadIdx.x] = T(1); }
template <typename T> void run(Data& d) { T* p; cudaMalloc(&p, d.size()); fill<T><<<1, 32>>>(p); }
int main() { run<double>(table); k<<<1, 1>>>(nullptr, 1); printf("%zu\n", table.size()); }
)");
  EXPECT_FALSE(unit.device_text.empty());
  const std::vector<std::string> kernels = kernels_of(unit);
  EXPECT_EQ(kernels.size(), 2u);
  EXPECT_NE(std::find(kernels.begin(), kernels.end(), "_Z4fillIdEvPT_"), kernels.end());
  EXPECT_FALSE(unit.source_notes.empty());
}

bool say(const std::vector<std::string>& notes, const std::string& part) {
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

TEST_F(DeviceTextOfFile, NamesThatOtherHeadersOfTheHostBringAlongAreSupplied) {
  const CompileUnit unit = unit_of(R"(#include <cstdio>
struct Most {
  template <typename T, typename U>
  __device__ typename std::common_type<T, U>::type operator()(T t, U u) const { return t > u ? t : u; }
};
__device__ void check(cudaError_t error) { if (error != cudaSuccess) printf("%s\n", cudaGetErrorString(error)); }
__global__ void k(uint32_t* a) { a[0] = Most()(a[1], a[2]); }
int main() { k<<<1, 1>>>(nullptr); check(cudaSuccess); }
)");
  EXPECT_EQ(kernels_of(unit).size(), 1u);
  EXPECT_FALSE(say(unit.source_notes, "does not compile")) << "nothing had to go";
}

TEST_F(DeviceTextOfFile, ExtensionsOfTheHostsCompilerAreTaken) {
  const CompileUnit unit = unit_of(R"(#include <iostream>
#define most(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })
struct Pair { int x; int y; };
__device__ int last(const Pair* pairs) { return pairs[1].y; }
__global__ void k(int* a) {
  Pair pairs[2] = {{.x = a[0], .y = a[1]}, {.x = a[2], .y = most(a[3], a[4])}};
  a[5] = last(pairs);
}
int main() { k<<<1, 1>>>(nullptr); }
)");
  EXPECT_EQ(kernels_of(unit).size(), 1u);
  EXPECT_TRUE(say(unit.source_notes, "statement expressions"));
  EXPECT_TRUE(say(unit.source_notes, "designated initialisers"));
}

TEST_F(DeviceTextOfFile, AGuessThatDoesNotFitCostsNoFunctionThatOthersNeed) {
  const CompileUnit unit = unit_of(R"(#include <vector>
template <typename T> __device__ T next(T x) { static_assert(T(1) / T(2) == 0, "for integers"); return x % 7; }
template <typename T> __global__ void g(T* a) { a[0] = next(a[0]); }
__global__ void k(unsigned* a) { a[0] = next(a[0]); }
int main() { k<<<1, 1>>>(nullptr); }
)");
  EXPECT_EQ(kernels_of(unit).size(), 2u) << "k, and g<int> after g<float>";
  EXPECT_TRUE(say(unit.source_notes, "g<int>: its template arguments are a guess"));
}

TEST_F(DeviceTextOfFile, ClassesThatHoldTheHostsContainersCompile) {
  const CompileUnit unit = unit_of(R"(#include <map>
#include <string>
#include <vector>
template <class T> struct Buffer {
  T* data;
  std::size_t size;
  void resize(std::size_t n) {
    if (cudaMallocManaged(&data, n) != cudaSuccess) exit(1);
    fprintf(stderr, "%zu\n", n);
  }
};
struct Model {
  struct Parameters { float cutoff; int types; };
  std::vector<int> neighbours;
  std::map<std::string, int> names;
  Buffer<float> forces;
  Model(const std::string& file);
};
inline void tell(cudaError_t e) { if (e != cudaSuccess) printf("%s\n", cudaGetErrorString(e)); }
__global__ void k(Model::Parameters p, float* a) { tell(cudaSuccess); a[0] = p.cutoff * p.types; }
int main() {}
)");
  EXPECT_EQ(kernels_of(unit).size(), 1u);
}

TEST_F(DeviceTextOfFile, AMistakeInAKernelIsToldAtTheAuthorsLine) {
  try {
    unit_of("#include <vector>\nint main() {}\n\n__global__ void k(int* a) { a[0] = nothing; }\n");
    FAIL() << "nothing was refused";
  } catch (const Error& refused) {
    EXPECT_EQ(refused.kind(), ErrorKind::source_not_compiled);
    EXPECT_NE(std::string(refused.what()).find("k.cu(4): "), std::string::npos) << refused.what();
  }
}

}  // namespace
}  // namespace regtune
