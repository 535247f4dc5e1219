#include "replacement.hpp"

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "driver_functions.hpp"
#include "offered_launch.hpp"
#include "supervisor_link.hpp"

namespace regtune {
namespace {

// A variable of the module: the program fills its own, and the tuned code reads its copy.
struct CopiedVariable {
  CUdeviceptr own = 0;
  CUdeviceptr copy = 0;
  std::size_t bytes = 0;
};

struct TunedCode {
  CUfunction function = nullptr;  // nullptr: none
  std::vector<CopiedVariable> variables;
};

// More sets of integers than a loop over sizes makes; each costs a question.
constexpr std::size_t kMostAnswers = 256;

struct Replacements {
  std::mutex mutex;
  std::map<const WatchedKernel*, std::vector<ParameterPlace>> integers;  // by which stored answers differ
  std::map<std::tuple<CUcontext, const WatchedShape*, std::string>, TunedCode> codes;
};

Replacements& replacements() {
  static Replacements* const all = new Replacements;
  return *all;
}

void copy_attribute(CUfunction_attribute which, CUfunction from, CUfunction to) {
  int value = 0;
  if (driver().cuFuncGetAttribute_call(&value, which, from) == CUDA_SUCCESS && value > 0)
    driver().cuFuncSetAttribute_call(to, which, value);
}

TunedCode load(const Message& answer, const WatchedKernel& kernel) {
  TunedCode code;
  CUmodule module = nullptr;
  const std::string cubin = bytes_of(answer.at("cubin"));
  const std::string entry = answer.at("entry");
  const DriverFunctions& calls = driver();
  if (calls.cuModuleLoadData_call(&module, cubin.data()) != CUDA_SUCCESS) return code;
  CUfunction function = nullptr;
  if (calls.cuModuleGetFunction_call(&function, module, entry.c_str()) != CUDA_SUCCESS) return code;
  for (const Message& name : answer.at("variables")) {
    const std::string text = name;
    CopiedVariable variable;
    std::size_t own_bytes = 0;
    if (calls.cuModuleGetGlobal_call(&variable.copy, &variable.bytes, module, text.c_str()) != CUDA_SUCCESS) continue;
    // A code that reads what it cannot be given is none.
    if (calls.cuModuleGetGlobal_call(&variable.own, &own_bytes, kernel.module, text.c_str()) != CUDA_SUCCESS ||
        own_bytes != variable.bytes)
      return code;
    code.variables.push_back(variable);
  }
  for (const CUfunction_attribute which :
       {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED})
    copy_attribute(which, kernel.function, function);
  code.function = function;
  return code;
}

std::string integers_of(const std::string& block, const std::vector<ParameterPlace>& places) {
  std::string integers;
  for (const ParameterPlace& place : places) integers.append(block, place.offset_bytes, place.size_bytes);
  return integers;
}

Message question_about(const Launch& launch, const WatchedShape& watched, const std::string& block) {
  const LaunchShape& shape = launch.shape;
  Message places = Message::array();
  for (const ParameterPlace& place : watched.kernel->parameters)
    places.push_back({place.offset_bytes, place.size_bytes});
  return {{"ask", "code"},
          {"number", watched.kernel->number},
          {"grid", {shape.grid.x, shape.grid.y, shape.grid.z}},
          {"block", {shape.block.x, shape.block.y, shape.block.z}},
          {"dynamic_shared_bytes", shape.dynamic_shared_bytes},
          {"parameters", places},
          {"parameter_block", binary(block)}};
}

// Where the integers of its parameters stand, as the stored answers have them.
std::vector<ParameterPlace> places_of(const Message& answer) {
  std::vector<ParameterPlace> places;
  if (answer.contains("integers"))
    for (const Message& place : answer.at("integers")) places.push_back({place.at(0), place.at(1)});
  return places;
}

const TunedCode& code_for(const Launch& launch, const WatchedShape& watched, CUcontext context) {
  static const TunedCode kNone;
  Replacements& all = replacements();
  const std::string block = parameter_block(launch, *watched.kernel);
  if (const auto places = all.integers.find(watched.kernel); places != all.integers.end()) {
    const auto known = all.codes.find({context, &watched, integers_of(block, places->second)});
    if (known != all.codes.end()) return known->second;
  }
  if (all.codes.size() >= kMostAnswers) return kNone;
  const Message answer = SupervisorLink::of_this_process()->ask(question_about(launch, watched, block));
  if (!answer.is_object()) return kNone;
  const std::vector<ParameterPlace>& places = all.integers.try_emplace(watched.kernel, places_of(answer)).first->second;
  TunedCode& code = all.codes[{context, &watched, integers_of(block, places)}];
  if (answer.contains("cubin")) code = load(answer, *watched.kernel);
  return code;
}

}  // namespace

CUfunction replacement_of(const Launch& launch, const WatchedShape& watched) {
  CUcontext context = nullptr;
  driver().cuCtxGetCurrent_call(&context);
  SupervisorLink* const link = SupervisorLink::of_this_process();
  const std::scoped_lock lock(link->mutex(), replacements().mutex);
  const TunedCode& code = code_for(launch, watched, context);
  if (!code.function) return nullptr;
  for (const CopiedVariable& variable : code.variables)
    if (driver().cuMemcpyDtoDAsync_call(variable.copy, variable.own, variable.bytes, stream_of(launch)) != CUDA_SUCCESS)
      return nullptr;
  return code.function;
}

}  // namespace regtune
