#include "show_source_command.hpp"

#include <vector>

#include "compile.hpp"
#include "device_text.hpp"
#include "source.hpp"
#include "study_scope.hpp"

namespace regtune {

namespace {

CompileUnit unit_of(ShowSourceRequest& request) {
  take_kernel_pattern(request.flags);
  const Source source = read_source(request.source);
  const LaunchDescription description = launch_description(source, request.flags);
  CompilePool pool(1, request.compile_limit_s);
  const std::string architecture = architectures_meant(request.architecture, request.device, pool.identity()).front();
  return unit_for_device(compile_unit(source, description, architecture, pool.identity()), description, pool);
}

}  // namespace

ShownSource show_source(ShowSourceRequest request) {
  const CompileUnit unit = unit_of(request);
  return {compile_request(unit, {AuthorsOwn{}}, NvrtcOutput::cubin, "").source, unit.source_notes};
}

std::string source_tag(ShowSourceRequest request) {
  return source_hash(unit_of(request));
}

}  // namespace regtune
