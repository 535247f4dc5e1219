// What the injected library sends, as values; and a program's own source, written where nothing else is written.
#include "offered_kernel.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "program.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

Message source(const std::string& name, const std::vector<std::pair<std::string, std::string>>& headers,
               const std::vector<std::string>& options) {
  Message all = Message::array();
  for (const auto& [header, text] : headers) all.push_back({binary(header), binary(text)});
  return {{"name", name}, {"text", binary("__global__ void k() {}\n")}, {"headers", all}, {"options", options}};
}

TEST(OfferedKernel, WritesTheProgramsSourceWithItsHeaders) {
  const TemporaryFolder folder;
  const ProgramSourceFile written = write_program_source(
      source("scale.cu", {{"factor.h", "#define F 2\n"}, {"a/b.h", "b\n"}}, {"-DX"}), folder.path());
  EXPECT_EQ(written.file, folder.path() / "scale.cu");
  EXPECT_EQ(text_of(written.file), "__global__ void k() {}\n");
  EXPECT_EQ(text_of(folder.path() / "factor.h"), "#define F 2\n");
  EXPECT_EQ(text_of(folder.path() / "a/b.h"), "b\n");
  EXPECT_EQ(written.options, std::vector<std::string>{"-DX"}) << "headers are found beside the source";
  EXPECT_EQ(written.called, "scale.cu, compiled by the program");
}

TEST(OfferedKernel, WritesNoHeaderOutsideTheFolder) {
  const TemporaryFolder outer;
  const fs::path folder = outer.path() / "inner/folder";
  fs::create_directories(folder);
  const std::string absolute = (outer.path() / "absolute.h").string();
  write_program_source(
      source("k.cu", {{"../up.h", "u"}, {"../../two.h", "t"}, {"a/../../over.h", "o"}, {absolute, "a"}}, {}), folder);
  std::size_t written = 0;
  for (const auto& entry : fs::recursive_directory_iterator(outer.path()))
    if (entry.is_regular_file()) {
      ++written;
      EXPECT_TRUE(entry.path().string().starts_with(folder.string())) << entry.path();
    }
  EXPECT_EQ(written, 5u) << "the source and four headers";
  EXPECT_EQ(text_of(folder / "up.h"), "u");
}

TEST(OfferedKernel, NamesASourceThatHasNoNameOfAFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(write_program_source(source("", {}, {}), folder.path()).file, folder.path() / "kernel.cu");
  EXPECT_EQ(write_program_source(source("", {}, {}), folder.path()).called,
            "a source without a name, compiled by the program");
  EXPECT_EQ(write_program_source(source("/tmp/cupy/x.cu", {}, {}), folder.path()).called,
            "/tmp/cupy/x.cu, compiled by the program");
  EXPECT_EQ(write_program_source(source("program", {}, {}), folder.path()).file, folder.path() / "program.cu");
  EXPECT_EQ(write_program_source(source("/tmp/cupy/../x.cu", {}, {}), folder.path()).file, folder.path() / "x.cu");
}

TEST(OfferedKernel, LeavesTheArchitectureToTheGpu) {
  const TemporaryFolder folder;
  const std::vector<std::string> options{"-arch=sm_90", "-DA",   "--gpu-architecture",        "compute_80",
                                         "-arch",       "sm_80", "--gpu-architecture=sm_90a", "-code=sm_90",
                                         "-std=c++17"};
  EXPECT_EQ(write_program_source(source("k.cu", {}, options), folder.path()).options,
            (std::vector<std::string>{"-DA", "-std=c++17"}));
}

TEST(OfferedKernel, RefusesAFolderThatCannotBeWritten) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("file", "");
  EXPECT_THROW(write_program_source(source("k.cu", {}, {}), file / "below"), Error);
}

Message offer() {
  return {{"grid", {4, 2, 1}},
          {"block", {256, 1, 1}},
          {"dynamic_shared_bytes", 1024},
          {"cooperative", true},
          {"cluster", nullptr},
          {"parameters", {{0, 8}, {8, 4}}},
          {"parameter_block", binary(std::string("\0\1\2\3\4\5\6\7\x8\x9\xa\xb", 12))},
          {"host_pointers", 1}};
}

TEST(OfferedKernel, ReadsALaunch) {
  const CapturedLaunch launch = offered_launch(offer());
  EXPECT_EQ(launch.shape, (LaunchShape{{4, 2, 1}, {256, 1, 1}, 1024}));
  EXPECT_TRUE(launch.is_cooperative);
  EXPECT_FALSE(launch.cluster);
  EXPECT_EQ(launch.host_pointers, 1);
  ASSERT_EQ(launch.memory.parameters.size(), 2u);
  EXPECT_EQ(launch.memory.parameters[1].offset, 8);
  EXPECT_EQ(launch.memory.parameters[1].bytes, 4);
  EXPECT_EQ(launch.memory.parameter_block.size(), 12u);
  Message clustered = offer();
  clustered["cluster"] = {2, 1, 1};
  EXPECT_EQ(offered_launch(clustered).cluster, (Dim3{2, 1, 1}));
}

TEST(OfferedKernel, RefusesWhatNoInjectedLibrarySays) {
  for (const char* key : {"grid", "block", "parameters", "parameter_block"}) {
    Message without = offer();
    without.erase(key);
    EXPECT_THROW(offered_launch(without), Message::exception) << key;
    without[key] = "text";
    EXPECT_THROW(offered_launch(without), Message::exception) << key;
  }
}

// A program's end of the connection, which has answered already.
class Answering : public testing::Test {
 protected:
  Answering() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("no socket pair");
    ours_ = Channel(ends[0]);
    program_ = Channel(ends[1]);
  }
  Channel ours_;
  Channel program_;
};

TEST_F(Answering, TheProgramsMemoryComesAsAFile) {
  const int file = memfd_create("memory", MFD_CLOEXEC);
  ASSERT_EQ(write(file, "contents", 8), 8);
  program_.send({{"ranges", {{4096, 8, 0}}}});
  program_.send_descriptor(file);
  close(file);
  CapturedLaunch captured;
  take_memory(ours_, captured, true);
  EXPECT_EQ(program_.receive().message.at("do"), "copy memory");
  ASSERT_EQ(captured.memory.ranges.size(), 1u);
  EXPECT_EQ(captured.memory.ranges[0].address, 4096u);
  char read_back[8] = {};
  EXPECT_EQ(pread(captured.memory.descriptor, read_back, 8, 0), 8);
  EXPECT_EQ(std::string(read_back, 8), "contents");
  close(captured.memory.descriptor);
}

TEST_F(Answering, WhatTheKernelWasLoadedFromComesAsAFile) {
  const int file = memfd_create("image", MFD_CLOEXEC);
  const std::string image = ".version 9.0\n" + std::string(100000, '\n');
  ASSERT_EQ(write(file, image.data(), image.size()), static_cast<ssize_t>(image.size()));
  program_.send({{"bytes", image.size()}});
  program_.send_descriptor(file);
  close(file);
  EXPECT_EQ(take_image(ours_), image);
  EXPECT_EQ(program_.receive().message.at("do"), "copy image");
}

TEST_F(Answering, AnImageOfAnotherLengthThanWasToldIsRefused) {
  const int file = memfd_create("image", MFD_CLOEXEC);
  program_.send({{"bytes", std::int64_t{1} << 50}});
  program_.send_descriptor(file);
  close(file);
  EXPECT_THROW(take_image(ours_), Error);
}

TEST_F(Answering, AnImageThatIsNotThereAnyMoreIsToldInTheProgramsWords) {
  program_.send({{"failure", "the program has unloaded it"}});
  try {
    take_image(ours_);
    ADD_FAILURE() << "it is no error";
  } catch (const Error& failure) {
    EXPECT_STREQ(failure.what(), "the program has unloaded it");
  }
}

TEST_F(Answering, WithoutContentsTheMemoryIsOnlyListed) {
  program_.send({{"ranges", {{4096, 8, 0}, {8192, 16, 0}}}});
  CapturedLaunch captured;
  take_memory(ours_, captured, false);
  EXPECT_EQ(program_.receive().message.at("do"), "list memory");
  EXPECT_EQ(captured.memory.ranges.size(), 2u);
  EXPECT_EQ(captured.memory.descriptor, -1);
}

TEST_F(Answering, AFailureOfTheProgramsSideIsAnError) {
  program_.send({{"failure", "there is no room for a copy; free some"}});
  CapturedLaunch captured;
  try {
    take_memory(ours_, captured, true);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::buffer_too_large);
    EXPECT_STREQ(error.what(), "there is no room for a copy; free some");
  }
}

TEST_F(Answering, AProgramThatIsGoneIsAnError) {
  program_ = Channel();
  CapturedLaunch captured;
  EXPECT_THROW(take_memory(ours_, captured, true), Error);
  EXPECT_THROW(take_variables(ours_, {"table"}), Error);
}

TEST_F(Answering, TheProgramsOwnLaunchIsMadeOrAnError) {
  program_.send({{"ok", true}});
  EXPECT_NO_THROW(let_launch(ours_));
  EXPECT_EQ(program_.receive().message.at("do"), "launch");
  program_.send({{"failure", "the program's own launch failed with CUDA error 700"}});
  try {
    let_launch(ours_);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::gpu_failed);
    EXPECT_NE(std::string(error.what()).find("CUDA error 700; does the program run by itself?"), std::string::npos);
  }
}

TEST_F(Answering, VariablesComeWithTheirBytes) {
  program_.send({{"variables", {{"table", binary(std::string("\0\xff", 2))}}}});
  const auto values = take_variables(ours_, {"table", "other"});
  EXPECT_EQ(program_.receive().message.at("names"), Message({"table", "other"}));
  EXPECT_EQ(values, (std::map<std::string, std::string>{{"table", std::string("\0\xff", 2)}}));
}

}  // namespace
}  // namespace regtune
