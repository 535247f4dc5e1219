// What a program loads, known again by its bytes, in every form in which the driver takes them.
#include "images.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "cubin_builder.hpp"
#include "key.hpp"

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

}  // namespace
}  // namespace regtune
