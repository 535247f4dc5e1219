#include "file_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cubin.hpp"
#include "device.hpp"
#include "record_json.hpp"
#include "study_scope.hpp"
#include "target.hpp"
#include "tuned_file.hpp"

namespace regtune {
namespace {

using Json = nlohmann::json;

std::vector<std::string> split_outside_brackets(const std::string& list) {
  std::vector<std::string> pieces{""};
  int depth = 0;
  for (const char c : list) {
    if (c == '<' || c == '(') ++depth;
    if (c == '>' || c == ')') --depth;
    if (c == ',' && depth == 0)
      pieces.emplace_back();
    else if (c != ' ' || !pieces.back().empty())
      pieces.back() += c;
  }
  return pieces;
}

// By name, or where overloads share one by name and parameters.
std::string name_of(const KernelSignature& signature, const std::vector<KernelSignature>& all) {
  const auto alike =
      std::count_if(all.begin(), all.end(), [&](const KernelSignature& other) { return other.name == signature.name; });
  return alike > 1 ? signature.display : signature.name;
}

// The file's kernels, as its first compilation leaves them.
std::vector<KernelSignature> kernels_of_file(const TuneRequest& request, const std::string& pattern,
                                             Progress& progress) {
  DescriptionFlags flags = request.flags;
  flags.kernel.reset();
  TunedFile file({request.source, flags, request.jobs, request.compile_limit_s, request.compiler});
  Device device(request.device);
  const std::string architecture = choose_target(request.architecture, device, file.compiler()).architecture;
  progress.stage("compiling for the first time");
  const Compilation compilation = file.compile(file.description(), architecture, {}, nullptr, progress);
  const Source compiled{file.source().path, compiled_text(compilation.unit)};
  return kernels_matching(read_cubin(compilation.sweep->first_code().cubin), compiled, pattern);
}

}  // namespace

bool means_several_kernels(const std::string& wanted) {
  return is_kernel_pattern(wanted) || split_outside_brackets(wanted).size() > 1;
}

std::vector<std::string> kernels_meant(const TuneRequest& request, Progress& progress) {
  if (is_bundle(request.source))
    throw Error(ErrorKind::usage,
                fmt::format("{}: a bundle holds one kernel; leave out --kernel", request.source.string()));
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const std::string& piece : split_outside_brackets(request.flags.kernel.value_or(""))) {
    if (piece.empty())
      throw Error(ErrorKind::usage,
                  fmt::format("--kernel {}: a name is missing; write --kernel a,b", *request.flags.kernel));
    if (!is_kernel_pattern(piece)) {
      add(piece);
      continue;
    }
    const std::vector<KernelSignature> meant = kernels_of_file(request, piece, progress);
    for (const KernelSignature& signature : meant) add(name_of(signature, meant));
  }
  return names;
}

FileTuning tune_kernels(const TuneRequest& request, const std::vector<std::string>& kernels, Progress& progress) {
  FileTuning tuning;
  for (const std::string& kernel : kernels) {
    TuneRequest one = request;
    one.flags.kernel = kernel;
    one.flags.one_of_several = true;
    try {
      tuning.tuned.push_back(tune(one, progress));
    } catch (const Error& failure) {
      tuning.failed.push_back({kernel, failure});
    }
  }
  if (tuning.tuned.empty()) throw tuning.failed.front().failure;
  std::vector<TuningRecord> records;
  for (const TuneResult& result : tuning.tuned) records.push_back(result.record);
  tuning.cap = file_wide_cap(records);
  return tuning;
}

nlohmann::json file_tuning_json(const FileTuning& tuning) {
  Json records = Json::array();
  for (const TuneResult& result : tuning.tuned) records.push_back(record_json(result.record));
  Json failed = Json::array();
  for (const UntunedKernel& untuned : tuning.failed)
    failed.push_back({{"kernel", untuned.kernel},
                      {"exit_code", static_cast<int>(untuned.failure.kind())},
                      {"message", untuned.failure.what()}});
  return {{"format", "regtune file"},
          {"format_version", 1},
          {"kernels", records},
          {"failed", failed},
          {"file_wide_cap", file_wide_json(tuning.cap)}};
}

}  // namespace regtune
