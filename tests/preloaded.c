/* What users preload into their programs: it stands in front of puts and goes on to the next one, found as such
 * libraries find it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

__attribute__((visibility("default"))) int puts(const char* text) {
  int (*const next)(const char*) = (int (*)(const char*))dlsym(RTLD_NEXT, "puts");
  fputs("preloaded: ", stdout);
  return next(text);
}
