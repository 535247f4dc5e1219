/* The C interface, used from C11: c_api_test FILE, where FILE is the cache of this version (tests/data/caches). Says
 * what failed and exits with 1. */
#include "regtune.h"

#include <stdio.h>
#include <string.h>

static int failures = 0;
#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                               \
    }                                                                           \
  } while (0)

static const regtune_size sizes[] = {{"n", 1024}, {"m", 64}};

static regtune_key sgemm(void) {
  regtune_key key = REGTUNE_KEY;
  key.kernel = "sgemm";
  key.sizes = sizes;
  key.size_count = 2;
  return key;
}

static regtune_gpu h200(void) {
  regtune_gpu gpu = REGTUNE_GPU;
  gpu.name = "NVIDIA H200";
  gpu.compute_major = 9;
  gpu.sm_count = 132;
  return gpu;
}

static void finds_what_is_stored(regtune_cache* cache) {
  const regtune_key key = sgemm();
  const regtune_gpu gpu = h200();
  regtune_answer answer = REGTUNE_ANSWER;
  CHECK(regtune_find(cache, &key, &gpu, &answer) == REGTUNE_OK);
  CHECK(answer.match == REGTUNE_MATCH_EXACT);
  CHECK(answer.stale == 0);
  CHECK(answer.best.policy == REGTUNE_REGISTER_CAP && answer.best.registers == 57);
  CHECK(strcmp(answer.best.option, "--maxrregcount=57") == 0 && strcmp(answer.best.attribute, "") == 0);
  CHECK(answer.in_source.policy == REGTUNE_LAUNCH_BOUNDS);
  CHECK(answer.in_source.max_threads_per_block == 256 && answer.in_source.min_blocks_per_sm == 4);
  CHECK(strcmp(answer.in_source.attribute, "__launch_bounds__(256, 4)") == 0);
  CHECK(answer.best.block[0] == 256 && answer.best.block[1] == 1 && answer.best.block[2] == 1);
  CHECK(answer.best.speedup > 1.1 && answer.best.speedup_low < answer.best.speedup_high);
  CHECK(strcmp(answer.verdict, "improved") == 0);
  CHECK(strcmp(answer.kernel, "_Z5sgemmPf") == 0 && strcmp(answer.signature, "sgemm(float*)") == 0);
  CHECK(strcmp(answer.gpu_name, "NVIDIA H200") == 0 && strcmp(answer.compiler, "NVRTC 13.0.88") == 0);
}

static void says_rungs_and_staleness(regtune_cache* cache) {
  regtune_key key = sgemm();
  regtune_gpu gpu = h200();
  regtune_answer answer = REGTUNE_ANSWER;
  const regtune_size doubled[] = {{"m", 64}, {"n", 2048}};
  key.sizes = doubled;
  key.driver = "999";
  key.compiler = "13.0";
  key.source_tag = "another";
  CHECK(regtune_find(cache, &key, &gpu, &answer) == REGTUNE_OK);
  CHECK(answer.match == REGTUNE_MATCH_NEAREST_SIZES && answer.size_distance == 1);
  CHECK(answer.stale == (REGTUNE_STALE_DRIVER | REGTUNE_STALE_SOURCE));
  gpu.name = "NVIDIA H100 NVL";
  CHECK(regtune_find(cache, &key, &gpu, &answer) == REGTUNE_OK);
  CHECK(answer.match == REGTUNE_MATCH_SAME_CAPABILITY);
  key.block[0] = 512;
  key.block[1] = key.block[2] = 1;
  CHECK(regtune_find(cache, &key, &gpu, &answer) == REGTUNE_NOT_LEGAL);
}

static void misses_have_a_status(regtune_cache* cache) {
  regtune_key key = sgemm();
  const regtune_gpu gpu = h200();
  regtune_answer answer = REGTUNE_ANSWER;
  answer.size_distance = 77;
  key.kernel = "nothing";
  CHECK(regtune_find(cache, &key, &gpu, &answer) == REGTUNE_NOT_FOUND);
  CHECK(answer.size_distance == 77);
  key.kernel = NULL;
  CHECK(regtune_find(cache, &key, &gpu, &answer) == REGTUNE_BAD_KEY);
  const regtune_size twice[] = {{"n", 1024}, {"n", 64}};
  key = sgemm();
  key.sizes = twice;
  CHECK(regtune_find(cache, &key, &gpu, &answer) == REGTUNE_BAD_KEY);
  key.size_count = 33;
  CHECK(regtune_find(cache, &key, &gpu, &answer) == REGTUNE_BAD_KEY);
}

static void refuses_bad_calls(regtune_cache* cache) {
  const regtune_key key = sgemm();
  const regtune_gpu gpu = h200();
  regtune_answer answer = REGTUNE_ANSWER;
  CHECK(regtune_find(NULL, &key, &gpu, &answer) == REGTUNE_BAD_CALL);
  CHECK(regtune_find(cache, NULL, &gpu, &answer) == REGTUNE_BAD_CALL);
  CHECK(regtune_find(cache, &key, NULL, &answer) == REGTUNE_BAD_CALL);
  CHECK(regtune_find(cache, &key, &gpu, NULL) == REGTUNE_BAD_CALL);
  regtune_key unset = key;
  unset.size = 0;
  CHECK(regtune_find(cache, &unset, &gpu, &answer) == REGTUNE_BAD_CALL);
  unset = key;
  unset.sizes = NULL;
  CHECK(regtune_find(cache, &unset, &gpu, &answer) == REGTUNE_BAD_CALL);
  CHECK(regtune_open(NULL, NULL) == REGTUNE_BAD_CALL);
  regtune_close(NULL);
}

static void a_larger_structure_of_a_later_caller_is_filled_as_far_as_it_is_known(regtune_cache* cache) {
  struct {
    regtune_answer answer;
    double later;
  } larger;
  memset(&larger, 0, sizeof larger);
  larger.answer.size = sizeof larger;
  larger.later = 5;
  const regtune_key key = sgemm();
  const regtune_gpu gpu = h200();
  CHECK(regtune_find(cache, &key, &gpu, &larger.answer) == REGTUNE_OK);
  CHECK(larger.later == 5 && larger.answer.best.registers == 57);
}

static void refuses_stale_answers_where_it_is_told_to(const char* file) {
  regtune_options options = REGTUNE_OPTIONS;
  options.file = file;
  options.system_files = "";
  options.refuse_stale = 1;
  regtune_cache* cache = NULL;
  CHECK(regtune_open(&options, &cache) == REGTUNE_OK);
  regtune_key key = sgemm();
  const regtune_gpu gpu = h200();
  regtune_answer answer = REGTUNE_ANSWER;
  CHECK(regtune_find(cache, &key, &gpu, &answer) == REGTUNE_OK);
  key.driver = "999";
  CHECK(regtune_find(cache, &key, &gpu, &answer) == REGTUNE_STALE);
  regtune_close(cache);
}

static void says_what_is_wrong_with_files(void) {
  regtune_options options = REGTUNE_OPTIONS;
  options.file = "/proc/self/status";
  options.system_files = "/dev/null";
  regtune_cache* cache = NULL;
  CHECK(regtune_open(&options, &cache) == REGTUNE_OK);
  char text[16];
  const size_t length = regtune_problem(cache, 0, text, sizeof text);
  CHECK(length > sizeof text && strlen(text) == sizeof text - 1 && strncmp(text, "cache /", 7) == 0);
  CHECK(regtune_problem(cache, 99, text, sizeof text) == 0 && text[0] == '\0');
  CHECK(regtune_problem(cache, 0, NULL, 0) == length);
  regtune_close(cache);
}

static void texts_are_never_null(void) {
  for (int value = -1; value < 100; ++value) {
    CHECK(regtune_status_text((regtune_status)value) != NULL);
    CHECK(regtune_match_text((regtune_match)value) != NULL);
  }
  CHECK(strcmp(regtune_match_text(REGTUNE_MATCH_EXACT), "exact") == 0);
  CHECK(strchr(regtune_version(), '.') != NULL);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  regtune_options options = REGTUNE_OPTIONS;
  options.file = argv[1];
  options.system_files = "";
  regtune_cache* cache = NULL;
  CHECK(regtune_open(&options, &cache) == REGTUNE_OK);
  CHECK(cache != NULL);
  if (!cache) return 1;
  finds_what_is_stored(cache);
  says_rungs_and_staleness(cache);
  misses_have_a_status(cache);
  refuses_bad_calls(cache);
  a_larger_structure_of_a_later_caller_is_filled_as_far_as_it_is_known(cache);
  regtune_close(cache);
  refuses_stale_answers_where_it_is_told_to(argv[1]);
  says_what_is_wrong_with_files();
  texts_are_never_null();
  return failures == 0 ? 0 : 1;
}
