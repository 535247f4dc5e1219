// A launch that was captured in one process and is made again in another, on a real GPU: at the same addresses, so that
// lists and tables of pointers are whole; and in the application's own context, which is afterwards as it was.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "adopted_worker.hpp"
#include "driver.hpp"
#include "on_gpu.hpp"
#include "program.hpp"
#include "regtune/error.hpp"
#include "worker.hpp"

namespace regtune {
namespace {

constexpr int kLists = 1 << 16;
constexpr int kNodesOfAList = 5;

struct Node {
  std::uint64_t next = 0;
  float value = 0;
  int padding = 0;
};

// Walks a list by address and writes through a table of pointers: { out, spare }.
std::string source_of_walk(const std::string& body) {
  return "struct Node { const Node* next; float value; int padding; };\n"
         "extern \"C\" __global__ void work(const Node* const* heads, float* const* table, int n) {\n"
         "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  if (i >= n) return;\n"
         "  float* const out = table[0];\n"
         "  float* const spare = table[1];\n"
         "  float x = 0;\n"
         "  for (const Node* node = heads[i]; node; node = node->next) x += node->value;\n" +
         body + "  if (n < 0) spare[0] = x;\n  out[i] = x;\n}\n";
}

class SnapshotOnGpu : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    file_ = memfd_create("captured", MFD_CLOEXEC);
  }
  void TearDown() override {
    if (file_ >= 0) close(file_);
  }

  // Makes the lists in a context of its own, writes all of it to the file, and tells where it lies. Then it is tuned in
  // place, if it is asked to be, and says whether it is as it was.
  void run_application(Channel& channel, std::int64_t spare_bytes) const {
    std::string why_not;
    const std::unique_ptr<Driver> own = Driver::open(why_not);
    if (!own || !own->make_context(0).ok()) return;
    std::vector<SnapshotRange> ranges;
    const auto allocate = [&](std::size_t bytes) {
      const std::int64_t place = ranges.empty() ? 0 : ranges.back().file_offset + ranges.back().bytes;
      SnapshotRange range{0, static_cast<std::int64_t>(bytes), place, ElementType::u8};
      require(own->allocate(range.bytes, range.address), "allocating");
      ranges.push_back(range);
      return range.address;
    };
    const auto fill = [&](DeviceAddress address, const auto& values) {
      require(own->copy_to_device(address, values.data(), static_cast<std::int64_t>(values.size() * sizeof values[0])),
              "filling");
    };
    std::vector<Node> nodes(static_cast<std::size_t>(kLists) * kNodesOfAList);
    std::vector<std::uint64_t> heads(kLists);
    const DeviceAddress heads_address = allocate(heads.size() * sizeof heads[0]);
    const DeviceAddress nodes_address = allocate(nodes.size() * sizeof nodes[0]);
    const DeviceAddress table_address = allocate(2 * sizeof heads[0]);
    const DeviceAddress out_address = allocate(kLists * sizeof(float));
    ranges.back().type = ElementType::f32;
    const DeviceAddress spare_address = allocate(static_cast<std::size_t>(spare_bytes));
    // The nodes of a list lie far from each other.
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].value = static_cast<float>(i % 97);
      if (i + kLists < nodes.size()) nodes[i].next = nodes_address + (i + kLists) * sizeof(Node);
    }
    for (std::size_t i = 0; i < heads.size(); ++i) heads[i] = nodes_address + i * sizeof(Node);
    fill(heads_address, heads);
    fill(nodes_address, nodes);
    fill(table_address, std::vector<std::uint64_t>{out_address, spare_address});
    fill(out_address, std::vector<float>(kLists, 3.0f));
    require(own->fill_bytes_async(spare_address, 0x3f, spare_bytes), "filling");

    const std::vector<std::string> before = contents(*own, ranges);
    for (std::size_t i = 0; i < ranges.size(); ++i)
      if (pwrite(file_, before[i].data(), before[i].size(), ranges[i].file_offset) != ranges[i].bytes) return;
    Message told = Message::array();
    for (const SnapshotRange& range : ranges)
      told.push_back({range.address, range.bytes, range.file_offset, static_cast<int>(range.type)});
    std::int64_t free_before = 0;
    std::int64_t free_after = 0;
    own->free_memory(free_before);
    channel.send({{"ranges", told}});
    if (channel.receive().state != Channel::State::message) return;
    {
      const std::unique_ptr<Driver> adopted = Driver::adopt(why_not);
      if (adopted) serve_adopted(channel, *adopted);
    }
    channel.send({{"answer", "going on"}});
    own->free_memory(free_after);
    channel.send({{"as captured", contents(*own, ranges) == before},
                  {"works", own->synchronize().ok()},
                  {"taken", free_before - free_after}});
  }

  static std::vector<std::string> contents(const Driver& driver, const std::vector<SnapshotRange>& ranges) {
    std::vector<std::string> all;
    for (const SnapshotRange& range : ranges) {
      all.emplace_back(static_cast<std::size_t>(range.bytes), '\0');
      require(driver.copy_to_host(all.back().data(), range.address, range.bytes), "reading");
    }
    return all;
  }

  void capture(std::int64_t spare_bytes = (3 << 20) + 5) {
    application_.emplace([this, spare_bytes](Channel& channel) { run_application(channel, spare_bytes); });
    const Channel::Received received = application_->channel().receive(after_ms(60000));
    ASSERT_EQ(received.state, Channel::State::message);
    SnapshotPlan captured;
    captured.descriptor = file_;
    for (const Message& range : received.message.at("ranges"))
      captured.ranges.push_back(
          {range.at(0), range.at(1), range.at(2), static_cast<ElementType>(range.at(3).get<int>())});
    const std::int64_t n = kLists;
    for (const std::uint64_t value : {captured.ranges[0].address, captured.ranges[2].address, std::uint64_t{n}})
      captured.parameter_block.append(reinterpret_cast<const char*>(&value), sizeof value);
    captured.parameters = {{0, 8}, {8, 8}, {16, 4}};
    std::sort(captured.ranges.begin(), captured.ranges.end(),
              [](const SnapshotRange& a, const SnapshotRange& b) { return a.address < b.address; });
    plan_ = {};
    plan_.shapes = {kShape};
    plan_.snapshot = captured;
  }

  // In a process of regtune's.
  void replay() {
    device_.emplace(0);
    prepare(plan_);
  }
  // In the application's own.
  void go_into_the_application() {
    plan_.snapshot->in_place = true;
    plan_.snapshot->descriptor = -1;
    application_->channel().send({{"do", "serve"}});
    device_.emplace(application_->channel());
    ASSERT_TRUE(device_->state()) << device_->why_not();
    prepare(plan_);
  }
  void expect_application_as_before() {
    device_->finish(60000);
    const Message told = application_->channel().receive(after_ms(60000)).message;
    ASSERT_TRUE(told.is_object());
    EXPECT_EQ(told.at("as captured"), true);
    EXPECT_EQ(told.at("works"), true);
    // What the driver itself sets up for modules and launches stays: no copy of the data does.
    std::printf("taken from the application: %lld bytes\n", told.at("taken").get<long long>());
    EXPECT_LT(told.at("taken").get<std::int64_t>(), std::int64_t{64} << 20);
  }

  Candidate walk(int id, const std::string& body = "") const {
    Candidate code = candidate(id, source_of_walk(body));
    code.shape = kShape;
    return code;
  }
  std::string found_by_check(const std::string& line) {
    const Shot shot = device_->check(walk(next_id_++, line));
    const auto* wrong = std::get_if<WrongResult>(&shot);
    if (!wrong) ADD_FAILURE() << line << ": alternative " << shot.index();
    return wrong ? wrong->message : "";
  }
  void expect_time(const Shot& shot) {
    if (const auto* wrong = std::get_if<WrongResult>(&shot)) ADD_FAILURE() << wrong->message;
    EXPECT_TRUE(std::holds_alternative<double>(shot)) << shot.index();
  }
  void expect_it_is_tuned() {
    const ReferenceRun run = set_reference(walk(0));
    EXPECT_FALSE(run.restored);
    for (const auto sample : {&Device::check, &Device::sample, &Device::sample_cold})
      expect_time((device_.operator->()->*sample)(walk(1, "  if (n < 0) return;\n")));
    EXPECT_TRUE(holds(found_by_check("  if (i == 9) x += 1;\n"), "1 of 65536 float elements differ"));
    EXPECT_TRUE(holds(found_by_check("  if (i == 9) spare[400000] = 1;\n"), "wrote where the author's code does not"));
    EXPECT_TRUE(holds(found_by_check("  if (i == 9) ((char*)spare)[(3 << 20) + 4] = 1;\n"),
                      "+ 3145732 (allocation of 3145733 bytes): 1 of 3145733 unsigned char elements differ, the "
                      "first: 1 instead of 63"));
    EXPECT_TRUE(holds(found_by_check("  if (i == 9) ((Node*)heads[i])->value = 5;\n"), "wrote where"));
    EXPECT_TRUE(holds(found_by_check("  return;\n"), "float elements differ"));
    expect_time(device_->check(walk(2)));
  }

  static constexpr LaunchShape kShape{{kLists / kThreads, 1, 1}, {kThreads, 1, 1}, 0};
  int file_ = -1;
  int next_id_ = 10;
  std::optional<Worker> application_;
  WorkloadPlan plan_;
};

TEST_F(SnapshotOnGpu, IsReplayedInAnotherProcess) {
  capture();
  replay();
  expect_it_is_tuned();
  EXPECT_EQ(device_->restarts(), 0);
}

TEST_F(SnapshotOnGpu, IsReplayedWhenTheApplicationHasEnded) {
  capture();
  application_.reset();
  replay();
  set_reference(walk(0));
  expect_time(device_->check(walk(1)));
}

TEST_F(SnapshotOnGpu, IsThereAgainAfterAFault) {
  capture();
  replay();
  set_reference(walk(0));
  EXPECT_TRUE(std::holds_alternative<Faulted>(device_->check(walk(1, "  spare[1ll << 44] = 1;\n"))));
  EXPECT_EQ(device_->restarts(), 1);
  expect_time(device_->check(walk(2)));
}

TEST_F(SnapshotOnGpu, RestoresWhatAKernelReadsAndWrites) {
  capture();
  replay();
  const ReferenceRun run = set_reference(walk(0, "  x += out[i];\n"));
  EXPECT_TRUE(run.restored);
  for (int i = 0; i < 3; ++i) {
    expect_time(device_->sample(walk(1, "  x = out[i] + x;\n")));
    expect_time(device_->check(walk(1, "  x = out[i] + x;\n")));
  }
}

TEST_F(SnapshotOnGpu, TakesWhatIsCloseEnough) {
  capture();
  const char* const nearly = "  x *= 1.0001f;\n";
  replay();
  set_reference(walk(0));
  EXPECT_TRUE(holds(found_by_check(nearly), "float elements differ"));
  plan_.snapshot->relative_tolerance = 1e-3;
  replay();
  set_reference(walk(0));
  expect_time(device_->check(walk(1, nearly)));
  EXPECT_TRUE(holds(found_by_check("  x *= 1.1f;\n"), "float elements differ"));
}

TEST_F(SnapshotOnGpu, IsTunedInTheApplicationItself) {
  capture();
  go_into_the_application();
  expect_it_is_tuned();
  const ReferenceRun run = set_reference(walk(100, "  x += out[i];\n"));
  EXPECT_TRUE(run.restored);
  expect_time(device_->sample(walk(101, "  x = out[i] + x;\n")));
  device_->launch_once(walk(102, "  spare[i] = x;\n"));
  expect_application_as_before();
}

TEST_F(SnapshotOnGpu, SaysThatAFaultInTheApplicationCannotBeMadeGood) {
  capture();
  go_into_the_application();
  set_reference(walk(0));
  try {
    device_->check(walk(1, "  spare[1ll << 44] = 1;\n"));
    FAIL() << "it went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::gpu_failed);
    EXPECT_TRUE(holds(error.what(), "context is lost")) << error.what();
  }
}

TEST_F(SnapshotOnGpu, LooksAtMuchMemoryQuickly) {
  constexpr std::int64_t kMuch = std::int64_t{2} << 30;
  capture(kMuch);
  application_.reset();
  const auto start = std::chrono::steady_clock::now();
  const auto ms_since = [](auto begin) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  };
  replay();
  std::printf("a snapshot of 2 GiB: made in %.0f ms, ", ms_since(start));
  set_reference(walk(0));
  const Candidate code = walk(1);
  expect_time(device_->check(code));
  double best_ms = 1e9;
  for (int i = 0; i < 10; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    expect_time(device_->check(code));
    best_ms = std::min(best_ms, ms_since(begin));
  }
  std::printf("a check in %.3f ms: %.0f GB/s\n", best_ms, static_cast<double>(kMuch) / (best_ms * 1e6));
  EXPECT_LT(best_ms, 20);
}

}  // namespace
}  // namespace regtune
