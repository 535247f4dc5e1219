#include "compile_request.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "compilers.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

using Words = std::vector<std::string>;

const CompilerIdentity kNvcc{
    "nvcc 13.0.88 with GCC 12.2.0", "/bin/nvcc", {90}, {}, {}, false, "", "", false, FrontEnd::nvcc};

CompileUnit unit_of(const std::string& text, const Words& options = {},
                    const std::optional<std::string>& kernel = std::nullopt) {
  LaunchDescription description;
  description.options = options;
  description.nvcc_options = {"--expt-relaxed-constexpr"};
  description.include_folders = {"/abs"};
  description.kernel = kernel;
  return compile_unit({"/src/k.cu", text}, description, "sm_90", kNvcc);
}

bool has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(NvccRequest, TheAuthorsOwnCodeIsTheFileItself) {
  const NvccRequest request =
      nvcc_request(unit_of("__global__ void k() {}\n", {"-maxrregcount=64"}), {AuthorsOwn{}}, NvrtcOutput::cubin);
  EXPECT_EQ(request.file, "/src/k.cu");
  EXPECT_EQ(request.text, "");
  EXPECT_EQ(request.options,
            (Words{"-arch=sm_90", "--ptxas-options=-v", "-I/abs", "--expt-relaxed-constexpr", "-maxrregcount=64"}));
}

TEST(NvccRequest, ABudgetIsATextWithThePreludeInFrontAndTheAuthorsLines) {
  const CompileUnit unit = unit_of("#include \"mine.h\"\n\n__global__ void k() {}\n");
  const NvccRequest bounds = nvcc_request(unit, {LaunchBounds{128, 4}}, NvrtcOutput::cubin);
  EXPECT_TRUE(bounds.text.starts_with("#include \"mine.h\"")) << bounds.text;
  EXPECT_NE(bounds.text.find("launch_bounds(128, 4)"), std::string::npos) << bounds.text;
  EXPECT_NE(bounds.text.find("#line 1 \"/src/k.cu\"\n"), std::string::npos) << bounds.text;
  EXPECT_EQ(bounds.text.find("nv_hdrstop"), std::string::npos) << "nvcc precompiles nothing";
  EXPECT_TRUE(has(bounds.options, "-Xcompiler=-iquote,/src")) << "what stands beside the file is still found";
  const NvccRequest cap = nvcc_request(unit, {RegisterCap{40}}, NvrtcOutput::cubin);
  EXPECT_TRUE(has(cap.options, "-maxrregcount=40"));
}

TEST(NvccRequest, LtoIrHoldsNoCap) {
  const NvccRequest request = nvcc_request(unit_of("__global__ void k() {}\n"), {RegisterCap{40}}, NvrtcOutput::lto_ir);
  EXPECT_TRUE(request.lto_ir);
  EXPECT_FALSE(has(request.options, "-maxrregcount=40"));
  EXPECT_FALSE(has(request.options, "--ptxas-options=-v"));
}

TEST(NvccRequest, AnInstanceThatIsWantedIsNamedBehindTheText) {
  const std::string text = "template <int N> __global__ void k() {}\n";
  const NvccRequest request = nvcc_request(unit_of(text, {}, "k<4>"), {AuthorsOwn{}}, NvrtcOutput::cubin);
  EXPECT_EQ(request.name_expressions, Words{"k<4>"});
  EXPECT_TRUE(request.text.starts_with("#line 1")) << request.text;
  EXPECT_TRUE(request.text.ends_with("&k<4>>;\n")) << request.text;
}

TEST(NvccRequest, AFolderThatNvccWouldTakeApartIsGivenAsAnIncludeFolder) {
  LaunchDescription description;
  const CompileUnit unit = compile_unit({"/a,b/k.cu", "__global__ void k() {}\n"}, description, "sm_90", kNvcc);
  EXPECT_TRUE(has(nvcc_request(unit, {RegisterCap{40}}, NvrtcOutput::cubin).options, "-I/a,b"));
}

TEST(CompilerRequest, IsThatOfTheUnitsOwnCompiler) {
  CompileUnit unit = unit_of("__global__ void k() {}\n");
  EXPECT_TRUE(std::holds_alternative<NvccRequest>(request_for(unit, {AuthorsOwn{}}, NvrtcOutput::cubin, "")));
  unit.front_end = FrontEnd::nvrtc;
  EXPECT_TRUE(std::holds_alternative<NvrtcRequest>(request_for(unit, {AuthorsOwn{}}, NvrtcOutput::cubin, "")));
}

const std::string kPtx =
    ".version 9.0\n.target sm_90a\n.visible .entry k()\n.maxntid 256\n.minnctapersm 5\n{\nret;\n}\n";

CompileUnit unit_of_ptx(const std::vector<std::string>& options = {}) {
  LaunchDescription description;
  description.kernel = "k";
  description.options = options;
  const CompilerIdentity ptxas{"ptxas 13.0.88", "/bin/ptxas", {90}, {}, {}, false, "", "", false, FrontEnd::ptxas};
  return compile_unit({"k.ptx", kPtx}, description, "sm_90", ptxas);
}

TEST(PtxasRequest, TheAuthorsOwnCodeIsTheTextAsItIs) {
  const PtxasRequest request = ptxas_request(unit_of_ptx({"-Xptxas=-O2", "-maxrregcount=99"}), {AuthorsOwn{}});
  EXPECT_EQ(request.text, kPtx);
  EXPECT_EQ(request.file, "k.ptx");
  EXPECT_EQ(request.options, (std::vector<std::string>{"-arch=sm_90a", "-O2", "-maxrregcount=99"}));
}

TEST(PtxasRequest, ACapIsTheTextWithoutBoundsAndAnOption) {
  const PtxasRequest cap = ptxas_request(unit_of_ptx({"-maxrregcount=99"}), {RegisterCap{40}});
  EXPECT_EQ(cap.text.find(".maxntid"), std::string::npos) << cap.text;
  EXPECT_EQ(cap.options, (std::vector<std::string>{"-arch=sm_90a", "-maxrregcount=40"}));
  const PtxasRequest none = ptxas_request(unit_of_ptx(), {CompilerDefault{}});
  EXPECT_EQ(none.text, cap.text);
  EXPECT_EQ(none.options, std::vector<std::string>{"-arch=sm_90a"});
  const PtxasRequest most = ptxas_request(unit_of_ptx(), {MaxRegisters{40}});
  EXPECT_NE(most.text.find(".maxnreg 40 {"), std::string::npos) << most.text;
  EXPECT_EQ(most.options, std::vector<std::string>{"-arch=sm_90a"});
}

TEST(PtxasRequest, GoesToPtxasAndComesOutOfItsMessageAsItWas) {
  const CompilerRequest request = request_for(unit_of_ptx(), {RegisterCap{40}}, NvrtcOutput::cubin, "");
  const auto back = std::get<PtxasRequest>(request_from(request_message(request)));
  EXPECT_EQ(back.text, std::get<PtxasRequest>(request).text);
  EXPECT_EQ(back.options, std::get<PtxasRequest>(request).options);
  EXPECT_EQ(back.file, "k.ptx");
}

TEST(PtxasRequest, PtxHasNoMacrosToChoose) {
  LaunchDescription description;
  description.block_macros = {"BLOCK"};
  const CompilerIdentity ptxas{"ptxas 13.0.88", "/bin/ptxas", {90}, {}, {}, false, "", "", false, FrontEnd::ptxas};
  EXPECT_THROW(compile_unit({"k.ptx", kPtx}, description, "sm_90", ptxas), Error);
}

}  // namespace
}  // namespace regtune
