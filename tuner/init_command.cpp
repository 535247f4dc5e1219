#include "init_command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <map>

#include "compilation.hpp"
#include "compile.hpp"
#include "description_text.hpp"
#include "device.hpp"
#include "regtune/error.hpp"
#include "source.hpp"
#include "study_scope.hpp"
#include "tuning_plan.hpp"
#include "workload.hpp"

namespace regtune {
namespace {

void refuse_described(const Source& source) {
  if (!has_description(source.path, source.text)) return;
  throw Error(ErrorKind::usage,
              fmt::format("{} has a launch description already (a comment block, or {}); nothing was written. To start "
                          "anew, move it away",
                          source.path.string(), side_file_of(source.path).string()));
}

// Nobody's file is overwritten, not even one that appeared while the kernel was compiled.
void write_new(const std::filesystem::path& file, const std::string& text) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  std::size_t done = 0;
  while (descriptor >= 0 && done < text.size()) {
    const ssize_t wrote = write(descriptor, text.data() + done, text.size() - done);
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  if (descriptor >= 0) close(descriptor);
  if (done < text.size() || descriptor < 0)
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "{}: cannot be written, or is there already; move it away, or take --print, which shows the description",
            file.string()));
}

std::vector<std::string> missing_lines(const LaunchDescription& description, const KernelSignature& signature) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
    const KernelParameter& parameter = signature.parameters[i];
    const bool there = std::any_of(
        description.arguments.begin(), description.arguments.end(), [&](const ArgumentDescription& argument) {
          return argument.parameter == parameter.name || argument.parameter == std::to_string(i);
        });
    if (there) continue;
    const std::string what =
        is_tensor_map_type(parameter.type)
            ? "the elements along each dimension, the innermost first, and the box that one copy of the kernel takes"
            : fmt::format("{}, {} bytes, is nothing that regtune can guess",
                          parameter.type.empty() ? "an unknown type" : parameter.type, parameter.size_bytes);
    lines.push_back(fmt::format("{} = {}  # write this: {}", parameter.name, example_argument(parameter, "n"), what));
  }
  return lines;
}

std::string toml_of(const InferredLaunch& inferred, const InitResult& result) {
  std::map<std::string, std::string> comments;
  for (const Guess& guess : inferred.guesses) comments[guess.key] = "guess: " + guess.reason;
  return fmt::format("# How {} is launched. What follows \"guess\" is regtune's reason: correct what is not so.\n",
                     result.signature) +
         description_text(inferred.description, comments, result.missing);
}

}  // namespace

InitResult init(const InitRequest& request, Progress& progress) {
  const Source source = read_source(request.source);
  refuse_described(source);
  LaunchDescription description = launch_description(source, request.flags);
  Device device(request.device);
  CompilePool pool(1, request.compile_limit_s, request.compiler.nvcc_file);
  const CompilationRequest wanted{source, description,
                                  architectures_meant(request.architecture, request.device, pool.identity()).front(),
                                  request.compiler.only};
  progress.stage("compiling " + source.path.string());
  const auto unit = [&] {
    try {
      return unit_to_compile(wanted, pool);
    } catch (const Error& refusal) {
      return unit_for_nvcc_instead(wanted, refusal, pool, progress);
    }
  }();
  const CompiledCode code = pool.prepare({0, request_for(unit, {AuthorsOwn{}}, NvrtcOutput::cubin, ""), {}, false});
  if (!code.compiled)
    throw Error(
        ErrorKind::source_not_compiled,
        fmt::format("{}: {} does not compile it; mend the lines below, or give your build's options behind --:\n{}",
                    source.path.string(), pool.identity(unit.front_end).name, code.failure));
  const KernelSignature signature = described_kernel(unit, description, code);
  if (!description.kernel) description.kernel = signature.name;
  const std::int64_t memory_bytes = device.state() ? device.state()->memory_bytes : 0;
  const InferredLaunch inferred = described_launch(std::move(description), unit, pool, signature, memory_bytes);
  InitResult result;
  result.signature = signature.display;
  result.guesses = inferred.guesses;
  result.missing = missing_lines(inferred.description, signature);
  // What is written must be what a run takes: a described size may make a guessed grid impossible.
  if (result.missing.empty()) plan_workload(inferred.description, signature);
  result.text = toml_of(inferred, result);
  if (request.print) return result;
  result.file = side_file_of(source.path);
  write_new(result.file, result.text);
  return result;
}

std::string init_text(const InitResult& result) {
  if (result.file.empty()) return "/*regtune\n" + result.text + "*/\n";
  std::string text = fmt::format("wrote {}: {} guessed, each with its reason. Correct what is not so, then tune\n",
                                 result.file.string(), result.guesses.size());
  for (const std::string& line : result.missing) text += "to be written: " + line + "\n";
  return text;
}

nlohmann::json init_json(const InitResult& result) {
  nlohmann::json guesses = nlohmann::json::array();
  for (const Guess& guess : result.guesses)
    guesses.push_back({{"key", guess.key}, {"value", guess.value}, {"reason", guess.reason}});
  return {{"kernel", result.signature},
          {"file", result.file.string()},
          {"description", result.text},
          {"guesses", std::move(guesses)},
          {"missing", result.missing}};
}

}  // namespace regtune
