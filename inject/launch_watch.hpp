#pragma once
// What becomes of each launch of a watched program: counted, now and then timed, tuned when it is the one that regtune
// waits for, or made with tuned code instead of its own.
#include "launch.hpp"

namespace regtune {

CUresult watch_launch(const Launch& launch);

// A graph that was made executable: its kernels count with each of its launches.
void watch_graph(CUgraphExec executable, CUgraph graph);
void forget_graph(CUgraphExec executable);
void watch_graph_launch(CUgraphExec executable);

}  // namespace regtune
