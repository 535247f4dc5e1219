// What a look-up costs, both sides in one run on this machine:
//   bench_lookup [FOLDER]
// Ours: a cache file of 10,000 answers (500 kernels of 20 sizes), asked through the C interface. The other side: the
// same rows as lines of JSON, one object each, as Kernel Launcher keeps its wisdom; all of the file is read and parsed,
// as a program must that looks one row up there. Prints a table; "asked" is what the project asks of itself.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "answer.hpp"
#include "answer_rows.hpp"
#include "regtune.h"
#include "schema.hpp"

namespace {

using namespace regtune;
using Clock = std::chrono::steady_clock;

constexpr int kKernels = 500;
constexpr int kSizes = 20;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string kernel_name(int kernel) {
  return "kernel" + std::to_string(kernel);
}

TunedPolicy answer(int kernel, int size) {
  TunedPolicy row;
  row.kernel = "_Z" + std::to_string(kernel_name(kernel).size()) + kernel_name(kernel) + "PKfPfm";
  row.signature = kernel_name(kernel) + "(const float*, float*, unsigned long)";
  row.sizes = {{"n", std::int64_t{1} << (10 + size)}};
  row.gpu = {"NVIDIA H200", 9, 0, 132, 3201};
  row.architecture = "sm_90";
  row.driver = "580.159.04";
  row.compiler = "NVRTC 13.0.88, nvJitLink 13.0.88";
  row.regtune_version = "0.1.0";
  row.source_tag = std::string(32, 'a');
  row.options = {"--std=c++17", "--use_fast_math"};
  row.started = "2026-01-02T03:04:05Z";
  row.host = "host";
  row.verdict = "improved";
  for (TunedBudget* budget : {&row.best, &row.in_source}) {
    budget->policy = RegisterCap{24 + size};
    budget->block = {256, 1, 1};
    budget->registers_per_thread = 24 + size;
    budget->code_hash = std::string(32, 'c');
    budget->speedup = 1.12;
    budget->speedup_low = 1.11;
    budget->speedup_high = 1.13;
  }
  row.finish_order = kernel * kSizes + size + 1;
  return row;
}

void write_cache(const std::filesystem::path& file) {
  Database database = Database::open(file, Database::Mode::read_write_create);
  database.use_journal(Database::Journal::write_ahead_log);
  bring_forward(database);
  Transaction transaction(database);
  for (int kernel = 0; kernel < kKernels; ++kernel) {
    for (int size = 0; size < kSizes; ++size) write_answer(database, answer(kernel, size));
    seal_answers(database, kernel_name(kernel));
  }
  transaction.commit();
}

void write_lines(const std::filesystem::path& file) {
  std::ofstream out(file);
  for (int kernel = 0; kernel < kKernels; ++kernel) {
    for (int size = 0; size < kSizes; ++size) {
      const TunedPolicy row = answer(kernel, size);
      const nlohmann::json line = {
          {"key", row.signature},
          {"problem_size", {row.sizes.at("n"), 1, 1}},
          {"config", {{"maxrregcount", 24 + size}, {"block_size_x", 256}, {"block_size_y", 1}, {"block_size_z", 1}}},
          {"objective", row.best.speedup},
          {"source", row.source_tag},
          {"environment",
           {{"device_name", row.gpu.name},
            {"device_capability", "9.0"},
            {"multiprocessors", row.gpu.sm_count},
            {"driver", row.driver},
            {"compiler", row.compiler},
            {"options", row.options},
            {"date", row.started},
            {"host", row.host}}}};
      out << line.dump() << '\n';
    }
  }
}

std::size_t read_lines(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<nlohmann::json> rows;
  for (std::string line; std::getline(in, line);) rows.push_back(nlohmann::json::parse(line));
  return rows.size();
}

struct Question {
  std::string kernel;
  regtune_size size{"n", 0};
  regtune_key key = REGTUNE_KEY;
  Question(int kernel_number, int size_number) : kernel(kernel_name(kernel_number)) {
    size.value = std::int64_t{1} << (10 + size_number);
    key.kernel = kernel.c_str();
    key.sizes = &size;
    key.size_count = 1;
  }
  Question(const Question&) = delete;
};

regtune_gpu h200() {
  regtune_gpu gpu = REGTUNE_GPU;
  gpu.name = "NVIDIA H200";
  gpu.compute_major = 9;
  gpu.sm_count = 132;
  return gpu;
}

regtune_cache* open_cache(const std::string& file) {
  regtune_options options = REGTUNE_OPTIONS;
  options.file = file.c_str();
  options.system_files = "";
  regtune_cache* cache = nullptr;
  regtune_open(&options, &cache);
  return cache;
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "bench_lookup: %s\n", what);
  std::exit(1);
}

void ask(regtune_cache* cache, const Question& question) {
  const regtune_gpu gpu = h200();
  regtune_answer found{};
  found.size = sizeof found;
  require(regtune_find(cache, &question.key, &gpu, &found) == REGTUNE_OK, "a row is not found");
  require(found.best.registers >= 24, "a row is wrong");
}

std::vector<std::unique_ptr<Question>> hot_questions() {
  std::vector<std::unique_ptr<Question>> questions;
  for (int i = 0; i < 64; ++i) questions.push_back(std::make_unique<Question>(i * 7 % kKernels, i % kSizes));
  return questions;
}

double warm_ns(regtune_cache* cache) {
  const auto questions = hot_questions();
  for (const auto& question : questions) ask(cache, *question);
  constexpr int calls = 1024;
  std::vector<double> batches;
  for (int batch = 0; batch < 2001; ++batch) {
    const auto start = Clock::now();
    for (int call = 0; call < calls; ++call) ask(cache, *questions[static_cast<std::size_t>(call) % 64]);
    batches.push_back(seconds_since(start) / calls * 1e9);
  }
  return median(batches);
}

double million_calls_per_s(regtune_cache* cache, int threads) {
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> total{0};
  std::vector<std::thread> running;
  const auto start = Clock::now();
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&] {
      const auto questions = hot_questions();
      std::int64_t calls = 0;
      for (; !stop.load(std::memory_order_relaxed); calls += 64)
        for (const auto& question : questions) ask(cache, *question);
      total += calls;
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  stop = true;
  for (std::thread& thread : running) thread.join();
  return static_cast<double>(total) / seconds_since(start) / 1e6;
}

double first_lookup_ms(const std::string& file) {
  std::vector<double> times;
  for (int i = 0; i < 201; ++i) {
    const Question question(i * 13 % kKernels, i % kSizes);
    const auto start = Clock::now();
    regtune_cache* cache = open_cache(file);
    ask(cache, question);
    times.push_back(seconds_since(start) * 1e3);
    regtune_close(cache);
  }
  return median(times);
}

double lines_ms(const std::filesystem::path& file) {
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    const auto start = Clock::now();
    require(read_lines(file) == std::size_t{kKernels} * kSizes, "a line is missing");
    times.push_back(seconds_since(start) * 1e3);
  }
  return median(times);
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path folder =
      argc > 1 ? std::filesystem::path(argv[1])
               : std::filesystem::temp_directory_path() / ("bench_lookup_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::filesystem::path file = folder / "cache.db";
  const std::filesystem::path lines = folder / "wisdom.jsonl";
  std::filesystem::remove(file);
  write_cache(file);
  write_lines(lines);

  const double first = first_lookup_ms(file.string());
  const double all_lines = lines_ms(lines);
  regtune_cache* cache = open_cache(file.string());
  const double warm = warm_ns(cache);
  std::printf("%d rows, %u cores, regtune %s\n\n", kKernels * kSizes, std::thread::hardware_concurrency(),
              regtune_version());
  std::printf("| what | measured | asked |\n|---|---|---|\n");
  std::printf("| warm look-up, C interface, one thread, median | %.1f ns | < 100 ns |\n", warm);
  std::printf("| open and first look-up, median of 201 | %.3f ms | < 1 ms |\n", first);
  std::printf("| all lines of JSON read, median of 7 | %.1f ms | |\n", all_lines);
  std::printf("| lines over first look-up | %.0f x | >= 10 x |\n", all_lines / first);
  const int most = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  double of_one = 0;
  for (int threads = 1; threads <= most; threads = threads < most && threads * 2 > most ? most : threads * 2) {
    const double rate = million_calls_per_s(cache, threads);
    if (threads == 1) of_one = rate;
    std::printf("| %d thread%s | %.1f million look-ups/s, %.1f x one thread | |\n", threads, threads == 1 ? "" : "s",
                rate, rate / of_one);
  }
  regtune_close(cache);
  if (argc < 2) std::filesystem::remove_all(folder);
  return 0;
}
