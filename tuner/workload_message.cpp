#include "workload_message.hpp"

namespace regtune {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TextureSampling, address, filter, read, memory, normalized_coords)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TextureLayout, type, lanes, width, height, sampling)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TensorMapMode, swizzle, interleave, l2_promotion, oob_fill)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TensorMapLayout, type, dims, strides, box, element_strides, mode)

namespace {

Message buffer_message(const BufferPlan& buffer) {
  return {{"name", buffer.name},
          {"type", static_cast<int>(buffer.type)},
          {"count", buffer.count},
          {"init", static_cast<int>(buffer.init.kind)},
          {"a", buffer.init.a},
          {"b", buffer.init.b},
          {"path", buffer.init.path},
          {"output", buffer.output},
          {"writable", buffer.writable},
          {"absolute_tolerance", buffer.absolute_tolerance},
          {"relative_tolerance", buffer.relative_tolerance},
          {"ulp_tolerance", buffer.ulp_tolerance}};
}

Message struct_message(const StructPlan& structure) {
  Message pointers = Message::array();
  for (const StructPlan::Pointer& pointer : structure.pointers)
    pointers.push_back({{"offset", pointer.offset_bytes}, {"buffer", buffer_message(pointer.buffer)}});
  return {{"name", structure.name},
          {"bytes", binary(structure.bytes)},
          {"pointers", pointers},
          {"fills_all", structure.fills_all}};
}

Message texture_message(const TexturePlan& texture) {
  return {{"name", texture.texels.name}, {"texture", texture.layout}, {"buffer", buffer_message(texture.texels)}};
}

Message tensor_map_message(const TensorMapPlan& map) {
  Message message{{"name", map.name}, {"tensor_map", map.layout}, {"base_offset", map.base_offset_bytes}};
  if (map.data)
    message["buffer"] = buffer_message(*map.data);
  else
    message["of"] = map.of;
  return message;
}

Message parameter_message(const ParameterPlan& parameter) {
  if (const auto* scalar = std::get_if<ScalarPlan>(&parameter)) return {{"bytes", binary(scalar->bytes)}};
  if (const auto* structure = std::get_if<StructPlan>(&parameter)) return struct_message(*structure);
  if (const auto* texture = std::get_if<TexturePlan>(&parameter)) return texture_message(*texture);
  if (const auto* map = std::get_if<TensorMapPlan>(&parameter)) return tensor_map_message(*map);
  return buffer_message(std::get<BufferPlan>(parameter));
}

Message snapshot_message(const SnapshotPlan& snapshot) {
  Message ranges = Message::array();
  for (const SnapshotRange& range : snapshot.ranges)
    ranges.push_back({range.address, range.bytes, range.file_offset, static_cast<int>(range.type)});
  Message parameters = Message::array();
  for (const SnapshotParameter& parameter : snapshot.parameters)
    parameters.push_back({parameter.offset, parameter.bytes});
  Message variables = Message::array();
  for (const SnapshotVariable& variable : snapshot.variables)
    variables.push_back({{"name", variable.name}, {"bytes", binary(variable.bytes)}});
  return {{"descriptor", snapshot.descriptor},
          {"ranges", ranges},
          {"parameter_block", binary(snapshot.parameter_block)},
          {"parameters", parameters},
          {"variables", variables},
          {"absolute_tolerance", snapshot.absolute_tolerance},
          {"relative_tolerance", snapshot.relative_tolerance},
          {"in_place", snapshot.in_place}};
}

}  // namespace

Message workload_message(const WorkloadPlan& plan) {
  Message parameters = Message::array();
  for (const ParameterPlan& parameter : plan.parameters) parameters.push_back(parameter_message(parameter));
  Message globals = Message::array();
  for (const StructPlan& variable : plan.globals) globals.push_back(struct_message(variable));
  Message message{{"seed", plan.seed},  {"parameters", parameters},
                  {"globals", globals}, {"cooperative", plan.cooperative},
                  {"cluster", nullptr}, {"snapshot", nullptr}};
  if (plan.cluster) {
    const Dim3& blocks = plan.cluster->blocks;
    message["cluster"] = {{"blocks", {blocks.x, blocks.y, blocks.z}}, {"declared", plan.cluster->declared}};
  }
  if (plan.snapshot) message["snapshot"] = snapshot_message(*plan.snapshot);
  return message;
}

TextureLayout texture_of(const Message& layout) {
  return layout.get<TextureLayout>();
}

TensorMapLayout tensor_map_of(const Message& layout) {
  return layout.get<TensorMapLayout>();
}

std::optional<ClusterPlan> cluster_of(const Message& request) {
  const Message& cluster = request.at("cluster");
  if (cluster.is_null()) return {};
  const Message& blocks = cluster.at("blocks");
  return ClusterPlan{{blocks.at(0), blocks.at(1), blocks.at(2)}, cluster.at("declared")};
}

std::optional<SnapshotPlan> snapshot_of(const Message& request) {
  const Message& found = request.at("snapshot");
  if (found.is_null()) return {};
  SnapshotPlan snapshot;
  snapshot.descriptor = found.at("descriptor");
  for (const Message& range : found.at("ranges"))
    snapshot.ranges.push_back(
        {range.at(0), range.at(1), range.at(2), static_cast<ElementType>(range.at(3).get<int>())});
  snapshot.parameter_block = bytes_of(found.at("parameter_block"));
  for (const Message& parameter : found.at("parameters"))
    snapshot.parameters.push_back({parameter.at(0), parameter.at(1)});
  for (const Message& variable : found.at("variables"))
    snapshot.variables.push_back({variable.at("name"), bytes_of(variable.at("bytes"))});
  snapshot.absolute_tolerance = found.at("absolute_tolerance");
  snapshot.relative_tolerance = found.at("relative_tolerance");
  snapshot.in_place = found.at("in_place");
  return snapshot;
}

}  // namespace regtune
