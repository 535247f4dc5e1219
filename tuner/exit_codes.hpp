#pragma once
// Every exit code of the program and what it means, for the help, the man page and those who test that both are
// complete. The numbers themselves are ErrorKind's, and a few that are no error.
#include <string>
#include <vector>

namespace regtune {

constexpr int kExitMiss = 1;    // a look-up found nothing
constexpr int kExitNoGpu = 20;  // compiled and analysed, nothing timed

struct ExitCode {
  int code;
  std::string meaning;  // one line
};

const std::vector<ExitCode>& exit_codes();

// Of several files that were tuned one after the other: an error weighs more than that nothing could be timed.
int worse_exit_code(int a, int b);

}  // namespace regtune
