// What compilers gave, kept in the cache: found under its whole key, by budget and choice, each code once.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <fstream>

#include "store_fixture.hpp"

namespace regtune {
namespace {

CompileKey sample_key() {
  return {"s", {"-DA", "-DB"}, "NVRTC 13.0.88", "sm_90", "_Z9decayWidePKfPfm", "0.1.0"};
}

StaticFacts compiled_facts(int registers) {
  StaticFacts facts = sample_facts(registers);
  facts.occupancy.reset();
  return facts;
}

std::string text_of(const KeptResult& kept) {
  Text text;
  text << kept.policy << kept.choice << kept.result.facts << kept.result.failure << kept.result.log_excerpt
       << kept.result.cubin << kept.result.entry;
  return text.str();
}

std::vector<std::string> sorted_texts(const std::vector<KeptResult>& results) {
  std::vector<std::string> texts;
  for (const KeptResult& kept : results) texts.push_back(text_of(kept));
  std::sort(texts.begin(), texts.end());
  return texts;
}

// Every policy under several choices, failures and odd bytes among them.
std::vector<KeptResult> sample_results() {
  const std::string odd_bytes("\0cubin\xff\0", 8);
  const SourceChoice renamed{true, -1, {}};
  const SourceChoice all{true, 10, {{"UNROLL", "4"}, {"BLOCK", "256"}}};
  return {
      {AuthorsOwn{}, {}, {compiled_facts(55), "", "log", "cubin of the author", ""}},
      {CompilerDefault{}, {}, {compiled_facts(55), "", "log", "", ""}},
      {RegisterCap{57}, {}, {compiled_facts(56), "", "", odd_bytes, ""}},
      {RegisterCap{57}, renamed, {compiled_facts(57), "", "", "another", "_Z17cutlass_decayWidePKfPfm"}},
      {RegisterCap{57}, {false, 0, {}}, {compiled_facts(58), "", "", "level 0", ""}},
      {RegisterCap{57}, all, {compiled_facts(59), "", "", "all", "_Z17cutlass_decayWidePKfPfm"}},
      {LaunchBounds{256, 0}, {false, -1, {{"UNROLL", "4"}}}, {compiled_facts(60), "", "", "unrolled", ""}},
      {LaunchBounds{256, 3}, {}, {std::nullopt, "(C7600)", "k.cu(3): error", "", ""}},
      {MaxRegisters{64}, all, {std::nullopt, "", "", "", ""}},
  };
}

TEST_F(StoreTest, KeepsResultsOfEveryPolicyAndChoiceWithoutARun) {
  const std::vector<KeptResult> results = sample_results();
  {
    Store store = Store::open(file());
    EXPECT_TRUE(store.kept_results(sample_key()).empty());
    store.keep_results(sample_key(), results);
  }
  auto store = Store::open_existing(file());
  ASSERT_TRUE(store);
  EXPECT_EQ(sorted_texts(store->kept_results(sample_key())), sorted_texts(results));
  for (const KeptResult& kept : results) {
    const auto found = store->kept_result(sample_key(), kept.policy, kept.choice);
    ASSERT_TRUE(found) << text_of(kept);
    EXPECT_EQ(text_of({kept.policy, kept.choice, *found}), text_of(kept));
  }
  EXPECT_FALSE(store->kept_result(sample_key(), RegisterCap{58}, {}));
  EXPECT_FALSE(store->kept_result(sample_key(), MaxRegisters{57}, {}));
  EXPECT_FALSE(store->kept_result(sample_key(), LaunchBounds{256, 0}, {}));
  EXPECT_FALSE(store->kept_result(sample_key(), RegisterCap{57}, {false, -1, {{"UNROLL", "8"}}}));
  EXPECT_FALSE(store->kept_result(sample_key(), RegisterCap{57}, {true, 9, {}}));
  EXPECT_EQ(count(file(), "tuning_run"), 0);
  EXPECT_EQ(integrity(file()), "ok");
}

TEST_F(StoreTest, FindsKeptResultsUnderTheirWholeKeyOnly) {
  Store store = Store::open(file());
  const CompileResult result{compiled_facts(56), "", "", "cubin", ""};
  store.keep_result(sample_key(), RegisterCap{57}, {}, result);
  EXPECT_TRUE(store.kept_result(sample_key(), RegisterCap{57}, {}));
  using Change = void (*)(CompileKey&);
  const std::vector<Change> changes = {[](CompileKey& k) { k.source_hash = "t"; },
                                       [](CompileKey& k) { k.options = {"-DA"}; },
                                       [](CompileKey& k) {
                                         k.options = {"-DB", "-DA"};
                                       },
                                       [](CompileKey& k) { k.options = {"-DA-DB"}; },
                                       [](CompileKey& k) { k.compiler = "NVRTC 13.1"; },
                                       [](CompileKey& k) { k.architecture = "sm_90a"; },
                                       [](CompileKey& k) { k.kernel = "k"; },
                                       [](CompileKey& k) { k.regtune_version = "0.2.0"; }};
  for (std::size_t index = 0; index < changes.size(); ++index) {
    CompileKey other = sample_key();
    changes[index](other);
    EXPECT_FALSE(store.kept_result(other, RegisterCap{57}, {})) << index;
    EXPECT_TRUE(store.kept_results(other).empty()) << index;
    store.keep_result(other, RegisterCap{57}, {}, {compiled_facts(99), "", "", "other", ""});
  }
  EXPECT_EQ(count(file(), "compile_result"), static_cast<std::int64_t>(changes.size()) + 1);
  EXPECT_EQ(store.kept_result(sample_key(), RegisterCap{57}, {})->cubin, "cubin");
}

TEST_F(StoreTest, AResultReplacesTheEarlierOfItsPolicyAndChoice) {
  Store store = Store::open(file());
  store.keep_results(sample_key(), sample_results());
  const SourceChoice renamed{true, -1, {}};
  store.keep_result(sample_key(), RegisterCap{57}, renamed, {std::nullopt, "refused", "", "", ""});
  store.keep_result(sample_key(), LaunchBounds{256, 3}, {}, {compiled_facts(70), "", "", "now it compiles", ""});
  EXPECT_EQ(store.kept_results(sample_key()).size(), sample_results().size());
  EXPECT_EQ(store.kept_result(sample_key(), RegisterCap{57}, renamed)->failure, "refused");
  EXPECT_FALSE(store.kept_result(sample_key(), RegisterCap{57}, renamed)->facts);
  const auto compiled = store.kept_result(sample_key(), LaunchBounds{256, 3}, {});
  EXPECT_EQ(compiled->failure, "");
  EXPECT_EQ(compiled->cubin, "now it compiles");
}

TEST_F(StoreTest, KeepsOneCubinPerCodeThatIsLaunchedAlike) {
  Store store = Store::open(file());
  const StaticFacts facts = compiled_facts(56);
  StaticFacts other_ceiling = facts;
  other_ceiling.register_ceiling = 80;
  StaticFacts unbounded = facts;
  unbounded.max_threads_per_block = 0;
  StaticFacts not_required = facts;
  not_required.required_threads_per_block = 0;
  store.keep_result(sample_key(), RegisterCap{64}, {}, {facts, "", "log 64", "A", ""});
  store.keep_result(sample_key(), RegisterCap{65}, {}, {other_ceiling, "", "log 65", "A'", ""});
  EXPECT_EQ(count(file(), "code"), 1);
  const auto shared = store.kept_result(sample_key(), RegisterCap{65}, {});
  EXPECT_EQ(shared->cubin, "A");
  EXPECT_EQ(shared->log_excerpt, "log 65");
  EXPECT_EQ(shared->facts->register_ceiling, 80) << "the facts are the policy's own";
  // Equal hashes, but a launch would tell these apart: by a limit compiled in, or by the kernel's name.
  const SourceChoice renamed{true, -1, {}};
  store.keep_result(sample_key(), RegisterCap{66}, {}, {unbounded, "", "", "B", ""});
  store.keep_result(sample_key(), RegisterCap{67}, {}, {not_required, "", "", "C", ""});
  store.keep_result(sample_key(), RegisterCap{64}, renamed, {facts, "", "", "D", "cutlass_k"});
  store.keep_result(sample_key(), RegisterCap{65}, renamed, {facts, "", "", "E", "cutlass_k2"});
  EXPECT_EQ(store.kept_result(sample_key(), RegisterCap{66}, {})->cubin, "B");
  EXPECT_EQ(store.kept_result(sample_key(), RegisterCap{67}, {})->cubin, "C");
  EXPECT_EQ(store.kept_result(sample_key(), RegisterCap{64}, renamed)->cubin, "D");
  EXPECT_EQ(store.kept_result(sample_key(), RegisterCap{65}, renamed)->cubin, "E");
  EXPECT_EQ(count(file(), "code"), 5);
}

TEST_F(StoreTest, ACubinWhoseBytesWentBadCountsAsNotKeptAndIsMended) {
  Store store = Store::open(file());
  const CompileResult result{compiled_facts(56), "", "", "cubin", ""};
  const CompileResult failure{std::nullopt, "refused", "", "", ""};
  store.keep_results(sample_key(),
                     std::vector<KeptResult>{
                         {AuthorsOwn{}, {}, result}, {RegisterCap{57}, {}, result}, {RegisterCap{58}, {}, failure}});
  const KeptSource source{"cubin", {"name"}, "", 1};
  store.keep_source(sample_key(), source);
  Database::open(file(), Database::Mode::read_write_create).execute("UPDATE code SET cubin = x'00'");
  EXPECT_FALSE(store.kept_result(sample_key(), AuthorsOwn{}, {}));
  EXPECT_FALSE(store.kept_source(sample_key()));
  ASSERT_EQ(store.kept_results(sample_key()).size(), 1u);
  EXPECT_EQ(store.kept_results(sample_key())[0].result.failure, "refused");
  store.keep_result(sample_key(), AuthorsOwn{}, {}, result);
  EXPECT_EQ(store.kept_result(sample_key(), AuthorsOwn{}, {})->cubin, "cubin");
  EXPECT_EQ(store.kept_results(sample_key()).size(), 3u);
  EXPECT_TRUE(store.kept_source(sample_key()));
}

TEST_F(StoreTest, ForgetsTheResultsOfOneKey) {
  Store store = Store::open(file());
  CompileKey other = sample_key();
  other.kernel = "other";
  store.keep_results(sample_key(), sample_results());
  store.keep_results(other, sample_results());
  store.keep_source(sample_key(), {"cubin", {}, "", 0});
  store.forget_results(sample_key());
  EXPECT_TRUE(store.kept_results(sample_key()).empty());
  EXPECT_EQ(store.kept_results(other).size(), sample_results().size());
  EXPECT_TRUE(store.kept_source(sample_key()));
  other.kernel = "never kept";
  store.forget_results(other);
}

TEST_F(StoreTest, KeepsTheFirstCompilationOfASourceForAllItsKernels) {
  Store store = Store::open(file());
  EXPECT_FALSE(store.kept_source(sample_key()));
  const KeptSource source{std::string("\x7f"
                                      "ELF\0\xff",
                                      6),
                          {"_Z1kIiEvv", "", "_Z1kIfEvv"},
                          "ptxas info\n",
                          28.5};
  store.keep_source(sample_key(), source);
  CompileKey key = sample_key();
  key.kernel = "another kernel of the file";
  const auto found = store.kept_source(key);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cubin, source.cubin);
  EXPECT_EQ(found->lowered_names, source.lowered_names);
  EXPECT_EQ(found->log, source.log);
  EXPECT_EQ(found->seconds, source.seconds);
  EXPECT_TRUE(store.kept_results(key).empty());
  store.keep_source(key, {"newer", {"one"}, "", 0});
  EXPECT_EQ(store.kept_source(sample_key())->cubin, "newer");
  EXPECT_EQ(store.kept_source(sample_key())->lowered_names, std::vector<std::string>{"one"});
  key.architecture = "sm_80";
  EXPECT_FALSE(store.kept_source(key));
  EXPECT_EQ(integrity(file()), "ok");
}

TEST_F(StoreTest, ASweepThatFailsHalfWayIsKeptNotAtAll) {
  Store store = Store::open(file());
  Database::open(file(), Database::Mode::read_write_create)
      .execute(
          "CREATE TRIGGER full BEFORE INSERT ON compile_result WHEN NEW.policy_first = 9 BEGIN "
          "SELECT RAISE(ABORT, 'no room'); END");
  std::vector<KeptResult> results = sample_results();
  results.push_back({RegisterCap{9}, {}, {compiled_facts(24), "", "", "cubin", ""}});
  expect_error(ErrorKind::cache_unusable, "no room", [&] { store.keep_results(sample_key(), results); });
  EXPECT_TRUE(store.kept_results(sample_key()).empty());
  EXPECT_EQ(count(file(), "code"), 0);
}

double cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

// What a warm run does first. 250 results with 60 codes of 8 KiB took 2 ms of CPU time, with codes of 48 KiB 12 ms,
// most of it for 12 MB of memory. The bound leaves room for sanitizers.
TEST_F(StoreTest, ReadsTheResultsOfASweepInMilliseconds) {
  std::vector<KeptResult> results;
  for (int cap = 0; cap < 250; ++cap) {
    std::string cubin(48 * 1024, static_cast<char>(cap % 60));
    results.push_back({RegisterCap{cap}, {}, {compiled_facts(cap % 60), "", "ptxas info", std::move(cubin), ""}});
  }
  Store store = Store::open(file());
  const double writing = cpu_ms();
  store.keep_results(sample_key(), results);
  const double reading = cpu_ms();
  const std::vector<KeptResult> kept = store.kept_results(sample_key());
  const double end = cpu_ms();
  EXPECT_EQ(kept.size(), results.size());
  RecordProperty("write_cpu_ms", std::to_string(reading - writing));
  RecordProperty("read_cpu_ms", std::to_string(end - reading));
  EXPECT_LT(end - reading, 200);
}

}  // namespace
}  // namespace regtune
