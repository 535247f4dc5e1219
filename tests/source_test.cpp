#include "source.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "compile_request.hpp"
#include "regtune/error.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

const CompilerIdentity kCompiler{
    "NVRTC 13.0.88", "/lib/libnvrtc.so", {90}, {"/toolkit/include"}, {"--no-cache"}, true, "", "", false};

CompileUnit unit_of(const Source& source, const std::vector<std::string>& options = {},
                    const std::vector<fs::path>& include_folders = {}) {
  LaunchDescription description;
  description.options = options;
  description.include_folders = include_folders;
  return compile_unit(source, description, "sm_90", kCompiler);
}

CompileUnit unit_with(const std::vector<std::string>& options) {
  return unit_of({"k.cu", "code\n"}, options);
}

ErrorKind kind_of_refusal(const std::vector<std::string>& options, const std::string& said) {
  try {
    unit_with(options);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
    return error.kind();
  }
  ADD_FAILURE() << options.front() << " was taken";
  return ErrorKind::internal;
}

bool has(const std::vector<std::string>& options, const std::string& option) {
  return std::find(options.begin(), options.end(), option) != options.end();
}

std::vector<std::string> caps_in(const NvrtcRequest& request) {
  std::vector<std::string> caps;
  for (const std::string& option : request.options)
    if (option.find("maxrregcount") != std::string::npos) caps.push_back(option);
  return caps;
}

TEST(Source, IsReadByteForByte) {
  const TemporaryFolder folder;
  const std::string text("a\r\n\xff\0b", 6);
  const Source source = read_source(folder.write("k.cu", text));
  EXPECT_EQ(source.text, text);
  EXPECT_EQ(source.path, folder.path() / "k.cu");
}

TEST(Source, AFolderMeansTheOneSourceInIt) {
  const TemporaryFolder folder;
  folder.write("scale.cu", "code\n");
  folder.write("scale.regtune.toml", "kernel = \"scale\"\n");
  folder.write("factor.h", "");
  const Source source = read_source(folder.path());
  EXPECT_EQ(source.path, folder.path() / "scale.cu");
  EXPECT_EQ(source.text, "code\n");
  EXPECT_EQ(launch_description(source, DescriptionFlags{}).kernel, "scale") << "its side file is read";
  folder.write("included.cu", "");
  EXPECT_EQ(read_source(folder.path()).path, folder.path() / "scale.cu") << "the one with a description";
  folder.write("included.regtune.toml", "");
  try {
    read_source(folder.path());
    ADD_FAILURE() << "two sources were taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::file_not_found);
    EXPECT_NE(std::string(error.what()).find("a folder with 2 .cu files"), std::string::npos) << error.what();
  }
}

TEST(Source, AMissingFileAndAFolderAreTold) {
  const TemporaryFolder folder;
  for (const auto& [path, said] :
       {std::pair{folder.path() / "none.cu", "is the path right"}, std::pair{folder.path(), "is a folder"}}) {
    try {
      read_source(path);
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::file_not_found);
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
    }
  }
}

TEST(Source, TheAuthorsOwnCodeHasNoPrelude) {
  EXPECT_EQ(compile_request(unit_with({}), {AuthorsOwn{}}, NvrtcOutput::cubin, "").source, "#line 1 \"k.cu\"\ncode\n");
}

TEST(Source, ThePreludeStripsDeclaredBoundsAndPutsOthers) {
  const std::string stripped =
      "#undef __launch_bounds__\n#define __launch_bounds__(...)\n#undef __maxnreg__\n#define __maxnreg__(...)\n"
      "#undef __global__\n#define __global__ __attribute__((global))";
  const std::string text = "\n#line 1 \"k.cu\"\ncode\n";
  const CompileUnit unit = unit_with({});
  EXPECT_EQ(compile_request(unit, {CompilerDefault{}}, NvrtcOutput::cubin, "").source, stripped + text);
  EXPECT_EQ(compile_request(unit, {RegisterCap{64}}, NvrtcOutput::cubin, "").source, stripped + text);
  EXPECT_EQ(compile_request(unit, {LaunchBounds{256, 0}}, NvrtcOutput::cubin, "").source,
            stripped + " __attribute__((launch_bounds(256)))" + text);
  EXPECT_EQ(compile_request(unit, {LaunchBounds{256, 4}}, NvrtcOutput::cubin, "").source,
            stripped + " __attribute__((launch_bounds(256, 4)))" + text);
  EXPECT_EQ(compile_request(unit, {MaxRegisters{96}}, NvrtcOutput::cubin, "").source,
            stripped + " __attribute__((maxnreg(96)))" + text);
}

TEST(Source, APathWithQuotesStaysOneLiteral) {
  const CompileUnit unit = unit_of({"a\"b\\c.cu", "code"});
  EXPECT_EQ(compile_request(unit, {AuthorsOwn{}}, NvrtcOutput::cubin, "").source, "#line 1 \"a\\\"b\\\\c.cu\"\ncode");
  EXPECT_EQ(compile_request(unit, {AuthorsOwn{}}, NvrtcOutput::cubin, "").file_name, "a\"b\\c.cu");
}

TEST(Source, OnlyACapOrTheAuthorsOwnCapReachesTheCommandLine) {
  const CompileUnit unit = unit_with({"-maxrregcount=40", "-use_fast_math"});
  EXPECT_EQ(unit.author_cap, 40);
  EXPECT_EQ(unit.options, std::vector<std::string>{"-use_fast_math"});
  using Caps = std::vector<std::string>;
  EXPECT_EQ(caps_in(compile_request(unit, {AuthorsOwn{}}, NvrtcOutput::cubin, "")), Caps{"--maxrregcount=40"});
  EXPECT_EQ(caps_in(compile_request(unit, {RegisterCap{57}}, NvrtcOutput::cubin, "")), Caps{"--maxrregcount=57"});
  EXPECT_EQ(caps_in(compile_request(unit, {CompilerDefault{}}, NvrtcOutput::cubin, "")), Caps{});
  EXPECT_EQ(caps_in(compile_request(unit, {LaunchBounds{256, 4}}, NvrtcOutput::cubin, "")), Caps{});
  EXPECT_EQ(caps_in(compile_request(unit, {MaxRegisters{57}}, NvrtcOutput::cubin, "")), Caps{});
  EXPECT_EQ(caps_in(compile_request(unit_with({}), {AuthorsOwn{}}, NvrtcOutput::cubin, "")), Caps{});
}

TEST(Source, EverySpellingOfTheAuthorsCapIsTakenOut) {
  for (const std::vector<std::string>& options : {std::vector<std::string>{"-DA", "-maxrregcount=64", "-DB"},
                                                  {"-DA", "--maxrregcount=64", "-DB"},
                                                  {"-DA", "-maxrregcount", "64", "-DB"},
                                                  {"-DA", "--maxrregcount", "64", "-DB"},
                                                  {"--maxrregcount=32", "-DA", "-DB", "-maxrregcount", "64"}}) {
    const CompileUnit unit = unit_with(options);
    EXPECT_EQ(unit.author_cap, 64) << options[1];
    EXPECT_EQ(unit.options, (std::vector<std::string>{"-DA", "-DB"})) << options[1];
  }
  EXPECT_EQ(unit_with({"-maxrregcount=0"}).author_cap, 0) << "as nvcc: no cap";
}

TEST(Source, ACapThatIsNoNumberIsRefused) {
  EXPECT_EQ(kind_of_refusal({"-maxrregcount=many"}, "'many' is not a number of registers"), ErrorKind::usage);
  EXPECT_EQ(kind_of_refusal({"--maxrregcount", "6 4"}, "'6 4'"), ErrorKind::usage);
  EXPECT_EQ(kind_of_refusal({"-maxrregcount=-1"}, "'-1'"), ErrorKind::usage);
  EXPECT_EQ(kind_of_refusal({"-maxrregcount=99999999999"}, "'99999999999'"), ErrorKind::usage);
  EXPECT_EQ(kind_of_refusal({"-maxrregcount="}, "''"), ErrorKind::usage);
  EXPECT_EQ(kind_of_refusal({"-DA", "-maxrregcount"}, "missing"), ErrorKind::usage);
}

TEST(Source, WhatRegtuneDecidesItselfIsRefused) {
  for (const char* option : {"-arch=sm_80", "-arch", "--gpu-architecture=compute_80", "-gencode", "--generate-code=x"})
    EXPECT_EQ(kind_of_refusal({option}, "architecture is the GPU's"), ErrorKind::usage) << option;
  for (const char* option : {"-rdc=true", "--relocatable-device-code=true", "-dc", "--device-c", "-dlto"})
    EXPECT_EQ(kind_of_refusal({option}, "whole program"), ErrorKind::usage) << option;
  EXPECT_EQ(unit_with({"-DARCH=1", "-architect", "--dlto-mode"}).options.size(), 3u) << "only whole names are meant";
}

TEST(Source, OptionsComeInAnOrderThatLetsTheAuthorsWin) {
  const CompileUnit unit = unit_of({"dir/k.cu", ""}, {"-DX=1"}, {"/abs", "rel"});
  const std::vector<std::string> options = compile_request(unit, {AuthorsOwn{}}, NvrtcOutput::cubin, "").options;
  EXPECT_EQ(options, (std::vector<std::string>{"--gpu-architecture=sm_90", "--ptxas-options=-v", "--no-cache",
                                               "--include-path=dir", "--include-path=/abs", "--include-path=dir/rel",
                                               "--include-path=/toolkit/include", "-DX=1"}));
  EXPECT_TRUE(
      has(compile_request(unit_of({"k.cu", ""}), {AuthorsOwn{}}, NvrtcOutput::cubin, "").options, "--include-path=."));
}

TEST(Source, ATemplateIdIsANameExpression) {
  LaunchDescription description;
  description.kernel = "sgemm<128, float>";
  const CompileUnit unit = compile_unit({"k.cu", ""}, description, "sm_90", kCompiler);
  EXPECT_EQ(compile_request(unit, {RegisterCap{64}}, NvrtcOutput::cubin, "").name_expressions,
            std::vector<std::string>{"sgemm<128, float>"});
  description.kernel = "sgemm";
  EXPECT_TRUE(compile_unit({"k.cu", ""}, description, "sm_90", kCompiler).name_expressions.empty());
}

// A source with one included file beside it, one that this includes, and one in an include folder.
class SourceHash : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("k.cu", kText);
    folder_.write("part.cuh", "#pragma once\n  #  include \"deep/inner.cuh\"\n");
    folder_.write("deep/inner.cuh", "#include \"sibling.cuh\"\n");
    folder_.write("deep/sibling.cuh", "constexpr int s = 1;\n");
    folder_.write("inc/lib.cuh", "constexpr int l = 1;\n");
    folder_.write("other.cuh", "constexpr int o = 1;\n");
  }
  std::string hash(const std::vector<std::string>& options = {}) const {
    return source_hash(unit_of(read_source(folder_.path() / "k.cu"), options, {"inc"}));
  }

  const std::string kText = "#include \"part.cuh\"\n#include <lib.cuh>\n#include <cuda_fp16.h>\nint a;\n";
  TemporaryFolder folder_;
};

TEST_F(SourceHash, IsThirtyTwoHexDigitsAndRepeats) {
  EXPECT_EQ(hash().size(), 32u);
  EXPECT_EQ(hash().find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(hash(), hash());
}

TEST_F(SourceHash, ChangesWithTheTextAndEveryFileOfTheAuthorsThatIsIncluded) {
  const std::string before = hash();
  for (const char* file : {"k.cu", "part.cuh", "deep/inner.cuh", "deep/sibling.cuh", "inc/lib.cuh"}) {
    const std::string text = read_source(folder_.path() / file).text;
    folder_.write(file, text + " ");
    EXPECT_NE(hash(), before) << file;
    folder_.write(file, text);
    EXPECT_EQ(hash(), before) << file;
  }
}

TEST_F(SourceHash, DoesNotChangeWithAnUnrelatedFile) {
  const std::string before = hash();
  folder_.write("other.cuh", "changed");
  folder_.write("new.cuh", "new");
  EXPECT_EQ(hash(), before);
}

TEST_F(SourceHash, DoesNotDependOnWhereTheSourceLies) {
  const std::string before = hash();
  const TemporaryFolder elsewhere;
  fs::copy(folder_.path(), elsewhere.path(), fs::copy_options::recursive);
  EXPECT_EQ(source_hash(unit_of(read_source(elsewhere.path() / "k.cu"), {}, {"inc"})), before);
}

TEST_F(SourceHash, ChangesWithAnOptionACapAndATemplateId) {
  const std::string before = hash();
  EXPECT_NE(hash({"-DX=1"}), before);
  EXPECT_NE(hash({"-DX=1"}), hash({"-DX=2"}));
  EXPECT_NE(hash({"-DX", "-DY"}), hash({"-DX-DY"})) << "where one ends counts";
  EXPECT_NE(hash({"-maxrregcount=64"}), before);
  EXPECT_EQ(hash({"-maxrregcount=64"}), hash({"--maxrregcount", "64"}));
  CompileUnit unit = unit_of(read_source(folder_.path() / "k.cu"), {}, {"inc"});
  unit.name_expressions = {"k<1>"};
  EXPECT_NE(source_hash(unit), before);
}

TEST_F(SourceHash, FollowsIncludeFoldersAndFilesNamedByOptions) {
  folder_.write("k.cu", "#include \"far.cuh\"\n");
  folder_.write("far/far.cuh", "1");
  folder_.write("pre.cuh", "1");
  const std::string far = (folder_.path() / "far").string();
  const std::string pre = (folder_.path() / "pre.cuh").string();
  for (const std::vector<std::string>& options : {std::vector<std::string>{"-I" + far},
                                                  {"-I=" + far},
                                                  {"-I", far},
                                                  {"--include-path=" + far},
                                                  {"--include-path", far}}) {
    folder_.write("far/far.cuh", "1");
    const std::string before = hash(options);
    folder_.write("far/far.cuh", "2");
    EXPECT_NE(hash(options), before) << options[0];
  }
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"-include=" + pre}, {"-include", pre}, {"--pre-include=" + pre}}) {
    folder_.write("pre.cuh", "1");
    const std::string before = hash(options);
    folder_.write("pre.cuh", "2");
    EXPECT_NE(hash(options), before) << options[0];
  }
}

TEST_F(SourceHash, FollowsPreIncludedFilesThatADeviceTextHolds) {
  folder_.write("pre.cuh", "1");
  const std::string pre = (folder_.path() / "pre.cuh").string();
  CompileUnit unit = unit_of(read_source(folder_.path() / "k.cu"), {"-include", pre, "--ftz=true"}, {"inc"});
  const std::string as_written = source_hash(unit);
  set_device_text(unit, "__global__ void k() {}\n", {});
  EXPECT_EQ(source_hash(unit), as_written);
  const std::vector<std::string> options = compile_request(unit, {AuthorsOwn{}}, NvrtcOutput::cubin, "").options;
  EXPECT_EQ(std::count(options.begin(), options.end(), "-include"), 0) << "the file would be there twice";
  EXPECT_EQ(std::count(options.begin(), options.end(), pre), 0);
  EXPECT_EQ(std::count(options.begin(), options.end(), "--ftz=true"), 1);
  folder_.write("pre.cuh", "2");
  EXPECT_NE(source_hash(unit), as_written);
}

TEST_F(SourceHash, LeavesTheToolkitsHeadersToTheCompilersName) {
  CompileUnit unit = unit_of(read_source(folder_.path() / "k.cu"), {}, {"inc"});
  const TemporaryFolder toolkit;
  unit.toolkit_folders = {toolkit.path().string()};
  toolkit.write("cuda_fp16.h", "1");
  const std::string before = source_hash(unit);
  toolkit.write("cuda_fp16.h", "2");
  EXPECT_EQ(source_hash(unit), before);
}

TEST_F(SourceHash, EndsWhereFilesIncludeEachOther) {
  folder_.write("k.cu", "#include \"k.cu\"\n#include \"a.cuh\"\n#include \".\"\n#include \"\n#include <\n#include");
  folder_.write("a.cuh", "#include \"b.cuh\"\n");
  folder_.write("b.cuh", "#include \"a.cuh\"\n#include \"../nowhere.cuh\"\n");
  EXPECT_EQ(hash().size(), 32u);
}

const char* const kThreeBounds = "__global__ void __launch_bounds__(256, 2, C) k(float* p) {}\n";

std::string source_of(const CompileUnit& unit, const RegisterPolicy& policy) {
  return compile_request(unit, {policy}, NvrtcOutput::cubin, "").source;
}

TEST(Source, BlocksPerClusterAreKeptWhereTheAuthorWroteThem) {
  const CompileUnit unit = unit_of({"k.cu", kThreeBounds});
  ASSERT_TRUE(unit.keeps_cluster);
  const auto cluster = [](const std::string& bounds) {
    return "#define regtune_cluster(threads, blocks, cluster) __attribute__((launch_bounds(" + bounds +
           ", cluster)))\n";
  };
  EXPECT_NE(source_of(unit, LaunchBounds{128, 4}).find(cluster("128, 4")), std::string::npos);
  EXPECT_NE(source_of(unit, LaunchBounds{128, 0}).find(cluster("128, 0")), std::string::npos);
  EXPECT_NE(source_of(unit, RegisterCap{40}).find(cluster("0, 0")), std::string::npos);
  EXPECT_NE(source_of(unit, CompilerDefault{}).find(cluster("0, 0")), std::string::npos);
  EXPECT_EQ(source_of(unit, MaxRegisters{40}).find("regtune_cluster"), std::string::npos) << "they exclude each other";
  EXPECT_EQ(source_of(unit, AuthorsOwn{}), std::string("#line 1 \"k.cu\"\n") + kThreeBounds);
}

TEST(Source, OnlyTheWantedKernelsThirdBoundCounts) {
  const std::string two = "__global__ void __launch_bounds__(f(1, 2), 2) other(float* p) {}\n";
  LaunchDescription description;
  const auto keeps = [&](const std::string& text, const char* wanted) {
    description.kernel = wanted;
    return compile_unit({"k.cu", text}, description, "sm_90", kCompiler).keeps_cluster;
  };
  EXPECT_TRUE(keeps(kThreeBounds + two, "k"));
  EXPECT_TRUE(keeps(kThreeBounds + two, "ns::k<128>"));
  EXPECT_FALSE(keeps(kThreeBounds + two, "other"));
  EXPECT_FALSE(keeps(two, "other"));
  // The preprocessor would count the commas of a template's arguments too.
  EXPECT_FALSE(keeps(kThreeBounds + std::string("__global__ void __launch_bounds__(T<1, 2>::n) t(int) {}\n"), "k"));
}

TEST(Source, AMacrosValueWinsOverTheAuthorsOption) {
  const CompileUnit unit = unit_of({"k.cu", "#ifndef U\n#define U 1\n#endif\n"}, {"-DU=2", "-DV=3"});
  const NvrtcRequest own = compile_request(unit, {CompilerDefault{}}, NvrtcOutput::cubin, "");
  EXPECT_TRUE(has(own.options, "-DU=2"));
  const NvrtcRequest other =
      compile_request(unit, {CompilerDefault{}, {false, -1, {{"U", "8"}}}}, NvrtcOutput::cubin, "");
  EXPECT_FALSE(has(other.options, "-DU=2"));
  EXPECT_TRUE(has(other.options, "-DV=3"));
  EXPECT_NE(other.source.find("#define U 8\n#endif"), std::string::npos) << other.source;
}

}  // namespace
}  // namespace regtune
