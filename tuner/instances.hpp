#pragma once
// The instances of a kernel template that are swept beside the author's. Each is compiled once before the sweep begins,
// which tells its mangled name and its parameters: all are launched with the author's arguments, so an instance that
// takes others is refused before anything is stored. One that does not compile is no error: its trials say so.
#include "progress.hpp"
#include "signature.hpp"
#include "source_choices.hpp"
#include "sweep.hpp"

namespace regtune {

// Between sweep.begin() without builds and sweep.add(). Of a kernel that is no template nothing is compiled. Throws
// Error(bad_description) for an instance of other parameters.
void name_instances(Sweep& sweep, const CompileUnit& unit, const SourceChoices& choices, const KernelSignature& authors,
                    Progress& progress);

}  // namespace regtune
