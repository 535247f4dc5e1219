#include "workload.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <optional>

#include "description_rules.hpp"
#include "npy.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr unsigned default_block = 256;
constexpr std::int64_t max_grid_x = 2147483647;
constexpr std::int64_t max_grid_yz = 65535;
constexpr std::int64_t max_cluster = 16;            // of any GPU of today; more than 8 must be allowed (non-portable)
constexpr std::int64_t max_shared_bytes = 1 << 30;  // no GPU has a gigabyte per block

std::string extents_text(const Dim3& extents) {
  return fmt::format("{} x {} x {}", extents.x, extents.y, extents.z);
}

std::string block_text(const Dim3& block) {
  if (block.y == 1 && block.z == 1) return fmt::format("{}", block.x);
  if (block.z == 1) return fmt::format("{}x{}", block.x, block.y);
  return fmt::format("{}x{}x{}", block.x, block.y, block.z);
}

// "a block of 256", "a block of 256 and UNROLL = 4"
std::string case_text(const LaunchCase& launch) {
  std::string text = "a block of " + block_text(launch.block);
  for (const auto& [name, value] : launch.tuned) text += fmt::format(" and {} = {}", name, value);
  return text;
}

class Planner {
 public:
  Planner(const LaunchDescription& description, const KernelSignature& signature, std::vector<LaunchCase> launches)
      : description_(description), signature_(signature), launches_(std::move(launches)) {}

  WorkloadPlan plan() {
    plan_.seed = description_.seed.value_or(1);
    plan_.cooperative = description_.cooperative;
    plan_sizes();
    plan_shapes();
    plan_.work.bytes = counted(description_.bytes);
    plan_.work.flops = counted(description_.flops);
    match_arguments();
    ArgumentPlanner planner(names_, description_.base_folder, size_example());
    plan_cluster(planner);
    for (std::size_t i = 0; i < signature_.parameters.size(); ++i) {
      if (arguments_[i] == nullptr) refuse_missing(i);
      plan_.parameters.push_back(is_view(i) ? ParameterPlan(ScalarPlan{})
                                            : planner.parameter(signature_.parameters[i], *arguments_[i]));
    }
    for (const ArgumentDescription& variable : description_.globals)
      plan_.globals.push_back(planner.variable(variable));
    plan_views(planner);
    return std::move(plan_);
  }

 private:
  void plan_sizes() {
    for (const SizeDescription& size : description_.sizes) {
      const std::int64_t value = evaluate_size(size.value, plan_.sizes);
      if (value < 0) refuse_launch(size.value.origin, fmt::format("the size {} is negative: {}", size.name, value));
      plan_.sizes[size.name] = value;
    }
  }

  std::int64_t counted(const std::optional<Expression>& expression) const {
    if (!expression) return 0;
    const std::int64_t value = evaluate_size(*expression, plan_.sizes);
    if (value < 1)
      refuse(expression->origin,
             fmt::format("{} gives {}; a launch does at least 1", in_quotes(expression->text), value));
    return value;
  }

  void plan_shapes() {
    if (description_.blocks.empty()) {
      plan_.notes.push_back(
          fmt::format("No block is described; {} threads are assumed (set it with block = {} or --block).",
                      default_block, default_block));
    }
    if (!description_.grid) {
      throw Error(
          ErrorKind::bad_description,
          fmt::format("no grid is described for {}; write grid = \"ceil_div({}, block)\" in the launch description, or "
                      "give --grid 'ceil_div({}, block)'",
                      signature_.name, size_example(), size_example()));
    }
    for (const LaunchCase& launch : launches_) {
      const Dim3& block = launch.block;
      if (block.volume() == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 || block.volume() > 1024) {
        refuse_launch({"block"},
                      fmt::format("{} threads; CUDA allows 1 to 1024 in all, and 64 in z", block_text(block)));
      }
      Sizes names = expression_names(plan_.sizes, launch);
      plan_.shapes.push_back({grid(*description_.grid, launch, names), block, shared_bytes(names)});
      names_.push_back(std::move(names));
    }
  }

  static Dim3 grid(const Expression& expression, const LaunchCase& launch, const Sizes& names) {
    const std::vector<std::int64_t> extents = evaluate_integers(expression, names);
    Dim3 result;
    unsigned* const axes[] = {&result.x, &result.y, &result.z};
    for (std::size_t i = 0; i < extents.size(); ++i) {
      const std::int64_t most = i == 0 ? max_grid_x : max_grid_yz;
      if (extents[i] < 1 || extents[i] > most) {
        refuse_launch(expression.origin,
                      fmt::format("{} gives {} blocks in {} for {}; CUDA allows 1 to {}", in_quotes(expression.text),
                                  extents[i], "xyz"[i], case_text(launch), most));
      }
      *axes[i] = static_cast<unsigned>(extents[i]);
    }
    return result;
  }

  std::int64_t shared_bytes(const Sizes& names) const {
    if (!description_.dynamic_shared_bytes) return 0;
    const Expression& expression = *description_.dynamic_shared_bytes;
    const std::int64_t bytes = evaluate_size(expression, names);
    if (bytes < 0 || bytes > max_shared_bytes) {
      refuse_launch(expression.origin,
                    fmt::format("{} gives {} bytes of dynamic shared memory", in_quotes(expression.text), bytes));
    }
    return bytes;
  }

  // What the code declares holds; a launch may repeat it. Without a declaration the launch decides.
  void plan_cluster(const ArgumentPlanner& planner) {
    const auto& declared = signature_.blocks_per_cluster;
    const bool is_declared = declared[0] > 0;
    if (description_.cluster.empty() && !is_declared) return;
    ClusterPlan cluster{{}, is_declared};
    Origin origin{fmt::format("the kernel {}, which declares its clusters", signature_.name)};
    if (is_declared)
      cluster.blocks = {static_cast<unsigned>(declared[0]), static_cast<unsigned>(declared[1]),
                        static_cast<unsigned>(declared[2])};
    if (!description_.cluster.empty()) {
      origin = description_.cluster.front().origin;
      const Dim3 wanted = described_cluster(planner, origin);
      if (is_declared && wanted != cluster.blocks)
        refuse_launch(origin, fmt::format("clusters of {}, and the kernel is compiled for {} (__cluster_dims__); drop "
                                          "the line, or write what the kernel declares",
                                          extents_text(wanted), extents_text(cluster.blocks)));
      cluster.blocks = wanted;
    }
    const int most = signature_.max_blocks_per_cluster;
    if (most > 0 && cluster.blocks.volume() > static_cast<std::uint64_t>(most))
      refuse_launch(origin, fmt::format("clusters of {} blocks, and the third launch bound allows {}",
                                        cluster.blocks.volume(), most));
    if (plan_.cooperative)
      refuse_launch(origin, "a launch that is cooperative and in clusters; regtune launches one or the other");
    for (const LaunchShape& shape : plan_.shapes) check_divides(cluster.blocks, shape, origin);
    plan_.cluster = cluster;
  }

  Dim3 described_cluster(const ArgumentPlanner& planner, const Origin& origin) const {
    const std::vector<std::int64_t> extents = planner.integers(description_.cluster);
    Dim3 cluster;
    unsigned* const axes[] = {&cluster.x, &cluster.y, &cluster.z};
    for (std::size_t i = 0; i < std::min(extents.size(), std::size(axes)); ++i) {
      if (extents[i] < 1 || extents[i] > max_cluster)
        refuse_launch(origin, fmt::format("a cluster of {} blocks in {}; CUDA allows 1 to {}", extents[i], "xyz"[i],
                                          max_cluster));
      *axes[i] = static_cast<unsigned>(extents[i]);
    }
    if (cluster.volume() > max_cluster)
      refuse_launch(origin, fmt::format("a cluster of {} blocks; CUDA allows 8, and {} where a GPU has room for them",
                                        cluster.volume(), max_cluster));
    return cluster;
  }

  static void check_divides(const Dim3& cluster, const LaunchShape& shape, const Origin& origin) {
    const Dim3& grid = shape.grid;
    if (grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0) return;
    refuse_launch(origin,
                  fmt::format("clusters of {} do not divide the grid of {} for a block of {}; make it a multiple: "
                              "grid = \"round_up(ceil_div(n, block), {})\"",
                              extents_text(cluster), extents_text(grid), block_text(shape.block), cluster.x));
  }

  bool is_view(std::size_t position) const {
    const auto& map = arguments_[position]->tensor_map;
    return map && !map->of.empty();
  }

  // Of buffers that may come later, and so after all of them.
  void plan_views(ArgumentPlanner& planner) {
    const std::vector<const BufferPlan*> buffers = buffers_of(plan_);
    std::vector<std::string> names;
    for (const BufferPlan* buffer : buffers) names.push_back(buffer->name);
    std::vector<std::pair<std::size_t, TensorMapPlan>> views;  // `buffers` points into the plan, which must not change
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (!is_view(i)) continue;
      const std::string& wanted = arguments_[i]->tensor_map->of;
      const auto found = std::find(names.begin(), names.end(), wanted);
      if (found == names.end())
        refuse(arguments_[i]->origin, fmt::format("of = {}: no buffer of that name{}; there are: {}", in_quotes(wanted),
                                                  near_miss(wanted, names),
                                                  names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
      const BufferPlan* viewed = buffers[static_cast<std::size_t>(found - names.begin())];
      views.emplace_back(i, planner.tensor_map(signature_.parameters[i], *arguments_[i], viewed));
    }
    for (auto& [position, view] : views) plan_.parameters[position] = std::move(view);
  }

  // By name, or by position where the text shows no names.
  std::optional<std::size_t> position_of(const std::string& wanted) const {
    for (std::size_t i = 0; i < signature_.parameters.size(); ++i) {
      if (signature_.parameters[i].name == wanted) return i;
    }
    std::size_t position = 0;
    const char* const end = wanted.data() + wanted.size();
    const auto [stop, error] = std::from_chars(wanted.data(), end, position);
    if (error != std::errc{} || stop != end || position >= signature_.parameters.size()) return std::nullopt;
    return position;
  }

  void match_arguments() {
    arguments_.assign(signature_.parameters.size(), nullptr);
    std::vector<std::string> names;
    for (const KernelParameter& parameter : signature_.parameters) names.push_back(parameter.name);
    for (const ArgumentDescription& argument : description_.arguments) {
      const std::optional<std::size_t> position = position_of(argument.parameter);
      if (!position) {
        refuse(argument.origin,
               fmt::format("{} is no parameter of {}{}; its parameters are: {}", in_quotes(argument.parameter),
                           signature_.display, near_miss(argument.parameter, names),
                           names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
      }
      if (const ArgumentDescription* other = arguments_[*position]) {
        refuse(argument.origin,
               fmt::format("the parameter {} has another value at {}; keep one", names[*position], other->origin.text));
      }
      arguments_[*position] = &argument;
    }
  }

  std::string size_example() const { return plan_.sizes.empty() ? "n" : description_.sizes.front().name; }

  std::string example(const KernelParameter& parameter) const {
    if (plan_.sizes.contains(parameter.name)) return "\"" + parameter.name + "\"";
    return example_argument(parameter, size_example());
  }

  [[noreturn]] void refuse_missing(std::size_t position) const {
    const KernelParameter& parameter = signature_.parameters[position];
    const std::string text = example(parameter);
    throw Error(
        ErrorKind::missing_argument,
        fmt::format(
            "no value for parameter {} of {}: {} {}. Write under [args] of the launch description:  {} = {}   or "
            "give:  --arg '{}={}'",
            position, signature_.name, parameter.type.empty() ? "?" : parameter.type, parameter.name, parameter.name,
            text, parameter.name, text));
  }

  const LaunchDescription& description_;
  const KernelSignature& signature_;
  std::vector<LaunchCase> launches_;
  WorkloadPlan plan_;
  std::vector<Sizes> names_;                           // per shape: what expressions see
  std::vector<const ArgumentDescription*> arguments_;  // per parameter
};

}  // namespace

std::vector<const BufferPlan*> buffers_of(const WorkloadPlan& plan) {
  std::vector<const BufferPlan*> buffers;
  const auto add = [&](const StructPlan& structure) {
    for (const StructPlan::Pointer& pointer : structure.pointers) buffers.push_back(&pointer.buffer);
  };
  for (const ParameterPlan& parameter : plan.parameters) {
    if (const auto* buffer = std::get_if<BufferPlan>(&parameter)) buffers.push_back(buffer);
    if (const auto* structure = std::get_if<StructPlan>(&parameter)) add(*structure);
    if (const auto* texture = std::get_if<TexturePlan>(&parameter)) buffers.push_back(&texture->texels);
    if (const auto* map = std::get_if<TensorMapPlan>(&parameter); map && map->data) buffers.push_back(&*map->data);
  }
  for (const StructPlan& variable : plan.globals) add(variable);
  return buffers;
}

std::vector<Dim3> described_blocks(const LaunchDescription& description) {
  return description.blocks.empty() ? std::vector<Dim3>{{default_block}} : description.blocks;
}

Sizes expression_names(const Sizes& sizes, const LaunchCase& launch) {
  Sizes names = sizes;
  names.insert(launch.tuned.begin(), launch.tuned.end());
  names["block"] = static_cast<std::int64_t>(launch.block.volume());
  names["block_x"] = launch.block.x;
  names["block_y"] = launch.block.y;
  names["block_z"] = launch.block.z;
  return names;
}

WorkloadPlan plan_workload(const LaunchDescription& description, const KernelSignature& signature,
                           std::vector<LaunchCase> launches) {
  if (launches.empty())
    for (const Dim3& block : described_blocks(description)) launches.push_back({block});
  return Planner(description, signature, std::move(launches)).plan();
}

std::vector<std::string> describe_arguments(const WorkloadPlan& plan, const KernelSignature& signature) {
  std::size_t name_width = 0;
  std::size_t type_width = 0;
  for (const KernelParameter& parameter : signature.parameters) {
    name_width = std::max(name_width, parameter.name.size());
    type_width = std::max(type_width, std::max<std::size_t>(parameter.type.size(), 1));
  }
  std::vector<std::string> lines;
  const std::size_t planned = plan.snapshot ? signature.parameters.size() : plan.parameters.size();
  for (std::size_t i = 0; i < std::min(planned, signature.parameters.size()); ++i) {
    const KernelParameter& parameter = signature.parameters[i];
    lines.push_back(fmt::format("{:{}}  {:{}}  {}", parameter.name, name_width,
                                parameter.type.empty() ? "?" : parameter.type, type_width,
                                plan.snapshot ? "captured" : value_text(plan.parameters[i])));
  }
  for (const StructPlan& variable : plan.globals)
    lines.push_back(fmt::format("variable {}  {}", variable.name, variable.value));
  if (plan.snapshot)
    for (const SnapshotVariable& variable : plan.snapshot->variables)
      lines.push_back(fmt::format("variable {}  captured", variable.name));
  if (plan.cooperative) lines.emplace_back("cooperative: as many blocks of the grid as are resident at once");
  if (plan.cluster) lines.push_back(fmt::format("clusters of {} blocks", extents_text(plan.cluster->blocks)));
  return lines;
}

}  // namespace regtune
