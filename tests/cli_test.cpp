#include "cli.hpp"

#include <gtest/gtest.h>

#include "regtune/error.hpp"

namespace regtune {
namespace {

using Arguments = std::vector<std::string>;

TuneCommand tune_of(const Arguments& arguments) {
  const Command command = parse_command_line(arguments);
  const auto* tune = std::get_if<TuneCommand>(&command.what);
  if (!tune) throw std::runtime_error("not a tuning");
  return *tune;
}

LookupRequest lookup_of(const Arguments& arguments) {
  const Command command = parse_command_line(arguments);
  const auto* lookup = std::get_if<LookupRequest>(&command.what);
  if (!lookup) throw std::runtime_error("not a look-up");
  return *lookup;
}

std::string text_of(const Arguments& arguments) {
  const Command command = parse_command_line(arguments);
  const auto* show = std::get_if<ShowText>(&command.what);
  if (!show) throw std::runtime_error("not a text");
  return show->text;
}

std::string refusal(const Arguments& arguments) {
  try {
    parse_command_line(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  ADD_FAILURE() << arguments.back() << " was understood";
  return "";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

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

TEST(Cli, TheConfigFileSaysWhatTheCommandLineDoesNot) {
  const auto config = [] {
    return config_from_text(
        "margin = 2\nquiet = true\ninclude-dir = [\"a\", \"b\"]\ngpu = \"H200\"\n\n[check]\n"
        "max-registers = 64\nmargin-is-not-here = 1\n",
        "c.toml");
  };
  EXPECT_THROW(parse_command_line({"k.cu"}, config), Error) << "an option that check does not have";
  const auto good = [] {
    return config_from_text(
        "margin = 2\nquiet = true\ncold = false\ninclude-dir = [\"a\", \"b\"]\ngpu = \"H200\"\n"
        "[check]\nmax-registers = 64\ninclude-dir = \"c\"\n",
        "c.toml");
  };
  const Command tuned = parse_command_line({"k.cu"}, good);
  const auto& tune = std::get<TuneCommand>(tuned.what);
  EXPECT_DOUBLE_EQ(tune.request.measure.margin, 0.02);
  EXPECT_TRUE(tuned.quiet);
  EXPECT_FALSE(tune.request.measure.cold);
  EXPECT_EQ(tune.request.flags.include_folders, (Arguments{"a", "b"}));
  const Command typed = parse_command_line({"k.cu", "--margin", "3", "-I", "d"}, good);
  EXPECT_DOUBLE_EQ(std::get<TuneCommand>(typed.what).request.measure.margin, 0.03);
  EXPECT_EQ(std::get<TuneCommand>(typed.what).request.flags.include_folders, Arguments{"d"});
  const Command checked = parse_command_line({"check", "k.cu"}, good);
  EXPECT_EQ(std::get<CheckRequest>(checked.what).limits.max_registers, 64);
  EXPECT_EQ(std::get<CheckRequest>(checked.what).flags.include_folders, Arguments{"c"}) << "its own table wins";
  EXPECT_DOUBLE_EQ(std::get<TuneCommand>(parse_command_line({"k.cu", "--no-config"}, good).what).request.measure.margin,
                   MeasureSettings{}.margin);
}

std::string config_refusal(const Arguments& arguments, const std::string& text) {
  try {
    parse_command_line(arguments, [&] { return config_from_text(text, "c.toml"); });
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  ADD_FAILURE() << text << " was understood";
  return "";
}

TEST(Cli, AMistakeInTheConfigFileIsToldWithItsLine) {
  EXPECT_TRUE(holds(config_refusal({"k.cu"}, "cold = true\nmarign = 1\n"), "c.toml:2: marign is no option"));
  EXPECT_TRUE(holds(config_refusal({"k.cu"}, "marign = 1\n"), "did you mean margin?"));
  EXPECT_TRUE(holds(config_refusal({"k.cu"}, "[tun]\ncold = true\n"), "did you mean tune?"));
  EXPECT_TRUE(holds(config_refusal({"k.cu"}, "cold = 1\n"), "true or false"));
  EXPECT_TRUE(holds(config_refusal({"k.cu"}, "margin = true\n"), "takes a value"));
  EXPECT_TRUE(holds(config_refusal({"k.cu"}, "\nmargin = 99\n"), "c.toml:2: margin 99: must lie between"));
  EXPECT_TRUE(holds(config_refusal({"k.cu"}, "jobs = \"many\"\n"), "c.toml:1"));
  EXPECT_TRUE(holds(config_refusal({"k.cu"}, "margin = {}\nx ="), "c.toml:2"));
  EXPECT_TRUE(holds(config_refusal({"lookup", "k"}, "compiler = \"gcc\"\n[tune]\nhelp = true\n"), "command line"));
}

TEST(Cli, NoConfigFileStandsInTheWayOfHelp) {
  const auto broken = []() -> Config { throw Error(ErrorKind::usage, "broken"); };
  EXPECT_THROW(parse_command_line({"k.cu"}, broken), Error);
  for (const Arguments& arguments : {Arguments{}, Arguments{"--help"}, Arguments{"k.cu", "--help"}, Arguments{"help"},
                                     Arguments{"completion", "bash"}, Arguments{"help", "man"}})
    EXPECT_TRUE(std::holds_alternative<ShowText>(parse_command_line(arguments, broken).what));
  EXPECT_TRUE(std::holds_alternative<ShowVersions>(parse_command_line({"--version"}, broken).what));
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

TEST(Cli, OnlyTheFirstWordIsASubcommand) {
  EXPECT_EQ(tune_of({"./lookup"}).request.source, "./lookup");
  EXPECT_EQ(tune_of({"--json", "lookup"}).request.source, "lookup");
  EXPECT_EQ(tune_of({"k.cu", "lookup"}).others.at(0).source, "lookup");
  EXPECT_EQ(tune_of({"tune", "lookup"}).request.source, "lookup");
}

TEST(Cli, HelpAndVersionAreTexts) {
  const std::string overview = text_of({"--help"});
  EXPECT_TRUE(holds(overview, "usage: regtune"));
  EXPECT_EQ(text_of({}), overview) << "no argument at all: help";
  EXPECT_EQ(text_of({"-h"}), overview);
  EXPECT_EQ(text_of({"help"}), overview);
  const std::string tune = text_of({"k.cu", "--help"});
  for (const char* part : {"usage: regtune tune KERNEL.cu", "--set", "--margin", "--cache"})
    EXPECT_TRUE(holds(tune, part)) << part;
  EXPECT_EQ(text_of({"tune", "--help"}), tune);
  EXPECT_EQ(text_of({"help", "tune"}), tune);
  const std::string lookup = text_of({"lookup", "--help"});
  EXPECT_TRUE(holds(lookup, "--gpu"));
  EXPECT_FALSE(holds(lookup, "--margin"));
  EXPECT_TRUE(holds(text_of({"help", "exit-codes"}), "20  no GPU"));
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
  EXPECT_TRUE(holds(text_of({"replay", "--help"}), "--confidence"));
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
  EXPECT_TRUE(holds(text_of({"verify", "--help"}), "--budget"));
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
  EXPECT_TRUE(holds(text_of({"init", "--help"}), "--print"));
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
