// A tuning's command line, and what all commands have in common.
#include "cli.hpp"

#include <gtest/gtest.h>

#include "command_line.hpp"

namespace regtune {
namespace {

TEST(Cli, AWholeNvccCommandMayStandBehindTheDashes) {
  const Command command = parse_command_line({"k.cu", "--", "nvcc", "-arch=sm_80", "-DN=4", "k.cu", "-o", "k"});
  const auto* tune = std::get_if<TuneCommand>(&command.what);
  ASSERT_NE(tune, nullptr);
  EXPECT_EQ(tune->request.flags.options, Arguments{"--define-macro=N=4"});
  ASSERT_EQ(command.notes.size(), 1u);
  EXPECT_NE(command.notes.front().find("-arch=sm_80, -o k"), std::string::npos) << command.notes.front();
}

TEST(Cli, WhatNvccNeedsOfItsCommandIsKeptForIt) {
  const DescriptionFlags flags =
      tune_of({"k.cu", "--", "nvcc", "--expt-relaxed-constexpr", "-DN=4", "k.cu"}).request.flags;
  EXPECT_EQ(flags.options, Arguments{"--define-macro=N=4"});
  EXPECT_EQ(flags.nvcc_options, Arguments{"--expt-relaxed-constexpr"});
}

TEST(Cli, ChoosesTheCompiler) {
  EXPECT_FALSE(tune_of({"k.cu"}).request.compiler.only);
  EXPECT_EQ(tune_of({"k.cu", "--compiler", "nvcc", "--nvcc", "/my/nvcc"}).request.compiler.only, FrontEnd::nvcc);
  EXPECT_EQ(tune_of({"k.cu", "--nvcc", "/my/nvcc"}).request.compiler.nvcc_file, "/my/nvcc");
  const Command check = parse_command_line({"check", "k.cu", "--compiler", "nvrtc"});
  EXPECT_EQ(std::get<CheckRequest>(check.what).compiler.only, FrontEnd::nvrtc);
  const Command study = parse_command_line({"analyze", "k.cu", "--compiler", "nvcc"});
  EXPECT_EQ(std::get<AnalyzeCommand>(study.what).request.compiler.only, FrontEnd::nvcc);
  EXPECT_TRUE(
      holds(refusal({"k.cu", "--compiler", "clang"}), "--compiler clang is not known; write one of nvrtc, nvcc"));
}

TEST(Cli, ConfirmsByNvccOnly) {
  EXPECT_FALSE(tune_of({"k.cu"}).request.confirm_by_nvcc);
  EXPECT_TRUE(tune_of({"k.cu", "--confirm", "nvcc"}).request.confirm_by_nvcc);
  EXPECT_TRUE(holds(refusal({"k.cu", "--confirm", "clang"}), "--confirm clang is not known; write nvcc"));
}

TEST(Cli, IncludesFoldersAndFiles) {
  const DescriptionFlags flags = tune_of({"k.cu", "-I", "a", "--include-dir", "b", "--include", "pre.h"}).request.flags;
  EXPECT_EQ(flags.include_folders, (Arguments{"a", "b"}));
  EXPECT_EQ(flags.pre_included_files, Arguments{"pre.h"});
}

TEST(Cli, ANvccCommandIsRefusedWhereNothingIsCompiledWithIt) {
  for (const char* name : {"lookup", "verify", "replay"})
    EXPECT_THROW(parse_command_line({name, "k", "--", "nvcc", "-arch=sm_80", "k.cu"}), Error) << name;
}

TEST(Cli, ShowSourceGoesWithEveryCommandThatCompilesASource) {
  for (const Arguments& arguments : {Arguments{"k.cu", "--show-source", "--arch", "sm_80"},
                                     Arguments{"analyze", "k.cu", "--show-source", "--arch", "sm_80"},
                                     Arguments{"check", "k.cu", "--show-source", "--arch", "sm_80"}}) {
    const Command command = parse_command_line(arguments);
    const auto* show = std::get_if<ShowSourceRequest>(&command.what);
    ASSERT_NE(show, nullptr);
    EXPECT_EQ(show->source, "k.cu");
    EXPECT_EQ(show->architecture, "sm_80");
  }
}

TEST(Cli, ACompileBudgetIsForEverySweepAndUnlimitedByDefault) {
  EXPECT_FALSE(tune_of({"k.cu"}).request.compile_budget_s);
  EXPECT_EQ(tune_of({"k.cu", "--compile-budget", "90"}).request.compile_budget_s, 90);
  EXPECT_EQ(tune_of({"k.cu", "--compile-budget=0"}).request.compile_budget_s, 0);
  const Command study = parse_command_line({"analyze", "k.cu", "--compile-budget=1.5"});
  EXPECT_EQ(std::get<AnalyzeCommand>(study.what).request.compile_budget_s, 1.5);
  EXPECT_TRUE(holds(refusal({"k.cu", "--compile-budget=-1"}), "--compile-budget"));
  EXPECT_TRUE(holds(refusal({"check", "k.cu", "--compile-budget=1"}), "compile-budget"));
}

TEST(Cli, AnExplanationIsTextAndStandsBehindEveryReport) {
  EXPECT_FALSE(parse_command_line({"k.cu"}).explain);
  EXPECT_TRUE(parse_command_line({"k.cu", "--explain"}).explain);
  EXPECT_TRUE(parse_command_line({"analyze", "k.cu", "--explain"}).explain);
  EXPECT_TRUE(parse_command_line({"lookup", "k", "--explain"}).explain);
  for (const Arguments& arguments : {Arguments{"k.cu"}, Arguments{"analyze", "k.cu"}, Arguments{"lookup", "k"}}) {
    Arguments both = arguments;
    both.insert(both.end(), {"--json", "--explain"});
    EXPECT_TRUE(holds(refusal(both), "--json"));
  }
}

TEST(Cli, ATuningLeavesFilesWhereItIsAskedTo) {
  const TuneCommand none = tune_of({"k.cu"});
  EXPECT_FALSE(none.files.report || none.files.csv || none.files.t4 || none.files.kernel_tuner);
  const TuneCommand all = tune_of(
      {"k.cu", "--report", "r.html", "--csv", "r.csv", "--export-t4", "t4.json", "--export-kernel-tuner", "kt.json"});
  EXPECT_EQ(all.files.report, "r.html");
  EXPECT_EQ(all.files.csv, "r.csv");
  EXPECT_EQ(all.files.t4, "t4.json");
  EXPECT_EQ(all.files.kernel_tuner, "kt.json");
  for (const char* option : {"--record", "--export-t4", "--export-kernel-tuner"})
    EXPECT_TRUE(holds(refusal({"a.cu", "b.cu", option, "f.json"}), "holds one run")) << option;
  EXPECT_EQ(tune_of({"a.cu", "b.cu", "--report", "r.html"}).others.size(), 1u) << "a page holds several";
}

TEST(Cli, TheCommandLineGoesIntoTheRecord) {
  const Arguments typed{"k.cu", "--set", "n=1<<24", "--", "-DX=1"};
  EXPECT_EQ(tune_of(typed).request.command_line, typed);
}

TEST(Cli, ASourceAloneIsATuningWithDefaults) {
  const Command command = parse_command_line({"k.cu"});
  EXPECT_FALSE(command.json);
  EXPECT_FALSE(command.quiet);
  EXPECT_FALSE(command.verbose);
  const TuneCommand tune = tune_of({"k.cu"});
  EXPECT_TRUE(tune.style.plot);
  EXPECT_EQ(tune.style.color, Color::automatic);
  const TuneRequest& request = tune.request;
  EXPECT_EQ(request.source, "k.cu");
  EXPECT_FALSE(request.architecture);
  EXPECT_FALSE(request.cache);
  EXPECT_FALSE(tune.files.record);
  EXPECT_FALSE(tune.style.all_rows);
  EXPECT_EQ(request.device, 0);
  EXPECT_GE(request.jobs, 1);
  EXPECT_DOUBLE_EQ(request.compile_limit_s, 600);
  EXPECT_DOUBLE_EQ(request.measure.margin, MeasureSettings{}.margin);
  EXPECT_DOUBLE_EQ(request.measure.budget_s, MeasureSettings{}.budget_s);
  EXPECT_DOUBLE_EQ(request.measure.timeout_ms, MeasureSettings{}.timeout_ms);
  EXPECT_TRUE(request.flags.sizes.empty() && request.flags.arguments.empty() && request.flags.options.empty());
  EXPECT_TRUE(request.flags.tune.empty());
  EXPECT_EQ(request.levers, Levers{});
  EXPECT_FALSE(request.measure.cold);
  EXPECT_TRUE(request.flags.metrics.empty());
  EXPECT_FALSE(request.flags.kernel || request.flags.block || request.flags.grid || request.flags.seed);
}

TEST(Cli, EveryFlagReachesItsPlace) {
  const Command command = parse_command_line({"--json",
                                              "-q",
                                              "k.cu",
                                              "--kernel",
                                              "sgemm<128, float>",
                                              "--set",
                                              "n=1<<24",
                                              "--set",
                                              "m=n//2",
                                              "--block",
                                              "128,256",
                                              "--grid",
                                              "ceil_div(n, block)",
                                              "--shared=4*block",
                                              "--description=d/k.toml",
                                              "--arg",
                                              "a=-2.5",
                                              "--arg=b={buffer=\"n\"}",
                                              "--seed",
                                              "18446744073709551615",
                                              "-Iinc",
                                              "-I",
                                              "other",
                                              "-DX=1",
                                              "-D",
                                              "Y",
                                              "--tune",
                                              "UNROLL=1,2",
                                              "--tune=T=float,float4",
                                              "--levers",
                                              "--arch",
                                              "sm_100a",
                                              "-j",
                                              "3",
                                              "--compile-limit",
                                              "0.5",
                                              "--cold",
                                              "--metric",
                                              "bytes=8*n",
                                              "--metric=flops=2*n",
                                              "--margin",
                                              "2",
                                              "--budget",
                                              "7.5",
                                              "--timeout",
                                              "0.25",
                                              "--record",
                                              "r.json",
                                              "--all",
                                              "--cache",
                                              "c.db",
                                              "--device",
                                              "2"});
  EXPECT_TRUE(command.json);
  EXPECT_TRUE(command.quiet);
  const auto& tune = std::get<TuneCommand>(command.what);
  const DescriptionFlags& flags = tune.request.flags;
  EXPECT_EQ(flags.kernel, "sgemm<128, float>");
  EXPECT_EQ(flags.sizes, (Arguments{"n=1<<24", "m=n//2"})) << "in order: one may use the other";
  EXPECT_EQ(flags.block, "128,256");
  EXPECT_EQ(flags.grid, "ceil_div(n, block)");
  EXPECT_EQ(flags.dynamic_shared_bytes, "4*block");
  EXPECT_EQ(flags.file, "d/k.toml");
  EXPECT_EQ(flags.arguments, (Arguments{"a=-2.5", "b={buffer=\"n\"}"}));
  EXPECT_EQ(flags.seed, 18446744073709551615u);
  EXPECT_EQ(flags.include_folders, (Arguments{"inc", "other"}));
  EXPECT_EQ(flags.defines, (Arguments{"X=1", "Y"}));
  EXPECT_EQ(flags.tune, (Arguments{"UNROLL=1,2", "T=float,float4"}));
  EXPECT_EQ(flags.metrics, (Arguments{"bytes=8*n", "flops=2*n"}));
  EXPECT_EQ(tune.request.levers, (Levers{true, true})) << "without a list all there are";
  EXPECT_TRUE(tune.request.measure.cold);
  EXPECT_EQ(tune.request.architecture, "sm_100a");
  EXPECT_EQ(tune.request.jobs, 3);
  EXPECT_DOUBLE_EQ(tune.request.compile_limit_s, 0.5);
  EXPECT_DOUBLE_EQ(tune.request.measure.margin, 0.02);
  EXPECT_DOUBLE_EQ(tune.request.measure.budget_s, 7.5);
  EXPECT_DOUBLE_EQ(tune.request.measure.timeout_ms, 250);
  EXPECT_EQ(tune.files.record, "r.json");
  EXPECT_TRUE(tune.style.all_rows);
  EXPECT_EQ(tune.request.cache, "c.db");
  EXPECT_EQ(tune.request.device, 2);
}

TEST(Cli, WhatStandsBehindTheTwoDashesIsTheCompilers) {
  const TuneCommand tune =
      tune_of({"k.cu", "--all", "--", "-maxrregcount", "64", "--json", "--", "k2.cu", "--kernel=x"});
  EXPECT_EQ(tune.request.flags.options, (Arguments{"-maxrregcount", "64", "--json", "--", "k2.cu", "--kernel=x"}));
  EXPECT_EQ(tune.request.source, "k.cu");
  EXPECT_FALSE(tune.request.flags.kernel);
  EXPECT_FALSE(parse_command_line({"k.cu", "--", "--json"}).json);
  EXPECT_TRUE(tune_of({"k.cu", "--"}).request.flags.options.empty());
}

TEST(Cli, AbbreviationsAreNotGuessed) {
  EXPECT_TRUE(holds(refusal({"k.cu", "--kern", "x"}), "--kern"));
  EXPECT_TRUE(holds(refusal({"k.cu", "--rec=r.json"}), "--rec"));
  EXPECT_TRUE(holds(refusal({"lookup", "k", "--js"}), "--js"));
  EXPECT_TRUE(holds(refusal({"k.cu", "--unknown"}), "regtune tune --help"));
  refusal({"k.cu", "-x"});
}

TEST(Cli, ValuesOutsideTheirRangeAreRefused) {
  for (const char* argument :
       {"--margin=-1", "--margin=51", "--margin=nan", "--budget=-1", "--budget=inf", "--timeout=0", "--timeout=1e9",
        "--compile-limit=0", "--compile-limit=1e9", "--jobs=0", "--jobs=-3", "--jobs=1025"}) {
    const std::string option = std::string(argument).substr(0, std::string(argument).find('='));
    const std::string said = refusal({"k.cu", argument});
    EXPECT_TRUE(holds(said, option) && holds(said, "must lie between")) << said;
  }
}

TEST(Cli, ValuesThatAreNoNumbersAreRefused) {
  for (const char* argument : {"--margin=much", "--jobs=2.5", "--device=x", "--seed=1.5", "--seed=99999999999999999999",
                               "--budget=", "--jobs=99999999999"})
    EXPECT_FALSE(refusal({"k.cu", argument}).empty());
  EXPECT_TRUE(holds(refusal({"k.cu", "--set"}), "--set")) << "the value is missing";
}

TEST(Cli, SeveralSourcesAreTunedOneAfterTheOther) {
  const TuneCommand tune = tune_of({"a.cu", "b.cu", "--cold", "c.cu", "--", "-DX"});
  EXPECT_EQ(tune.request.source, "a.cu");
  ASSERT_EQ(tune.others.size(), 2u);
  EXPECT_EQ(tune.others[0].source, "b.cu");
  EXPECT_EQ(tune.others[1].source, "c.cu");
  for (const TuneRequest& other : tune.others) {
    EXPECT_TRUE(other.measure.cold);
    EXPECT_EQ(other.flags.options, Arguments{"-DX"});
  }
  EXPECT_TRUE(tune_of({"a.cu"}).others.empty());
  EXPECT_TRUE(holds(refusal({"a.cu", "b.cu", "--record", "r.json"}), "one run"));
  EXPECT_TRUE(holds(refusal({"a.cu", "b.cu", "--show-source"}), "a.cu b.cu"));
  EXPECT_TRUE(holds(refusal({"analyze", "a.cu", "b.cu"}), "a.cu b.cu"));
  EXPECT_TRUE(holds(refusal({"--all"}), "KERNEL.cu is missing"));
  EXPECT_TRUE(holds(refusal({"--all", "--", "k.cu"}), "KERNEL.cu is missing"));
}

TEST(Cli, ADashIsASource) {
  EXPECT_EQ(tune_of({"-"}).request.source, "-");
  EXPECT_EQ(tune_of({"tune", "-", "--all"}).request.source, "-");
}

TEST(Cli, AMisspeltCommandIsAskedBack) {
  EXPECT_TRUE(holds(refusal({"anlyze", "k.cu"}), "did you mean regtune analyze?"));
  EXPECT_TRUE(holds(refusal({"looku", "decay"}), "did you mean regtune lookup?"));
  EXPECT_EQ(tune_of({"kernel"}).request.source, "kernel") << "like no command";
  EXPECT_EQ(tune_of({"./anlyze"}).request.source, "./anlyze") << "a path";
}

TEST(Cli, AMisspeltOptionIsAskedBack) {
  EXPECT_TRUE(holds(refusal({"k.cu", "--marign", "1"}), "did you mean --margin?"));
  EXPECT_TRUE(holds(refusal({"k.cu", "--kern", "x"}), "did you mean --kernel?"));
  EXPECT_TRUE(holds(refusal({"k.cu", "--baseline", "x"}), "it is one of regtune check"));
  EXPECT_TRUE(holds(refusal({"k.cu", "--compiler", "nvc"}), "did you mean nvcc?"));
}

TEST(Cli, OnlyTheFirstWordIsASubcommand) {
  EXPECT_EQ(tune_of({"./lookup"}).request.source, "./lookup");
  EXPECT_EQ(tune_of({"--json", "lookup"}).request.source, "lookup");
  EXPECT_EQ(tune_of({"k.cu", "lookup"}).others.at(0).source, "lookup");
  EXPECT_EQ(tune_of({"tune", "lookup"}).request.source, "lookup");
}

TEST(Cli, HelpAndVersionAreTexts) {
  const std::string overview = shown_text({"--help"});
  EXPECT_TRUE(holds(overview, "usage: regtune"));
  EXPECT_EQ(shown_text({}), overview) << "no argument at all: help";
  EXPECT_EQ(shown_text({"-h"}), overview);
  EXPECT_EQ(shown_text({"help"}), overview);
  const std::string tune = shown_text({"k.cu", "--help"});
  for (const char* part : {"usage: regtune tune KERNEL.cu", "--set", "--margin", "--cache"})
    EXPECT_TRUE(holds(tune, part)) << part;
  EXPECT_EQ(shown_text({"tune", "--help"}), tune);
  EXPECT_EQ(shown_text({"help", "tune"}), tune);
  const std::string lookup = shown_text({"lookup", "--help"});
  EXPECT_TRUE(holds(lookup, "--gpu"));
  EXPECT_FALSE(holds(lookup, "--margin"));
  EXPECT_TRUE(holds(shown_text({"help", "exit-codes"}), "20  no GPU"));
  EXPECT_TRUE(holds(refusal({"help", "tnue"}), "did you mean tune?"));
  EXPECT_TRUE(holds(refusal({"completion", "bsh"}), "did you mean bash?"));
  EXPECT_TRUE(std::holds_alternative<ShowVersions>(parse_command_line({"--version"}).what));
}

TEST(Cli, JsonIsNoticedHoweverWrongTheRestIs) {
  EXPECT_TRUE(wants_json({"--json"}));
  EXPECT_TRUE(wants_json({"--nonsense", "--json", "--margin"}));
  EXPECT_TRUE(wants_json({"lookup", "k", "--json"}));
  EXPECT_FALSE(wants_json({}));
  EXPECT_FALSE(wants_json({"k.cu", "--", "--json"}));
  EXPECT_FALSE(wants_json({"k.cu", "--jsonx"}));
}

TEST(Cli, APictureAndColoursCanBeLeftOut) {
  const TuneCommand tune = tune_of({"k.cu", "--no-plot", "--color", "never"});
  EXPECT_FALSE(tune.style.plot);
  EXPECT_EQ(tune.style.color, Color::never);
  EXPECT_EQ(tune_of({"k.cu", "--color=always"}).style.color, Color::always);
  EXPECT_TRUE(holds(refusal({"k.cu", "--color", "no"}), "auto, always, never"));
  EXPECT_TRUE(parse_command_line({"k.cu", "-v"}).verbose);
}

TEST(Cli, BuffersAreRestoredUnlessAskedOtherwise) {
  EXPECT_FALSE(tune_of({"k.cu"}).request.measure.never_restore);
  EXPECT_TRUE(tune_of({"k.cu", "--no-restore"}).request.measure.never_restore);
}

TEST(Cli, QuarantineIsKeptUnlessAskedOtherwise) {
  EXPECT_FALSE(tune_of({"k.cu"}).request.retry_quarantined);
  EXPECT_TRUE(tune_of({"k.cu", "--retry-quarantined"}).request.retry_quarantined);
}

TEST(Cli, LeversTakeAListBehindThemOrNone) {
  const auto levers = [](const Arguments& arguments) {
    return std::get<TuneCommand>(parse_command_line(arguments).what).request.levers;
  };
  EXPECT_EQ(levers({"k.cu", "--levers", "smem-spill"}), (Levers{false, true}));
  EXPECT_EQ(levers({"--levers", "usage-level", "k.cu"}), (Levers{true, false}));
  EXPECT_EQ(levers({"--levers=smem-spill,usage-level", "k.cu"}), (Levers{true, true}));
  EXPECT_EQ(levers({"--levers", "k.cu"}), (Levers{true, true}));
  EXPECT_THROW(levers({"k.cu", "--levers", "smem"}), Error);
  EXPECT_THROW(levers({"k.cu", "--levers="}), Error);
}

}  // namespace
}  // namespace regtune
