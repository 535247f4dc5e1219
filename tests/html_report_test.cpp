// The page, read by a strict reader: well-formed, every text escaped, a mark for each code, and the same bytes again.
#include "html_report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "chart_frame.hpp"
#include "distinct_codes.hpp"
#include "html_report_css.hpp"
#include "html_report_js.hpp"
#include "markup.hpp"
#include "program.hpp"
#include "record_json.hpp"
#include "report_words.hpp"
#include "run_details.hpp"
#include "strict_markup.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

TuningRecord recorded(const std::string& name) {
  const std::filesystem::path file = source_folder() / "tests/data/h200" / (name + ".json");
  return record_from_json(nlohmann::json::parse(std::ifstream(file)), file.string());
}

constexpr const char* kRecorded[] = {"bad_local_array",  "block_sort",   "decay_bounded", "decay_indexed", "decay_wide",
                                     "matmul_registers", "matmul_tiled", "nbody",         "saxpy"};

TEST(HtmlReport, IsWellFormedWithAMarkAndARowForEachCode) {
  for (const char* name : kRecorded) {
    const TuningRecord record = recorded(name);
    const std::string html = html_report({record});
    const StrictMarkup page(html);
    ASSERT_EQ(page.error(), "") << name;
    const std::size_t codes = distinct_codes(record).size();
    std::set<std::string> ids;
    for (const char* width : {"wide", "narrow"}) {
      std::size_t points = 0;
      for (const char* shape : {"circle", "rect", "path"})
        for (const Element* mark : page.all(shape, "point")) {
          if (!page.is_within(*mark, "svg", width)) continue;
          ++points;
          ids.insert(mark->attributes.at("data-code"));
        }
      EXPECT_EQ(points, codes) << name << ", " << width;
    }
    EXPECT_EQ(ids.size(), codes) << name;
    std::set<std::string> rows;
    for (const Element* row : page.all("tr"))
      if (row->attributes.contains("data-code")) rows.insert(row->attributes.at("data-code"));
    EXPECT_EQ(rows, ids) << name << ": what is drawn is in the table, and the reverse";
  }
}

TEST(HtmlReport, EveryPictureHasItsTextAndEveryIdIsOne) {
  const std::string html = html_report({recorded("decay_wide"), recorded("decay_bounded")});
  const StrictMarkup page(html);
  ASSERT_EQ(page.error(), "");
  std::set<std::string> ids;
  for (const Element& element : page.elements()) {
    const auto id = element.attributes.find("id");
    if (id != element.attributes.end()) {
      EXPECT_TRUE(ids.insert(id->second).second) << id->second;
    }
  }
  std::size_t pictures = 0;
  for (const Element* svg : page.all("svg", "plot")) {
    ++pictures;
    EXPECT_EQ(svg->attributes.at("role"), "img");
    const std::string names = svg->attributes.at("aria-labelledby");
    EXPECT_TRUE(ids.contains(names.substr(0, names.find(' ')))) << names;
    EXPECT_TRUE(ids.contains(names.substr(names.find(' ') + 1))) << names;
  }
  EXPECT_EQ(pictures, 2u * 3 * 2) << "three pictures of two runs in two widths";
  EXPECT_EQ(page.all("html").front()->attributes.at("lang"), "en");
}

TEST(HtmlReport, LoadsNothing) {
  const std::string html = html_report({recorded("decay_wide")});
  const StrictMarkup page(html);
  for (const char* name : {"link", "img", "iframe", "object", "embed", "audio", "video", "base", "form", "a", "image"})
    EXPECT_TRUE(page.all(name).empty()) << name;
  for (const Element& element : page.elements())
    for (const char* attribute : {"src", "href", "xlink:href", "action", "onload", "onclick", "style"})
      EXPECT_FALSE(element.attributes.contains(attribute)) << element.name << " " << attribute;
  EXPECT_EQ(page.all("script").size(), 1u);
  EXPECT_EQ(html.find("url("), std::string::npos);
  EXPECT_EQ(html.find("@import"), std::string::npos);
  bool has_policy = false;
  for (const Element* meta : page.all("meta"))
    has_policy = has_policy || (meta->attributes.contains("http-equiv") &&
                                meta->attributes.at("content").find("default-src 'none'") != std::string::npos);
  EXPECT_TRUE(has_policy);
}

// As a file from elsewhere may hold them.
TuningRecord hostile(const std::string& text) {
  TuningRecord record = recorded("decay_wide");
  for (std::string* field : {&record.signature, &record.kernel, &record.host, &record.source_path, &record.compiler,
                             &record.route, &record.description, &record.started, &record.regtune_version,
                             &record.verdict->reason, &record.gpu->id.name, &record.gpu->driver_version})
    *field = text;
  record.sizes = {{text, 1}};
  for (std::vector<std::string>* list : {&record.options, &record.arguments, &record.guesses, &record.source_notes,
                                         &record.command_line, &record.gpu->other_users})
    *list = {text, text};
  record.trials[1].variant.choice.macros = {{text, text}};
  record.trials[1].variant.choice.instance = text;
  record.trials[3].outcome = Faulted{text};
  return record;
}

TEST(HtmlReport, EscapesWhateverARecordHolds) {
  const std::string plain = html_report({recorded("decay_wide")});
  const std::size_t scripts = StrictMarkup(plain).all("script").size();
  for (const std::string& text :
       {std::string("</script><script>alert(1)</script>"), std::string("\" onload=\"alert(1)"),
        std::string("'><img src=x onerror=alert(1)>"), std::string("]]></style><!-- &amp; &#x3c;"),
        std::string("a\0b\x1b[31m\xff\xfe", 10), std::string(10000, 'W'), std::string(10000, '<'),
        std::string("\u202egnp.exe"), std::string()}) {
    for (const bool both : {false, true}) {
      std::vector<TuningRecord> runs{hostile(text)};
      if (both) runs.push_back(recorded("decay_wide"));
      const std::string html = html_report(runs);
      const StrictMarkup page(html);
      ASSERT_EQ(page.error(), "") << text.substr(0, 80);
      EXPECT_EQ(page.all("script").size(), scripts);
      EXPECT_TRUE(page.all("img").empty());
      EXPECT_EQ(html.find("\u202e"), std::string::npos);
    }
  }
  // A heading stays one, however long the name is.
  const std::string html = html_report({hostile(std::string(10000, 'W'))});
  EXPECT_LE(characters_of(StrictMarkup(html).all("h1").front()->text), 80u);
}

TEST(HtmlReport, NumbersThatMakeNoSenseAreNoHarm) {
  TuningRecord record = recorded("decay_wide");
  record.gpu->limits = {};
  record.trials[0].facts->registers_per_thread = 2000000000;
  record.trials[0].facts->spill_store_bytes = record.trials[0].facts->spill_load_bytes = 2147483647;
  record.trials[0].facts->static_shared_bytes = -5;
  for (Trial& trial : record.trials)
    if (auto* abandoned = std::get_if<Abandoned>(&trial.outcome)) abandoned->so_far.time_ms = {-1, 1e300, 1e308};
  std::get<Measurement>(record.trials[0].outcome).time_ms = {0, 1e-300, 1e-300};
  std::get<Measurement>(record.trials[0].outcome).confirmation.push_back({1, -4});
  const std::string html = html_report({record});
  EXPECT_EQ(StrictMarkup(html).error(), "");
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_EQ(html.find("\"inf"), std::string::npos);
}

TEST(HtmlReport, IsTheSameAgain) {
  const std::vector<TuningRecord> runs{recorded("matmul_tiled"), recorded("saxpy")};
  EXPECT_EQ(html_report(runs), html_report(runs));
}

TEST(HtmlReport, MarksTheAuthorsCodeAndTheBest) {
  const TuningRecord record = recorded("decay_wide");
  const std::string html = html_report({record});
  const StrictMarkup page(html);
  ASSERT_EQ(page.all("tr", "best").size(), 1u);
  ASSERT_EQ(page.all("tr", "author").size(), 1u);
  EXPECT_NE(page.all("tr", "best").front()->text.find("__launch_bounds__(256)"), std::string::npos);
  EXPECT_NE(page.all("tr", "best").front()->text.find("best"), std::string::npos) << "colour alone says nothing";
  EXPECT_NE(page.all("tr", "author").front()->text.find("author\u2019s"), std::string::npos);
  EXPECT_EQ(page.all("p", "verdict").front()->text, verdict_sentence(record));
}

TEST(HtmlReport, AStudyWithoutAGpuHasItsPicturesToo) {
  TuningRecord record = recorded("decay_wide");
  record.gpu.reset();
  record.verdict.reset();
  for (Trial& trial : record.trials)
    if (!std::holds_alternative<SameCodeAs>(trial.outcome)) trial.outcome = NotTimed{};
  const std::string html = html_report({record});
  const StrictMarkup page(html);
  ASSERT_EQ(page.error(), "");
  EXPECT_EQ(page.all("svg", "wide").size(), 2u) << "nothing was timed, so there are no samples";
  EXPECT_NE(html.find("nothing was timed"), std::string::npos);
  EXPECT_EQ(page.all("svg", "strips").size(), 0u);
}

TEST(HtmlReport, ScriptAndStyleAreMarkupOfTheirOwn) {
  for (const std::string text : {html_report_css_text, html_report_js_text})
    EXPECT_EQ(text.find_first_of("<&"), std::string::npos) << "the page would not be well-formed XML";
}

// WCAG 2.1: relative luminance and contrast.
double luminance(const std::string& hex) {
  double sum = 0;
  const double weights[] = {0.2126, 0.7152, 0.0722};
  for (std::size_t i = 0; i < 3; ++i) {
    const double value = std::stoi(hex.substr(2 * i, 2), nullptr, 16) / 255.0;
    sum += weights[i] * (value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4));
  }
  return sum;
}

double contrast(const std::string& a, const std::string& b) {
  const double la = luminance(a);
  const double lb = luminance(b);
  return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

TEST(HtmlReport, ItsColoursCanBeToldFromThePaper) {
  const std::string css = html_report_css_text;
  const std::regex rule(":root \\{([^}]*)\\}");
  std::size_t themes = 0;
  for (auto it = std::sregex_iterator(css.begin(), css.end(), rule); it != std::sregex_iterator(); ++it) {
    std::map<std::string, std::string> colours;
    const std::string body = (*it)[1];
    const std::regex colour("--([a-z]+): #([0-9a-f]{6});");
    for (auto c = std::sregex_iterator(body.begin(), body.end(), colour); c != std::sregex_iterator(); ++c)
      colours[(*c)[1]] = (*c)[2];
    ++themes;
    for (const char* text : {"ink", "soft", "best", "spill", "author", "failed"})
      for (const char* ground : {"paper", "panel"})
        EXPECT_GE(contrast(colours.at(text), colours.at(ground)), 4.5)
            << text << " on " << ground << ", theme " << themes;
    EXPECT_GE(contrast(colours.at("ink"), colours.at("interval")), 4.5) << "theme " << themes;
    EXPECT_GE(contrast(colours.at("best"), colours.at("interval")), 4.5) << "theme " << themes;
    EXPECT_GE(contrast(colours.at("plain"), colours.at("paper")), 3) << "a mark, theme " << themes;
  }
  EXPECT_EQ(themes, 3u) << "light, dark and print";
}

TEST(ReportWords, SayEachVerdict) {
  TuningRecord record = recorded("decay_wide");
  const auto time_of = [&](int id) {
    return std::get<Measurement>(record.trials.at(static_cast<std::size_t>(id)).outcome).time_ms.median;
  };
  EXPECT_EQ(verdict_sentence(record),
            fmt::format(
                "decayWide runs {:.2f} times as fast on NVIDIA H200 with __launch_bounds__(256): {:.3f} ms per launch "
                "instead of {:.3f} ms.",
                record.verdict->speedup.median, time_of(record.verdict->best_id), time_of(0)));
  record.verdict->kind = Verdict::Kind::no_gain;
  EXPECT_EQ(
      verdict_sentence(record),
      "Leave decayWide as it is: on NVIDIA H200 no register budget beats the author\u2019s code by more than 0.5 %.");
  record.verdict->kind = Verdict::Kind::inconclusive;
  EXPECT_NE(verdict_sentence(record).find("Undecided"), std::string::npos);
  record.verdict->kind = Verdict::Kind::not_resolvable;
  EXPECT_NE(verdict_sentence(record).find("too short"), std::string::npos);
  record.verdict.reset();
  EXPECT_NE(verdict_sentence(record).find("nothing was timed"), std::string::npos);
}

TEST(ReportWords, RunsAreCalledByWhatTellsThemApart) {
  TunedAs as;
  const TuningRecord a = tuned_record(as);
  as.driver = "590.1";
  const TuningRecord b = tuned_record(as);
  EXPECT_EQ(run_labels({a, b}), (std::vector<std::string>{"driver 580.159.04", "driver 590.1"}));
  as.gpu.name = "NVIDIA L4";
  const TuningRecord c = tuned_record(as);
  EXPECT_EQ(run_labels({a, b, c}), (std::vector<std::string>{"NVIDIA H200, driver 580.159.04",
                                                             "NVIDIA H200, driver 590.1", "NVIDIA L4, driver 590.1"}));
  EXPECT_EQ(run_labels({a, a}), (std::vector<std::string>{"run 1", "run 2"}));
}

TEST(RunDetails, SpellTheCommandLineAsAShellTakesIt) {
  EXPECT_EQ(spell_command_line({"k.cu", "--set", "n=1<<24", "--grid", "ceil_div(n, block)", "it's", ""}),
            "regtune k.cu --set 'n=1<<24' --grid 'ceil_div(n, block)' 'it'\\''s' ''");
  TuningRecord record = recorded("decay_wide");
  record.command_line = {"kernels/decay_wide.cu"};
  EXPECT_NE(html_report({record}).find("<pre>regtune kernels/decay_wide.cu</pre>"), std::string::npos);
}

}  // namespace
}  // namespace regtune
