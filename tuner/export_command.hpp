#pragma once
// `regtune export`: what the cache or a record holds, in a form that a build, another machine or another program takes.
// All that other programs read leaves through this one command; what people read is `regtune report`'s. Reads the
// cache, and with --patch the source, which must be the one that was tuned; changes neither, and needs no compiler and
// no GPU.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace regtune {

enum class ExportFormat { header, json, cmake, patch, sqlite, t4, kernel_tuner, csv };

struct ExportRequest {
  // In any spelling that a look-up takes, or records and cache files, as records_named takes them; empty: all kernels.
  std::vector<std::string> kernels;
  std::vector<std::string> sizes;    // "n=1<<24": only runs of these; empty: all
  std::optional<std::string> gpu;    // empty: of each architecture the model with the newest result
  std::vector<std::string> weights;  // "n=1<<24:3"
  ExportFormat format = ExportFormat::header;
  std::optional<std::filesystem::path> file;  // empty: standard output
  std::optional<std::filesystem::path> cache;
  std::vector<std::string> include_folders;  // that were given when it was tuned; for --patch
};

struct Exported {
  std::string text;                // empty: written to the file
  std::vector<std::string> notes;  // for the user
  bool found = true;               // false: the cache holds no such kernel; the notes say what it holds
};

// The format that a file's name asks for; empty where it says none.
std::optional<ExportFormat> format_of_file(const std::filesystem::path& file);
std::optional<ExportFormat> export_format_from_string(const std::string& name);

// Throws Error.
Exported export_budgets(const ExportRequest& request);

}  // namespace regtune
