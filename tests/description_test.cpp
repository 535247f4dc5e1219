#include "description.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "described.hpp"
#include "description_rules.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path(fs::temp_directory_path() / ("regtune_description_" + std::to_string(getpid()))) {
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

TEST(Description, ReadsEveryKey) {
  const LaunchDescription d = read(R"toml(
kernel = "sgemm<128, float>"
sizes = { n = 16777216, m = "n // 4" }
block = [128, "32x8", 256]
grid = "ceil_div(n, block)"
dynamic_shared_bytes = "block * 4"
options = ["-use_fast_math", "-DX=1"]
include = ["inc", "/opt/inc"]
seed = 7
metric = { bytes = "8 * n", flops = 12 }
[args]
in = { buffer = "n", init = "uniform(0, 1)" }
out = { buffer = "n", output = true, tolerance = 1e-5, rtol = 1, ulps = 4 }
n = "n"
a = 2.5
flag = true
0 = { value = 3, type = "int" }
raw = { buffer = 12, type = "float4", atol = 0.5, output = false }
)toml");
  EXPECT_EQ(d.kernel, "sgemm<128, float>");
  ASSERT_EQ(d.sizes.size(), 2u);
  EXPECT_EQ(d.sizes[0].name, "n");
  EXPECT_EQ(d.sizes[0].value.text, "16777216");
  EXPECT_EQ(d.sizes[1].value.text, "n // 4");
  EXPECT_EQ(d.blocks, (Blocks{{128, 1, 1}, {32, 8, 1}, {256, 1, 1}}));
  EXPECT_EQ(d.grid->text, "ceil_div(n, block)");
  EXPECT_EQ(d.grid->origin.text, "dir/k.cu:8: grid");
  EXPECT_EQ(d.dynamic_shared_bytes->text, "block * 4");
  EXPECT_EQ(d.options, (Texts{"-use_fast_math", "-DX=1"}));
  EXPECT_EQ(d.include_folders, (std::vector<fs::path>{"inc", "/opt/inc"}));
  EXPECT_EQ(d.seed, 7u);
  EXPECT_EQ(d.bytes->text, "8 * n");
  EXPECT_EQ(d.flops->text, "12");
  EXPECT_EQ(d.base_folder, "dir");
  ASSERT_EQ(d.arguments.size(), 7u);
  EXPECT_EQ(d.arguments[0].parameter, "in");
  EXPECT_EQ(d.arguments[0].origin.text, "dir/k.cu:15: args.in");
  EXPECT_EQ(d.arguments[0].length->text, "n");
  EXPECT_EQ(d.arguments[0].length->origin.text, "dir/k.cu:15: args.in.buffer");
  EXPECT_EQ(d.arguments[0].init, "uniform(0, 1)");
  EXPECT_FALSE(d.arguments[0].output.has_value());
  EXPECT_EQ(d.arguments[1].output, true);
  EXPECT_EQ(d.arguments[1].absolute_tolerance, 1e-5);
  EXPECT_EQ(d.arguments[1].relative_tolerance, 1.0);
  EXPECT_EQ(d.arguments[1].ulp_tolerance, 4);
  EXPECT_EQ(d.arguments[2].scalar->text, "n");
  EXPECT_EQ(d.arguments[3].scalar->text, "2.5");
  EXPECT_EQ(d.arguments[4].scalar->text, "true");
  EXPECT_EQ(d.arguments[5].parameter, "0");
  EXPECT_EQ(d.arguments[5].scalar->text, "3");
  EXPECT_EQ(d.arguments[5].type, "int");
  EXPECT_EQ(d.arguments[6].type, "float4");
  EXPECT_EQ(d.arguments[6].output, false);
  EXPECT_EQ(d.arguments[6].absolute_tolerance, 0.5);
}

TEST(Description, KeepsTheAuthorsOrderOfSizes) {
  const LaunchDescription d = read("[sizes]\nz = 4\na = \"z\"\nm = \"a * 2\"");
  ASSERT_EQ(d.sizes.size(), 3u);
  EXPECT_EQ(d.sizes[0].name, "z");
  EXPECT_EQ(d.sizes[1].name, "a");
  EXPECT_EQ(d.sizes[2].name, "m");
  EXPECT_EQ(read("sizes = { z = 1, a = \"z\" }").sizes[0].name, "z");
}

TEST(Description, ReadsBlocksAndGrids) {
  EXPECT_EQ(read("block = 256").blocks, (Blocks{{256, 1, 1}}));
  EXPECT_EQ(read("block = \"8x8x4\"").blocks, (Blocks{{8, 8, 4}}));
  EXPECT_EQ(read("block = [64, \"64\", 64]").blocks, (Blocks{{64, 1, 1}}));
  EXPECT_EQ(read("grid = 12").grid->text, "12");
  EXPECT_EQ(read("grid = [\"n\", 2, \"m\"]").grid->text, "n, 2, m");
}

TEST(Description, FindsTheCommentWhereverItStands) {
  const auto block_of = [](const std::string& source) { return read_description("k.cu", source).blocks; };
  EXPECT_EQ(block_of("/*regtune block = 64 */"), (Blocks{{64}}));
  EXPECT_EQ(block_of("/* regtune\nblock = 64\n*/"), (Blocks{{64}}));
  EXPECT_EQ(block_of("/*regtune\r\nblock = 64\r\n*/\r\n"), (Blocks{{64}}));
  EXPECT_EQ(block_of("/*regtune*/"), Blocks{});
  EXPECT_EQ(block_of("int a = 1'000; /*regtune\nblock = 64\n*/"), (Blocks{{64}}));
  EXPECT_EQ(block_of("// /*regtune\n// block = 64 */"), Blocks{});
  EXPECT_EQ(block_of("const char* s = \"/*regtune block = 64 */\";"), Blocks{});
  EXPECT_EQ(block_of("auto s = R\"x(\n/*regtune\nblock = 64 */)x\";"), Blocks{});
  EXPECT_EQ(block_of("/* regtune is a program */ /*regtuned*/"), Blocks{});
  EXPECT_EQ(block_of(""), Blocks{});
}

TEST(Description, RefusesABrokenComment) {
  expect_error([] { read_description("k.cu", "\n/*regtune\nblock = 64\n"); }, ErrorKind::bad_description,
               {"k.cu:2", "close it with */"});
  expect_error([] { read_description("k.cu", "/*regtune*/\n\n/*regtune*/"); }, ErrorKind::bad_description,
               {"k.cu:1", "line 3"});
}

TEST(Description, ReadsASideFileButNotBoth) {
  const Folder folder;
  const fs::path source = folder.path / "k.cu";
  const fs::path side = folder.path / "k.regtune.toml";
  EXPECT_TRUE(read_description(source, "int x;").blocks.empty());
  std::ofstream(side) << "block = 32\ngrud = 3\n";
  expect_error([&] { read_description(source, "int x;"); }, ErrorKind::bad_description,
               {side.string() + ":2", "grud", "\"grid\""});
  std::ofstream(side) << "block = 32\n";
  const LaunchDescription d = read_description(source, "int x;");
  EXPECT_EQ(d.blocks, (Blocks{{32}}));
  EXPECT_EQ(d.base_folder, folder.path);
  expect_error([&] { read_description(source, "/*regtune*/"); }, ErrorKind::bad_description,
               {source.string() + ":1", side.string()});
  fs::remove(side);
  fs::create_directory(side);
  expect_error([&] { read_description(source, "int x;"); }, ErrorKind::bad_description,
               {side.string(), "regular file"});
}

TEST(Description, ReadsAFileThatStandsElsewhere) {
  const Folder folder;
  const fs::path file = folder.path / "other.toml";
  expect_error([&] { read_description_file(file); }, ErrorKind::file_not_found, {file.string(), "regtune init"});
  std::ofstream(file) << "block = 32\ncooperative = true\n";
  const LaunchDescription d = read_description_file(file);
  EXPECT_EQ(d.blocks, (Blocks{{32}}));
  EXPECT_TRUE(d.cooperative);
  EXPECT_EQ(d.base_folder, folder.path) << "data files are beside it";
  std::ofstream(file) << "cooperative = 1\n";
  expect_error([&] { read_description_file(file); }, ErrorKind::bad_description,
               {file.string() + ":1: cooperative", "cooperative = true"});
}

TEST(Description, RefusesUnknownKeysAndSuggests) {
  expect_refusal("gird = 3", {"dir/k.cu:4: gird", "did you mean \"grid\"?"});
  expect_refusal("block = 32\nblcks = 3", {"dir/k.cu:5: blcks", "\"block\""});
  expect_refusal("warp = 3", {"dir/k.cu:4: warp", "write one of: kernel, sizes, block"});
  expect_refusal("[args]\nx = { bufer = 3 }", {"dir/k.cu:5: args.x.bufer", "\"buffer\""});
  expect_refusal("[args]\nx = { buffer = 3, inot = \"ones\" }", {"dir/k.cu:5: args.x.inot", "\"init\""});
  expect_refusal("\"a\\nb\" = 3", {"dir/k.cu:4"});
}

TEST(Description, RefusesWhatIsNoTexture) {
  const std::string image = "args.t = { texture = [\"n\", 4], type = \"float\", ";
  expect_refusal("args.t = { texture = true }", {"dir/k.cu:4: args.t.texture", "a boolean", "[\"width\", \"height\"]"});
  expect_refusal("args.t = { texture = [] }", {"dir/k.cu:4: args.t.texture", "0 numbers", "1 to 2"});
  expect_refusal("args.t = { texture = [1, 2, 3] }", {"dir/k.cu:4: args.t.texture", "3 numbers"});
  expect_refusal("args.t = { texture = [1.5] }", {"dir/k.cu:4: args.t.texture", "a float"});
  expect_refusal(image + "filter = \"cubic\" }", {"dir/k.cu:4: args.t.filter", "cubic", "point, linear"});
  expect_refusal(image + "filter = 1 }", {"dir/k.cu:4: args.t.filter", "a string"});
  expect_refusal(image + "address = \"repeat\" }", {"dir/k.cu:4: args.t.address", "wrap, clamp, mirror, border"});
  expect_refusal(image + "address = [] }", {"dir/k.cu:4: args.t.address", "0 words"});
  expect_refusal(image + "address = [\"wrap\", \"wrap\", \"wrap\"] }", {"dir/k.cu:4: args.t.address", "3 words"});
  expect_refusal(image + "address = [\"wrap\", 2] }", {"dir/k.cu:4: args.t.address", "an integer"});
  expect_refusal(image + "read = \"float\" }", {"dir/k.cu:4: args.t.read", "element, normalized_float"});
  expect_refusal(image + "memory = \"pitched\" }", {"dir/k.cu:4: args.t.memory", "array, linear"});
  expect_refusal(image + "normalized_coords = \"yes\" }", {"dir/k.cu:4: args.t.normalized_coords", "true or false"});
  expect_refusal(image + "filtr = \"linear\" }", {"dir/k.cu:4: args.t.filtr", "\"filter\""});
  expect_refusal(image + "output = true }", {"dir/k.cu:4: args.t.output", "has a texture"});
  expect_refusal(image + "box = [4] }", {"dir/k.cu:4: args.t.box", "tensor maps"});
  expect_refusal("args.x = { buffer = 4, filter = \"linear\" }", {"dir/k.cu:4: args.x.filter", "textures"});
  expect_refusal("globals.x = { texture = 4, type = \"int\" }", {"dir/k.cu:4: globals.x.texture", "unknown key"});
  expect_refusal("args.p = { struct = [{ texture = 4 }] }", {"dir/k.cu:4: args.p.struct[0].texture", "unknown key"});
}

TEST(Description, RefusesWhatIsNoTensorMap) {
  const std::string map = "args.m = { tensor_map = [64, 64], ";
  expect_refusal("args.m = { tensor_map = \"n\" }", {"dir/k.cu:4: args.m", "a tensor map has a box"});
  expect_refusal("args.m = { tensor_map = {} }", {"dir/k.cu:4: args.m.tensor_map", "a table"});
  expect_refusal(map + "box = true }", {"dir/k.cu:4: args.m.box", "a boolean", "[64, 64]"});
  expect_refusal(map + "box = [true] }", {"dir/k.cu:4: args.m.box", "a boolean"});
  expect_refusal(map + "box = [] }", {"dir/k.cu:4: args.m.box", "0 numbers"});
  expect_refusal(map + "box = 4, swizzle = 128 }", {"dir/k.cu:4: args.m.swizzle", "a string", "an integer"});
  expect_refusal(map + "box = 4, swizzle = \"96B\" }", {"dir/k.cu:4: args.m.swizzle", "none, 32B, 64B, 128B"});
  expect_refusal(map + "box = 4, interleave = \"64B\" }", {"dir/k.cu:4: args.m.interleave", "none, 16B, 32B"});
  expect_refusal(map + "box = 4, l2_promotion = \"all\" }", {"dir/k.cu:4: args.m.l2_promotion", "256B"});
  expect_refusal(map + "box = 4, oob_fill = \"ones\" }", {"dir/k.cu:4: args.m.oob_fill", "zeros, nan"});
  expect_refusal(map + "box = 4, of = 3 }", {"dir/k.cu:4: args.m.of", "a string"});
  expect_refusal(map + "box = 4, base_offset = 1.5 }", {"dir/k.cu:4: args.m.base_offset", "a float"});
  expect_refusal(map + "box = 4, strides = [2.5] }", {"dir/k.cu:4: args.m.strides", "a float"});
  expect_refusal(map + "box = 4, strid = [16] }", {"dir/k.cu:4: args.m.strid", "\"strides\""});
  expect_refusal(map + "box = 4, of = \"x\", init = \"ones\" }",
                 {"dir/k.cu:4: args.m.init", "that the tensor map views"});
  expect_refusal(map + "box = 4, filter = \"point\" }", {"dir/k.cu:4: args.m.filter", "textures"});
  expect_refusal("args.m = { tensor_map = 4, box = 4, buffer = 4 }", {"dir/k.cu:4: args.m", "exactly one"});
}

TEST(Description, RefusesWhatIsNoCluster) {
  expect_refusal("cluster = true", {"dir/k.cu:4: cluster", "a boolean", "cluster = [2, 1, 1]"});
  expect_refusal("cluster = []", {"dir/k.cu:4: cluster", "0 numbers"});
  expect_refusal("cluster = [1, 1, 1, 1]", {"dir/k.cu:4: cluster", "4 numbers"});
  expect_refusal("cluster = [2, 1.5]", {"dir/k.cu:4: cluster", "a float"});
}

TEST(Description, RefusesValuesOfTheWrongType) {
  expect_refusal("kernel = 3", {"dir/k.cu:4: kernel", "a string", "an integer"});
  expect_refusal("kernel = \"\"", {"dir/k.cu:4: kernel"});
  expect_refusal("sizes = 3", {"dir/k.cu:4: sizes", "a table"});
  expect_refusal("sizes = { n = 2.5 }", {"dir/k.cu:4: sizes.n", "a float", "sizes.n = \"n // 4\""});
  expect_refusal("sizes = { n = [1] }", {"dir/k.cu:4: sizes.n", "a list"});
  expect_refusal("sizes = { block = 1 }", {"dir/k.cu:4: sizes.block", "meaning of its own"});
  expect_refusal("sizes = { \"a b\" = 1 }", {"dir/k.cu:4: sizes.a b", "letters"});
  expect_refusal("\ngrid = true", {"dir/k.cu:5: grid", "a boolean"});
  expect_refusal("grid = []", {"dir/k.cu:4: grid"});
  expect_refusal("grid = [1, 2, 3, 4]", {"dir/k.cu:4: grid", "three"});
  expect_refusal("block = 2.5", {"dir/k.cu:4: block", "a float"});
  expect_refusal("block = []", {"dir/k.cu:4: block", "empty"});
  expect_refusal("block = \"n\"", {"dir/k.cu:4: block", "is not a block"});
  expect_refusal("block = \"1x1x1x1\"", {"dir/k.cu:4: block", "three"});
  expect_refusal("block = \"8x\"", {"dir/k.cu:4: block", "is not a block"});
  expect_refusal("dynamic_shared_bytes = 1.5", {"dir/k.cu:4: dynamic_shared_bytes"});
  expect_refusal("args = []", {"dir/k.cu:4: args", "a table"});
  expect_refusal("args.x = []", {"dir/k.cu:4: args.x", "a list"});
  expect_refusal("args.x = 2020-01-01", {"dir/k.cu:4: args.x", "a date"});
  expect_refusal("args.x = {}", {"dir/k.cu:4: args.x", "exactly one of buffer and value"});
  expect_refusal("args.x = { buffer = 1, value = 2 }", {"dir/k.cu:4: args.x", "exactly one"});
  expect_refusal("args.x = { value = 2, init = \"ones\" }", {"dir/k.cu:4: args.x.init", "for buffers"});
  expect_refusal("args.x = { buffer = 1, output = 1 }", {"dir/k.cu:4: args.x.output", "true or false"});
  expect_refusal("args.x = { buffer = 1, tolerance = -1 }", {"dir/k.cu:4: args.x.tolerance", "0 or more"});
  expect_refusal("args.x = { buffer = 1, rtol = nan }", {"dir/k.cu:4: args.x.rtol", "finite"});
  expect_refusal("args.x = { buffer = 1, rtol = \"1\" }", {"dir/k.cu:4: args.x.rtol", "a string"});
  expect_refusal("args.x = { buffer = 1, ulps = 0.5 }", {"dir/k.cu:4: args.x.ulps", "integer"});
  expect_refusal("args.x = { buffer = 1, ulps = -1 }", {"dir/k.cu:4: args.x.ulps", "integer"});
  expect_refusal("metric = { joules = 1 }", {"joules", "bytes"});
  expect_refusal("metric = 8", {"metric", "a table"});
  expect_refusal("args.x = { buffer = 1, atol = 1, tolerance = 1 }", {"dir/k.cu:4: args.x", "write one"});
  expect_refusal("options = \"-O3\"", {"dir/k.cu:4: options", "a list of strings"});
  expect_refusal("options = [\n1]", {"dir/k.cu:5: options", "an integer"});
  expect_refusal("include = [2]", {"dir/k.cu:4: include"});
  expect_refusal("seed = -1", {"dir/k.cu:4: seed"});
}

TEST(Description, RefusesBlocksThatCannotBeLaunched) {
  for (const char* block : {"0", "[32, 0]", "-32", "1025", "\"32x0\"", "\"64x32\"", "\"1x1x65\"", "\"-1x4\"",
                            "99999999999", "\"4294967296x1\"", "\"65536x65536x65536\""}) {
    expect_refusal(std::string("block = ") + block, {"dir/k.cu:4: block", "block"}, ErrorKind::bad_launch);
  }
}

TEST(Description, NamesTheLineOfASyntaxError) {
  expect_refusal("block = 32\n\ngrid = = 3", {"dir/k.cu:6", "not valid TOML"});
  expect_refusal("block = 1\nblock = 2", {"dir/k.cu:5", "not valid TOML"});
  expect_refusal("seed = 99999999999999999999", {"dir/k.cu:4"});
  // toml++ 3.3 aborts on these, left to itself.
  expect_refusal("block = 1\n[~args]\n", {"dir/k.cu:5", "[name]"});
  expect_refusal("block = 1\n\n  [[ }x]]\n", {"dir/k.cu:6", "[name]"});
}

// Outside of strings they are no TOML, and toml++ 3.3 has undefined behaviour there.
TEST(Description, TakesCharactersOutsideAsciiOnlyInStringsAndComments) {
  const LaunchDescription d =
      read("# Größe '\nkernel = \"größe\"\noptions = ['é', \"\"\"\né\"\"\", \'\'\'é\'\'\', \"\\\"é\"] # é");
  EXPECT_EQ(d.kernel, "größe");
  EXPECT_EQ(d.options, (Texts{"é", "é", "é", "\"é"}));
  expect_refusal("block = [128, é]", {"dir/k.cu:4", "outside ASCII"});
  expect_refusal("block = 1\né = 3", {"dir/k.cu:5", "outside ASCII"});
  expect_refusal("kernel = \"a\né\"", {"dir/k.cu:5", "outside ASCII"});
  expect_refusal("kernel = \"\"\"\\\n é\"\"\"", {"dir/k.cu:4", "backslash"});
}

TEST(Description, SurvivesHostileText) {
  const auto begin = std::chrono::steady_clock::now();
  expect_refusal("x = " + std::string(5000, '['), {"dir/k.cu:", "not valid TOML"});
  std::string tables;
  for (int i = 0; i < 3000; ++i) tables += "{a=";
  expect_refusal("x = " + tables, {"dir/k.cu:", "not valid TOML"});
  std::string dotted = "a";
  for (int i = 0; i < 30000; ++i) dotted += ".a";
  expect_refusal(dotted + " = 1", {"dir/k.cu:4", "32 parts"});
  expect_refusal("[" + dotted + "]", {"dir/k.cu:4", "32 parts"});
  expect_refusal("x = 1\n" + std::string(1 << 20, 'x'), {"dir/k.cu:3", "bytes long"});
  expect_refusal(std::string("kernel = \"a\0b\"", 14), {"dir/k.cu:4"});
  expect_refusal("kernel = \"a\\u0000b\"", {"dir/k.cu:4: kernel", "NUL"});
  expect_refusal("kernel = \"\xff\xfe\"", {"dir/k.cu:4"});
  expect_refusal(std::string("\xef\xbb\xbf\x80"), {"dir/k.cu:"});
  std::mt19937 random(1);
  std::string garbage;
  for (int i = 0; i < 1 << 20; ++i) garbage += static_cast<char>(random());
  EXPECT_TRUE(read_description("k.cu", garbage).blocks.empty());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

// Whatever the text, the answer is a description or an Error that names the file.
TEST(Description, SurvivesMutatedText) {
  const std::string source =
      "/*regtune\nkernel = \"k\"\nsizes = { n = 16, m = \"n\" }\nblock = [128, \"32x8\"]\n[args]\nin = { buffer = "
      "\"n\", tolerance = 1e-5 }\na = 2.5\n*/";
  std::mt19937 random(2);
  int read_well = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string mutated = source;
    for (auto flips = 1 + random() % 3; flips > 0; --flips)
      mutated[random() % mutated.size()] = static_cast<char>(random());
    try {
      read_description("k.cu", mutated);
      ++read_well;
    } catch (const Error& error) {
      EXPECT_TRUE(error.kind() == ErrorKind::bad_description || error.kind() == ErrorKind::bad_launch);
      EXPECT_TRUE(std::string(error.what()).starts_with("k.cu:")) << error.what();
    }
  }
  EXPECT_GT(read_well, 0);
}

TEST(Description, SuggestsOnlyNearWords) {
  EXPECT_EQ(near_miss("gird", {"block", "grid"}), "; did you mean \"grid\"?");
  EXPECT_EQ(near_miss("warp", {"block", "grid"}), "");
  EXPECT_EQ(near_miss("x", {"n", "in"}), "");
  EXPECT_EQ(near_miss(std::string(1 << 20, 'x'), {"n"}), "");
}

}  // namespace
}  // namespace regtune
