#include "launch_listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "gpu_limits.hpp"
#include "signature.hpp"
#include "terminal.hpp"

namespace regtune {
namespace {

constexpr std::size_t kWorthTuning = 3;
constexpr double kWorthShare = 0.02;  // of all time in kernels
constexpr std::size_t kShownShapes = 3;

ListedShape shape_of(const LaunchEntry& entry) {
  ListedShape shape;
  shape.shape = {{entry.grid[0], entry.grid[1], entry.grid[2]},
                 {entry.block[0], entry.block[1], entry.block[2]},
                 entry.dynamic_shared_bytes};
  shape.is_cooperative = entry.is_cooperative != 0;
  shape.is_sum = entry.other_shapes != 0;
  shape.launches = entry.launches;
  shape.in_graphs = entry.in_graphs;
  shape.replaced = entry.replaced;
  const auto total_ms = [](std::uint64_t ns, std::uint64_t timed, std::uint64_t launches) {
    return timed == 0 ? 0 : static_cast<double>(ns) * 1e-6 / static_cast<double>(timed) * static_cast<double>(launches);
  };
  shape.replaced_ms = total_ms(entry.replaced_timed_ns, entry.replaced_timed, shape.replaced);
  shape.timed = entry.timed + entry.replaced_timed;
  shape.ms = shape.replaced_ms + total_ms(entry.timed_ns, entry.timed, shape.launches - shape.replaced);
  return shape;
}

// Another process's counts of one shape.
void add(ListedShape& sum, const ListedShape& other) {
  sum.launches += other.launches;
  sum.in_graphs += other.in_graphs;
  sum.timed += other.timed;
  sum.replaced += other.replaced;
  sum.ms += other.ms;
  sum.replaced_ms += other.replaced_ms;
}

void add(ListedKernel& kernel, const ListedShape& shape) {
  const auto known = std::find_if(kernel.shapes.begin(), kernel.shapes.end(), [&](const ListedShape& other) {
    return other.shape == shape.shape && other.is_sum == shape.is_sum;
  });
  if (known == kernel.shapes.end())
    kernel.shapes.push_back(shape);
  else
    add(*known, shape);
  kernel.launches += shape.launches;
  kernel.in_graphs += shape.in_graphs;
  kernel.replaced += shape.replaced;
  kernel.ms += shape.ms;
}

std::optional<Occupancy> occupancy_of(const ListedKernel& kernel) {
  const std::optional<GpuLimits> limits = gpu_limits(kernel.told.compute_major, kernel.told.compute_minor);
  if (!limits || kernel.shapes.empty() || kernel.shapes.front().is_sum) return {};
  const LaunchShape& shape = kernel.shapes.front().shape;
  BlockResources resources;
  resources.registers_per_thread = kernel.told.registers_per_thread;
  resources.static_shared_bytes = kernel.told.static_shared_bytes;
  resources.dynamic_shared_bytes = shape.dynamic_shared_bytes;
  if (why_not_launchable(*limits, resources, shape.block)) return {};
  return occupancy(*limits, resources, shape.block);
}

double total_ms(const std::vector<ListedKernel>& kernels) {
  double total = 0;
  for (const ListedKernel& kernel : kernels) total += kernel.ms;
  return total;
}

std::string spell_ms(double ms) {
  const auto three_digits = [](double value) {
    return value >= 99.95 ? fmt::format("{:.0f}", value) : fmt::format("{:#.3g}", value);
  };
  if (ms >= 1000) return three_digits(ms / 1000) + " s";
  return ms >= 1 ? three_digits(ms) + " ms" : three_digits(ms * 1000) + " us";
}

std::string spell_dim(const Dim3& dim) {
  if (dim.z > 1) return fmt::format("{}x{}x{}", dim.x, dim.y, dim.z);
  return dim.y > 1 ? fmt::format("{}x{}", dim.x, dim.y) : fmt::format("{}", dim.x);
}

std::string spell_shape(const ListedShape& shape) {
  if (shape.is_sum) return "other shapes";
  std::string text = fmt::format("{} blocks of {}", spell_dim(shape.shape.grid), spell_dim(shape.shape.block));
  if (shape.shape.dynamic_shared_bytes > 0)
    text += fmt::format(", {} bytes of shared memory", shape.shape.dynamic_shared_bytes);
  if (shape.is_cooperative) text += ", cooperative";
  return text;
}

std::string counted(std::uint64_t launches) {
  return fmt::format("{} launch{}", launches, launches == 1 ? "" : "es");
}

std::string spell_launches(std::uint64_t launches, std::uint64_t in_graphs) {
  if (launches == 0) return counted(in_graphs) + " in graphs";
  return in_graphs == 0 ? counted(launches) : fmt::format("{} and {} in graphs", counted(launches), in_graphs);
}

std::string occupancy_words(const ListedKernel& kernel) {
  if (!kernel.occupancy) return "occupancy not known";
  return fmt::format("{} block{} per SM, {:.0f} % occupancy, limited by {}", kernel.occupancy->active_blocks_per_sm,
                     kernel.occupancy->active_blocks_per_sm == 1 ? "" : "s", 100 * kernel.occupancy->fraction,
                     to_string(kernel.occupancy->limiter));
}

std::string kernel_text(const ListedKernel& kernel, double total) {
  const double share = total > 0 ? 100 * kernel.ms / total : 0;
  std::string text =
      fmt::format("{:5.1f} %  {:>9}  {}\n", share, kernel.ms > 0 ? spell_ms(kernel.ms) : "-", kernel.signature);
  text += fmt::format("           {}; {} registers", spell_launches(kernel.launches, kernel.in_graphs),
                      kernel.told.registers_per_thread);
  if (kernel.told.local_bytes > 0)
    text += fmt::format(", {} bytes of local memory per thread", kernel.told.local_bytes);
  text += "; " + occupancy_words(kernel) + "\n";
  for (std::size_t i = 0; i < std::min(kShownShapes, kernel.shapes.size()); ++i) {
    const ListedShape& shape = kernel.shapes[i];
    text += fmt::format("           {}: {}", spell_shape(shape), spell_launches(shape.launches, shape.in_graphs));
    if (shape.timed > 0) text += fmt::format(" of {} each", spell_ms(shape.ms / static_cast<double>(shape.launches)));
    text += "\n";
  }
  if (kernel.shapes.size() > kShownShapes)
    text += fmt::format("           and {} shapes more\n", kernel.shapes.size() - kShownShapes);
  return text;
}

// What a register budget could change: fewer registers for more blocks, or more for what is spilled.
std::string why_worth(const ListedKernel& kernel) {
  std::string reasons;
  const auto add_reason = [&](const std::string& reason) { reasons += (reasons.empty() ? "" : ", ") + reason; };
  if (kernel.occupancy && kernel.occupancy->limiter == Limiter::registers) add_reason("its registers limit its blocks");
  if (kernel.told.local_bytes > 0) add_reason("it has local memory, which may be spills");
  if (reasons.empty()) add_reason("most of the time goes there");
  return reasons;
}

std::string advice(const std::vector<ListedKernel>& kernels, double total) {
  std::string text;
  std::size_t named = 0;
  for (const ListedKernel& kernel : kernels) {
    if (named == kWorthTuning || total <= 0 || kernel.ms < kWorthShare * total) break;
    if (kernel.launches == 0) continue;
    // A fat binary may carry PTX, too; its source gives more to try.
    const bool has_what_to_compile = kernel.told.from_nvrtc || kernel.told.image_form == "PTX";
    const std::string source = has_what_to_compile ? "" : " --source FILE.cu";
    text += fmt::format("  regtune run -k '{}'{} -- ...   # {:.1f} % of the time; {}\n", kernel_name(kernel.told.name),
                        source, 100 * kernel.ms / total, why_worth(kernel));
    ++named;
  }
  return text.empty() ? "" : "\nworth tuning first:\n" + text;
}

nlohmann::json shape_json(const ListedShape& shape) {
  const Dim3& grid = shape.shape.grid;
  const Dim3& block = shape.shape.block;
  return {{"grid", {grid.x, grid.y, grid.z}},
          {"block", {block.x, block.y, block.z}},
          {"dynamic_shared_bytes", shape.shape.dynamic_shared_bytes},
          {"cooperative", shape.is_cooperative},
          {"other_shapes", shape.is_sum},
          {"launches", shape.launches},
          {"in_graphs", shape.in_graphs},
          {"timed", shape.timed},
          {"replaced", shape.replaced},
          {"ms", shape.ms}};
}

}  // namespace

std::string kernel_name(const std::string& mangled_name) {
  const std::string display = demangle(mangled_name);
  std::string name = display.substr(0, display.find('('));
  // What a template returns stands in front of its name.
  if (name.starts_with("void ")) name.erase(0, 5);
  return name;
}

ToldKernel told_kernel(const nlohmann::json& message) {
  ToldKernel kernel;
  kernel.number = message.at("number");
  kernel.name = message.at("name");
  kernel.image = message.at("image");
  kernel.image_form = message.value("image_form", "");
  kernel.device = message.at("device");
  kernel.compute_major = message.at("compute_capability").at(0);
  kernel.compute_minor = message.at("compute_capability").at(1);
  kernel.registers_per_thread = message.at("registers");
  kernel.local_bytes = message.at("local_bytes");
  kernel.static_shared_bytes = message.at("shared_bytes");
  kernel.max_threads_per_block = message.at("max_threads");
  kernel.from_nvrtc = message.contains("source");
  return kernel;
}

void LaunchListing::add_kernel(int process, ToldKernel kernel) {
  counted_.push_back({process, std::move(kernel), {}});
}

void LaunchListing::add_counts(int process, const LaunchTable& table) {
  const std::uint32_t used = std::min(table.used.load(), LaunchTable::kCapacity);
  for (std::uint32_t i = 0; i < used; ++i) {
    const auto kernel = std::find_if(counted_.begin(), counted_.end(), [&](const Counted& counted) {
      return counted.process == process && counted.kernel.number == table.entries[i].kernel;
    });
    if (kernel != counted_.end()) kernel->shapes.push_back(shape_of(table.entries[i]));
  }
}

const ToldKernel* LaunchListing::find(int process, std::uint32_t number) const {
  for (const Counted& counted : counted_)
    if (counted.process == process && counted.kernel.number == number) return &counted.kernel;
  return nullptr;
}

std::vector<ListedKernel> LaunchListing::kernels() const {
  std::map<std::pair<std::string, std::string>, ListedKernel> merged;
  for (const Counted& counted : counted_) {
    ListedKernel& kernel = merged[{counted.kernel.name, counted.kernel.image}];
    kernel.told = counted.kernel;
    kernel.signature = demangle(counted.kernel.name);
    for (const ListedShape& shape : counted.shapes)
      if (shape.launches + shape.in_graphs > 0) add(kernel, shape);
  }
  std::vector<ListedKernel> sorted;
  for (auto& [name, kernel] : merged) {
    if (kernel.launches + kernel.in_graphs == 0) continue;
    std::stable_sort(kernel.shapes.begin(), kernel.shapes.end(),
                     [](const ListedShape& a, const ListedShape& b) { return a.ms > b.ms; });
    kernel.occupancy = occupancy_of(kernel);
    sorted.push_back(std::move(kernel));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const ListedKernel& a, const ListedKernel& b) { return a.ms > b.ms; });
  return sorted;
}

std::string listing_text(const std::vector<ListedKernel>& kernels, int columns) {
  const double total = total_ms(kernels);
  std::uint64_t launches = 0;
  for (const ListedKernel& kernel : kernels) launches += kernel.launches + kernel.in_graphs;
  std::string text = fmt::format("{} kernel{}, {} launches, {} in kernels that were launched by themselves\n\n",
                                 kernels.size(), kernels.size() == 1 ? "" : "s", launches, spell_ms(total));
  for (const ListedKernel& kernel : kernels) text += kernel_text(kernel, total);
  return fitted(text + advice(kernels, total), columns);
}

nlohmann::json listing_json(const std::vector<ListedKernel>& kernels) {
  nlohmann::json document = nlohmann::json::array();
  for (const ListedKernel& kernel : kernels) {
    nlohmann::json shapes = nlohmann::json::array();
    for (const ListedShape& shape : kernel.shapes) shapes.push_back(shape_json(shape));
    nlohmann::json one{{"kernel", kernel.told.name},
                       {"signature", kernel.signature},
                       {"image", kernel.told.image},
                       {"compiled_by_the_program", kernel.told.from_nvrtc},
                       {"registers_per_thread", kernel.told.registers_per_thread},
                       {"local_bytes_per_thread", kernel.told.local_bytes},
                       {"static_shared_bytes", kernel.told.static_shared_bytes},
                       {"launches", kernel.launches},
                       {"in_graphs", kernel.in_graphs},
                       {"replaced", kernel.replaced},
                       {"ms", kernel.ms},
                       {"shapes", shapes}};
    if (kernel.occupancy)
      one["occupancy"] = {{"active_blocks_per_sm", kernel.occupancy->active_blocks_per_sm},
                          {"fraction", kernel.occupancy->fraction},
                          {"limiter", to_string(kernel.occupancy->limiter)}};
    document.push_back(std::move(one));
  }
  return document;
}

}  // namespace regtune
