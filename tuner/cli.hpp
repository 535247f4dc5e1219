#pragma once
// The command line: which command, with what. Understands what was given, runs nothing. Which
// options there are is cli_options.hpp's.
#include <string>
#include <variant>
#include <vector>

#include "analyze_command.hpp"
#include "bundle_command.hpp"
#include "check_command.hpp"
#include "db_command.hpp"
#include "diff_command.hpp"
#include "export_command.hpp"
#include "init_command.hpp"
#include "lookup_command.hpp"
#include "replay_command.hpp"
#include "report.hpp"
#include "report_command.hpp"
#include "run_files.hpp"
#include "show_source_command.hpp"
#include "tune.hpp"
#include "verify_command.hpp"

namespace regtune {

struct ShowText {
  std::string text;  // --help, --version
};

struct TuneCommand {
  TuneRequest request;
  ReportStyle style;
  RunFiles files;
};

struct AnalyzeCommand {
  AnalyzeRequest request;
  ReportStyle style;
};

struct ReplayCommand {
  ReplayRequest request;
  ReportStyle style;
};

struct TagCommand {
  ShowSourceRequest of;
};

struct Command {
  bool json = false;   // stdout holds one JSON document
  bool quiet = false;  // no talk on stderr
  std::variant<ShowText, ShowSourceRequest, TuneCommand, LookupRequest, AnalyzeCommand, CheckRequest, ReplayCommand,
               VerifyRequest, InitRequest, TagCommand, ExportRequest, BundleRequest, DbRequest, ReportRequest,
               DiffRequest>
      what;
  bool explain = false;                 // a line for each variant behind the report
  std::vector<std::string> notes = {};  // for the person who typed it
};

// `arguments` without the program's name. Throws Error(usage).
Command parse_command_line(const std::vector<std::string>& arguments);

// True when --json is among the arguments, however wrong the rest is: errors are then JSON too.
bool wants_json(const std::vector<std::string>& arguments);

}  // namespace regtune
