#include "ncu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <map>
#include <system_error>

namespace regtune {
namespace {

namespace fs = std::filesystem;

// Names as `ncu --query-metrics` gives them, from sm_75 on.
struct Metric {
  const char* name;
  double Counters::*field;
  double scale;
};
constexpr std::array kMetrics{
    Metric{"smsp__sass_inst_executed_op_local_ld.sum", &Counters::local_load_instructions, 1},
    Metric{"smsp__sass_inst_executed_op_local_st.sum", &Counters::local_store_instructions, 1},
    Metric{"sm__warps_active.avg.pct_of_peak_sustained_active", &Counters::achieved_occupancy, 0.01},
    Metric{"l1tex__t_bytes.sum", &Counters::l1_bytes, 1},
    Metric{"lts__t_bytes.sum", &Counters::l2_bytes, 1},
    Metric{"dram__bytes.sum", &Counters::dram_bytes, 1},
};

bool is_executable(const fs::path& file) {
  std::error_code ignored;
  const fs::file_status status = fs::status(file, ignored);
  return fs::is_regular_file(status) && (status.permissions() & fs::perms::owner_exec) != fs::perms::none;
}

// The cells of a line of comma-separated values in double quotes.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  bool quoted = false;
  std::string cell;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cell += line[i++];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      cells.push_back(std::move(cell));
      cell.clear();
    } else if (line[i] != '\r') {
      cell += line[i];
    }
  }
  cells.push_back(std::move(cell));
  return cells;
}

// "31,195,136" and "46.21"; empty for anything else, such as "n/a".
std::optional<double> number(std::string text) {
  std::erase(text, ',');
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return value;
}

std::string regex_of(const std::vector<std::string>& names) {
  return fmt::format("regex:^({})$", fmt::join(names, "|"));  // mangled names hold no character that is special
}

}  // namespace

std::optional<fs::path> find_ncu() {
  if (const char* named = std::getenv("REGTUNE_NCU")) {
    if (is_executable(named)) return named;
    return {};
  }
  std::vector<fs::path> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(variable)) folders.push_back(fs::path(root) / "bin");
  if (const char* path = std::getenv("PATH")) {
    std::string_view rest = path;
    while (!rest.empty()) {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      if (colon > 0) folders.emplace_back(rest.substr(0, colon));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  }
  folders.emplace_back("/usr/local/cuda/bin");
  for (const fs::path& folder : folders)
    if (is_executable(folder / "ncu")) return folder / "ncu";
  return {};
}

std::vector<std::string> ncu_command(const fs::path& ncu, const fs::path& report,
                                     const std::vector<std::string>& mangled_kernels) {
  std::vector<std::string> metrics;
  for (const Metric& metric : kMetrics) metrics.emplace_back(metric.name);
  return {ncu.string(),
          "--csv",
          "--page",
          "raw",
          "--print-units",
          "base",
          "--clock-control",
          "none",
          "--target-processes",
          "all",
          "--kernel-name-base",
          "mangled",
          "--kernel-name",
          regex_of(mangled_kernels),
          "--metrics",
          fmt::format("{}", fmt::join(metrics, ",")),
          "--log-file",
          report.string()};
}

NcuReport read_ncu_report(std::string_view text) {
  NcuReport report;
  std::vector<std::string> header;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("==ERROR==")) report.failure += std::string(line.substr(9)) + ";";
    if (!line.starts_with('"')) continue;
    const std::vector<std::string> cells = cells_of(line);
    if (header.empty()) {
      header = cells;
      continue;
    }
    // The line under the header holds units and no launch.
    if (cells.size() != header.size() || !number(cells.front())) continue;
    Counters counters;
    bool complete = true;
    for (const Metric& metric : kMetrics) {
      const auto column = std::find(header.begin(), header.end(), metric.name);
      const auto value =
          column == header.end() ? std::nullopt : number(cells[static_cast<std::size_t>(column - header.begin())]);
      complete = complete && value;
      if (value) counters.*metric.field = *value * metric.scale;
    }
    if (complete) report.launches.push_back(counters);
  }
  if (!report.failure.empty()) report.failure.pop_back();
  if (report.launches.empty() && report.failure.empty()) report.failure = "ncu reported no launch";
  return report;
}

}  // namespace regtune
