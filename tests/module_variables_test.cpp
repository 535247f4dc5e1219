// Variables of modules over a GPU that is not there (fake_gpu.c), each module with one of its own that kernels write.
#include "module_variables.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "device_sampling.hpp"
#include "launch_data.hpp"
#include "nvml.hpp"
#include "record_json.hpp"

namespace regtune {
namespace {

constexpr LaunchShape kShape{{1, 1, 1}, {32, 1, 1}, 0};
const std::vector<std::string> kNames{"fake_variable", "left out by the compiler"};

// As much of a cubin as the fake reads.
std::string empty_cubin() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_shoff = sizeof header;
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

// A launch without buffers.
class NoData final : public LaunchData {
 public:
  explicit NoData(const Driver& driver) {
    require(driver.load(empty_cubin(), "regtune_nothing", 0, empty_), "loading");
  }
  std::vector<void*>& parameters() override { return none_; }
  const LoadedKernel& empty_kernel() const override { return empty_; }
  std::string fill_variables(const LoadedKernel&) const override { return ""; }
  void restore() override {}
  void keep_as_reference() override {}
  std::string differences(bool) override { return ""; }
  std::string example_of_tolerance() const override { return ""; }
  std::string damage() override { return ""; }
  void release() override {}

 private:
  std::vector<void*> none_;
  LoadedKernel empty_;
};

class WithVariables : public testing::Test {
 protected:
  void SetUp() override {
    setenv("REGTUNE_CUDA", REGTUNE_FAKE_GPU, 1);
    std::string why_not;
    driver_ = Driver::open(why_not);
    ASSERT_TRUE(driver_) << why_not;
    ASSERT_TRUE(driver_->make_context(0).ok());
    variables_.emplace(*driver_);
  }
  void TearDown() override {
    unsetenv("REGTUNE_CUDA");
    unsetenv("FAKE_GPU_COUNTER");
  }

  struct Code {
    LoadedKernel kernel;
    ModuleVariables::OfCode variables;
  };
  Code load(const std::string& kernel, const std::vector<std::string>& names = kNames) const {
    Code code;
    require(driver_->load(empty_cubin(), kernel, 0, code.kernel), "loading");
    code.variables = variables_->read(code.kernel, names);
    return code;
  }
  void launch(const Code& code) const {
    std::vector<void*> none;
    require(driver_->launch(code.kernel, kShape, none), "launching");
  }
  // From the start.
  void run(Code& code) const {
    variables_->restore(code.variables);
    launch(code);
  }
  std::uint64_t value(const Code& code) const {
    std::uint64_t value = 0;
    DeviceAddress address = 0;
    std::int64_t bytes = 0;
    require(driver_->variable(code.kernel, "fake_variable", address, bytes), "looking");
    require(driver_->copy_to_host(&value, address, sizeof value), "reading");
    return value;
  }
  void make_reference(Code& code) {
    variables_->forget_reference();
    run(code);
    variables_->keep_as_reference(code.variables);
  }

  std::unique_ptr<Driver> driver_;
  std::optional<ModuleVariables> variables_;
};

TEST_F(WithVariables, ThatAKernelWritesArePutBack) {
  Code code = load("fake_on_variable_count");
  make_reference(code);
  EXPECT_EQ(variables_->written(), (std::map<std::string, bool>{{"fake_variable", true}}));
  EXPECT_EQ(value(code), 1u);
  EXPECT_EQ(variables_->differences(code.variables), "");
  launch(code);
  EXPECT_EQ(value(code), 2u);
  EXPECT_EQ(variables_->differences(code.variables), "the variable fake_variable: 1 of 8 bytes differ, the first at 0");
  run(code);
  EXPECT_EQ(value(code), 1u);
  EXPECT_EQ(variables_->differences(code.variables), "");
}

TEST_F(WithVariables, OfEachCodeAreItsOwn) {
  Code reference = load("fake_on_variable_count");
  make_reference(reference);
  Code same = load("fake_on_variable_count_again");
  Code other = load("fake_on_variable_count_two");
  run(same);
  run(other);
  EXPECT_EQ(value(reference), 1u);
  EXPECT_EQ(variables_->differences(same.variables), "");
  EXPECT_NE(variables_->differences(other.variables), "") << "what it leaves is an output";
  run(other);
  EXPECT_EQ(value(other), 2u);
}

TEST_F(WithVariables, ThatNobodyWritesCostNothing) {
  Code reference = load("fake_on_variable_nothing");
  make_reference(reference);
  EXPECT_TRUE(variables_->written().empty());
  const Code other = load("fake_on_variable_count");
  launch(other);
  EXPECT_EQ(variables_->differences(other.variables), "");
  Code again = other;
  variables_->restore(again.variables);
  EXPECT_EQ(value(other), 1u) << "nothing is copied";
}

TEST_F(WithVariables, WithoutAReferenceAreAllPutBack) {
  Code code = load("fake_on_variable_count");
  for (int i = 0; i < 3; ++i) run(code);
  EXPECT_EQ(value(code), 1u);
}

TEST_F(WithVariables, ThatHoldAnotherValueEachTimeAreNotCompared) {
  Code code = load("fake_on_variable_vary");
  make_reference(code);
  run(code);
  EXPECT_NE(variables_->differences(code.variables), "");
  variables_->leave_out_what_varies(code.variables);
  EXPECT_EQ(variables_->written(), (std::map<std::string, bool>{{"fake_variable", false}}));
  run(code);
  EXPECT_EQ(variables_->differences(code.variables), "");
}

// Its address is another one in each module.
TEST_F(WithVariables, ThatPointIntoTheirModuleAreComparedByWhatTheyPointTo) {
  const std::vector<std::string> names{"fake_table"};
  Code reference = load("fake_on_variable_point", names);
  make_reference(reference);
  Code same = load("fake_on_variable_point_again", names);
  Code other = load("fake_on_variable_point_behind", names);
  run(same);
  run(other);
  EXPECT_NE(value(reference), value(same));
  EXPECT_EQ(variables_->differences(same.variables), "");
  EXPECT_NE(variables_->differences(other.variables), "");
}

class Sampled : public WithVariables {
 protected:
  void SetUp() override {
    WithVariables::SetUp();
    setenv("FAKE_GPU_COUNTER", "counter", 1);
    data_ = std::make_unique<NoData>(*driver_);
    sampling_.emplace(*driver_, *data_, clocks_, 1 << 20);
  }
  void load_code(int id, const std::string& kernel) {
    const Message reply = sampling_->load({{"id", id},
                                           {"kernel", kernel},
                                           {"cubin", binary(empty_cubin())},
                                           {"shape", kShape},
                                           {"variables", {"counter"}}});
    ASSERT_TRUE(reply.contains("ok")) << reply;
  }

  NvmlClocks clocks_{""};
  std::unique_ptr<LaunchData> data_;
  std::optional<DeviceSampling> sampling_;
};

// The fake's kernel takes the longer, the more launches it has counted.
TEST_F(Sampled, EveryTimedLaunchFindsTheVariablesOfTheFirst) {
  load_code(0, "work");
  const Message reference = sampling_->reference(0);
  EXPECT_EQ(reference.at("written_variables"), (Message{{"counter", true}}));
  const Message warm = sampling_->warm_up({{"id", 0}, {"for_ms", 5}});
  EXPECT_EQ(warm.at("restored"), true);
  EXPECT_EQ(warm.at("launches_per_sample"), 1);
  load_code(1, "work_again");
  for (int i = 0; i < 5; ++i) {
    EXPECT_LT(sampling_->sample(1).at("ms").get<double>(), 2.1);
    EXPECT_LT(sampling_->check(1).at("ms").get<double>(), 2.1);
  }
  load_code(2, "fake_on_variable_count_two");
  EXPECT_EQ(sampling_->check(2).at("wrong"), "the variable counter: 3 instead of 1");
}

}  // namespace
}  // namespace regtune
