#pragma once
// What a command line asks for: of each command the request that the values of its options make. Refuses values that
// are none of their option's, and options that contradict each other. Runs nothing.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analyze_command.hpp"
#include "bundle_command.hpp"
#include "capture_command.hpp"
#include "check_command.hpp"
#include "cli_values.hpp"
#include "db_command.hpp"
#include "diff_command.hpp"
#include "export_command.hpp"
#include "init_command.hpp"
#include "lookup_command.hpp"
#include "nvcc_command.hpp"
#include "replay_command.hpp"
#include "report.hpp"
#include "report_command.hpp"
#include "run_command.hpp"
#include "run_files.hpp"
#include "show_source_command.hpp"
#include "tune.hpp"
#include "verify_command.hpp"

namespace regtune {

struct AnalyzeCommand {
  AnalyzeRequest request;
  ReportStyle style;
};

struct ReplayCommand {
  ReplayRequest request;
  ReportStyle style;
};

struct WatchCommand {
  RunRequest request;
  ReportStyle style;
  RunFiles files;
  std::optional<std::filesystem::path> output;  // what is told of the launches; empty: standard error
};

ReportStyle report_style(const CliValues& values);
// Throws Error(usage) beside --json, whose document holds all that an explanation says.
bool explain_value(const CliValues& values);

ShowSourceRequest show_source_request(const CliValues& values, const CompilerArguments& compiler_arguments);
TuneRequest tune_request(const CliValues& values, const std::string& source,
                         const CompilerArguments& compiler_arguments);
// Throws Error(usage) where there is no program, and for wishes that exclude each other.
WatchCommand watch_command(const CliValues& values, const std::vector<std::string>& program);
CaptureRequest capture_request(const CliValues& values, const std::vector<std::string>& program);
AnalyzeCommand analyze_command(const CliValues& values, const CompilerArguments& compiler_arguments);
CheckRequest check_request(const CliValues& values, const CompilerArguments& compiler_arguments);
InitRequest init_request(const CliValues& values, const CompilerArguments& compiler_arguments);
LookupRequest lookup_request(const CliValues& values);
VerifyRequest verify_request(const CliValues& values);
ReplayCommand replay_command(const CliValues& values);
ExportRequest export_request(const CliValues& values);
ReportRequest report_request(const CliValues& values);
DiffRequest diff_request(const CliValues& values);
// Of a tuning of `sources` files. Throws Error(usage) for a file that holds one run, where there will be several.
RunFiles run_files(const CliValues& values, std::size_t sources);
BundleRequest bundle_request(const CliValues& values, const CompilerArguments& compiler_arguments);
DbRequest db_request(const CliValues& values);
DbRequest import_request(const CliValues& values);

}  // namespace regtune
