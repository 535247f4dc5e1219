// A bundle comes back as it was written, or not at all; and a pool without compilers answers from it.
#include "bundle.hpp"

#include <gtest/gtest.h>

#include <random>

#include "key.hpp"

#include "regtune/error.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

BuildCode code_of(const RegisterPolicy& policy, const std::string& hash, const SourceChoice& choice = {}) {
  BuildCode code;
  code.build = {policy, choice};
  code.kernel = "_Z1kPf";
  code.cubin = std::string("cubin\0of ", 9) + hash;
  code.facts.emplace();
  code.facts->registers_per_thread = 40;
  code.facts->code_hash = hash;
  code.facts->budget = {BudgetStatus::inferred, 44, "not compiled"};
  return code;
}

Bundle sample() {
  Bundle bundle;
  bundle.regtune_version = REGTUNE_VERSION;
  bundle.made = "2026-01-02T03:04:05Z";
  bundle.host = "there";
  bundle.compiler.name = "NVRTC 13.0.88";
  bundle.compiler.linker = "nvJitLink 13.0";
  bundle.source = {"src/k.cu", "__global__ void k(float*) {}  // \xff\n"};
  bundle.description = "block = 128\n";
  bundle.flags.kernel = "k";
  bundle.flags.sizes = {"n=1<<20"};
  bundle.flags.seed = ~std::uint64_t{0};
  BundledUnit unit;
  unit.unit.source = bundle.source;
  unit.unit.options = {"-DX=1"};
  unit.unit.architecture = "sm_90";
  unit.unit.device_text = "device \xfe text";
  unit.unit.known_hash = "tag";
  CompiledCode first;
  first.cubin = "all kernels";
  first.log = "ptxas info";
  first.lowered_names = {"_Z1kPf"};
  BuildCode failed;
  failed.build = {MaxRegisters{24}};
  failed.failure = "error: no";
  unit.codes =
      BundledCodes(first, {{Way::plain, "_Z1kPf", code_of(AuthorsOwn{}, "a")},
                           {Way::linked, "_Z1kPf", code_of(RegisterCap{44}, "b")},
                           {Way::linked, "_Z1kPf", code_of(RegisterCap{45}, "b")},
                           {Way::linked, "_Z1kPf", code_of(RegisterCap{60}, "c", {true, 10, {{"U", "4"}}, ""})},
                           {Way::plain, "_Z1kPf", code_of(RegisterCap{44}, "b")},
                           {Way::plain, "_Z1kPf", failed}});
  unit.device_code.cubin = "fill and compare";
  unit.device_code_key = "key";
  bundle.units["sm_90"] = unit;
  return bundle;
}

TEST(Bundle, ComesBackAsItWasWritten) {
  const Bundle bundle = sample();
  const Bundle read = bundle_from(bundle_bytes(bundle), "k.rtb");
  EXPECT_EQ(bundle_bytes(read), bundle_bytes(bundle));
  EXPECT_EQ(read.source.text, bundle.source.text) << "whatever bytes it holds";
  EXPECT_EQ(read.description, bundle.description);
  EXPECT_EQ(read.flags.seed, bundle.flags.seed);
  EXPECT_EQ(read.compiler.architectures, std::vector<int>{90});
  BundledUnit unit = read.units.at("sm_90");
  EXPECT_EQ(source_hash(unit.unit), "tag");
  EXPECT_EQ(unit.unit.device_text, "device \xfe text");
  const std::optional<BuildCode> code =
      unit.codes.find(Way::linked, "_Z1kPf", {RegisterCap{60}, {true, 10, {{"U", "4"}}, ""}});
  ASSERT_TRUE(code);
  EXPECT_TRUE(code->kept);
  EXPECT_EQ(code->cubin, std::string("cubin\0of c", 10));
  EXPECT_EQ(code->facts->budget, (Budget{BudgetStatus::inferred, 44, "not compiled"}));
}

TEST(Bundle, GivesAPlainCodeForWhatWasSeenToBeThatCode) {
  BundledCodes codes = sample().units.at("sm_90").codes;
  EXPECT_TRUE(codes.find(Way::plain, "_Z1kPf", {RegisterCap{44}}));
  EXPECT_TRUE(codes.find(Way::plain, "_Z1kPf", {RegisterCap{45}})) << "another cap of the code that was compared";
  EXPECT_FALSE(codes.find(Way::plain, "_Z1kPf", {RegisterCap{60}, {true, 10, {{"U", "4"}}, ""}}));
  EXPECT_FALSE(codes.find(Way::linked, "_Z1kPf", {RegisterCap{46}}));
}

TEST(Bundle, OneThatWasCutOrChangedIsRefused) {
  const std::string bytes = bundle_bytes(sample());
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    std::string bad = bytes;
    const std::size_t at = random() % bytes.size();
    if (i % 2 == 0)
      bad.resize(at);
    else
      bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
    try {
      bundle_from(bad, "k.rtb");
      ADD_FAILURE() << "taken, though changed at " << at;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_description);
      EXPECT_NE(std::string(error.what()).find("k.rtb"), std::string::npos);
    }
  }
}

// A hash can be made anew by whoever changes the file.
TEST(Bundle, OneWithAWrongDocumentIsRefused) {
  for (const char* document : {"", "{}", "[]", "{\"blobs\":[99]}", "{\"blobs\":[-1]}", "{\"blobs\":\"x\"}", "nul"}) {
    const std::string rest = std::to_string(std::string(document).size()) + "\n" + document;
    const std::string bytes = "regtune bundle 1\n" + content_hash(rest) + "\n" + rest;
    EXPECT_THROW(bundle_from(bytes, "k.rtb"), Error) << document;
  }
}

TEST(Bundle, OneOfAnotherVersionIsRefused) {
  Bundle bundle = sample();
  bundle.regtune_version = "99.0";
  try {
    bundle_from(bundle_bytes(bundle), "k.rtb");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("99.0"), std::string::npos) << error.what();
  }
}

TEST(Bundle, IsToldBySightFromASource) {
  const TemporaryFolder folder;
  write_bundle(sample(), folder.path() / "k.rtb");
  EXPECT_TRUE(is_bundle(folder.path() / "k.rtb"));
  EXPECT_FALSE(is_bundle(folder.write("k.cu", "__global__ void k() {}\n")));
  EXPECT_FALSE(is_bundle(folder.path()));
  EXPECT_FALSE(is_bundle(folder.path() / "nothing"));
}

TEST(Bundle, APoolWithoutCompilersAnswersFromWhatWasMade) {
  NvrtcRequest known{"source", "k.cu", {"--gpu-architecture=sm_90"}, {"f<int>"}};
  CompiledCode code;
  code.compiled = true;
  code.cubin = "code";
  CompilerIdentity compiler;
  compiler.name = "elsewhere";
  CompilePool pool(compiler, {{CompilePool::made_key(known), code}});
  EXPECT_EQ(pool.identity().name, "elsewhere");
  EXPECT_EQ(pool.nvcc(), nullptr);
  EXPECT_EQ(pool.prepare({7, known, {}, true}).cubin, "code");
  known.source = "another";
  const CompiledCode unknown = pool.prepare({8, known, {}, true});
  EXPECT_FALSE(unknown.compiled);
  EXPECT_NE(unknown.failure.find("no compiler here"), std::string::npos);
  pool.submit({9, known, {}, false});
  EXPECT_EQ(pool.unfinished(), 1u);
  EXPECT_EQ(pool.next().value().id, 9);
  EXPECT_FALSE(pool.next());
}

}  // namespace
}  // namespace regtune
