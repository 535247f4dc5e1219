#pragma once
// A command line of the shell, and all that it said.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace regtune {

struct Said {
  int exit_code = -1;  // 128 + signal where one ended it
  std::string text;    // both outputs
};

inline Said run(const std::string& command) {
  Said said;
  FILE* pipe = popen(("exec 2>&1; " + command).c_str(), "r");
  if (!pipe) return said;
  char buffer[4096];
  for (std::size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) said.text.append(buffer, got);
  const int status = pclose(pipe);
  said.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return said;
}

}  // namespace regtune
