// The command lines of the commands beside a tuning.
#include <gtest/gtest.h>

#include "command_line.hpp"

namespace regtune {
namespace {

LookupRequest lookup_of(const Arguments& arguments) {
  const Command command = parse_command_line(arguments);
  const auto* lookup = std::get_if<LookupRequest>(&command.what);
  if (!lookup) throw std::runtime_error("not a look-up");
  return *lookup;
}

TEST(Cli, ReportAndDiffTakeRunsByAnyName) {
  const Command page =
      parse_command_line({"report", "sgemm", "run.json", "-o", "p.html", "--gpu", "H200", "--set", "n=1"});
  const auto* report = std::get_if<ReportRequest>(&page.what);
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->subjects, (Arguments{"sgemm", "run.json"}));
  EXPECT_EQ(report->file, "p.html");
  EXPECT_EQ(report->gpu, "H200");
  EXPECT_EQ(report->sizes, Arguments{"n=1"});
  const Command both = parse_command_line({"diff", "a.db:sgemm", "b.json", "--json", "--cache", "c.db"});
  const auto* diff = std::get_if<DiffRequest>(&both.what);
  ASSERT_NE(diff, nullptr);
  EXPECT_EQ(diff->subjects, (Arguments{"a.db:sgemm", "b.json"}));
  EXPECT_EQ(diff->cache, "c.db");
  EXPECT_TRUE(both.json);
  EXPECT_TRUE(holds(refusal({"report"}), "KERNEL or FILE is missing"));
  EXPECT_TRUE(holds(refusal({"diff", "a", "b", "c"}), "a b c"));
  EXPECT_TRUE(holds(refusal({"diff", "a", "--", "-O3"}), "compiles nothing"));
}

TEST(Cli, ExportsForOtherPrograms) {
  const auto format_of = [](const Arguments& arguments) {
    return std::get<ExportRequest>(parse_command_line(arguments).what).format;
  };
  EXPECT_EQ(format_of({"export", "--format", "t4"}), ExportFormat::t4);
  EXPECT_EQ(format_of({"export", "--format", "kernel-tuner"}), ExportFormat::kernel_tuner);
  EXPECT_EQ(format_of({"export", "-o", "runs.csv"}), ExportFormat::csv);
}

TEST(Cli, LookupIsASubcommand) {
  const LookupRequest request = lookup_of({"lookup", "decayWide", "--set", "n=1<<24", "--set=m=2", "--gpu",
                                           "NVIDIA H200", "--cache", "c.db", "--device", "1"});
  EXPECT_EQ(request.kernel, "decayWide");
  EXPECT_EQ(request.sizes, (Arguments{"n=1<<24", "m=2"}));
  EXPECT_EQ(request.gpu, "NVIDIA H200");
  EXPECT_EQ(request.cache, "c.db");
  EXPECT_EQ(request.device, 1);
  EXPECT_FALSE(lookup_of({"lookup", "k"}).gpu);
  EXPECT_TRUE(parse_command_line({"lookup", "k", "--json"}).json);
  EXPECT_EQ(lookup_of({"lookup", "lookup"}).kernel, "lookup");
}

TEST(Cli, TagTakesWhatChangesTheSource) {
  const Command command = parse_command_line({"tag", "k.cu", "-I", "inc", "--set", "n=5", "--", "-DX"});
  const auto* tag = std::get_if<TagCommand>(&command.what);
  ASSERT_TRUE(tag);
  EXPECT_EQ(tag->of.source, "k.cu");
  EXPECT_EQ(tag->of.flags.include_folders, Arguments{"inc"});
  EXPECT_EQ(tag->of.flags.options, Arguments{"-DX"});
  EXPECT_THROW(parse_command_line({"tag", "k.cu", "--margin", "1"}), Error);
}

TEST(Cli, LookupTakesNoOptionsOfATuning) {
  refusal({"lookup", "k", "--block", "128"});
  refusal({"lookup", "k", "--all"});
  EXPECT_TRUE(holds(refusal({"lookup", "k", "--", "-O3"}), "no compiler options"));
  EXPECT_TRUE(holds(refusal({"lookup"}), "KERNEL is missing"));
  EXPECT_TRUE(holds(refusal({"lookup", "a", "b"}), "a b"));
  refusal({"k.cu", "--gpu", "NVIDIA H200"});
}

TEST(Cli, UnderstandsAStudy) {
  const Command command =
      parse_command_line({"analyze", "k.cu", "--arch", "sm_75,sm_90", "--kernel", "all", "--all", "--block", "128",
                          "--tune", "U=1,2", "--cache", "c.db", "--json", "--", "-DX=1"});
  const auto* study = std::get_if<AnalyzeCommand>(&command.what);
  ASSERT_TRUE(study);
  EXPECT_TRUE(command.json);
  EXPECT_TRUE(study->style.all_rows);
  EXPECT_EQ(study->request.source, "k.cu");
  EXPECT_EQ(study->request.architectures, "sm_75,sm_90");
  EXPECT_EQ(study->request.flags.kernel, "all");
  EXPECT_EQ(study->request.flags.block, "128");
  EXPECT_EQ(study->request.flags.tune, Arguments{"U=1,2"});
  EXPECT_EQ(study->request.flags.options, Arguments{"-DX=1"});
  EXPECT_EQ(study->request.cache, "c.db");
}

TEST(Cli, AllowsNoSpillsInACheckUnlessABaselineSaysWhatIsAllowed) {
  const auto limits_of = [](const Arguments& arguments) {
    return std::get<CheckRequest>(parse_command_line(arguments).what).limits;
  };
  const CheckLimits plain = limits_of({"check", "k.cu"});
  EXPECT_EQ(plain.max_spill_bytes, 0);
  EXPECT_FALSE(plain.max_registers || plain.min_occupancy || plain.max_stack_bytes);
  EXPECT_FALSE(limits_of({"check", "k.cu", "--baseline", "b.json"}).max_spill_bytes);
  EXPECT_FALSE(limits_of({"check", "k.cu", "--write-baseline", "b.json"}).max_spill_bytes);
  const CheckLimits all = limits_of({"check", "k.cu", "--baseline", "b.json", "--max-spill-bytes", "8",
                                     "--max-registers", "64", "--min-occupancy", "0.5", "--max-stack-bytes", "16"});
  EXPECT_EQ(all.max_spill_bytes, 8);
  EXPECT_EQ(all.max_registers, 64);
  EXPECT_EQ(all.min_occupancy, 0.5);
  EXPECT_EQ(all.max_stack_bytes, 16);
}

TEST(Cli, UnderstandsAReplay) {
  const auto replay_of = [](const Arguments& arguments) {
    return std::get<ReplayCommand>(parse_command_line(arguments).what);
  };
  const ReplayCommand plain = replay_of({"replay", "run.json"});
  EXPECT_EQ(plain.request.file, "run.json");
  EXPECT_FALSE(plain.request.margin || plain.request.confidence || plain.request.budget_s) << "as recorded";
  const ReplayCommand all =
      replay_of({"replay", "run.json", "--margin", "2", "--confidence", "95", "--budget", "7.5", "--all"});
  EXPECT_DOUBLE_EQ(all.request.margin.value(), 0.02);
  EXPECT_DOUBLE_EQ(all.request.confidence.value(), 0.95);
  EXPECT_DOUBLE_EQ(all.request.budget_s.value(), 7.5);
  EXPECT_TRUE(all.style.all_rows);
  EXPECT_TRUE(holds(refusal({"replay"}), "FILE is missing"));
  EXPECT_TRUE(holds(refusal({"replay", "a", "b"}), "a b"));
  EXPECT_TRUE(holds(refusal({"replay", "a", "--confidence", "100"}), "--confidence"));
  EXPECT_TRUE(holds(refusal({"replay", "a", "--", "-O3"}), "and takes no compiler options"));
  EXPECT_TRUE(holds(shown_text({"replay", "--help"}), "--confidence"));
}

TEST(Cli, UnderstandsAVerification) {
  const Command command = parse_command_line({"verify", "sgemm<128, float>", "--set", "n=1<<24", "--budget", "5",
                                              "--cache", "c.db", "--device", "1", "--json"});
  const auto* request = std::get_if<VerifyRequest>(&command.what);
  ASSERT_TRUE(request);
  EXPECT_TRUE(command.json);
  EXPECT_EQ(request->kernel, "sgemm<128, float>");
  EXPECT_EQ(request->sizes, Arguments{"n=1<<24"});
  EXPECT_EQ(request->cache, "c.db");
  EXPECT_EQ(request->device, 1);
  EXPECT_EQ(request->budget_s, 5);
  EXPECT_TRUE(holds(refusal({"verify"}), "KERNEL is missing"));
  EXPECT_TRUE(holds(refusal({"verify", "k", "--", "-O3"}), "and takes no compiler options"));
  EXPECT_TRUE(holds(shown_text({"verify", "--help"}), "--budget"));
}

TEST(Cli, UnderstandsAnInit) {
  const Command command = parse_command_line({"init", "k.cu", "--print", "--set", "n=8", "--json", "--", "-O3"});
  const auto* init = std::get_if<InitRequest>(&command.what);
  ASSERT_NE(init, nullptr);
  EXPECT_EQ(init->source, "k.cu");
  EXPECT_TRUE(init->print);
  EXPECT_TRUE(command.json);
  EXPECT_EQ(init->flags.sizes, Arguments{"n=8"});
  EXPECT_EQ(init->flags.options, Arguments{"-O3"});
  EXPECT_TRUE(holds(refusal({"init"}), "KERNEL.cu is missing"));
  EXPECT_TRUE(holds(shown_text({"init", "--help"}), "--print"));
}

ExportRequest export_of(const Arguments& arguments) {
  const Command command = parse_command_line(arguments);
  const auto* request = std::get_if<ExportRequest>(&command.what);
  if (!request) throw std::runtime_error("not an export");
  return *request;
}

TEST(Cli, AnExportsFormatIsNamedOrTheFilesEnding) {
  EXPECT_EQ(export_of({"export"}).format, ExportFormat::header);
  EXPECT_EQ(export_of({"export", "-o", "bounds.cmake"}).format, ExportFormat::cmake);
  EXPECT_EQ(export_of({"export", "-o", "tuned.db"}).format, ExportFormat::sqlite);
  EXPECT_EQ(export_of({"export", "-o", "x.patch"}).format, ExportFormat::patch);
  EXPECT_EQ(export_of({"export", "-o", "x.h", "--format", "json"}).format, ExportFormat::json);
  EXPECT_EQ(export_of({"export", "--patch"}).format, ExportFormat::patch);
  EXPECT_EQ(export_of({"export", "--json"}).format, ExportFormat::json);
  EXPECT_TRUE(holds(refusal({"export", "--format", "xml"}), "cmake"));
  EXPECT_TRUE(holds(refusal({"export", "--format", "sqlite"}), "-o FILE"));
}

TEST(Cli, AnExportTakesAnyNumberOfKernels) {
  EXPECT_TRUE(export_of({"export"}).kernels.empty());
  const ExportRequest request = export_of(
      {"export", "f", "g<4>", "--set", "n=1", "--weight", "n=2:3", "--gpu", "H200", "--cache", "c.db", "-I", "inc"});
  EXPECT_EQ(request.kernels, (Arguments{"f", "g<4>"}));
  EXPECT_EQ(request.sizes, Arguments{"n=1"});
  EXPECT_EQ(request.weights, Arguments{"n=2:3"});
  EXPECT_EQ(request.gpu, "H200");
  EXPECT_EQ(request.cache, "c.db");
  EXPECT_EQ(request.include_folders, Arguments{"inc"});
  EXPECT_TRUE(holds(refusal({"export", "f", "--", "-DX"}), "export compiles nothing"));
}

TEST(Cli, ABundleTakesWhatATuningTakes) {
  const Command command = parse_command_line({"bundle", "k.cu", "--arch", "sm_80,sm_90", "-o", "k.rtb", "--set", "n=4",
                                              "--no-rename", "-j", "3", "--", "--use_fast_math"});
  const auto& request = std::get<BundleRequest>(command.what);
  EXPECT_EQ(request.source, "k.cu");
  EXPECT_EQ(request.architectures, "sm_80,sm_90");
  EXPECT_EQ(request.file, "k.rtb");
  EXPECT_EQ(request.flags.sizes, Arguments{"n=4"});
  EXPECT_EQ(request.flags.options, Arguments{"--use_fast_math"});
  EXPECT_FALSE(request.rename);
  EXPECT_EQ(request.jobs, 3);
}

TEST(Cli, TheCacheIsLookedAfterByVerbs) {
  const auto db_of = [](const Arguments& arguments) { return std::get<DbRequest>(parse_command_line(arguments).what); };
  EXPECT_EQ(db_of({"db", "list"}).verb, DbVerb::list);
  EXPECT_EQ(db_of({"db", "show", "f", "g"}).arguments, (Arguments{"f", "g"}));
  EXPECT_EQ(db_of({"db", "merge", "a.db", "b.db"}).arguments, (Arguments{"a.db", "b.db"}));
  EXPECT_EQ(db_of({"import", "a.db"}).verb, DbVerb::merge);
  EXPECT_EQ(db_of({"db", "prune", "--older-than", "30"}).older_than_days, 30);
  EXPECT_TRUE(db_of({"db", "prune", "--codes", "--cache", "c.db"}).codes);
  EXPECT_TRUE(holds(refusal({"db"}), "is missing"));
  EXPECT_TRUE(holds(refusal({"db", "polish"}), "vacuum"));
  EXPECT_TRUE(holds(refusal({"db", "vacuum", "a.db"}), "--cache"));
  EXPECT_TRUE(holds(refusal({"db", "list", "--codes"}), "prune"));
  EXPECT_TRUE(holds(refusal({"import"}), "is missing"));
}

TEST(Cli, ACaptureTakesAKernelAFolderAndAProgram) {
  const Command command = parse_command_line({"capture", "-k", "step", "--launch", "3", "-o", "case", "-D", "X=2",
                                              "--option=-use_fast_math", "--", "./app", "-k"});
  const auto* const request = std::get_if<CaptureRequest>(&command.what);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->kernel, "step");
  EXPECT_EQ(request->launch, 3);
  EXPECT_EQ(request->folder, "case");
  EXPECT_EQ(request->options, (Arguments{"-use_fast_math", "-DX=2"}));
  EXPECT_EQ(request->program, (Arguments{"./app", "-k"}));
  for (const Arguments& lacking :
       {Arguments{"capture", "-k", "step", "-o", "case"}, Arguments{"capture", "-k", "step", "--", "./app"},
        Arguments{"capture", "-o", "case", "--", "./app"}})
    EXPECT_TRUE(holds(refusal(lacking), "write regtune capture -k NAME -o FOLDER -- PROGRAM"));
  EXPECT_TRUE(holds(refusal({"capture", "-k", "a", "-o", "c", "--launch", "0", "--", "./app"}), "counts from 1"));
}

}  // namespace
}  // namespace regtune
