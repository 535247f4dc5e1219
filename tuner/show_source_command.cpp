#include "show_source_command.hpp"

#include <vector>

#include "compilation.hpp"
#include "compile.hpp"
#include "regtune/error.hpp"
#include "source.hpp"
#include "study_scope.hpp"

namespace regtune {

ShownSource show_source(ShowSourceRequest request) {
  take_kernel_pattern(request.flags);
  const Source source = read_source(request.source);
  const LaunchDescription description = launch_description(source, request.flags);
  CompilePool pool(1, request.compile_limit_s, request.compiler.nvcc_file);
  const CompilationRequest wanted{source, description,
                                  architectures_meant(request.architecture, request.device, pool.identity()).front(),
                                  request.compiler.only};
  Progress quiet(true);  // the notes are part of what is shown
  const auto unit = [&] {
    try {
      return unit_to_compile(wanted, pool);
    } catch (const Error& refusal) {
      return unit_for_nvcc_instead(wanted, refusal, pool, quiet);
    }
  }();
  // nvcc is given the file itself.
  if (unit.front_end == FrontEnd::nvcc) return {source.text, unit.source_notes};
  return {compile_request(unit, {AuthorsOwn{}}, NvrtcOutput::cubin, "").source, unit.source_notes};
}

}  // namespace regtune
