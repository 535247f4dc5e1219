#pragma once
// Times every code of a kernel in interleaved rounds, as the truth that a run is held against. Nothing is left out
// because of a guess: a code stops only when its own samples say that it is not the best. Works against the seam of
// bench.hpp; which codes there are is the caller's matter.
#include <functional>
#include <string>
#include <vector>

#include "bench.hpp"
#include "worker.hpp"

namespace regtune {

struct TimedCode {
  Candidate candidate;
  std::string budget;  // the first that gives it
  std::string hash;
  bool to_the_end = false;  // is timed in every round, whatever its times are
  std::vector<Sample> samples = {};
  double ratio = 0;  // median time over the first code's, paired by round
};

struct ExhaustiveTiming {
  int rounds = 0;        // that the best codes were in
  double warm_up_s = 0;  // GPU time of the reference run and the warm-up
  double needed_s = 0;   // for the fewest rounds, from the start of it, where these were not taken; else 0
  int launches = 1;      // per sample
};

// After two rounds a code stops that took more than 1.3 times as long as the leader in both, and after 10, 20, 40, 80
// and 160 one that was slower than the leader in each of them: the best one is that of another with a chance of 2^-10
// at the most, and then by next to nothing. The leader is the code with the least median by then. Ends after `rounds`,
// or at the deadline, or as soon as it is seen that the deadline does not leave room for `fewest` rounds. Codes that
// cannot be launched, or give a wrong result, are taken out of `codes`; the first is the author's and must run.
ExhaustiveTiming time_exhaustively(Bench& bench, std::vector<TimedCode>& codes, int rounds, int fewest,
                                   Deadline deadline);

// GPU time of a referee that times all codes in five rounds, and what is then within 1.3 times of the fastest in
// `rounds` altogether: computed from the mean of each one's samples.
double referee_seconds(const std::vector<TimedCode>& codes, const ExhaustiveTiming& timing, int rounds);

}  // namespace regtune
