#include "run_files.hpp"

#include <fmt/format.h>

#include <fstream>

#include "exchange.hpp"
#include "html_report.hpp"
#include "record_csv.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

void check_folder_of(const std::optional<fs::path>& file, std::string_view option) {
  if (!file) return;
  std::error_code ignored;
  const fs::path folder = file->has_parent_path() ? file->parent_path() : fs::path(".");
  if (fs::is_directory(*file, ignored))
    throw Error(ErrorKind::usage, fmt::format("{} {}: is a folder; name a file", option, file->string()));
  if (!fs::is_directory(folder, ignored))
    throw Error(ErrorKind::usage,
                fmt::format("{} {}: there is no folder {}; make it first", option, file->string(), folder.string()));
}

void require_one_run(const std::optional<fs::path>& file, std::string_view option, std::size_t runs) {
  if (file && runs > 1)
    throw Error(ErrorKind::usage,
                fmt::format("{} holds one run, and there are {}; tune one kernel with one size, or leave {} out",
                            option, runs, option));
}

}  // namespace

void check_run_files(const RunFiles& files, std::size_t runs) {
  require_one_run(files.record, "--record", runs);
  require_one_run(files.t4, "--export-t4", runs);
  require_one_run(files.kernel_tuner, "--export-kernel-tuner", runs);
  check_folder_of(files.record, "--record");
  check_folder_of(files.report, "--report");
  check_folder_of(files.t4, "--export-t4");
  check_folder_of(files.kernel_tuner, "--export-kernel-tuner");
  check_folder_of(files.csv, "--csv");
}

void write_text(const fs::path& file, std::string_view text, std::string_view option) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  if (!out.flush())
    throw Error(ErrorKind::usage,
                fmt::format("{} {}: cannot be written; is there such a folder, and may you write in it?", option,
                            file.string()));
}

void write_run_files(const RunFiles& files, const std::vector<TuningRecord>& runs) {
  require_one_run(files.t4, "--export-t4", runs.size());
  require_one_run(files.kernel_tuner, "--export-kernel-tuner", runs.size());
  if (files.report) write_text(*files.report, html_report(runs), "--report");
  if (files.csv) write_text(*files.csv, csv_text(runs), "--csv");
  if (files.t4) write_text(*files.t4, t4_text(runs.front()), "--export-t4");
  if (files.kernel_tuner) write_text(*files.kernel_tuner, kernel_tuner_text(runs.front()), "--export-kernel-tuner");
}

}  // namespace regtune
