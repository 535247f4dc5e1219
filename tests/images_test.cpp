// What a program loads, known again by its bytes, in every form in which the driver takes them.
#include "images.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "cubin_builder.hpp"
#include "key.hpp"
#include "supervisor_socket.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

std::string cubin(const std::string& code) {
  CubinBuilder builder;
  builder.function("k", builder.code("k", code), true);
  return builder.bytes();
}

// As nvcc embeds it: a header with its own length and that of what follows.
std::string fat_binary(const std::string& contents) {
  return words(0xba55ed50u) + packed(std::uint16_t{1}) + packed(std::uint16_t{16}) +
         packed(static_cast<std::uint64_t>(contents.size())) + contents;
}

std::string wrapper(const char* data) {
  return words(0x466243b1u, 1u) + packed(reinterpret_cast<std::uint64_t>(data)) + packed(std::uint64_t{0});
}

TEST(Images, ACubinIsKnownByItsBytesAndNotByWhatStandsBehind) {
  const std::string image = cubin("0123456789abcdef");
  EXPECT_EQ(image_hash(image.data()), content_hash(image));
  EXPECT_EQ(image_hash((image + "behind").data()), content_hash(image));
  EXPECT_NE(image_hash(cubin("0123456789abcdeX").data()), content_hash(image));
}

TEST(Images, AFatBinaryIsKnownWithAndWithoutItsWrapper) {
  const std::string image = fat_binary("code of several architectures");
  const std::string followed = image + "behind";
  EXPECT_EQ(image_hash(followed.data()), content_hash(image));
  EXPECT_EQ(image_hash(wrapper(followed.data()).data()), content_hash(image));
  EXPECT_NE(image_hash(fat_binary("code of several ArchitectureS").data()), content_hash(image));
}

TEST(Images, AWrapperMayHoldACubinOrNothing) {
  const std::string image = cubin("0123456789abcdef");
  EXPECT_EQ(image_hash(wrapper(image.data()).data()), content_hash(image));
  EXPECT_EQ(image_hash(wrapper(nullptr).data()), "");
}

TEST(Images, PtxIsATextUpToItsEnd) {
  const std::string text = "//\n.version 9.0\n.target sm_90\n";
  EXPECT_EQ(image_hash(text.c_str()), content_hash(text));
}

// LTO-IR, and whatever comes later: a length that nobody knows is not read.
TEST(Images, WhatIsNoneOfTheseHasNoHash) {
  EXPECT_EQ(image_hash(nullptr), "");
  EXPECT_EQ(image_hash("no code at all"), "");
  EXPECT_EQ(image_hash(words(0x7f4e43edu, 0u, 0u, 0u).data()), "");
}

TEST(Images, AnElfOf32BitsHasNoHash) {
  std::string image = cubin("0123456789abcdef");
  image[4] = 1;
  EXPECT_EQ(image_hash(image.data()), "");
}

TEST(Images, TheSourceOfAnImageIsFoundByItsHash) {
  remember_source("some hash", {"text", "k.cu", {{"a.h", "header"}}, {"-DX"}});
  const auto found = source_of_image("some hash");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text, "text");
  EXPECT_EQ(found->options, std::vector<std::string>{"-DX"});
  EXPECT_FALSE(source_of_image("another hash"));
}

TEST(Images, ModulesAndLibrariesAreForgotten) {
  auto* const module = reinterpret_cast<CUmodule>(0x1000);
  auto* const library = reinterpret_cast<CUlibrary>(0x2000);
  remember_module(module, "hash of the module");
  remember_library(library, "hash of the library");
  EXPECT_EQ(hash_of_module(module), "hash of the module");
  EXPECT_EQ(hash_of_library(library), "hash of the library");
  forget_module(module);
  forget_library(library);
  EXPECT_EQ(hash_of_module(module), "");
  EXPECT_EQ(hash_of_library(library), "");
}

// As regtune sets it for a program that it tunes.
class KeptImages : public testing::Test {
 protected:
  void SetUp() override { setenv(kImagesVariable, "1", 1); }
  void TearDown() override { unsetenv(kImagesVariable); }
};

const char kPtxOfAProgram[] = ".version 9.0\n.target sm_90\n// in the program's own file\n";

TEST_F(KeptImages, PtxAndFatBinariesAreToBeHadWhileTheyAreLoaded) {
  auto* const module = reinterpret_cast<CUmodule>(1);
  auto* const library = reinterpret_cast<CUlibrary>(2);
  std::string text = ".version 9.0\n.target sm_90\n";
  const std::string hash = note_image(text.c_str());
  EXPECT_EQ(hash, image_hash(text.c_str()));
  remember_module(module, hash);
  const std::string expected = text;
  text.assign(text.size(), 'x');  // the program may free it once it is loaded
  EXPECT_EQ(form_of_image(hash), ImageForm::ptx);
  EXPECT_EQ(bytes_of_image(hash), expected);

  const std::string image = fat_binary("code of several architectures");
  remember_library(library, note_image(wrapper(image.data()).data()));
  EXPECT_EQ(form_of_image(hash_of_library(library)), ImageForm::fat_binary);
  EXPECT_EQ(bytes_of_image(hash_of_library(library)), image);

  forget_module(module);
  EXPECT_EQ(form_of_image(hash), ImageForm::unknown);
  EXPECT_EQ(bytes_of_image(hash), "");
  EXPECT_EQ(bytes_of_image(hash_of_library(library)), image) << "that is still loaded";
  forget_library(library);
}

TEST_F(KeptImages, AreKeptForTheLastThatIsLoadedFromThem) {
  const std::string text = ".version 9.0\n.target sm_80\n";
  const std::string hash = note_image(text.c_str());
  remember_module(reinterpret_cast<CUmodule>(3), hash);
  remember_module(reinterpret_cast<CUmodule>(4), note_image(text.c_str()));
  forget_module(reinterpret_cast<CUmodule>(3));
  EXPECT_EQ(bytes_of_image(hash), text);
  forget_module(reinterpret_cast<CUmodule>(4));
  EXPECT_EQ(bytes_of_image(hash), "");
}

TEST_F(KeptImages, WhatLiesInTheProgramsFileIsReadThere) {
  const std::string hash = note_image(kPtxOfAProgram);
  remember_module(reinterpret_cast<CUmodule>(5), hash);
  EXPECT_EQ(bytes_of_image(hash), kPtxOfAProgram);
  forget_module(reinterpret_cast<CUmodule>(5));
}

TEST_F(KeptImages, ACubinHoldsNoPtxAndIsNotKept) {
  const std::string image = cubin("0123456789abcdef");
  const std::string hash = note_image(image.data());
  EXPECT_EQ(form_of_image(hash), ImageForm::cubin);
  EXPECT_EQ(bytes_of_image(hash), "");
}

TEST_F(KeptImages, AFileIsAnImageLikeAnyOther) {
  const TemporaryFolder folder;
  const std::string text = ".version 9.0\n.target sm_75\n";
  const std::string hash = note_image_file(folder.write("k.ptx", text).c_str());
  EXPECT_EQ(hash, image_hash(text.c_str()));
  EXPECT_EQ(bytes_of_image(hash), text);
  EXPECT_EQ(note_image_file(folder.write("short", "x").c_str()), "");
  EXPECT_EQ(note_image_file((folder.path() / "nowhere").c_str()), "");
  EXPECT_EQ(note_image_file(nullptr), "");
}

TEST(Images, NothingIsKeptWhereNobodyAsks) {
  const std::string text = ".version 9.0\n.target sm_90\n// not kept\n";
  EXPECT_EQ(bytes_of_image(note_image(text.c_str())), "");
}

}  // namespace
}  // namespace regtune
