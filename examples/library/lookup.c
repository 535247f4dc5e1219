/* Which bounds were tuned: cc lookup.c -lregtune_db -o lookup && ./lookup decayWide n=16777216 "NVIDIA H200" */
#include <regtune.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  if (argc != 4 || !strchr(argv[2], '=')) return fprintf(stderr, "usage: lookup KERNEL SIZE=VALUE GPU\n"), 2;
  regtune_cache* cache = NULL;
  if (regtune_open(NULL, &cache) != REGTUNE_OK) return fprintf(stderr, "no memory\n"), 1;
  char* value = strchr(argv[2], '=');
  *value++ = '\0';
  const regtune_size size = {argv[2], strtoll(value, NULL, 10)};
  regtune_key key = REGTUNE_KEY;
  key.kernel = argv[1];
  key.sizes = &size;
  key.size_count = 1;
  regtune_gpu gpu = REGTUNE_GPU;
  gpu.name = argv[3]; /* a program with a GPU also says what the driver says: compute_major, compute_minor, sm_count */

  regtune_answer answer = REGTUNE_ANSWER;
  const regtune_status status = regtune_find(cache, &key, &gpu, &answer);
  if (status == REGTUNE_OK)
    printf("%s %s: %s%s, %.3fx (%s)\n", answer.signature, answer.verdict, answer.best.option, answer.best.attribute,
           answer.best.speedup, regtune_match_text(answer.match));
  else
    fprintf(stderr, "%s: %s\n", argv[1], regtune_status_text(status));
  regtune_close(cache);
  return status == REGTUNE_OK ? 0 : 1;
}
