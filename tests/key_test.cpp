#include "key.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace regtune {
namespace {

TEST(GpuModelKey, IgnoresCaseMakerWhiteSpaceAndTrademarks) {
  for (const char* name :
       {"NVIDIA H200", "nvidia h200", "H200", "  NVIDIA\t H200 ", "NVIDIA-H200", "NVIDIA\xc2\xa0H200"}) {
    EXPECT_EQ(gpu_model_key(name), "h200") << name;
  }
  for (const char* name : {"NVIDIA GeForce RTX 4090", "GeForce RTX 4090", "NVIDIA GeForce(TM) RTX(tm)4090",
                           "NVIDIA\xc2\xae GeForce RTX\xe2\x84\xa2 4090"}) {
    EXPECT_EQ(gpu_model_key(name), "geforce rtx 4090") << name;
  }
}

TEST(GpuModelKey, KeepsWhatTellsModelsApart) {
  std::set<std::string> keys;
  for (const char* name : {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", "NVIDIA A100-PCIE-40GB", "NVIDIA H100 NVL",
                           "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA RTX 4090", "NVIDIA GeForce RTX 4090 D"}) {
    keys.insert(gpu_model_key(name));
  }
  EXPECT_EQ(keys.size(), 7u);
}

TEST(GpuModelKey, OfAKeyIsThatKey) {
  for (const char* name : {"NVIDIA NVIDIA H200", "nvidia", "", " ", "(T(TM)M)", "nvidia-", "NVIDIA - x", "(R)(R)(R)",
                           "NVIDIA (TM) nvidia_Thor"}) {
    const std::string key = gpu_model_key(name);
    EXPECT_EQ(gpu_model_key(key), key) << name;
  }
}

TEST(FieldHash, TellsFieldListsApartThatConcatenateAlike) {
  const std::vector<std::string> hashes = {
      FieldHash().hex(),
      FieldHash().add("", "").hex(),
      FieldHash().add("", "").add("", "").hex(),
      FieldHash().add("a", "bc").hex(),
      FieldHash().add("ab", "c").hex(),
      FieldHash().add("abc", "").hex(),
      FieldHash().add("a", "b").add("c", "d").hex(),
      FieldHash().add("c", "d").add("a", "b").hex(),
      FieldHash().add("a", "bcd").hex(),
      FieldHash().add("a", std::string_view("b\0c", 3)).hex(),
  };
  EXPECT_EQ(std::set<std::string>(hashes.begin(), hashes.end()).size(), hashes.size());
}

TEST(FieldHash, IsXxh3OfTheContentInHex) {
  // The published XXH3-128 of no bytes; a change here would orphan every stored result.
  EXPECT_EQ(content_hash(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(FieldHash().hex(), content_hash(""));
  EXPECT_EQ(FieldHash().add("n", "1").hex(), FieldHash().add("n", 1).hex());
  EXPECT_EQ(FieldHash().add("n", "1").hex().find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(Hashes, OfSizesAndOptionsSeeNamesValuesAndOrder) {
  EXPECT_EQ(hash_of(Sizes{{"a", 1}, {"b", 2}}), hash_of(Sizes{{"b", 2}, {"a", 1}}));
  EXPECT_NE(hash_of(Sizes{{"a", 1}, {"b", 2}}), hash_of(Sizes{{"a", 2}, {"b", 1}}));
  EXPECT_NE(hash_of(Sizes{{"a", 1}}), hash_of(Sizes{}));
  EXPECT_NE(hash_of_options({"-DA", "-DB"}), hash_of_options({"-DB", "-DA"}));
  EXPECT_NE(hash_of_options({"-DA -DB"}), hash_of_options({"-DA", "-DB"}));
}

TEST(KernelName, IsFoundInDemangledSignatures) {
  EXPECT_EQ(bare_kernel_name("decayWide(const float*, float*, unsigned long)"), "decayWide");
  EXPECT_EQ(bare_kernel_name("void ns::sgemm<128, float>(float*, int)"), "sgemm");
  EXPECT_EQ(bare_kernel_name("void sgemm<(int)128, ns::Tile<float, (bool)1> >(float const*)"), "sgemm");
  EXPECT_EQ(bare_kernel_name("(anonymous namespace)::k(int (*)(float))"), "k");
  EXPECT_EQ(bare_kernel_name("a<int>::k(int)"), "k");
  EXPECT_EQ(bare_kernel_name("sgemm <128>"), "sgemm");
  EXPECT_EQ(bare_kernel_name("k"), "k");
  for (const char* odd : {"", "(", ")", "()", "<", ">", ">>(", "a<", "::", "a::", " ", "f(()", "((((", "))))"}) {
    EXPECT_LE(bare_kernel_name(odd).size(), std::string_view(odd).size()) << odd;  // returns, and reads nothing outside
  }
}

TEST(KernelName, AnswersToEveryFormAUserMaySay) {
  const char* mangled = "_ZN2ns5sgemmILi128EfEEvPfi";
  const char* signature = "void ns::sgemm<128, float>(float*, int)";
  for (const char* wanted : {"sgemm", "ns::sgemm", "::ns::sgemm", "sgemm<128, float>", "sgemm<128,float>",
                             "ns::sgemm< 128, float >", mangled, signature, " sgemm "}) {
    EXPECT_TRUE(kernel_answers_to(mangled, signature, wanted)) << wanted;
  }
  for (const char* wanted : {"", " ", "gemm", "s::sgemm", "other::sgemm", "sgemm<64,float>", "sgemm<128", "ns", "SGEMM",
                             "::", "_ZN2ns5sgemm"}) {
    EXPECT_FALSE(kernel_answers_to(mangled, signature, wanted)) << wanted;
  }
  EXPECT_TRUE(kernel_answers_to("plain", "", "plain"));
}

TuningRecord sample_head() {
  TuningRecord record;
  record.regtune_version = "0.1.0";
  record.started = "2026-01-01T00:00:00Z";
  record.host = "one";
  record.architecture = "sm_90";
  record.compiler = "NVRTC 13.0.88";
  record.source_hash = "s";
  record.options = {"-DA"};
  record.kernel = "k";
  record.signature = "k(float*)";
  record.sizes = {{"n", 4}};
  record.arguments = {"x float*"};
  record.author_shape.block = {256, 1, 1};
  record.gpu = GpuState{};
  record.gpu->id = {"NVIDIA H200", 9, 0, 132};
  record.gpu->driver_version = "580.1";
  return record;
}

TEST(RunKey, ChangesWithAllThatCanChangeTheAnswer) {
  const std::vector<std::function<void(TuningRecord&)>> changes = {
      [](TuningRecord& r) { r.regtune_version = "0.2.0"; },
      [](TuningRecord& r) { r.architecture = "sm_90a"; },
      [](TuningRecord& r) { r.compiler = "NVRTC 13.1"; },
      [](TuningRecord& r) { r.source_hash = "t"; },
      [](TuningRecord& r) { r.options.push_back("-DB"); },
      [](TuningRecord& r) { r.kernel = "k2"; },
      [](TuningRecord& r) { r.signature = "k(int*)"; },
      [](TuningRecord& r) { r.sizes["n"] = 5; },
      [](TuningRecord& r) { r.arguments[0] = "y"; },
      [](TuningRecord& r) { r.author_shape.block.x = 128; },
      [](TuningRecord& r) { r.author_shape.grid.x = 7; },
      [](TuningRecord& r) { r.author_shape.dynamic_shared_bytes = 16; },
      [](TuningRecord& r) {
        r.trials.push_back({{1, CompilerDefault{}, {64, 1, 1}}, {}, {}, NotTimed{}});
      },
      [](TuningRecord& r) { r.settings.seed = ~0ull; },
      [](TuningRecord& r) { r.gpu->id.name = "NVIDIA H100"; },
      [](TuningRecord& r) { r.gpu->id.sm_count = 114; },
      [](TuningRecord& r) { r.gpu->id.compute_minor = 1; },
      [](TuningRecord& r) { r.gpu->driver_version = "590"; },
      [](TuningRecord& r) { r.gpu.reset(); },
  };
  std::set<std::string> keys = {run_key(sample_head())};
  for (const auto& change : changes) {
    TuningRecord record = sample_head();
    change(record);
    keys.insert(run_key(record));
  }
  EXPECT_EQ(keys.size(), changes.size() + 1);
}

TEST(RunKey, IsBlindToDateHostAndTheSpellingOfTheGpu) {
  TuningRecord record = sample_head();
  record.started = "2027";
  record.host = "two";
  record.gpu->id.name = "nvidia h200";
  record.gpu->other_users = {"python"};
  record.source_path = "elsewhere/k.cu";
  record.trials.push_back({{0, AuthorsOwn{}, record.author_shape.block}, record.author_shape, {}, NotTimed{}});
  EXPECT_EQ(run_key(record), run_key(sample_head()));
}

}  // namespace
}  // namespace regtune
