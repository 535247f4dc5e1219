// The table and the picture of a recorded run, as windows of several widths show them.
#include "time_plot.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "record_json.hpp"
#include "report.hpp"
#include "terminal.hpp"

namespace regtune {
namespace {

TuningRecord recorded(const std::string& name) {
  std::ifstream in(std::string(REGTUNE_SOURCE_FOLDER) + "/tests/data/h200/" + name + ".json");
  return record_from_json(nlohmann::json::parse(in), name);
}

ReportStyle window(int columns, bool utf8 = false) {
  ReportStyle style;
  style.plot = true;
  style.columns = columns;
  style.utf8 = utf8;
  return style;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(TimePlot, ShowsBestAuthorAndSpills) {
  const std::string plot = time_plot(recorded("decay_bounded"), window(80));
  EXPECT_TRUE(holds(plot, "#")) << plot;
  EXPECT_TRUE(holds(plot, "A")) << plot;
  EXPECT_TRUE(holds(plot, "x")) << plot;
  EXPECT_TRUE(holds(plot, "registers, log:")) << "the author's takes four times as long as the best";
  EXPECT_FALSE(holds(time_plot(recorded("decay_wide"), window(80)), "\u2502")) << "letters of ASCII alone";
  EXPECT_TRUE(holds(time_plot(recorded("decay_wide"), window(80, true)), "\u25c6"));
}

TEST(TimePlot, NeedsAWindowAndSomethingTimed) {
  EXPECT_EQ(time_plot(recorded("decay_wide"), window(0)), "");
  EXPECT_EQ(time_plot(recorded("decay_wide"), window(30)), "");
  EXPECT_EQ(time_plot({}, window(80)), "");
}

TEST(TimePlot, AndReportFitTheWindow) {
  for (const char* name : {"decay_wide", "decay_bounded", "matmul_tiled", "saxpy", "nbody"})
    for (const int columns : {40, 60, 80, 100, 160})
      for (const bool utf8 : {false, true})
        for (const std::string& line :
             lines_of(report_text(recorded(name), "/home/me/regtune.db", window(columns, utf8))))
          EXPECT_LE(columns_of(line), static_cast<std::size_t>(columns)) << name << ": " << line;
}

TEST(CodeTable, LeavesOutWhatSaysLeastFirst) {
  const TuningRecord record = recorded("decay_bounded");
  const std::string wide = table_of_codes(record, window(160));
  const std::string narrow = table_of_codes(record, window(80));
  EXPECT_TRUE(holds(wide, "limited by") && holds(wide, "stack"));
  EXPECT_FALSE(holds(narrow, "limit")) << narrow;
  for (const char* kept : {"regs", "time (ms)", "gain", "budget"}) EXPECT_TRUE(holds(narrow, kept)) << narrow;
  EXPECT_TRUE(holds(narrow, "__launch_bounds__(256)  <- write")) << narrow;
  EXPECT_TRUE(holds(narrow, "author's code")) << narrow;
  const std::string narrowest = table_of_codes(record, window(40));
  EXPECT_TRUE(holds(narrowest, " <-\n")) << narrowest;
  EXPECT_TRUE(holds(narrowest, "\n... and ")) << narrowest;
  EXPECT_TRUE(holds(wide, "more codes (--all shows them)"));
  EXPECT_EQ(table_of_codes(record, window(0)), table_of_codes(record, window(400)))
      << "where there is room nothing is cut";
}

TEST(CodeTable, IsColouredWhereAsked) {
  const TuningRecord record = recorded("decay_bounded");
  ReportStyle style = window(120);
  EXPECT_FALSE(holds(table_of_codes(record, style), "\x1b["));
  style.colored = true;
  const std::string text = table_of_codes(record, style);
  EXPECT_TRUE(holds(text, "\x1b[1;32m")) << "the best";
  EXPECT_TRUE(holds(text, "\x1b[36m")) << "the author's";
}

}  // namespace
}  // namespace regtune
