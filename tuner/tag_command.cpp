#include "tag_command.hpp"

#include "source.hpp"
#include "study_scope.hpp"

namespace regtune {

std::string source_tag(const TagRequest& request) {
  const Source source = read_source(request.source);
  // Neither the architecture nor the compiler is part of it.
  return source_hash(compile_unit(source, launch_description(source, request.flags), kDefaultArchitecture, {}));
}

}  // namespace regtune
