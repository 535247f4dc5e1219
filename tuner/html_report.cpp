#include "html_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "chart_frame.hpp"
#include "html_codes_table.hpp"
#include "html_report_css.hpp"
#include "html_report_js.hpp"
#include "markup.hpp"
#include "registers_chart.hpp"
#include "report.hpp"
#include "report_words.hpp"
#include "run_details.hpp"
#include "samples_chart.hpp"
#include "staircase_chart.hpp"

namespace regtune {
namespace {

constexpr std::size_t kLongestSignature = 300;
constexpr std::size_t kMostStaircases = 4;

// A run on the page: what is drawn of it, and what it is called beside others.
struct Section {
  const TuningRecord& record;
  std::vector<DistinctCode> codes;
  SharedRange range;
  std::string label;
  std::string id;  // "r0": in front of the ids of its pictures
};

std::string element(const char* name, const char* classes, const std::string& text) {
  const std::string about = *classes == '\0' ? "" : fmt::format(" class=\"{}\"", classes);
  return fmt::format("<{0}{1}>{2}</{0}>\n", name, about, escape_markup(text));
}

// Options and bounds are not broken at their dashes and parentheses, where they fit a line.
std::string sentence_html(const char* classes, const std::string& text) {
  constexpr std::size_t kLongestWhole = 24;
  std::string html;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    const bool is_whole = (word.starts_with("--") || word.starts_with("__")) && word.size() <= kLongestWhole;
    html += is_whole ? fmt::format("<span class=\"whole\">{}</span>", escape_markup(word)) : escape_markup(word);
    if (end < text.size()) html += ' ';
    at = end + 1;
  }
  return *classes == '\0' ? "<p>" + html + "</p>\n" : fmt::format("<p class=\"{}\">{}</p>\n", classes, html);
}

std::string signature_html(const TuningRecord& record) {
  const std::string& signature = record.signature.empty() ? record.kernel : record.signature;
  const std::string text = fmt::format("<code>{}</code>", escape_markup(signature));
  if (characters_of(signature) <= kLongestSignature) return "<p class=\"signature\">" + text + "</p>\n";
  return fmt::format("<details class=\"signature\"><summary>{}</summary>{}</details>\n",
                     escape_markup("The kernel\u2019s whole signature"), text);
}

std::string where_html(const TuningRecord& record) {
  std::string text = record.gpu ? record.gpu->id.name : record.architecture;
  if (record.gpu) text += ", driver " + record.gpu->driver_version;
  text += ", " + record.compiler;
  if (!record.sizes.empty()) text += "; " + size_words(record.sizes);
  return element("p", "where", shortened(text, 400));
}

// The author's code and the one to take, value by value.
std::string change_html(const Section& section) {
  const DistinctCode* author = author_of(section.codes);
  const DistinctCode* best = best_of(section.record, section.codes);
  if (!author || !best || author == best) return "";
  const auto row = [](const char* what, const std::string& before, const std::string& after, bool better) {
    return fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td{}>{}</td></tr>\n", what, escape_markup(before),
                       better ? " class=\"better\"" : "", escape_markup(after));
  };
  const StaticFacts& a = *author->timed->facts;
  const StaticFacts& b = *best->timed->facts;
  const auto spills = [](const DistinctCode& code) {
    return code.spills() ? fmt::format("{} bytes per thread", code.spill_bytes()) : std::string("none");
  };
  const auto occupancy = [](const StaticFacts& facts) {
    return facts.occupancy
               ? fmt::format("{:.3g} %, {} per SM, limited by {}", facts.occupancy->fraction * 100,
                             plural(static_cast<std::size_t>(facts.occupancy->active_blocks_per_sm), "block"),
                             facts.occupancy->limiter == Limiter::shared_memory ? std::string_view("shared memory")
                                                                                : to_string(facts.occupancy->limiter))
               : std::string("cannot be launched");
  };
  std::string html = fmt::format(
      "<table class=\"change\">\n<thead><tr><td></td><th scope=\"col\">Author\u2019s code</th><th scope=\"col\">{}</th>"
      "</tr></thead>\n<tbody>\n",
      escape_markup(shortened(spell_choice(section.record, section.record.verdict->best_id), 120)));
  if (author->measured && best->measured)
    html += row("Time per launch", spell_ms(author->measured->time_ms.median), spell_ms(best->measured->time_ms.median),
                true);
  html += row("Registers per thread", std::to_string(a.registers_per_thread), std::to_string(b.registers_per_thread),
              false);
  html += row("Spills", spills(*author), spills(*best), best->spill_bytes() < author->spill_bytes());
  html += row("Occupancy", occupancy(a), occupancy(b),
              a.occupancy && b.occupancy && b.occupancy->fraction > a.occupancy->fraction);
  return html + "</tbody>\n</table>\n";
}

std::string key_html(const TuningRecord& record, const std::vector<DistinctCode>& codes) {
  const auto item = [](const char* mark, const char* meaning) {
    return fmt::format("<li><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\">{}</svg>{}</li>\n", mark, meaning);
  };
  const auto has = [&](auto is) { return std::any_of(codes.begin(), codes.end(), is); };
  std::string html = "<ul class=\"key\">\n";
  html += item("<rect class=\"code author\" x=\"2.5\" y=\"2.5\" width=\"9\" height=\"9\"/>", "the author\u2019s code");
  if (best_of(record, codes)) html += item("<circle class=\"code best\" cx=\"7\" cy=\"7\" r=\"6\"/>", "the best code");
  html += item("<circle class=\"code\" cx=\"7\" cy=\"7\" r=\"4\"/>", "a code that spills nothing");
  if (has([](const DistinctCode& code) { return code.spills(); }))
    html += item("<path class=\"code spilling\" d=\"M7 2l5 5l-5 5l-5 -5z\"/>", "a code that spills");
  if (has([](const DistinctCode& code) { return !code.measured && !spell_fate(*code.timed).empty(); }))
    html += item("<path class=\"code failed\" d=\"M3 3l8 8m-8 0l8 -8\"/>", "a code without a time");
  return html + "</ul>\n";
}

std::string both_widths(Chart chart, const auto& draw) {
  const std::string id = chart.id;
  std::string html;
  for (const ChartWidth width : {ChartWidth::wide, ChartWidth::narrow}) {
    chart.width = width;
    chart.id = id + (width == ChartWidth::wide ? "w" : "n");
    html += draw(chart);
  }
  return html;
}

std::string figure(const std::string& pictures, const std::string& caption) {
  if (pictures.empty()) return "";
  return fmt::format("<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n", pictures, escape_markup(caption));
}

std::string registers_figure(const Section& section, const SharedRange& range) {
  const std::size_t budgets =
      static_cast<std::size_t>(std::count_if(section.record.trials.begin(), section.record.trials.end(),
                                             [](const Trial& trial) { return trial.facts.has_value(); }));
  return figure(both_widths({section.record, section.codes, ChartWidth::wide, section.id + "registers"},
                            [&](const Chart& chart) { return registers_chart(chart, range); }),
                fmt::format("{} gave {}. Each has one mark in every panel. The grey line is the occupancy that the "
                            "registers allow.",
                            plural(budgets, "budget"), plural(section.codes.size(), "distinct code")));
}

std::string samples_figure(const Section& section) {
  return figure(
      both_widths({section.record, section.codes, ChartWidth::wide, section.id + "samples"}, samples_chart),
      fmt::format(
          "A dot is a sample; within a strip they run from top to bottom in the order in which they were taken, "
          "so that a drift would slant. The line is the median, the band its {:.4g} % interval, the dashes the "
          "author\u2019s median.",
          section.record.settings.confidence * 100));
}

std::string staircase_figures(const Section& section) {
  const std::vector<Staircase> staircases = staircases_of(section.record, section.codes);
  std::string html;
  for (std::size_t i = 0; i < std::min(staircases.size(), kMostStaircases); ++i) {
    const Staircase& staircase = staircases[i];
    std::vector<std::string> sentences;
    const auto tell = [&](const char* who, const DistinctCode* code) {
      if (!code || !(code->timed->shape.block == staircase.block)) return;
      const std::string step = about_step(staircase, code->timed->facts->registers_per_thread);
      if (!step.empty()) sentences.push_back(fmt::format("{}: {}.", who, step));
    };
    tell("The author\u2019s code", author_of(section.codes));
    const DistinctCode* best = best_of(section.record, section.codes);
    if (best != author_of(section.codes)) tell("The best", best);
    std::string caption = fmt::format("Blocks of {} threads", spell_block(staircase.block));
    if (staircase.shared_bytes > 0) caption += fmt::format(" with {} bytes of shared memory", staircase.shared_bytes);
    caption += fmt::format(". {}", fmt::join(sentences, " "));
    html +=
        figure(both_widths({section.record, section.codes, ChartWidth::wide, fmt::format("{}stairs{}", section.id, i)},
                           [&](const Chart& chart) { return staircase_chart(chart, staircase); }),
               caption);
  }
  if (staircases.size() > kMostStaircases)
    html +=
        element("p", "note", fmt::format("{} more block sizes are in the table.", staircases.size() - kMostStaircases));
  return html;
}

std::string table_and_details(const Section& section, const char* heading) {
  std::string html = element(heading, "", "Every distinct code");
  html += codes_table(section.record, section.codes,
                      fmt::format("Every distinct code of {}", kernel_heading(section.record)));
  html += element(heading, "", "How it was measured");
  return html + run_details(section.record);
}

std::string one_run(const Section& section) {
  std::string html = fmt::format("<main class=\"single\" data-run=\"{}\">\n<header>\n", section.id);
  html += element("h1", "", kernel_heading(section.record));
  html += signature_html(section.record) + where_html(section.record);
  html += sentence_html("verdict", verdict_sentence(section.record));
  for (const std::string& detail : verdict_details(section.record)) html += sentence_html("", detail);
  html += change_html(section) + "</header>\n";
  html +=
      element("h2", "",
              section.record.gpu ? "Time, spills and occupancy over registers" : "Spills and occupancy over registers");
  html += key_html(section.record, section.codes) + registers_figure(section, section.range);
  if (const std::string samples = samples_figure(section); !samples.empty())
    html += element("h2", "", "What was measured of the finalists") + samples;
  if (const std::string stairs = staircase_figures(section); !stairs.empty())
    html += element("h2", "", "How many blocks fit") + stairs;
  return html + table_and_details(section, "h2");
}

std::string runs_table(const std::vector<Section>& sections) {
  std::string html =
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"The runs side by side\">\n"
      "<table class=\"change sides\">\n<thead><tr><th scope=\"col\">Run</th><th scope=\"col\">Author\u2019s</th>"
      "<th scope=\"col\">Best</th><th scope=\"col\">Gain</th><th scope=\"col\">With</th></tr></thead>\n<tbody>\n";
  for (const Section& section : sections) {
    const DistinctCode* author = author_of(section.codes);
    const DistinctCode* best = best_of(section.record, section.codes);
    const auto time = [](const DistinctCode* code) {
      return code && code->measured ? spell_ms(code->measured->time_ms.median) : std::string("\u2013");
    };
    const Verdict::Kind kind = section.record.verdict ? section.record.verdict->kind : Verdict::Kind::inconclusive;
    const std::string gain = best                      ? spell_gain(section.record.verdict->speedup.median) + "\u00d7"
                             : !section.record.verdict ? "not timed"
                             : kind == Verdict::Kind::no_gain ? "none"
                                                              : "undecided";
    const std::string with =
        best ? shortened(spell_choice(section.record, section.record.verdict->best_id), 120) : "\u2013";
    html += fmt::format(
        "<tr><th scope=\"row\">{}</th><td data-head=\"Author\u2019s\">{}</td><td data-head=\"Best\">{}</td>"
        "<td data-head=\"Gain\" class=\"better\">{}</td><td data-head=\"With\">{}</td></tr>\n",
        escape_markup(section.label), escape_markup(time(author)), escape_markup(best ? time(best) : "\u2013"),
        escape_markup(gain), escape_markup(with));
  }
  return html + "</tbody>\n</table>\n</div>\n";
}

std::string side_by_side(const std::vector<Section>& sections, const auto& draw) {
  std::string html = "<div class=\"runs\">\n";
  for (const Section& section : sections)
    html += fmt::format("<section data-run=\"{}\">\n{}{}</section>\n", section.id, element("h3", "", section.label),
                        draw(section));
  return html + "</div>\n";
}

std::string several_runs(const std::vector<Section>& sections, const SharedRange& shared, bool one_kernel) {
  const TuningRecord& first = sections.front().record;
  std::string html = "<main class=\"several\">\n<header>\n";
  html += element("h1", "",
                  one_kernel ? fmt::format("{} in {} runs", kernel_heading(first), sections.size())
                             : fmt::format("{} runs", sections.size()));
  if (one_kernel) html += signature_html(first);
  html += runs_table(sections) + "</header>\n";
  html += element("h2", "", "The verdicts");
  for (const Section& section : sections)
    html += fmt::format("<p><span class=\"where\">{}:</span> {}</p>\n", escape_markup(section.label),
                        escape_markup(verdict_sentence(section.record)));
  html += element("h2", "", "Time, spills and occupancy over registers");
  if (one_kernel) html += element("p", "note", "All runs are drawn on the same axes.");
  html += key_html(first, sections.front().codes);
  html += side_by_side(
      sections, [&](const Section& section) { return registers_figure(section, one_kernel ? shared : section.range); });
  html += element("h2", "", "What was measured of the finalists");
  html += side_by_side(sections, samples_figure);
  html += element("h2", "", "How many blocks fit");
  html += side_by_side(sections, staircase_figures);
  for (const Section& section : sections) {
    html += fmt::format("<section data-run=\"{}\">\n{}", section.id, element("h2", "", section.label));
    html += table_and_details(section, "h3") + "</section>\n";
  }
  return html;
}

std::string page(const std::string& title, const std::string& body) {
  // Nothing is loaded: the policy makes sure of it, whatever a name on the page tries.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"/>\n"
      "<meta name=\"generator\" content=\"regtune "
      "{0}\"/>\n<title>{1}</title>\n<style>\n{2}</style>\n</head>\n<body>\n{3}"
      "<footer>\n<p>Made by regtune {0} from the recorded samples; this page loads nothing and sends nothing.</p>\n"
      "</footer>\n</main>\n<script>\n{4}</script>\n</body>\n</html>\n",
      REGTUNE_VERSION, escape_markup(title), html_report_css_text, body, html_report_js_text);
}

}  // namespace

std::string html_report(const std::vector<TuningRecord>& runs) {
  const std::vector<std::string> labels = run_labels(runs);
  std::vector<Section> sections;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<DistinctCode> codes = distinct_codes(runs[i]);
    const SharedRange range = range_of(codes);
    sections.push_back({runs[i], std::move(codes), range, labels[i], fmt::format("r{}", i)});
  }
  const std::string kernel = kernel_heading(runs.front());
  if (runs.size() == 1)
    return page(fmt::format("{}: {}", kernel, shortened(verdict_sentence(runs.front()), 160)),
                one_run(sections.front()));
  SharedRange shared = sections.front().range;
  for (const Section& section : sections) shared = together(shared, section.range);
  const bool one_kernel = std::all_of(runs.begin(), runs.end(), [&](const TuningRecord& run) {
    return run.kernel == runs.front().kernel && run.sizes == runs.front().sizes;
  });
  return page(fmt::format("{}, {} runs", kernel, runs.size()), several_runs(sections, shared, one_kernel));
}

}  // namespace regtune
