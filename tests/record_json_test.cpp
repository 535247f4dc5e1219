#include "record_json.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "regtune/error.hpp"

namespace regtune {
namespace {

using Json = nlohmann::json;

StaticFacts facts_with(int registers, BudgetStatus status, std::optional<Limiter> limiter) {
  StaticFacts facts{
      registers, 128, 8, 12, 5, 7, 40, 1024, 256, 96, std::string(32, 'c'), {status, 57, "note, \"quoted\""}, {}};
  if (limiter) facts.occupancy = Occupancy{3, 0.375, *limiter};
  return facts;
}

Measurement measurement() {
  return {{{1, 1.5}, {2, 1.25}},
          {{1, 0.1}, {2, 1e-7}, {3, 12345.678901234567}},
          {1.0, 1.25, 1.5},
          {0.9, 1.0, 1.1},
          {{1, 2.5}, {2, 2.25}}};
}

// Every alternative of every type that the record holds.
TuningRecord full_record() {
  TuningRecord r;
  r.regtune_version = "0.1.0";
  r.started = "2026-01-02T03:04:05Z";
  r.host = "host";
  r.architecture = "sm_90";
  r.gpu = GpuState{
      {"NVIDIA H200", 9, 0, 132, 3201}, gpu_limits(9, 0).value(), "580.159.04", 150'754'820'096, 62'914'560, {"pid 7"}};
  r.compiler = "NVRTC 13.0.88";
  r.source_path = "kernels/k.cu";
  r.source_hash = std::string(32, 'a');
  r.options = {"-use_fast_math", "-DX=\"y\""};
  r.kernel = "_Z1kPf";
  r.signature = "k(float*)";
  r.sizes = {{"n", 16777216}, {"largest", INT64_MAX}, {"least", INT64_MIN}};
  r.arguments = {"out  float*"};
  r.guesses = {"args.out = { buffer = \"n\" }"};
  r.description = "block = 256\n";
  r.description_folder = "folder";
  r.command_line = {"k.cu", "--grid", "ceil_div(n, block)"};
  r.author_shape = {{65536, 2, 3}, {32, 8, 1}, 4096};
  r.settings = {0.01,   0.95,   30,   500,  std::numeric_limits<std::uint64_t>::max(),
                7,      true,   true, true, SampleMode::graph,
                0.0021, 3.2e-05};
  r.clocks = ClockWatch{123, 345, 1755, 1980, 4, true, {"power cap", "heat"}};
  r.work = {1 << 30, INT64_MAX, 4123.5};
  const std::vector<RegisterPolicy> policies{AuthorsOwn{},         CompilerDefault{},    RegisterCap{57},
                                             LaunchBounds{256, 0}, LaunchBounds{256, 4}, MaxRegisters{64},
                                             RegisterCap{58},      RegisterCap{59},      RegisterCap{60},
                                             RegisterCap{61},      RegisterCap{62},      LaunchBounds{256, 8}};
  const std::vector<Outcome> outcomes{measurement(),
                                      NotTimed{},
                                      CompileFailed{"k.cu(1): error\nx"},
                                      NotLaunchable{"too many registers"},
                                      SameCodeAs{0},
                                      Faulted{"an illegal address"},
                                      TimedOut{10000.5},
                                      WrongResult{"out[3] is 1, not 2"},
                                      Abandoned{"slower by half", measurement()},
                                      NotCompiled{"no time was left"},
                                      Quarantined{"it faulted", "2026-01-02T03:04:05Z"},
                                      NotApplicable{"ptxas: not here"}};
  const std::vector<BudgetStatus> statuses{BudgetStatus::not_asked, BudgetStatus::in_force, BudgetStatus::clamped,
                                           BudgetStatus::inert, BudgetStatus::overridden};
  const std::vector<std::optional<Limiter>> limiters{
      Limiter::registers, Limiter::shared_memory, Limiter::threads, Limiter::blocks, {}};
  for (std::size_t i = 0; i < policies.size(); ++i) {
    Trial trial;
    trial.variant.id = static_cast<int>(i);
    trial.variant.policy = policies[i];
    trial.variant.block = r.author_shape.block;
    trial.shape = r.author_shape;
    trial.outcome = outcomes[i];
    const bool has_code = !std::holds_alternative<CompileFailed>(outcomes[i]) &&
                          !std::holds_alternative<NotCompiled>(outcomes[i]) &&
                          !std::holds_alternative<NotApplicable>(outcomes[i]);
    if (has_code)
      trial.facts = facts_with(24 + static_cast<int>(i), statuses[i % statuses.size()], limiters[i % limiters.size()]);
    r.trials.push_back(trial);
  }
  r.verdict = Verdict{Verdict::Kind::improved, 0, 8, 4, {1.1, 1.2, 1.3}, {1.0, 1.1, 1.2}, "because"};
  r.verdict->speedup_other_way = {0.8, 0.9, 1.0};
  r.verdict->best_other_way_id = 7;
  r.author_bounds = "kThreads, 5";
  r.nvcc = NvccComparison{"nvcc 13.0.88 with GCC 12.2.0",
                          {{0, 40, 8, 12, "", {}, 0, ""},
                           {4, 48, 0, 0, "", {1.01, 1.02, 1.03}, 60, "the gain holds"},
                           {8, 0, 0, 0, "k.cu(3): error", {}, 0, ""}}};
  r.verdict->speedup_of_best_other_way = {1.05, 1.15, 1.25};
  return r;
}

// Through the text, as a file does it.
Json document(const TuningRecord& record) {
  return Json::parse(record_json(record).dump());
}

Error refusal(const Json& json) {
  try {
    record_from_json(json, "run.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_description);
    EXPECT_EQ(std::string(error.what()).rfind("run.json: ", 0), 0u) << error.what();
    return error;
  }
  ADD_FAILURE() << "was taken: " << json.dump().substr(0, 200);
  return Error(ErrorKind::internal, "");
}

bool says(const Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

TEST(RecordJson, KeepsEveryField) {
  const TuningRecord before = full_record();
  const TuningRecord after = record_from_json(document(before), "run.json");
  EXPECT_EQ(record_json(after), record_json(before));
  // The comparison above would miss what neither side writes.
  EXPECT_EQ(after.settings.seed, before.settings.seed);
  EXPECT_EQ(after.settings.restored, true);
  EXPECT_EQ(after.settings.launches_per_sample, 7);
  EXPECT_TRUE(after.settings.cold);
  EXPECT_EQ(after.guesses, std::vector<std::string>{"args.out = { buffer = \"n\" }"});
  EXPECT_EQ(after.description, "block = 256\n");
  EXPECT_EQ(after.description_folder, "folder");
  EXPECT_EQ(after.command_line, before.command_line);
  EXPECT_EQ(after.settings.sample_mode, SampleMode::graph);
  EXPECT_EQ(after.settings.launch_overhead_ms, 0.0021);
  EXPECT_EQ(after.settings.timer_resolution_ms, 3.2e-05);
  EXPECT_EQ(after.clocks, before.clocks);
  EXPECT_EQ(after.work, before.work);
  EXPECT_EQ(after.author_bounds, before.author_bounds);
  EXPECT_EQ(after.nvcc, before.nvcc);
  EXPECT_EQ(std::get<Measurement>(after.trials[0].outcome).other_way, measurement().other_way);
  EXPECT_EQ(after.verdict->speedup_other_way, before.verdict->speedup_other_way);
  EXPECT_EQ(after.verdict->best_other_way_id, 7);
  EXPECT_EQ(after.verdict->speedup_of_best_other_way, before.verdict->speedup_of_best_other_way);
  EXPECT_EQ(after.sizes, before.sizes);
  EXPECT_EQ(after.options, before.options);
  EXPECT_EQ(after.gpu->id, before.gpu->id);
  EXPECT_EQ(after.gpu->memory_bytes, before.gpu->memory_bytes);
  EXPECT_EQ(after.gpu->other_users, before.gpu->other_users);
  EXPECT_EQ(after.gpu->limits.shared_bytes_per_block_optin, before.gpu->limits.shared_bytes_per_block_optin);
  EXPECT_EQ(after.author_shape.grid, before.author_shape.grid);
  EXPECT_EQ(after.author_shape.dynamic_shared_bytes, 4096);
  EXPECT_EQ(after.verdict->kind, Verdict::Kind::improved);
  EXPECT_EQ(after.verdict->best_id, 8);
  EXPECT_EQ(after.verdict->best_in_source_id, 4);
  EXPECT_EQ(after.verdict->speedup, before.verdict->speedup);
  EXPECT_EQ(after.verdict->speedup_in_source, before.verdict->speedup_in_source);
  EXPECT_EQ(after.verdict->reason, "because");
}

TEST(RecordJson, KeepsEveryPolicyOutcomeAndFact) {
  const TuningRecord before = full_record();
  const TuningRecord after = record_from_json(document(before), "run.json");
  ASSERT_EQ(after.trials.size(), before.trials.size());
  std::set<std::size_t> outcomes;
  for (std::size_t i = 0; i < before.trials.size(); ++i) {
    const Trial& a = before.trials[i];
    const Trial& b = after.trials[i];
    EXPECT_EQ(b.variant.id, a.variant.id);
    EXPECT_TRUE(b.variant.policy == a.variant.policy) << i;
    EXPECT_EQ(b.variant.block, a.variant.block);
    EXPECT_EQ(b.outcome.index(), a.outcome.index());
    outcomes.insert(b.outcome.index());
    ASSERT_EQ(b.facts.has_value(), a.facts.has_value());
    if (!a.facts) continue;
    EXPECT_EQ(b.facts->budget, a.facts->budget);
    EXPECT_EQ(b.facts->occupancy, a.facts->occupancy);
    EXPECT_EQ(b.facts->registers_per_thread, a.facts->registers_per_thread);
    EXPECT_EQ(b.facts->required_threads_per_block, 96);
    EXPECT_EQ(b.facts->code_hash, a.facts->code_hash);
  }
  EXPECT_EQ(outcomes.size(), std::variant_size_v<Outcome>) << "an outcome is not in this test";
  EXPECT_EQ(std::get<CompileFailed>(after.trials[2].outcome).message, "k.cu(1): error\nx");
  EXPECT_EQ(std::get<NotLaunchable>(after.trials[3].outcome).reason, "too many registers");
  EXPECT_EQ(std::get<SameCodeAs>(after.trials[4].outcome).variant_id, 0);
  EXPECT_EQ(std::get<TimedOut>(after.trials[6].outcome).limit_ms, 10000.5);
  const auto& measured = std::get<Measurement>(after.trials[0].outcome);
  EXPECT_EQ(measured.race, measurement().race);
  EXPECT_EQ(measured.confirmation, measurement().confirmation) << "to the last bit";
  EXPECT_EQ(measured.time_ms, measurement().time_ms);
  EXPECT_EQ(measured.speedup, measurement().speedup);
  EXPECT_EQ(std::get<NotCompiled>(after.trials[9].outcome).reason, "no time was left");
  EXPECT_EQ(std::get<NotApplicable>(after.trials[11].outcome).reason, "ptxas: not here");
  SourceChoice spilling;
  spilling.spills_to_shared = true;
  EXPECT_EQ(choice_from_json(choice_json(spilling)), spilling);
  EXPECT_EQ(choice_from_json(choice_json({})), SourceChoice{});
  EXPECT_EQ(std::get<Abandoned>(after.trials[8].outcome).so_far.race, measurement().race);
}

TEST(RecordJson, WithoutAGpuThereIsNeitherGpuNorVerdict) {
  TuningRecord record = full_record();
  record.gpu.reset();
  record.verdict.reset();
  const TuningRecord after = record_from_json(document(record), "run.json");
  EXPECT_FALSE(after.gpu);
  EXPECT_FALSE(after.verdict);
}

TEST(RecordJson, PoliciesOfMessagesKeepTheirKind) {
  for (const Trial& trial : full_record().trials)
    EXPECT_TRUE(policy_from_json(policy_json(trial.variant.policy)) == trial.variant.policy);
  EXPECT_THROW(policy_from_json({{"kind", "hope"}}), Error);
  EXPECT_THROW(policy_from_json({{"kind", "cap"}}), Error);
  EXPECT_THROW(policy_from_json("cap"), Error);
}

TEST(RecordJson, KeepsChoicesTheRenamedBestAndTheRoute) {
  TuningRecord before = full_record();
  before.route = "plain NVRTC: nvJitLink was not found";
  before.trials[2].variant.choice = {true, 10, {{"UNROLL", "4"}, {"T", "float \"x\""}}};
  before.trials[3].variant.choice = {true, -1, {}};
  before.trials[4].variant.choice = {false, 0, {}};
  before.trials[5].variant.choice = {false, -1, {{"", ""}}};
  before.verdict->best_renamed_id = 2;
  before.verdict->speedup_renamed = {1.18, 1.19, 1.2};
  const TuningRecord after = record_from_json(document(before), "run.json");
  EXPECT_EQ(after.route, before.route);
  for (std::size_t i = 0; i < before.trials.size(); ++i)
    EXPECT_EQ(after.trials[i].variant.choice, before.trials[i].variant.choice) << i;
  EXPECT_EQ(after.verdict->best_renamed_id, 2);
  EXPECT_EQ(after.verdict->speedup_renamed, before.verdict->speedup_renamed);
}

TEST(RecordJson, LeavesOutWhatHoldsItsDefaultAndReadsDocumentsWithoutIt) {
  const Json json = document(full_record());
  EXPECT_FALSE(json.contains("route"));
  EXPECT_FALSE(json["verdict"].contains("best_renamed"));
  EXPECT_FALSE(json["verdict"].contains("speedup_renamed"));
  for (const Json& trial : json["trials"]) EXPECT_FALSE(trial.contains("choice"));
  const TuningRecord record = record_from_json(json, "run.json");
  EXPECT_EQ(record.route, "");
  EXPECT_FALSE(record.verdict->best_renamed_id);
  EXPECT_EQ(record.verdict->speedup_renamed, Interval{});
  for (const Trial& trial : record.trials) EXPECT_TRUE(trial.variant.choice.is_authors());
}

TEST(RecordJson, AnInstanceIsToldWhereItIsNotTheAuthors) {
  TuningRecord record = full_record();
  record.trials[2].variant.choice = {false, -1, {}, "scale<4, float>"};
  Json whole = document(record);
  EXPECT_EQ(whole["trials"][2]["choice"]["instance"], "scale<4, float>");
  EXPECT_EQ(record_from_json(whole, "run.json").trials[2].variant.choice, record.trials[2].variant.choice);
  whole["trials"][2]["choice"]["instance"] = 4;
  refusal(whole);
  EXPECT_FALSE(choice_json({true, 10, {}}).contains("instance"));
}

TEST(RecordJson, HalfAChoiceAndARenamedBestThatThereIsNotAreRefused) {
  Json whole = document(full_record());
  const Json choice = choice_json({true, 10, {{"UNROLL", "4"}}});
  whole["trials"][2]["choice"] = choice;
  ASSERT_TRUE(record_from_json(whole, "run.json").trials[2].variant.choice.renamed);
  for (const auto& [key, value] : choice.items()) {
    Json part = whole;
    part["trials"][2]["choice"].erase(key);
    EXPECT_TRUE(says(refusal(part), "trials[2]: the key '" + key + "' is missing"));
  }
  for (const auto& [path, value] :
       std::initializer_list<std::pair<const char*, Json>>{{"/trials/2/choice", "cutlass"},
                                                           {"/trials/2/choice/renamed", 1},
                                                           {"/trials/2/choice/register_usage_level", 11},
                                                           {"/trials/2/choice/register_usage_level", -2},
                                                           {"/trials/2/choice/macros", Json::array({"UNROLL"})},
                                                           {"/trials/2/choice/macros/UNROLL", 4},
                                                           {"/route", 1},
                                                           {"/nvcc/codes/0/variant", 12},
                                                           {"/nvcc/codes/0/variant", -1},
                                                           {"/nvcc/codes/1/speedup", Json::array({1, 2})},
                                                           {"/nvcc/compiler", 3},
                                                           {"/verdict/best_renamed", 2},
                                                           {"/verdict/best_renamed", "2"}}) {
    Json part = whole;
    part[Json::json_pointer(path)] = value;
    refusal(part);
  }
  whole["verdict"]["speedup_renamed"] = whole["verdict"]["speedup"];
  whole["verdict"]["best_renamed"] = 99;
  refusal(whole);
}

TEST(RecordJson, EveryMissingKeyIsNamed) {
  const Json whole = document(full_record());
  for (const auto& [key, value] : whole.items()) {
    // Left out where there are none.
    const std::set<std::string> optional{"clocks",  "work",        "author_bounds", "nvcc",
                                         "guesses", "description", "command_line"};
    if (optional.contains(key)) continue;
    Json part = whole;
    part.erase(key);
    EXPECT_TRUE(says(refusal(part), "the key '" + key + "' is missing"));
  }
  for (const char* path :
       {"/gpu/limits/registers_per_sm", "/gpu/id/sm_count", "/settings/seed", "/author_shape/grid", "/verdict/best",
        "/verdict/speedup/high", "/trials/0/facts/code_hash", "/trials/0/facts/budget/note",
        "/trials/0/facts/occupancy/limiter", "/trials/2/policy/registers_per_thread",
        "/trials/4/policy/min_blocks_per_sm", "/trials/0/outcome/measurement/race/ms", "/trials/8/outcome/message",
        "/trials/6/outcome/limit_ms", "/trials/4/outcome/variant"}) {
    Json part = whole;
    const Json::json_pointer pointer(path);
    ASSERT_TRUE(part.contains(pointer)) << path;
    part[pointer.parent_pointer()].erase(pointer.back());
    EXPECT_TRUE(says(refusal(part), "the key '" + pointer.back() + "' is missing")) << path;
  }
}

TEST(RecordJson, EveryValueOfTheWrongTypeIsNamed) {
  const Json whole = document(full_record());
  const Json flat = whole.flatten();
  for (const auto& [path, value] : flat.items()) {
    const Json::json_pointer pointer(path);
    Json part = whole;
    part[pointer] = Json::object({{"an", "object"}});
    // The spelling of a trial's policy and its rates are for people; they are not read back.
    if (path.size() > 7 && path.ends_with("/budget")) continue;
    if (path.find("/rates/") != std::string::npos) continue;
    refusal(part);
  }
  for (const auto& [path, said] : {std::pair{"/host", "'host'"},
                                   {"/settings/margin", "'margin'"},
                                   {"/sizes/n", "'sizes.n'"},
                                   {"/trials/3/facts/stack_frame_bytes", "'stack_frame_bytes'"},
                                   {"/trials/3/outcome/message", "trials[3]"},
                                   {"/trials/0/outcome/measurement/race/ms/1", "'ms'"}}) {
    Json part = whole;
    part[Json::json_pointer(path)] = Json::array({"x"});
    const Error error = refusal(part);
    EXPECT_TRUE(says(error, said)) << path << ": " << error.what();
  }
}

TEST(RecordJson, NumbersThatDoNotFitAreRefused) {
  const Json whole = document(full_record());
  for (const auto& [path, value] :
       std::initializer_list<std::pair<const char*, Json>>{{"/trials/0/facts/registers_per_thread", 1e300},
                                                           {"/trials/0/facts/registers_per_thread", 4294967296},
                                                           {"/trials/0/facts/registers_per_thread", 56.5},
                                                           {"/trials/0/facts/registers_per_thread", true},
                                                           {"/author_shape/block/0", -1},
                                                           {"/settings/seed", -1},
                                                           {"/settings/restored", 1},
                                                           {"/gpu/limits/max_blocks_per_sm", 1e300},
                                                           {"/sizes/n", 1e300},
                                                           {"/trials/0/outcome/measurement/race/round/0", 1e300}}) {
    Json part = whole;
    part[Json::json_pointer(path)] = value;
    refusal(part);
  }
}

TEST(RecordJson, BlocksAndGridsThatCudaDoesNotTakeAreRefused) {
  for (const Json& extents : {Json{0, 1, 1}, Json{1, 0, 1}, Json{1, 1, 0}, Json{2147483648u, 1, 1}, Json{1, 65536, 1},
                              Json{4294967295u, 4294967295u, 4294967295u}, Json{-1, 1, 1}, Json{1.5, 1, 1}})
    EXPECT_THROW(extents.get<Dim3>(), Error) << extents;
  const auto most = Json{2147483647, 65535, 65535}.get<Dim3>();
  EXPECT_EQ(most.x, 2147483647u);
}

TEST(RecordJson, VariantsNameOnlyVariantsThatThereAre) {
  const Json whole = document(full_record());
  for (const auto& [path, value] : {std::pair{"/verdict/best", 12},
                                    {"/verdict/reference", -1},
                                    {"/verdict/best_in_source", 99},
                                    {"/trials/4/outcome/variant", 4},
                                    {"/trials/4/outcome/variant", -1},
                                    {"/trials/3/variant", 5}}) {
    Json part = whole;
    part[Json::json_pointer(path)] = value;
    refusal(part);
  }
  Json none = whole;
  none["trials"] = Json::array();
  refusal(none);
}

TEST(RecordJson, SamplesWithoutATimeOfTheirOwnAreRefused) {
  Json json = document(full_record());
  json["trials"][0]["outcome"]["measurement"]["race"]["ms"].push_back(1.0);
  EXPECT_TRUE(says(refusal(json), "differ in length"));
}

TEST(RecordJson, UnknownWordsAreRefused) {
  const Json whole = document(full_record());
  for (const char* path : {"/trials/0/policy/kind", "/trials/0/outcome/kind", "/trials/0/facts/budget/status",
                           "/trials/0/facts/occupancy/limiter", "/verdict/kind", "/format"}) {
    Json part = whole;
    part[Json::json_pointer(path)] = "hope";
    refusal(part);
  }
  Json later = whole;
  later["format_version"] = 2;
  EXPECT_TRUE(says(refusal(later), "version 1"));
}

TEST(RecordJson, GarbageIsRefused) {
  for (const char* text : {"null", "1", "\"regtune record\"", "[]", "{}", "[[[]]]", "{\"format\": {}}",
                           R"({"format": "regtune record", "format_version": 1})"})
    refusal(Json::parse(text));
}

TEST(RecordJson, ReadsARecordOfBeforeSamplesHadAMode) {
  Json json = document(full_record());
  for (const char* key : {"cold", "sample_mode", "launch_overhead_ms", "timer_resolution_ms"})
    json["settings"].erase(key);
  json.erase("clocks");
  json.erase("work");
  const TuningRecord record = record_from_json(json, "run.json");
  EXPECT_EQ(record.settings.sample_mode, SampleMode::back_to_back);
  EXPECT_FALSE(record.settings.cold);
  EXPECT_EQ(record.settings.timer_resolution_ms, 0);
  EXPECT_FALSE(record.clocks);
  EXPECT_EQ(record.work, Work{});
}

TEST(RecordJson, RefusesASampleModeThatItDoesNotKnow) {
  Json json = document(full_record());
  json["settings"]["sample_mode"] = "telepathy";
  EXPECT_TRUE(says(refusal(json), "sample_mode"));
}

TEST(RecordJson, WritesTheRatesOfWhatWasTimed) {
  TuningRecord record = full_record();
  record.work = {5'000'000'000, 0, 8000};
  Json trials = document(record)["trials"];
  // 5 GB in 1.25 ms.
  EXPECT_DOUBLE_EQ(trials[0]["rates"]["gb_per_s"].get<double>(), 4000);
  EXPECT_DOUBLE_EQ(trials[0]["rates"]["share_of_copy"].get<double>(), 0.5);
  EXPECT_FALSE(trials[0]["rates"].contains("gflop_per_s"));
  EXPECT_FALSE(trials[1].contains("rates"));
  record.work = {0, 5'000'000'000, 8000};
  trials = document(record)["trials"];
  EXPECT_DOUBLE_EQ(trials[0]["rates"]["gflop_per_s"].get<double>(), 4000);
  EXPECT_FALSE(trials[0]["rates"].contains("gb_per_s"));
}

}  // namespace
}  // namespace regtune
