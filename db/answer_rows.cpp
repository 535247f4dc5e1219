#include "answer_rows.hpp"

#include <algorithm>
#include <cstdlib>

#include "answer.hpp"
#include "code_columns.hpp"
#include "key.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr int head_columns = 21;
constexpr int budget_columns = 21;
// More than anybody tunes; a file from elsewhere may hold anything.
constexpr std::size_t most_answers_of_a_name = 100'000;

const std::string& name_of(const TunedPolicy& answer) {
  return answer.signature.empty() ? answer.kernel : answer.signature;
}

std::string list_of(const Sizes& sizes) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : sizes) {
    texts.push_back(name);
    texts.push_back(std::to_string(value));
  }
  return netstrings(texts);
}

std::string list_of(const std::map<std::string, std::string>& macros) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : macros) {
    texts.push_back(name);
    texts.push_back(value);
  }
  return netstrings(texts);
}

// Whatever went bad here shows in the checksum.
std::vector<std::string> list_from(const std::string& text) {
  return from_netstrings(text).value_or(std::vector<std::string>{});
}

Sizes sizes_from(const std::string& text) {
  Sizes sizes;
  const std::vector<std::string> texts = list_from(text);
  for (std::size_t at = 0; at + 1 < texts.size(); at += 2)
    sizes[texts[at]] = std::strtoll(texts[at + 1].c_str(), nullptr, 10);
  return sizes;
}

std::map<std::string, std::string> macros_from(const std::string& text) {
  std::map<std::string, std::string> macros;
  const std::vector<std::string> texts = list_from(text);
  for (std::size_t at = 0; at + 1 < texts.size(); at += 2) macros[texts[at]] = texts[at + 1];
  return macros;
}

// Hands the columns of a budget to `write`, behind those that are there already.
template <typename Write>
auto with_budget(const TunedBudget& budget, Write write) {
  const PolicyColumns policy = columns_of(budget.policy);
  const Dim3& block = budget.block;
  return write(policy.kind, policy.first, policy.second, block.x, block.y, block.z, budget.dynamic_shared_bytes,
               budget.renamed, budget.register_usage_level, budget.instance, list_of(budget.macros),
               budget.spills_to_shared, budget.registers_per_thread, budget.spill_store_bytes,
               budget.static_shared_bytes, budget.max_threads_per_block, budget.required_threads_per_block,
               budget.code_hash, budget.speedup, budget.speedup_low, budget.speedup_high);
}

TunedBudget read_budget(Columns& columns) {
  TunedBudget budget;
  budget.policy = read_policy(columns);
  budget.block = columns.dim3();
  budget.dynamic_shared_bytes = columns.integer();
  budget.renamed = columns.integer() != 0;
  budget.register_usage_level = columns.number();
  budget.instance = columns.text();
  budget.macros = macros_from(columns.text());
  budget.spills_to_shared = columns.integer() != 0;
  budget.registers_per_thread = columns.number();
  budget.spill_store_bytes = columns.number();
  budget.static_shared_bytes = columns.number();
  budget.max_threads_per_block = columns.number();
  budget.required_threads_per_block = columns.number();
  budget.code_hash = columns.text();
  budget.speedup = columns.real();
  budget.speedup_low = columns.real();
  budget.speedup_high = columns.real();
  spell_budget(budget);
  return budget;
}

TunedPolicy read_answer(Columns& columns) {
  TunedPolicy answer;
  answer.run = columns.integer();  // NULL is 0
  answer.finish_order = columns.integer();
  answer.checksum = columns.text();
  columns.skip(1);  // the bare name
  answer.kernel = columns.text();
  answer.signature = columns.text();
  answer.sizes = sizes_from(columns.text());
  answer.options = list_from(columns.text());
  answer.source_tag = columns.text();
  answer.gpu.name = columns.text();
  answer.gpu.compute_major = columns.number();
  answer.gpu.compute_minor = columns.number();
  answer.gpu.sm_count = columns.number();
  answer.gpu.memory_clock_mhz = columns.number();
  answer.architecture = columns.text();
  answer.driver = columns.text();
  answer.compiler = columns.text();
  answer.regtune_version = columns.text();
  answer.started = columns.text();
  answer.host = columns.text();
  answer.verdict = columns.text();
  answer.best = read_budget(columns);
  answer.in_source = read_budget(columns);
  return answer;
}

std::string digest_of(const std::vector<std::string>& sorted_checksums) {
  FieldHash hash;
  for (const std::string& checksum : sorted_checksums) hash.add("answer", checksum);
  return hash.hex();
}

}  // namespace

void write_answer(Database& database, const TunedPolicy& answer) {
  std::optional<std::int64_t> run;
  if (answer.run != 0) run = answer.run;
  Statement(database, "DELETE FROM answer WHERE run_id = ?").run(run);
  const GpuId& gpu = answer.gpu;
  Statement insert(database, "INSERT INTO answer VALUES " + placeholders(1 + head_columns + 2 * budget_columns));
  with_budget(answer.best, [&](const auto&... best) {
    with_budget(answer.in_source, [&](const auto&... in_source) {
      insert.run(std::nullopt, run, answer.finish_order, checksum_of(answer), bare_kernel_name(name_of(answer)),
                 answer.kernel, answer.signature, list_of(answer.sizes), netstrings(answer.options), answer.source_tag,
                 gpu.name, gpu.compute_major, gpu.compute_minor, gpu.sm_count, gpu.memory_clock_mhz,
                 answer.architecture, answer.driver, answer.compiler, answer.regtune_version, answer.started,
                 answer.host, answer.verdict, best..., in_source...);
    });
  });
}

void seal_answers(Database& database, const std::string& bare_name) {
  Statement select(database, "SELECT checksum FROM answer WHERE kernel_name = ? ORDER BY checksum");
  select.bind(bare_name);
  std::vector<std::string> checksums;
  while (select.step()) checksums.push_back(select.text(0));
  if (checksums.empty()) {
    Statement(database, "DELETE FROM answer_group WHERE kernel_name = ?").run(bare_name);
  } else {
    Statement(database, "INSERT OR REPLACE INTO answer_group VALUES (?, ?)").run(bare_name, digest_of(checksums));
  }
  database.execute("UPDATE answer_generation SET value = value + 1");
}

StoredAnswers read_answers(Database& database, const std::string& bare_name) {
  Statement group(database, "SELECT digest FROM answer_group WHERE kernel_name = ?");
  const bool known = group.bind(bare_name).step();
  const std::string digest = known ? group.text(0) : "";
  Statement select(database, "SELECT * FROM answer WHERE kernel_name = ? ORDER BY checksum");
  select.bind(bare_name);
  StoredAnswers stored;
  std::vector<std::string> checksums;
  while (!stored.damaged && select.step()) {
    try {
      Columns columns(database, select);
      columns.skip(1);
      stored.answers.push_back(read_answer(columns));
    } catch (const Error&) {
      stored.damaged = true;  // a word that nobody writes
      break;
    }
    const TunedPolicy& answer = stored.answers.back();
    stored.damaged = checksum_of(answer) != answer.checksum || bare_kernel_name(name_of(answer)) != bare_name ||
                     checksums.size() >= most_answers_of_a_name;
    checksums.push_back(answer.checksum);
  }
  stored.damaged = stored.damaged || (known ? digest_of(checksums) != digest : !checksums.empty());
  if (stored.damaged) stored.answers.clear();
  std::sort(stored.answers.begin(), stored.answers.end(),
            [](const TunedPolicy& a, const TunedPolicy& b) { return a.finish_order > b.finish_order; });
  return stored;
}

std::vector<std::string> bare_names_of(Database& database, const std::string& mangled) {
  Statement select(database, "SELECT DISTINCT kernel_name FROM answer WHERE kernel = ?");
  select.bind(mangled);
  std::vector<std::string> names;
  while (select.step()) names.push_back(select.text(0));
  return names;
}

std::int64_t answer_generation(Database& database) {
  Statement select(database, "SELECT value FROM answer_generation WHERE id = 1");
  return select.step() ? select.integer(0) : -1;
}

}  // namespace regtune
