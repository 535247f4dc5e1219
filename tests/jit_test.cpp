// The JIT helper over a driver that is not there (fake_driver.c) and the real NVRTC.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include "compile.hpp"
#include "compile_request.hpp"
#include "compiled_code.hpp"
#include "cubin.hpp"
#include "dynamic_library.hpp"
#include "policy.hpp"
#include "regtune_jit.h"
#include "stored_code.hpp"
#include "temporary_folder.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kText = R"(#include <cuda_fp16.h>
__global__ void sgemm(float* x) { x[threadIdx.x] += FACTOR; }
)";
constexpr const char* kOption = "-DFACTOR=2";

// The thread's context, as far as the fake driver is concerned; 0: none.
void set_context(std::uintptr_t context) {
  static const DynamicLibrary driver = [] {
    std::vector<std::string> failures;
    return DynamicLibrary::open({REGTUNE_FAKE_DRIVER}, failures).value();
  }();
  driver.find<void(std::uintptr_t)>("fake_set_context")(context);
}

class Jit : public testing::Test {
 protected:
  void SetUp() override {
    fs::permissions(folder_.path(), fs::perms(0755));
    setenv("REGTUNE_CUDA", REGTUNE_FAKE_DRIVER, 1);
    setenv("FAKE_CUDA_LOG", log().c_str(), 1);
    set_context(1);
    if (const char* given = std::getenv("REGTUNE_NVRTC")) nvrtc_ = given;
  }
  void TearDown() override {
    regtune_jit_close(jit_);
    nvrtc_ ? setenv("REGTUNE_NVRTC", nvrtc_->c_str(), 1) : unsetenv("REGTUNE_NVRTC");
    for (const char* name : {"REGTUNE_CUDA", "FAKE_CUDA_LOG", "FAKE_CUDA_REFUSE"}) unsetenv(name);
    set_context(0);
  }

  fs::path cache() const { return folder_.path() / "cache.db"; }
  fs::path log() const { return folder_.path() / "log.txt"; }
  static std::string tag() { return tag_of({kText, "k.cu", {{kOption}, 0}, "sgemm"}); }
  static void hide_nvrtc() { setenv("REGTUNE_NVRTC", "/nothing/libnvrtc.so", 1); }

  void store(bool with_code, TunedAs as = {}) const {
    if (as.source == TunedAs{}.source) as.source = tag();
    Store store = Store::open(cache());
    store_tuned(store, as);
    if (!with_code) return;
    const TuningRecord record = tuned_record(as);
    CompileResult result;
    result.facts = record.trials[1].facts;
    result.cubin = "STORED, not machine code";
    store.keep_result({as.source, {}, as.compiler, record.architecture, as.kernel, "test"}, as.best, {}, result);
  }

  regtune_jit_status load(regtune_jit_kernel& kernel, const char* text = kText, const char* name = "sgemm",
                          std::int64_t n = 1024) {
    if (!jit_) {
      const std::string file = cache().string();
      regtune_options options = REGTUNE_OPTIONS;
      options.file = file.c_str();
      options.system_files = "";
      EXPECT_EQ(regtune_jit_open(&options, &jit_), REGTUNE_JIT_OK);
    }
    regtune_jit_source source = REGTUNE_JIT_SOURCE;
    source.text = text;
    source.path = "k.cu";
    source.options = &kOption;
    source.option_count = 1;
    const regtune_size size = {"n", n};
    regtune_key key = REGTUNE_KEY;
    key.kernel = name;
    key.sizes = &size;
    key.size_count = 1;
    return regtune_jit_load(jit_, &source, &key, &kernel);
  }

  // What the driver was given, line by line.
  std::string loaded() const {
    std::ifstream in(log());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static bool message_holds(const std::string& part) {
    return std::string(regtune_jit_message()).find(part) != std::string::npos;
  }

  TemporaryFolder folder_;
  regtune_jit* jit_ = nullptr;
  std::optional<std::string> nvrtc_;
};

TEST_F(Jit, LoadsTheStoredCodeAndOpensNoCompiler) {
  hide_nvrtc();
  store(true);
  regtune_jit_kernel kernel = REGTUNE_JIT_KERNEL;
  ASSERT_EQ(load(kernel), REGTUNE_JIT_OK) << regtune_jit_message();
  EXPECT_EQ(kernel.origin, REGTUNE_JIT_STORED);
  EXPECT_NE(kernel.function, nullptr);
  EXPECT_EQ(kernel.looked_up, REGTUNE_OK);
  EXPECT_EQ(kernel.answer.match, REGTUNE_MATCH_EXACT);
  EXPECT_EQ(kernel.answer.stale, 0u);
  EXPECT_EQ(kernel.block[0], 256u);
  EXPECT_STREQ(kernel.entry, "_Z5sgemmPf");
  EXPECT_STREQ(regtune_jit_message(), "");
  EXPECT_EQ(loaded(), "STOR _Z5sgemmPf\n");
}

TEST_F(Jit, CompilesUnderTheStoredBudgetWhereThereIsNoCode) {
  store(false);
  regtune_jit_kernel kernel = REGTUNE_JIT_KERNEL;
  ASSERT_EQ(load(kernel), REGTUNE_JIT_OK) << regtune_jit_message();
  EXPECT_EQ(kernel.origin, REGTUNE_JIT_COMPILED);
  EXPECT_STREQ(kernel.entry, "_Z5sgemmPf");
  EXPECT_EQ(loaded(),
            "\x7f"
            "ELF _Z5sgemmPf\n");
}

TEST_F(Jit, DoesNotTakeAnEqualCodeWithOtherLaunchLimits) {
  TunedAs as;
  as.source = tag();
  store(false);
  CompileResult result;
  result.facts = tuned_record(as).trials[1].facts;
  result.facts->max_threads_per_block = 128;  // of the same instructions under __launch_bounds__(128)
  result.cubin = "STORED, not machine code";
  Store::open(cache()).keep_result({as.source, {}, as.compiler, "sm_90", as.kernel, "test"}, LaunchBounds{128, 0}, {},
                                   result);
  regtune_jit_kernel kernel = REGTUNE_JIT_KERNEL;
  ASSERT_EQ(load(kernel), REGTUNE_JIT_OK) << regtune_jit_message();
  EXPECT_EQ(kernel.origin, REGTUNE_JIT_COMPILED);
}

// The same code with the same limits, with includes before the prelude and an author's cap.
TEST(JitCompiler, CompilesWhatTheTunerCompiles) {
  const std::vector<RegisterPolicy> policies = {AuthorsOwn{}, CompilerDefault{}, RegisterCap{24}, LaunchBounds{256, 8},
                                                MaxRegisters{32}};
  const Source source{"k.cu", kText};
  LaunchDescription description;
  description.options = {kOption, "-maxrregcount=40"};
  CompilePool pool(1, 600);
  const CompileUnit unit = compile_unit(source, description, "sm_90", pool.identity());
  JitCompiler compiler;
  const JitSource same{kText, "k.cu", {{kOption}, 40}, "sgemm", "_Z5sgemmPf"};
  EXPECT_EQ(tag_of(same), source_hash(unit));
  for (const RegisterPolicy& policy : policies) {
    pool.submit({0, compile_request(unit, {policy}, NvrtcOutput::cubin, ""), {}, false});
    const CompiledCode tuned = pool.next().value();
    TunedBudget budget;
    budget.policy = policy;
    const JitCode code = compiler.compile(same, "sm_90", &budget);
    ASSERT_TRUE(tuned.compiled && !code.cubin.empty()) << tuned.failure << code.log;
    const CubinKernel ours = read_cubin(code.cubin).kernels.at(0);
    const CubinKernel theirs = read_cubin(tuned.cubin).kernels.at(0);
    EXPECT_EQ(ours.code_hash, theirs.code_hash) << spell(policy);
    EXPECT_EQ(ours.max_threads_per_block, theirs.max_threads_per_block) << spell(policy);
  }
}

TEST_F(Jit, CompilesAnotherSourceThanTheOneThatWasTunedAndSaysThatItIsStale) {
  TunedAs as;
  as.source = "of another text";
  store(true, as);
  regtune_jit_kernel kernel = REGTUNE_JIT_KERNEL;
  ASSERT_EQ(load(kernel), REGTUNE_JIT_OK) << regtune_jit_message();
  EXPECT_EQ(kernel.origin, REGTUNE_JIT_COMPILED);
  EXPECT_EQ(kernel.answer.stale, static_cast<unsigned>(REGTUNE_STALE_SOURCE));
}

TEST_F(Jit, CompilesAsTheAuthorWroteItWhereNothingIsStored) {
  regtune_jit_kernel kernel = REGTUNE_JIT_KERNEL;
  ASSERT_EQ(load(kernel), REGTUNE_JIT_OK) << regtune_jit_message();
  EXPECT_EQ(kernel.origin, REGTUNE_JIT_AUTHORS);
  EXPECT_EQ(kernel.looked_up, REGTUNE_NOT_FOUND);
  EXPECT_STREQ(kernel.entry, "_Z5sgemmPf");
  EXPECT_EQ(kernel.block[0], 0u);
}

TEST_F(Jit, LoadsInstancesOfTemplatesAndKernelsOfC) {
  regtune_jit_kernel kernel = REGTUNE_JIT_KERNEL;
  ASSERT_EQ(load(kernel, "namespace a { template <int N> __global__ void f(float* x) { x[N] = 0; } }", "a::f<4>"),
            REGTUNE_JIT_OK)
      << regtune_jit_message();
  EXPECT_STREQ(kernel.entry, "_ZN1a1fILi4EEEvPf");
  ASSERT_EQ(load(kernel, "extern \"C\" __global__ void g(float* x) { *x = 0; }", "g"), REGTUNE_JIT_OK)
      << regtune_jit_message();
  EXPECT_STREQ(kernel.entry, "g");
}

TEST_F(Jit, ThreadsShareOneFunctionAndContextsDoNot) {
  store(false);
  regtune_jit_kernel first = REGTUNE_JIT_KERNEL;
  ASSERT_EQ(load(first), REGTUNE_JIT_OK) << regtune_jit_message();
  fs::remove(log());
  std::set<CUfunc_st*> functions[2];
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int at = 0; at < 12; ++at)
    threads.emplace_back([&, at] {
      set_context(at % 2 == 0 ? 2 : 3);
      regtune_jit_kernel kernel = REGTUNE_JIT_KERNEL;
      EXPECT_EQ(load(kernel), REGTUNE_JIT_OK);
      const std::lock_guard lock(mutex);
      functions[at % 2].insert(kernel.function);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(functions[0].size(), 1u);
  EXPECT_EQ(functions[1].size(), 1u);
  EXPECT_NE(*functions[0].begin(), *functions[1].begin());
  const std::string lines = loaded();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
}

TEST_F(Jit, QuestionsWithOneCodeShareAFunction) {
  store(false);
  regtune_jit_kernel first = REGTUNE_JIT_KERNEL;
  regtune_jit_kernel second = REGTUNE_JIT_KERNEL;
  ASSERT_EQ(load(first), REGTUNE_JIT_OK) << regtune_jit_message();
  ASSERT_EQ(load(second, kText, "sgemm", 2048), REGTUNE_JIT_OK) << regtune_jit_message();
  EXPECT_EQ(second.answer.match, REGTUNE_MATCH_NEAREST_SIZES);
  EXPECT_EQ(first.function, second.function);
}

TEST_F(Jit, DoesNotLoadACodeFromAFileThatOthersMayWrite) {
  store(true);
  fs::permissions(cache(), fs::perms(0666));
  regtune_jit_kernel kernel = REGTUNE_JIT_KERNEL;
  ASSERT_EQ(load(kernel), REGTUNE_JIT_OK) << regtune_jit_message();
  EXPECT_EQ(kernel.origin, REGTUNE_JIT_COMPILED);
  EXPECT_TRUE(message_holds("others may write " + fs::canonical(cache()).string())) << regtune_jit_message();
}

TEST_F(Jit, DoesNotTrustAFolderThatOthersMayWriteNorAFileOfAnother) {
  store(true);
  EXPECT_EQ(why_not_trusted(cache()), "");
  fs::permissions(folder_.path(), fs::perms(0777));
  EXPECT_NE(why_not_trusted(cache()), "");
  fs::permissions(folder_.path(), fs::perms(01777));  // as /tmp: nobody may replace what is not theirs
  EXPECT_EQ(why_not_trusted(cache()), "");
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(cache().c_str(), 65534, 65534), 0);
  EXPECT_NE(why_not_trusted(cache()).find("belongs to another user"), std::string::npos);
}

TEST_F(Jit, DoesNotLoadACodeThatIsNotWhatWasWritten) {
  store(true);
  {
    Database database = Database::open(cache(), Database::Mode::read_write_create);
    database.execute("UPDATE code SET cubin = CAST('STORED, by somebody else' AS BLOB)");
  }
  regtune_jit_kernel kernel = REGTUNE_JIT_KERNEL;
  ASSERT_EQ(load(kernel), REGTUNE_JIT_OK) << regtune_jit_message();
  EXPECT_EQ(kernel.origin, REGTUNE_JIT_COMPILED);
  EXPECT_TRUE(message_holds("not what was written")) << regtune_jit_message();
}

TEST_F(Jit, FallsBackWhereTheDriverRefusesTheCode) {
  store(true);
  regtune_jit_kernel kernel = REGTUNE_JIT_KERNEL;
  setenv("FAKE_CUDA_REFUSE", "2", 1);
  ASSERT_EQ(load(kernel), REGTUNE_JIT_OK) << regtune_jit_message();
  EXPECT_EQ(kernel.origin, REGTUNE_JIT_AUTHORS);
  EXPECT_EQ(kernel.block[0], 0u);  // the author's own launch
  EXPECT_TRUE(message_holds("the stored budget is not used")) << regtune_jit_message();
}

TEST_F(Jit, AsksTheDriverAgainWhenItRefusedEverything) {
  regtune_jit_kernel kernel = REGTUNE_JIT_KERNEL;
  setenv("FAKE_CUDA_REFUSE", "1", 1);
  EXPECT_EQ(load(kernel), REGTUNE_JIT_NOT_LOADED);
  EXPECT_TRUE(message_holds("CUDA_ERROR_OF_THE_FAKE")) << regtune_jit_message();
  EXPECT_EQ(load(kernel), REGTUNE_JIT_OK) << regtune_jit_message();
}

TEST_F(Jit, SaysWhyASourceDoesNotCompile) {
  regtune_jit_kernel kernel = REGTUNE_JIT_KERNEL;
  EXPECT_EQ(load(kernel, "__global__ void sgemm(float* x) {\n  nothing;\n}\n"), REGTUNE_JIT_NOT_COMPILED);
  EXPECT_TRUE(message_holds("k.cu(2)")) << regtune_jit_message();
  EXPECT_EQ(kernel.function, nullptr);
}

TEST_F(Jit, SaysWhatIsMissing) {
  regtune_jit_kernel kernel = REGTUNE_JIT_KERNEL;
  set_context(0);
  EXPECT_EQ(load(kernel), REGTUNE_JIT_NO_CONTEXT);
  set_context(1);
  hide_nvrtc();
  EXPECT_EQ(load(kernel), REGTUNE_JIT_NO_COMPILER);
  EXPECT_TRUE(message_holds("/nothing/libnvrtc.so")) << regtune_jit_message();
  regtune_jit_close(jit_);
  jit_ = nullptr;
  setenv("REGTUNE_CUDA", "/nothing/libcuda.so", 1);
  EXPECT_EQ(load(kernel), REGTUNE_JIT_NO_DRIVER);
}

TEST_F(Jit, RefusesOptionsThatItChoosesItself) {
  regtune_jit_kernel kernel = REGTUNE_JIT_KERNEL;
  ASSERT_EQ(load(kernel), REGTUNE_JIT_OK);
  regtune_jit_source source = REGTUNE_JIT_SOURCE;
  source.text = kText;
  const char* option = "--gpu-architecture=sm_80";
  source.options = &option;
  source.option_count = 1;
  regtune_key key = REGTUNE_KEY;
  key.kernel = "sgemm";
  EXPECT_EQ(regtune_jit_load(jit_, &source, &key, &kernel), REGTUNE_JIT_BAD_CALL);
  EXPECT_TRUE(message_holds("--gpu-architecture")) << regtune_jit_message();
  key.kernel = "";
  EXPECT_EQ(regtune_jit_load(jit_, &source, &key, &kernel), REGTUNE_JIT_BAD_CALL);
  EXPECT_EQ(regtune_jit_load(nullptr, &source, &key, &kernel), REGTUNE_JIT_BAD_CALL);
}

}  // namespace
}  // namespace regtune
