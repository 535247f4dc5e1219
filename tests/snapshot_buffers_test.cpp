// A captured launch over a GPU that is not there (fake_gpu.c): its memory is the host's, and what its kernels change is
// changed by the host.
#include "snapshot_buffers.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "adopted_worker.hpp"
#include "device.hpp"
#include "dynamic_library.hpp"
#include "regtune/error.hpp"
#include "signature.hpp"
#include "workload_message.hpp"

namespace regtune {
namespace {

constexpr std::size_t kPage = 2 << 20;
constexpr std::int64_t kFloats = 655362;  // 2.5 MiB and 8 bytes
constexpr std::int64_t kOtherBytes = (1 << 20) + 3;
constexpr LaunchShape kShape{{1, 1, 1}, {32, 1, 1}, 0};

// As much of a cubin as the fake reads.
std::string empty_cubin() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_shoff = sizeof header;
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

int kept_by_the_fake() {
  std::vector<std::string> failures;
  const auto fake = DynamicLibrary::open({REGTUNE_FAKE_GPU}, failures);
  return fake.value().find<int()>("fake_gpu_kept")();
}

template <class Action>
std::string refusal_of(Action action, ErrorKind kind) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

// An application's memory: a table that points to floats in the same page, and bytes far from both. `file` has it all;
// addresses are free until somebody makes them.
class Captured : public testing::Test {
 protected:
  void SetUp() override {
    setenv("REGTUNE_CUDA", REGTUNE_FAKE_GPU, 1);
    void* const found = mmap(nullptr, 32 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(found, MAP_FAILED);
    munmap(found, 32 * kPage);
    const std::uint64_t base = (reinterpret_cast<std::uint64_t>(found) + kPage - 1) / kPage * kPage;
    table_ = base + 512;
    floats_ = base + 4096;
    other_ = base + 16 * kPage;

    const std::string floats_bytes(reinterpret_cast<const char*>(initial_.data()), initial_.size() * sizeof(float));
    plan_.ranges = {{table_, 8, 0, ElementType::u8},
                    {floats_, kFloats * 4, 64, ElementType::f32},
                    {other_, kOtherBytes, 4 << 20, ElementType::u8}};
    plan_.descriptor = memfd_create("captured", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(plan_.descriptor, 8 << 20), 0);
    write_at(0, {reinterpret_cast<const char*>(&floats_), sizeof floats_});
    write_at(64, floats_bytes);
    write_at(4 << 20, other_bytes_);
    const std::uint64_t place = 5;
    plan_.parameter_block.assign(reinterpret_cast<const char*>(&table_), sizeof table_);
    plan_.parameter_block.append(reinterpret_cast<const char*>(&place), sizeof place);
    plan_.parameters = {{0, 8}, {8, 8}};
  }
  void TearDown() override {
    close(plan_.descriptor);
    unsetenv("REGTUNE_CUDA");
    unsetenv("FAKE_GPU_FREE_MIB");
  }

  void write_at(off_t offset, const std::string& bytes) {
    ASSERT_EQ(pwrite(plan_.descriptor, bytes.data(), bytes.size(), offset), static_cast<ssize_t>(bytes.size()));
  }

  WorkloadPlan workload() const {
    WorkloadPlan plan;
    plan.shapes = {kShape};
    plan.snapshot = plan_;
    return plan;
  }

  // As NVRTC names the instances, in the order in which Device asks for them.
  static CompiledCode device_code() {
    CompiledCode code;
    code.compiled = true;
    code.cubin = empty_cubin();
    for (const char* type : {"h", "f"})
      for (const char* purpose : {"12regtune_fillI", "15regtune_compareI", "12regtune_showI"})
        code.lowered_names.push_back(std::string("_Z") + purpose + type);
    return code;
  }

  Message request() const {
    Message message = workload_message(workload());
    message["do"] = "plan";
    message["device_code"] = binary(empty_cubin());
    message["functions"] = {
        {to_string(ElementType::f32), {{"compare", "_Z15regtune_compareIfEv"}, {"show", "_Z12regtune_showIfEv"}}},
        {to_string(ElementType::u8), {{"compare", "_Z15regtune_compareIhEv"}, {"show", "_Z12regtune_showIhEv"}}}};
    return message;
  }

  static Candidate candidate(int id, const std::string& kernel) { return {id, kernel, empty_cubin(), kShape}; }

  const float* floats() const { return reinterpret_cast<const float*>(floats_); }
  bool is_as_captured() const {
    return std::memcmp(floats(), initial_.data(), initial_.size() * sizeof(float)) == 0 &&
           std::memcmp(reinterpret_cast<const void*>(other_), other_bytes_.data(), other_bytes_.size()) == 0 &&
           *reinterpret_cast<const std::uint64_t*>(table_) == floats_;
  }

  std::uint64_t table_ = 0;
  std::uint64_t floats_ = 0;
  std::uint64_t other_ = 0;
  const std::vector<float> initial_ = std::vector<float>(kFloats, 1.0f);
  const std::string other_bytes_ = std::string(kOtherBytes, 'o');
  SnapshotPlan plan_;
};

// The same in this process, with room on the device and without.
class Replayed : public Captured, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    Captured::SetUp();
    if (!GetParam()) setenv("FAKE_GPU_FREE_MIB", "100", 1);
    std::string why_not;
    driver_ = Driver::open(why_not);
    ASSERT_TRUE(driver_) << why_not;
    ASSERT_TRUE(driver_->make_context(0).ok());
  }
  void TearDown() override {
    munmap(reinterpret_cast<void*>(floats_ / kPage * kPage), 2 * kPage);
    munmap(reinterpret_cast<void*>(other_ / kPage * kPage), kPage);
    Captured::TearDown();
  }

  void make() {
    data_.emplace(*driver_);
    data_->make(request());
  }
  void launch(const std::string& kernel) {
    LoadedKernel loaded;
    ASSERT_TRUE(driver_->load(empty_cubin(), kernel, 0, loaded).ok());
    ASSERT_TRUE(driver_->launch(loaded, kShape, data_->parameters()).ok());
    driver_->unload(loaded);
  }
  void make_reference(const std::string& kernel) {
    make();
    data_->restore();
    launch(kernel);
    data_->keep_as_reference();
  }
  std::string found_in(const std::string& kernel, bool bit_by_bit = false) {
    data_->restore();
    launch(kernel);
    return data_->differences(bit_by_bit);
  }

  std::unique_ptr<Driver> driver_;
  std::optional<SnapshotBuffers> data_;
};
INSTANTIATE_TEST_SUITE_P(Copies, Replayed, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "OnTheDevice" : "OnTheHost"; });

TEST_P(Replayed, LiesWhereTheApplicationHadIt) {
  make();
  EXPECT_TRUE(is_as_captured());
  ASSERT_EQ(data_->parameters().size(), 2u);
  EXPECT_EQ(**static_cast<std::uint64_t**>(data_->parameters()[0]), floats_) << "a pointer of a captured pointer";
  EXPECT_EQ(data_->damage(), "");
}

TEST_P(Replayed, RestoresWhatALaunchChanges) {
  make_reference("fake_add");
  EXPECT_EQ(floats()[5], 2.0f);
  EXPECT_EQ(data_->differences(true), "");
  launch("fake_add");
  EXPECT_NE(data_->differences(true), "") << "it reads what it writes";
  data_->restore();
  EXPECT_TRUE(is_as_captured());
  EXPECT_EQ(found_in("fake_add", true), "");
}

TEST_P(Replayed, RestoresWithoutAReference) {
  make();
  launch("fake_add_and_beside");
  EXPECT_FALSE(is_as_captured());
  data_->restore();
  EXPECT_TRUE(is_as_captured());
}

TEST_P(Replayed, FindsOtherValues) {
  make_reference("fake_add");
  EXPECT_EQ(found_in("fake_add_two"),
            fmt::format("{:#x} + 20 (allocation of {} bytes): 1 of {} float elements differ, the first: 3 instead of 2",
                        floats_, kFloats * 4, kFloats));
  EXPECT_EQ(found_in("fake_add"), "");
}

TEST_P(Replayed, FindsAWriteWhereTheReferenceHasNone) {
  make_reference("fake_add");
  const std::string found = found_in("fake_add_and_beside");
  EXPECT_EQ(found, fmt::format("wrote where the author's code does not: {:#x} + {} (allocation of {} bytes): 1 of {} "
                               "float elements differ, the first: -1 instead of 1",
                               floats_, ((1 << 18) + 5) * 4, kFloats * 4, kFloats));
  data_->restore();
  EXPECT_TRUE(is_as_captured());
  EXPECT_EQ(found_in("fake_add"), "");
  EXPECT_NE(found_in("fake_add_and_beside"), "");
}

TEST_P(Replayed, FindsAWriteIntoBytesOfNoWord) {
  make_reference("fake_add");
  reinterpret_cast<char*>(other_)[kOtherBytes - 1] = 'x';
  EXPECT_EQ(data_->differences(false),
            fmt::format("wrote where the author's code does not: {:#x} + {} (allocation of {} bytes): 1 of {} unsigned "
                        "char elements differ, the first: 120 instead of 111",
                        other_, kOtherBytes - 1, kOtherBytes, kOtherBytes));
  data_->restore();
  EXPECT_TRUE(is_as_captured());
}

TEST_P(Replayed, TakesWhatIsCloseEnoughOfFloatingPointNumbersOnly) {
  plan_.relative_tolerance = 0.01;
  make_reference("fake_add");
  EXPECT_EQ(found_in("fake_add_nearly"), "");
  EXPECT_NE(found_in("fake_add_nearly", true), "");
  EXPECT_NE(found_in("fake_add_two"), "");
  EXPECT_NE(found_in("fake_add_nearly_and_beside"), "");
}

TEST_P(Replayed, KeepsALaterReference) {
  make_reference("fake_add");
  data_->restore();
  launch("fake_add_and_beside");
  data_->keep_as_reference();
  EXPECT_EQ(found_in("fake_add_and_beside"), "");
  EXPECT_NE(found_in("fake_add"), "");
  data_->restore();
  EXPECT_TRUE(is_as_captured());
}

TEST_P(Replayed, FillsVariablesThatTheModuleHas) {
  plan_.variables = {{"fake_variable", "12345678"}, {"left out by the compiler", "1234"}};
  make();
  LoadedKernel loaded;
  ASSERT_TRUE(driver_->load(empty_cubin(), "fake_add", 0, loaded).ok());
  EXPECT_EQ(data_->fill_variables(loaded), "");
  DeviceAddress address = 0;
  std::int64_t bytes = 0;
  ASSERT_TRUE(driver_->variable(loaded, "fake_variable", address, bytes).ok());
  EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(address), "12345678", 8), 0);
  plan_.variables.front().bytes = "123";
  SnapshotBuffers other(*driver_);
  Message request = this->request();
  request["snapshot"]["ranges"] = Message::array();
  other.make(request);
  EXPECT_EQ(
      other.fill_variables(loaded),
      "the variable fake_variable holds 8 bytes, and 3 were captured; is this the source that the application was "
      "built from?");
}

TEST_P(Replayed, RefusesAnAddressThatIsTaken) {
  void* const wanted = reinterpret_cast<void*>(other_);
  ASSERT_EQ(mmap(wanted, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), wanted);
  const std::string text = refusal_of([&] { make(); }, ErrorKind::gpu_failed);
  EXPECT_TRUE(
      text.starts_with(fmt::format("the 2 MiB at {:#x}, where the application has its data, are taken in the "
                                   "process that replays the launch (the driver gives 0x",
                                   other_)))
      << text;
  EXPECT_TRUE(text.ends_with(" instead); try --in-process")) << text;
}

TEST_P(Replayed, RefusesMemoryThatDoesNotFit) {
  setenv("FAKE_GPU_FREE_MIB", "5", 1);
  const std::string text = refusal_of([&] { make(); }, ErrorKind::buffer_too_large);
  EXPECT_EQ(text,
            "the application holds 6 MiB of the GPU's memory, and 5 MiB are free for a copy beside it; try "
            "--in-process, which needs room for what the launch changes only");
}

TEST_P(Replayed, RefusesAFileThatIsTooShort) {
  ASSERT_EQ(ftruncate(plan_.descriptor, 4 << 20), 0);
  refusal_of([&] { make(); }, ErrorKind::internal);
}

// The application as a process of its own, which is tuned in itself.
class InPlace : public Captured {
 protected:
  void SetUp() override {
    Captured::SetUp();
    plan_.in_place = true;
  }
  // What it says when it goes on: its memory, and how much more is kept in its context than before.
  Worker application() {
    return Worker([this](Channel& channel) {
      for (const std::uint64_t page : {floats_ / kPage * kPage, other_ / kPage * kPage})
        mmap(reinterpret_cast<void*>(page), 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
             -1, 0);
      for (const SnapshotRange& range : plan_.ranges)
        if (pread(plan_.descriptor, reinterpret_cast<void*>(range.address), static_cast<std::size_t>(range.bytes),
                  range.file_offset) != range.bytes)
          return;
      const int before = kept_by_the_fake();
      std::string why_not;
      std::optional<Message> last;
      {
        const std::unique_ptr<Driver> driver = Driver::adopt(why_not);
        if (driver) last = serve_adopted(channel, *driver);
      }
      if (last) channel.send({{"answer", "going on"}});
      channel.send({{"as captured", is_as_captured()}, {"kept", kept_by_the_fake() - before}, {"why_not", why_not}});
    });
  }
  void expect_as_before(Worker& application) {
    const Message told = application.channel().receive(after_ms(20000)).message;
    EXPECT_EQ(told, (Message{{"as captured", true}, {"kept", 0}, {"why_not", ""}}));
  }
};

TEST_F(InPlace, LeavesTheApplicationAsItWas) {
  plan_.descriptor = dup(plan_.descriptor);  // for the application only
  Worker application = this->application();
  close(plan_.descriptor);
  plan_.descriptor = -1;
  Device device(application.channel());
  ASSERT_TRUE(device.state()) << device.why_not();
  EXPECT_EQ(device.state()->id.name, "NVIDIA Fake 100");
  device.prepare(workload(), device_code(), 5000, false);
  device.set_reference(candidate(0, "fake_add"));
  const ReferenceRun run = device.warm_up(5);
  EXPECT_TRUE(run.restored);
  for (const auto sample : {&Device::sample, &Device::sample_cold, &Device::check})
    EXPECT_TRUE(std::holds_alternative<double>((device.*sample)(candidate(1, "fake_add_again"))));
  const Shot wrong = device.check(candidate(2, "fake_add_two"));
  ASSERT_TRUE(std::holds_alternative<WrongResult>(wrong));
  EXPECT_TRUE(std::holds_alternative<WrongResult>(device.check(candidate(3, "fake_add_and_beside"))));
  device.launch_once(candidate(4, "fake_set_and_beside"));
  device.finish(20000);
  expect_as_before(application);
}

TEST_F(InPlace, LeavesTheApplicationAsItWasWhenNobodyAsksAnyMore) {
  Worker application = this->application();
  Channel ours = application.release_channel();
  const int told = dup(ours.descriptor());
  {
    Device device(ours);
    device.prepare(workload(), device_code(), 5000, false);
    device.set_reference(candidate(0, "fake_add"));
  }
  shutdown(ours.descriptor(), SHUT_WR);
  Channel last(told);
  const Message message = last.receive(after_ms(20000)).message;
  EXPECT_EQ(message, (Message{{"as captured", true}, {"kept", 0}, {"why_not", ""}}));
}

TEST_F(InPlace, SaysThatAFaultCannotBeMadeGood) {
  Worker application = this->application();
  Device device(application.channel());
  device.prepare(workload(), device_code(), 5000, false);
  device.set_reference(candidate(0, "fake_set"));
  const std::string text = refusal_of([&] { device.check(candidate(1, "fake_fault")); }, ErrorKind::gpu_failed);
  EXPECT_NE(text.find("the application's CUDA context is lost"), std::string::npos) << text;
  EXPECT_NE(text.find("Leave out --in-process"), std::string::npos) << text;
}

TEST_F(InPlace, RefusesAPlanAboutOtherMemory) {
  Worker application = this->application();
  Device device(application.channel());
  plan_.in_place = false;
  refusal_of([&] { device.prepare(workload(), device_code(), 5000, false); }, ErrorKind::internal);
  device.finish(20000);
  expect_as_before(application);
}

TEST(SnapshotPlan, IsReadAsItWasSent) {
  WorkloadPlan plan;
  plan.snapshot = SnapshotPlan{7,
                               {{0x7f0040000000, 24, 4096, ElementType::f64}},
                               {"\0\x80x", 3},
                               {{1, 2}},
                               {{"coefficients", {"\xff\0", 2}}},
                               0.5,
                               0.25,
                               true};
  const SnapshotPlan read = snapshot_of(Message::from_cbor(Message::to_cbor(workload_message(plan)))).value();
  EXPECT_EQ(read.descriptor, 7);
  ASSERT_EQ(read.ranges.size(), 1u);
  EXPECT_EQ(read.ranges[0].address, 0x7f0040000000u);
  EXPECT_EQ(read.ranges[0].bytes, 24);
  EXPECT_EQ(read.ranges[0].file_offset, 4096);
  EXPECT_EQ(read.ranges[0].type, ElementType::f64);
  EXPECT_EQ(read.parameter_block, plan.snapshot->parameter_block);
  ASSERT_EQ(read.parameters.size(), 1u);
  EXPECT_EQ(read.parameters[0].offset, 1);
  EXPECT_EQ(read.parameters[0].bytes, 2);
  ASSERT_EQ(read.variables.size(), 1u);
  EXPECT_EQ(read.variables[0].bytes, plan.snapshot->variables[0].bytes);
  EXPECT_EQ(read.absolute_tolerance, 0.5);
  EXPECT_EQ(read.relative_tolerance, 0.25);
  EXPECT_TRUE(read.in_place);
  EXPECT_FALSE(snapshot_of(workload_message(WorkloadPlan{})));
}

TEST(SnapshotPlan, IsDescribedByTheSignature) {
  WorkloadPlan plan;
  plan.snapshot.emplace();
  plan.snapshot->variables = {{"coefficients", "12345678"}};
  KernelSignature signature;
  signature.parameters.resize(2);
  signature.parameters[0].name = "nodes";
  signature.parameters[0].type = "const Node*";
  signature.parameters[1].name = "n";
  signature.parameters[1].type = "int";
  EXPECT_EQ(describe_arguments(plan, signature),
            (std::vector<std::string>{"nodes  const Node*  captured", "n      int          captured",
                                      "variable coefficients  captured"}));
}

}  // namespace
}  // namespace regtune
