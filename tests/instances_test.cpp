// The instances of a kernel template, with the real compilers: each under its own name, each budget of each.
#include "instances.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kept_codes.hpp"
#include "kernel_choice.hpp"
#include "nvrtc_compile.hpp"
#include "policy.hpp"
#include "template_arguments.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

// A neighbour of the same name, in another namespace.
const std::string kScale = R"(namespace scale {
template <int UNROLL, typename T>
__global__ void __launch_bounds__(128) apply(T* p, int n) {
  static_assert(UNROLL <= 8, "no more than 8");
#pragma unroll
  for (int i = 0; i < UNROLL; ++i) {
    const int at = (blockIdx.x * blockDim.x + threadIdx.x) * UNROLL + i;
    if (at < n) p[at] *= T(UNROLL);
  }
}
}
__global__ void apply(float* p) { *p = 1; }
)";

// Without the other name, which all have or none.
SourceChoice own(SourceChoice choice) {
  choice.renamed = false;
  return choice;
}

struct Swept {
  std::string authors;                       // mangled
  std::map<std::string, BuildCode> code_of;  // by choice, "" the author's, of the build that was asked for
  std::size_t kept = 0;
};

class InstancesTest : public NvrtcTest {
 protected:
  // Sweeps `policy` for all values, the author's own among them.
  static Swept sweep(const std::string& kernel, const std::vector<std::string>& values, const RegisterPolicy& policy,
                     Store* store = nullptr, bool renamed = false, const std::string& text = kScale) {
    CompilePool pool(2, 120);
    LaunchDescription description;
    description.kernel = kernel;
    description.tune = {{"U", values, {}}};
    description = with_authors_instance(description, text);
    const CompileUnit unit = compile_unit({"k.cu", text}, description, "sm_90", pool.identity());
    KeptCodes kept(store, unit, pool.identity());
    Sweep sweep(pool, unit, kept);
    const CompiledCode& first = sweep.first();
    const KernelSignature signature =
        choose_kernel(read_cubin(first.cubin), text, "k.cu", description.kernel, first.lowered_names.front());
    const SourceChoices choices = source_choices(description, unit, {{128, 1, 1}});
    Progress progress(true);
    sweep.begin(signature.mangled_name, unqualified_name(signature), gpu_limits(9, 0).value(), {});
    name_instances(sweep, unit, choices, signature, progress);
    std::vector<Build> builds{{AuthorsOwn{}}};
    for (SourceChoice choice : choices.blocks.front().choices) {
      choice.renamed = renamed;
      builds.push_back({policy, choice});
    }
    sweep.add(builds);
    Swept swept{signature.mangled_name, {}, 0};
    while (const std::optional<BuildCode> code = sweep.next()) {
      swept.kept += code->kept ? 1 : 0;
      if (code->build.policy == policy) swept.code_of[spell(own(code->build.choice))] = *code;
    }
    for (const auto& [instance, code] : swept.code_of) {
      if (!code.facts) continue;
      const auto difference = sweep.difference_from_plain(code);
      EXPECT_FALSE(difference) << code.kernel << ": " << *difference;
    }
    return swept;
  }
};

TEST_F(InstancesTest, EachHasItsOwnNameAndItsOwnCodeUnderEveryKindOfBudget) {
  for (const RegisterPolicy& policy :
       {RegisterPolicy(RegisterCap{32}), RegisterPolicy(LaunchBounds{128, 8}), RegisterPolicy(MaxRegisters{40})}) {
    const Swept swept = sweep("scale::apply<U, float>", {"1", "2", "4"}, policy);
    EXPECT_EQ(swept.authors, "_ZN5scale5applyILi1EfEEvPT0_i");
    ASSERT_EQ(swept.code_of.size(), 3u);
    EXPECT_EQ(swept.code_of.at("").kernel, swept.authors);
    EXPECT_EQ(swept.code_of.at("scale::apply<4, float>").kernel, "_ZN5scale5applyILi4EfEEvPT0_i");
    std::set<std::string> hashes;
    for (const auto& [instance, code] : swept.code_of) {
      ASSERT_TRUE(code.facts) << instance << ": " << code.failure;
      hashes.insert(code.facts->code_hash);
    }
    EXPECT_EQ(hashes.size(), 3u);
  }
}

TEST_F(InstancesTest, TheRenamedHalfRenamesTheTemplateOnly) {
  const Swept swept = sweep("scale::apply<U, float>", {"1", "2"}, RegisterCap{32}, nullptr, true);
  const BuildCode& code = swept.code_of.at("scale::apply<2, float>");
  ASSERT_TRUE(code.facts) << code.failure;
  EXPECT_EQ(code.kernel, "_ZN5scale13cutlass_applyILi2EfEEvPT0_i");
}

TEST_F(InstancesTest, OneThatDoesNotCompileCostsItsOwnTrials) {
  const Swept swept = sweep("scale::apply<U, float>", {"1", "16", "2"}, RegisterCap{32});
  EXPECT_FALSE(swept.code_of.at("scale::apply<16, float>").facts);
  EXPECT_NE(swept.code_of.at("scale::apply<16, float>").failure.find("no more than 8"), std::string::npos);
  EXPECT_TRUE(swept.code_of.at("scale::apply<2, float>").facts);
}

TEST_F(InstancesTest, OneThatTakesOtherArgumentsIsRefusedByName) {
  try {
    sweep("scale::apply<2, U>", {"float", "double"}, RegisterCap{32});
    ADD_FAILURE() << "a double is not a float";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_description);
    EXPECT_NE(std::string(error.what()).find("scale::apply<2, double>"), std::string::npos) << error.what();
  }
}

// The compiler expands a macro in the kernel's name, so its values make instances too, named by the compiler alone.
TEST_F(InstancesTest, AMacroInTheKernelsNameIsExpandedWithEachValue) {
  const std::string text = "#define U 2\n" + kScale;
  const Swept swept = sweep("scale::apply<U, float>", {"2", "4"}, RegisterCap{32}, nullptr, false, text);
  EXPECT_EQ(swept.authors, "_ZN5scale5applyILi2EfEEvPT0_i");
  ASSERT_TRUE(swept.code_of.at("U=4").facts) << swept.code_of.at("U=4").failure;
  EXPECT_EQ(swept.code_of.at("U=4").kernel, "_ZN5scale5applyILi4EfEEvPT0_i");
}

TEST_F(InstancesTest, ASecondRunCompilesNone) {
  const TemporaryFolder folder;
  Store store = Store::open(folder.path() / "cache.db");
  EXPECT_EQ(sweep("scale::apply<U, float>", {"1", "2"}, CompilerDefault{}, &store).kept, 0u);
  const Swept warm = sweep("scale::apply<U, float>", {"1", "2"}, CompilerDefault{}, &store);
  EXPECT_EQ(warm.kept, 3u);
  EXPECT_EQ(warm.code_of.at("scale::apply<2, float>").kernel, "_ZN5scale5applyILi2EfEEvPT0_i");
}

}  // namespace
}  // namespace regtune
