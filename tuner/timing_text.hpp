#pragma once
// How a run was timed, in words for the report: the samples, the clocks, and the rates that its times stand for. Says
// what the record holds and judges nothing.
#include <string>
#include <vector>

#include "record.hpp"

namespace regtune {

// "timed in samples of 210 launches, replayed as a CUDA graph; SM clock 1980 MHz". One line.
std::string timing_text(const TuningRecord& record);

// "SM clock 1980 MHz (1500 to 1980); throttled: 3 rounds dropped (power cap)".
std::string clocks_text(const ClockWatch& clocks);

// The columns of the GPU's counters: local loads and stores executed, in millions of warp instructions, and achieved
// occupancy; a cell for each heading. None where they were not read.
std::vector<std::string> counter_heads(const TuningRecord& record);
std::vector<std::string> counter_cells(const TuningRecord& record, int variant_id);

// The columns that the author's count of bytes or flops adds to the table: their heads, and a code's figures. None
// where nothing was counted.
std::vector<std::string> rate_heads(const Work& work);
std::vector<std::string> rate_cells(const Work& work, double ms);

}  // namespace regtune
