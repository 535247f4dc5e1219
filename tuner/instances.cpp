#include "instances.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cubin.hpp"
#include "element_type.hpp"
#include "kernel_choice.hpp"
#include "policy.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

// Pointers to float and to float4 point to the same bytes; a double is another argument than a float.
bool takes_the_same(const KernelParameter& one, const KernelParameter& other) {
  if (one.offset_bytes != other.offset_bytes || one.size_bytes != other.size_bytes) return false;
  if (one.type == other.type) return true;
  const ParameterType a = parse_parameter_type(one.type);
  const ParameterType b = parse_parameter_type(other.type);
  return a.pointer && b.pointer && a.element && a.element == b.element && a.pointee_const == b.pointee_const;
}

void check_parameters(const KernelSignature& authors, const KernelSignature& instance, const SourceChoice& choice) {
  if (std::equal(authors.parameters.begin(), authors.parameters.end(), instance.parameters.begin(),
                 instance.parameters.end(), takes_the_same))
    return;
  throw Error(ErrorKind::bad_description,
              fmt::format("tune: with {} the kernel is {}, and yours is {}; every instance has to take your arguments, "
                          "so tune this one in a run of its own",
                          spell(choice), instance.display, authors.display));
}

}  // namespace

void name_instances(Sweep& sweep, const CompileUnit& unit, const SourceChoices& choices, const KernelSignature& authors,
                    Progress& progress) {
  if (unit.name_expressions.empty()) return;
  std::vector<SourceChoice> others;
  for (const BlockChoices& of_block : choices.blocks)
    for (const SourceChoice& choice : of_block.choices)
      if (!choice.is_authors() && std::find(others.begin(), others.end(), choice) == others.end())
        others.push_back(choice);
  for (const SourceChoice& choice : others) {
    const BuildCode code = sweep.name_instance(choice);
    if (code.facts) {
      const Cubin cubin = read_cubin(code.cubin);
      check_parameters(authors, kernel_signature(*find_kernel(cubin, code.kernel), compiled_text(unit)), choice);
    } else {
      progress.note(fmt::format("regtune: {} does not compile: {}", spell(choice),
                                code.failure.substr(0, code.failure.find('\n'))));
    }
  }
}

}  // namespace regtune
