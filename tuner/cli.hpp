#pragma once
// The command line: which command, with what. Understands what was given, runs nothing. Which commands and options
// there are is subcommands.hpp's, what the values ask for cli_requests.hpp's.
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "cli_requests.hpp"
#include "config_file.hpp"
#include "doctor_command.hpp"

namespace regtune {

struct ShowText {
  std::string text;  // --help, a completion
};

struct ShowVersions {};  // --version

struct TuneCommand {
  TuneRequest request;
  std::vector<TuneRequest> others = {};  // of the files behind the first, one after the other
  ReportStyle style;
  RunFiles files;
};

struct TagCommand {
  ShowSourceRequest of;
};

struct Command {
  bool json = false;     // stdout holds one JSON document
  bool quiet = false;    // no talk on stderr
  bool verbose = false;  // more of it
  std::variant<ShowText, ShowVersions, ShowSourceRequest, TuneCommand, LookupRequest, AnalyzeCommand, CheckRequest,
               ReplayCommand, VerifyRequest, InitRequest, TagCommand, ExportRequest, BundleRequest, DbRequest,
               DoctorRequest, ReportRequest, DiffRequest, WatchCommand, CaptureRequest>
      what;
  bool explain = false;                 // a line for each variant behind the report
  std::vector<std::string> notes = {};  // for the person who typed it
};

// `arguments` without the program's name. `config` reads the config file, and is asked only where its entries can
// matter; nullptr: there is none. Throws Error(usage).
Command parse_command_line(const std::vector<std::string>& arguments, const std::function<Config()>& config = nullptr);

// True when --json is among the arguments, however wrong the rest is: errors are then JSON too.
bool wants_json(const std::vector<std::string>& arguments);

}  // namespace regtune
