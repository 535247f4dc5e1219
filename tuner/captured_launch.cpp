#include "captured_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "regtune/error.hpp"

namespace regtune {
namespace {

std::uint64_t word_at(const std::string& block, std::int64_t offset) {
  std::uint64_t word = 0;
  const auto at = static_cast<std::size_t>(offset);
  if (at + sizeof word <= block.size()) std::memcpy(&word, block.data() + at, sizeof word);
  return word;
}

SnapshotRange* range_of(SnapshotPlan& memory, std::uint64_t address) {
  for (SnapshotRange& range : memory.ranges)
    if (address >= range.address && address < range.address + static_cast<std::uint64_t>(range.bytes)) return &range;
  return nullptr;
}

bool points_into(const SnapshotPlan& memory, std::uint64_t address) {
  return range_of(const_cast<SnapshotPlan&>(memory), address) != nullptr;
}

// What lies in an allocation is told by the pointer that a parameter has to it. Two that disagree tell nothing.
void tell_types(SnapshotPlan& memory, const KernelSignature& signature) {
  std::map<SnapshotRange*, std::optional<ElementType>> told;
  for (const KernelParameter& parameter : signature.parameters) {
    const ParameterType type = parse_parameter_type(parameter.type);
    if (!type.pointer || !type.element) continue;
    SnapshotRange* const range = range_of(memory, word_at(memory.parameter_block, parameter.offset_bytes));
    if (!range) continue;
    const auto [known, is_new] = told.try_emplace(range, type.element);
    if (!is_new && known->second != type.element) known->second.reset();
  }
  for (const auto& [range, type] : told)
    if (type) range->type = *type;
}

void require_same_parameters(const CapturedLaunch& captured, const KernelSignature& signature) {
  const std::vector<SnapshotParameter>& theirs = captured.memory.parameters;
  bool same = theirs.size() == signature.parameters.size();
  for (std::size_t i = 0; same && i < theirs.size(); ++i)
    same = theirs[i].offset == signature.parameters[i].offset_bytes &&
           theirs[i].bytes == signature.parameters[i].size_bytes;
  if (!same)
    throw Error(ErrorKind::bad_launch,
                fmt::format("{} of the source takes {} parameters in other places or sizes than the {} of {}'s: is "
                            "this the source that the program was built from, with its options (-D, -I)?",
                            signature.display, signature.parameters.size(), theirs.size(), captured.program));
}

// In the program itself a launch writes where its pointers lead, and only what is known to be allocated is put back.
// Pointers to the host's memory are among those that lead elsewhere, and are the user's to allow (--in-process).
void require_what_can_be_put_back(const CapturedLaunch& captured, const KernelSignature& signature) {
  const SnapshotPlan& memory = captured.memory;
  int elsewhere = 0;
  for (const KernelParameter& parameter : signature.parameters) {
    const ParameterType type = parse_parameter_type(parameter.type);
    const std::uint64_t address = word_at(memory.parameter_block, parameter.offset_bytes);
    // Where a range ends, a loop does.
    const bool leads_elsewhere = type.pointer && !type.pointee_const && address != 0 && !points_into(memory, address) &&
                                 !points_into(memory, address - 1);
    if (leads_elsewhere && ++elsewhere > captured.host_pointers)
      throw Error(ErrorKind::bad_launch,
                  fmt::format("parameter {} of {} points to {:#x}, in none of the program's allocations on the GPU (a "
                              "variable of a module?): what launches write there could not be put back; leave out "
                              "--in-process",
                              parameter.name, signature.display, address));
  }
}

std::vector<SnapshotVariable> filled_variables(const CapturedLaunch& captured,
                                               const std::vector<CubinVariable>& wanted) {
  if (wanted.empty()) return {};
  std::vector<std::string> names;
  for (const CubinVariable& variable : wanted) names.push_back(variable.name);
  const std::map<std::string, std::string> values = captured.variables(names);
  std::vector<SnapshotVariable> filled;
  for (const CubinVariable& variable : wanted) {
    const auto value = values.find(variable.name);
    // One that the program lacks is a constant of some header's, which its compiler has left out.
    if (value == values.end()) continue;
    if (static_cast<std::int64_t>(value->second.size()) != variable.bytes)
      throw Error(ErrorKind::bad_launch,
                  fmt::format("the code's variable {} has {} bytes, and that of {} has {}: is this the source that the "
                              "program was built from?",
                              variable.name, variable.bytes, captured.program, value->second.size()));
    filled.push_back({variable.name, value->second});
  }
  return filled;
}

}  // namespace

std::vector<IntegerPlace> integers_of(const KernelSignature& signature, const SnapshotPlan& memory) {
  std::vector<IntegerPlace> places;
  for (const KernelParameter& parameter : signature.parameters) {
    const ParameterType type = parse_parameter_type(parameter.type);
    if (type.pointer || type.lanes != 1) continue;
    const bool is_known = type.element && parameter.size_bytes == size_bytes(*type.element);
    const bool is_integer = is_known && !is_floating(*type.element);
    const bool may_be_one = parameter.type.empty() && parameter.size_bytes == 4;
    const bool is_pointer =
        parameter.size_bytes == 8 && points_into(memory, word_at(memory.parameter_block, parameter.offset_bytes));
    if ((is_integer || may_be_one) && !is_pointer)
      places.push_back({parameter.name, parameter.offset_bytes, parameter.size_bytes});
  }
  return places;
}

Sizes sizes_of_launch(const LaunchShape& shape, std::string_view block, const std::vector<IntegerPlace>& integers) {
  Sizes sizes;
  const auto add_axes = [&](const std::string& name, const Dim3& dim) {
    sizes[name + "_x"] = dim.x;
    if (dim.y > 1 || dim.z > 1) sizes[name + "_y"] = dim.y;
    if (dim.z > 1) sizes[name + "_z"] = dim.z;
  };
  add_axes("grid", shape.grid);
  add_axes("block", shape.block);
  if (shape.dynamic_shared_bytes > 0) sizes["shared_bytes"] = shape.dynamic_shared_bytes;
  for (const IntegerPlace& place : integers) sizes[place.name] = integer_at(block, place);
  return sizes;
}

WorkloadPlan captured_workload(const CapturedLaunch& captured, const KernelSignature& signature,
                               const std::vector<CubinVariable>& variables) {
  require_same_parameters(captured, signature);
  if (captured.context != nullptr) require_what_can_be_put_back(captured, signature);
  WorkloadPlan plan;
  plan.shapes = {captured.shape};
  plan.cooperative = captured.is_cooperative;
  plan.snapshot = captured.memory;
  tell_types(*plan.snapshot, signature);
  plan.snapshot->variables = filled_variables(captured, variables);  // before the launch can change them
  if (captured.launched) captured.launched();
  plan.snapshot->in_place = captured.context != nullptr;
  if (plan.snapshot->in_place) plan.snapshot->descriptor = -1;  // a number of this process's
  plan.sizes =
      sizes_of_launch(captured.shape, captured.memory.parameter_block, integers_of(signature, captured.memory));
  const bool declared = signature.blocks_per_cluster[0] > 0;
  if (captured.cluster && captured.cluster->volume() > 1) plan.cluster = ClusterPlan{*captured.cluster, false};
  if (declared)
    plan.cluster = ClusterPlan{
        {static_cast<unsigned>(signature.blocks_per_cluster[0]), static_cast<unsigned>(signature.blocks_per_cluster[1]),
         static_cast<unsigned>(signature.blocks_per_cluster[2])},
        true};
  if (captured.host_pointers > 0)
    plan.notes.push_back(fmt::format(
        "{} parameter{} of the launch point{} into the host's memory; what is written there "
        "is not compared, and the result is never applied",
        captured.host_pointers, captured.host_pointers == 1 ? "" : "s", captured.host_pointers == 1 ? "s" : ""));
  return plan;
}

CapturedFacts facts_of(const CapturedLaunch& captured, const KernelSignature& signature) {
  const bool is_certain = captured.source_is_certain || captured.launched;
  return {captured.program, captured.launch, captured.image, captured.host_pointers == 0 && is_certain,
          integers_of(signature, captured.memory)};
}

}  // namespace regtune
