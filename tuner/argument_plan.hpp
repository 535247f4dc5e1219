#pragma once
// What is passed for one parameter of the kernel, or put into one variable of its module: a buffer, the bytes of a
// scalar, the bytes of a structure with the addresses of buffers in them, a texture object or a tensor map. Made from a
// description and a type; nothing is allocated here. Textures and tensor maps are planned in handle_plan.cpp.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "buffer_init.hpp"
#include "element_type.hpp"
#include "launch_description.hpp"
#include "signature.hpp"
#include "tensor_map.hpp"
#include "texture.hpp"

namespace regtune {

struct BufferPlan {
  std::string name;
  ElementType type = ElementType::f32;
  std::int64_t count = 0;  // elements
  BufferInit init;
  bool writable = false;          // the kernel may change it: its pointer is not to const
  bool output = false;            // compared with the reference's after a launch, and restored before one
  double absolute_tolerance = 0;  // all three 0: bit by bit; within any of them is close enough
  double relative_tolerance = 0;
  std::int64_t ulp_tolerance = 0;  // floating-point elements only: so many numbers of the type apart
};

struct ScalarPlan {
  std::string name;
  std::string bytes;  // as the parameter takes them, little-endian; exactly the parameter's size
  std::string value;  // for people: "16777216"
};

// A structure by value, or a variable of the module: bytes with the addresses of buffers in them.
struct StructPlan {
  struct Pointer {
    std::int64_t offset_bytes = 0;
    BufferPlan buffer;
  };
  std::string name;
  std::string bytes;  // zeros where a pointer stands
  std::vector<Pointer> pointers;
  std::string value;      // for people: "{0: 1.5; 8: 1024 x float, zeros, output}"
  bool fills_all = true;  // false: what holds it may be longer, as a structure is that ends in padding
};

// Texels are only read.
struct TexturePlan {
  BufferPlan texels;
  TextureLayout layout;
};

// A view of `data`, or of the buffer named `of`.
struct TensorMapPlan {
  std::string name;
  std::optional<BufferPlan> data;
  std::string of;
  std::int64_t base_offset_bytes = 0;
  TensorMapLayout layout;
};

using ParameterPlan = std::variant<BufferPlan, ScalarPlan, StructPlan, TexturePlan, TensorMapPlan>;

// What could stand for the parameter in a description, as far as its type tells; `size` names a length.
std::string example_argument(const KernelParameter& parameter, const std::string& size);

// "1024 x float, uniform(0, 1), output", "2.5".
std::string value_text(const ParameterPlan& parameter);

class ArgumentPlanner {
 public:
  // `names`: what expressions see, one for each launch case; a buffer gets the largest of all lengths, a number may not
  // depend on the case. Both are kept by reference.
  ArgumentPlanner(const std::vector<Sizes>& names, const std::filesystem::path& base_folder, std::string size_example)
      : names_(names), base_folder_(base_folder), size_example_(std::move(size_example)) {}

  // Each throws Error: bad_description, bad_launch, file_not_found, buffer_too_large.
  ParameterPlan parameter(const KernelParameter& parameter, const ArgumentDescription& argument);
  StructPlan variable(const ArgumentDescription& variable);
  // `viewed`: the buffer that the description says the map is of; null where the map has its own.
  TensorMapPlan tensor_map(const KernelParameter& parameter, const ArgumentDescription& argument,
                           const BufferPlan* viewed);
  // Integers that are the same for every launch case.
  std::vector<std::int64_t> integers(const std::vector<Expression>& expressions) const;

 private:
  // `elements`, of so many lanes as the type has.
  BufferPlan buffer(const std::string& name, const ArgumentDescription& argument, const ParameterType& type,
                    std::int64_t elements);
  TexturePlan texture(const KernelParameter& parameter, const ArgumentDescription& argument);
  TensorMapLayout tensor_layout(const ArgumentDescription& argument, ElementType type) const;
  BufferPlan parameter_buffer(const KernelParameter& parameter, const ArgumentDescription& argument,
                              const ParameterType& type);
  BufferPlan buffer_behind(const std::string& name, const ArgumentDescription& argument);
  ScalarPlan null_pointer(const KernelParameter& parameter, const ArgumentDescription& argument) const;
  ScalarPlan scalar(const KernelParameter& parameter, const ArgumentDescription& argument, ParameterType type,
                    bool given) const;
  StructPlan structure(const std::string& name, const ArgumentDescription& argument);
  std::string array_bytes(const ArgumentDescription& argument) const;
  std::string file_bytes(const ArgumentDescription& argument) const;
  std::string encoded(const Expression& expression, ElementType type, const std::string& name,
                      std::string* text = nullptr) const;
  std::variant<std::int64_t, double> number(const Expression& expression) const;
  std::int64_t longest(const Expression& length) const;

  const std::vector<Sizes>& names_;
  const std::filesystem::path& base_folder_;
  std::string size_example_;
  std::int64_t total_bytes_ = 0;
};

}  // namespace regtune
