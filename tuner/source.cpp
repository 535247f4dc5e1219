#include "source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>

#include "budget_text.hpp"
#include "regtune/error.hpp"
#include "source_tag.hpp"
#include "template_arguments.hpp"

namespace regtune {

namespace fs = std::filesystem;

namespace {

// Read once: a second tuning of the same command line is of the same text.
const std::string& standard_input() {
  static const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  return text;
}

bool has_side_file(const fs::path& source) {
  std::error_code ignored;
  return fs::exists(side_file_of(source), ignored);
}

// A captured launch is a folder with the one source in it.
fs::path source_in_folder(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".cu") found.push_back(entry.path());
  // Beside what it includes it is the one that has a description.
  if (found.size() > 1 && std::count_if(found.begin(), found.end(), has_side_file) == 1)
    found = {*std::find_if(found.begin(), found.end(), has_side_file)};
  if (found.size() == 1) return found.front();
  throw Error(ErrorKind::file_not_found, fmt::format("{}: is a folder with {} .cu files; name the one that is meant",
                                                     folder.string(), found.size()));
}

void require_no_choices(const Source& source, const LaunchDescription& description) {
  if (description.tune.empty() && description.block_macros.empty()) return;
  throw Error(ErrorKind::bad_description,
              fmt::format("{}: PTX has no macros any more, so there is nothing for tune and block_macro to choose; "
                          "leave them out, or tune the source",
                          source.path.string()));
}

}  // namespace

Source read_source(const fs::path& path) {
  if (path == "-") return {kStandardInputName, standard_input()};
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return read_source(source_in_folder(path));
  std::optional<std::string> text = read_text(path);
  if (!text)
    throw Error(ErrorKind::file_not_found,
                fmt::format("{}: cannot be read; is the path right, and may you read the file?", path.string()));
  return {path, std::move(*text)};
}

LaunchDescription launch_description(const Source& source, const DescriptionFlags& flags) {
  LaunchDescription written =
      flags.file ? read_description_file(*flags.file) : read_description(source.path, source.text);
  const std::optional<std::string> kernel = flags.kernel ? flags.kernel : written.kernel;
  written = description_of_kernel(std::move(written), kernel, flags.one_of_several);
  return with_authors_instance(with_flags(std::move(written), flags), source.text);
}

LaunchDescription launch_description(const Source& source, LaunchDescription stored) {
  return with_authors_instance(with_flags(std::move(stored), {}), source.text);
}

std::string_view to_string(FrontEnd front_end) {
  switch (front_end) {
    case FrontEnd::nvrtc:
      break;
    case FrontEnd::nvcc:
      return "nvcc";
    case FrontEnd::ptxas:
      return "ptxas";
  }
  return "NVRTC";
}

FrontEnd front_end_of(std::string_view compiler) {
  for (const FrontEnd front_end : {FrontEnd::nvcc, FrontEnd::ptxas})
    if (compiler.starts_with(to_string(front_end))) return front_end;
  return FrontEnd::nvrtc;
}

std::vector<std::string> options_given(const LaunchDescription& description, FrontEnd front_end) {
  std::vector<std::string> options = description.options;
  if (front_end == FrontEnd::nvcc)
    options.insert(options.end(), description.nvcc_options.begin(), description.nvcc_options.end());
  return options;
}

CompileUnit compile_unit(const Source& source, const LaunchDescription& description, const std::string& architecture,
                         const CompilerIdentity& compiler) {
  CompileUnit unit;
  unit.front_end = compiler.front_end;
  unit.source = source;
  unit.architecture = architecture;
  AuthorOptions author = author_options(options_given(description, unit.front_end));
  unit.options = std::move(author.options);
  unit.author_cap = author.cap;
  const fs::path folder = source.path.parent_path().empty() ? fs::path(".") : source.path.parent_path();
  unit.include_folders.push_back(folder.string());
  for (const fs::path& include : description.include_folders)
    unit.include_folders.push_back(include.is_absolute() ? include.string() : (folder / include).string());
  unit.toolkit_folders = compiler.include_folders;
  unit.fixed_options = compiler.fixed_options;
  if (unit.front_end == FrontEnd::ptxas) {
    require_no_choices(source, description);
    return unit;
  }
  if (description.kernel && description.kernel->find('<') != std::string::npos)
    unit.name_expressions.push_back(*description.kernel);
  unit.precompiles_headers = compiler.precompiles_headers;
  set_device_text(unit, "", description.kernel);
  return unit;
}

std::vector<std::string> pre_included_files(const CompileUnit& unit) {
  return values_of(unit.options, {"-include", "--pre-include"});
}

const std::string& compiled_text(const CompileUnit& unit) {
  return unit.device_text.empty() ? unit.source.text : unit.device_text;
}

void set_device_text(CompileUnit& unit, std::string text, const std::optional<std::string>& wanted_kernel) {
  unit.device_text = std::move(text);
  const std::string& compiled = compiled_text(unit);
  unit.header_end = holds_kernel(compiled, wanted_kernel) ? end_of_headers(compiled) : 0;
  unit.keeps_cluster = declares_cluster(compiled, wanted_kernel);
}

std::string source_hash(const CompileUnit& unit) {
  if (!unit.known_hash.empty()) return unit.known_hash;
  AuthorOptions options{unit.options, unit.author_cap};
  return source_tag(
      {unit.source.text, unit.source.path, unit.include_folders, std::move(options), unit.name_expressions});
}

}  // namespace regtune
