#include "show_source_command.hpp"

#include <vector>

#include "compilation.hpp"
#include "compile.hpp"
#include "regtune/error.hpp"
#include "source.hpp"
#include "study_scope.hpp"

namespace regtune {

namespace {

CompileUnit unit_of(ShowSourceRequest& request) {
  take_kernel_pattern(request.flags);
  const Source source = read_source(request.source);
  const LaunchDescription description = launch_description(source, request.flags);
  CompilePool pool(1, request.compile_limit_s, request.compiler.nvcc_file);
  const FrontEnd first = first_front_end(source, request.compiler.only);
  const CompilerIdentity& limiting = pool.identity(first == FrontEnd::ptxas ? first : FrontEnd::nvrtc);
  const CompilationRequest wanted{source, description,
                                  architectures_meant(request.architecture, request.device, limiting).front(),
                                  request.compiler.only};
  Progress quiet(true);  // the notes are part of what is shown
  try {
    return unit_to_compile(wanted, pool);
  } catch (const Error& refusal) {
    return unit_for_nvcc_instead(wanted, refusal, pool, quiet);
  }
}

}  // namespace

ShownSource show_source(ShowSourceRequest request) {
  const CompileUnit unit = unit_of(request);
  // nvcc and ptxas are given the file itself.
  if (unit.front_end != FrontEnd::nvrtc) return {unit.source.text, unit.source_notes};
  return {compile_request(unit, {AuthorsOwn{}}, NvrtcOutput::cubin, "").source, unit.source_notes};
}

std::string source_tag(ShowSourceRequest request) {
  return source_hash(unit_of(request));
}

}  // namespace regtune
