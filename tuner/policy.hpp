#pragma once
// How a register budget is spelled: for people, in the source, and on the compiler's command line.
#include <string>
#include <vector>

#include "record.hpp"
#include "regtune/types.hpp"

namespace regtune {

// "--maxrregcount=57", "__launch_bounds__(256, 4)", "author's code".
std::string spell(const RegisterPolicy& policy);

// Likewise: "__launch_bounds__(256, 4) + smem spill".
std::string spell(const RegisterPolicy& policy, bool spills_to_shared);

// As spell, for a set of policies: neighbouring values become ranges ("--maxrregcount=64..255,
// __launch_bounds__(256, 1..4)"), and more than eight ranges their number ("--maxrregcount=41..253 (69 of them)").
std::string spell(const std::vector<RegisterPolicy>& policies);

// "scale<4, float>, UNROLL=4, named cutlass_<kernel>, --register-usage-level=10, smem spill"; empty for the author's
// choice.
std::string spell(const SourceChoice& choice);
// The choice around budgets that are spelled already: "UNROLL=4: __launch_bounds__(256, 4) + smem spill".
std::string spell_around(const std::string& budgets, SourceChoice choice, const char* separator);

// True for a budget that can be written into the kernel's source and then holds wherever it is compiled.
bool travels_with_source(const RegisterPolicy& policy);
// Likewise for a whole variant: a macro's value and the pragma for spilling can be written too; another name or a ptxas
// option is not a budget in the source.
bool travels_with_source(const Variant& variant);

// Among budgets that are equally fast, the smaller is the better to recommend: the author's code, then no
// budget, then the forms that travel with the source, then a flag for the whole file.
int complexity(const RegisterPolicy& policy);

}  // namespace regtune
