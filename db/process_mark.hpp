#pragma once
// Whether the process that began a run is still there. Its mark names the machine's boot, the namespace of process
// ids, the id and the start time, so that an id that was given out again is not taken for it. What cannot be seen from
// here is never called ended.
#include <string>

namespace regtune {

enum class Life { alive, ended, unknown };

std::string process_mark();  // of this process
Life life_of(const std::string& mark);
std::string process_id_in(const std::string& mark);  // "1234"; means something on its own machine only

}  // namespace regtune
