#include "run_details.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "markup.hpp"
#include "nvcc_text.hpp"
#include "report.hpp"
#include "report_words.hpp"
#include "timing_text.hpp"

namespace regtune {
namespace {

std::string entry(const char* term, const std::string& text) {
  if (text.empty()) return "";
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", term, escape_markup(text));
}

std::string joined(const std::vector<std::string>& lines, const char* between) {
  return fmt::format("{}", fmt::join(lines, between));
}

std::string mib(std::int64_t bytes) {
  return bytes <= 0 ? "" : fmt::format("{} MiB", bytes >> 20);
}

std::string gpu_words(const TuningRecord& record) {
  if (!record.gpu) return record.architecture + ", compiled for and not run on";
  const GpuState& gpu = *record.gpu;
  std::string text = fmt::format("{}, {}, {} SMs", gpu.id.name, record.architecture, gpu.id.sm_count);
  if (const std::string memory = mib(gpu.memory_bytes); !memory.empty()) text += ", " + memory;
  if (const std::string l2 = mib(gpu.l2_bytes); !l2.empty()) text += ", L2 " + l2;
  return text;
}

std::string launch_words(const LaunchShape& shape) {
  std::string text = fmt::format("{} blocks of {} threads", spell_block(shape.grid), spell_block(shape.block));
  if (shape.dynamic_shared_bytes > 0)
    text += fmt::format(", {} bytes of dynamic shared memory", shape.dynamic_shared_bytes);
  return text;
}

std::string without_line_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string measuring_words(const MeasureSettings& settings) {
  return fmt::format("differences below {:.3g} % are none; {:.4g} % confidence; {:.4g} s of GPU time allowed; seed {}",
                     settings.margin * 100, settings.confidence * 100, settings.budget_s, settings.seed);
}

// What did not come out as a time, by its reason.
std::string left_out_words(const TuningRecord& record) {
  std::vector<std::string> pieces;
  const auto count = [&](const char* what, auto is) {
    const auto found = std::count_if(record.trials.begin(), record.trials.end(), is);
    if (found > 0) pieces.push_back(fmt::format("{} {}", found, what));
  };
  count("not compiled for want of time", [](const Trial& t) { return std::holds_alternative<NotCompiled>(t.outcome); });
  count("did not compile", [](const Trial& t) { return std::holds_alternative<CompileFailed>(t.outcome); });
  count("cannot be launched", [](const Trial& t) { return std::holds_alternative<NotLaunchable>(t.outcome); });
  count("gave a wrong result", [](const Trial& t) { return std::holds_alternative<WrongResult>(t.outcome); });
  count("faulted", [](const Trial& t) { return std::holds_alternative<Faulted>(t.outcome); });
  count("took too long", [](const Trial& t) { return std::holds_alternative<TimedOut>(t.outcome); });
  count("in quarantine", [](const Trial& t) { return std::holds_alternative<Quarantined>(t.outcome); });
  return joined(pieces, ", ");
}

bool needs_no_quotes(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_=./,:+@%").find(c) != std::string_view::npos;
  });
}

}  // namespace

std::string spell_command_line(const std::vector<std::string>& arguments) {
  std::string text = "regtune";
  for (const std::string& argument : arguments) {
    if (needs_no_quotes(argument)) {
      text += " " + argument;
      continue;
    }
    text += " '";
    for (const char c : argument) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += "'";
  }
  return text;
}

std::string run_details(const TuningRecord& record) {
  std::string html = "<dl class=\"facts\">\n";
  html += entry("GPU", gpu_words(record));
  if (record.gpu) html += entry("Driver", record.gpu->driver_version);
  if (record.gpu) html += entry("Also on the GPU", joined(record.gpu->other_users, ", "));
  html += entry("Compiler", record.compiler);
  html += entry("Way to the codes", record.route);
  html += entry("Compared with", without_line_end(nvcc_text(record)));
  html += entry("Machine", record.host);
  html += entry("Measured", record.started);
  html += entry("regtune", record.regtune_version);
  html += entry("Source", record.source_path);
  html += entry("Source tag", record.source_hash);
  html += entry("What was changed for the compiler", joined(record.source_notes, "; "));
  html += entry("Options", joined(record.options, " "));
  html += entry("Sizes", size_words(record.sizes));
  html += entry("Launch", launch_words(record.author_shape));
  html += entry("Arguments", joined(record.arguments, "; "));
  html += entry("Guessed", joined(record.guesses, "; "));
  if (record.gpu) {
    html += entry("Sampling", without_line_end(timing_text(record)));
    html += entry("Settings", measuring_words(record.settings));
    if (record.gpu_seconds > 0) html += entry("GPU time", fmt::format("{:.3g} s", record.gpu_seconds));
  }
  html += entry("Without a time", left_out_words(record));
  html += "</dl>\n";
  if (!record.command_line.empty())
    html += fmt::format("<p class=\"note\">Command line:</p>\n<pre>{}</pre>\n",
                        escape_markup(spell_command_line(record.command_line)));
  if (!record.description.empty())
    html += fmt::format("<details><summary>The whole launch description</summary>\n<pre>{}</pre>\n</details>\n",
                        escape_markup(record.description));
  return html;
}

}  // namespace regtune
