#include "offered_kernel.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "regtune/error.hpp"

namespace regtune {
namespace {

Dim3 dim_of(const Message& axes) {
  return {axes.at(0).get<unsigned>(), axes.at(1).get<unsigned>(), axes.at(2).get<unsigned>()};
}

// Where a header of that name may be written: never outside the folder.
std::filesystem::path inside(const std::filesystem::path& folder, const std::string& name) {
  std::filesystem::path clean;
  for (const std::filesystem::path& part : std::filesystem::path(name).relative_path().lexically_normal())
    if (part != "..") clean /= part;
  return folder / clean;
}

void write_file(const std::filesystem::path& file, const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  std::ofstream out(file, std::ios::binary);
  out << text;
  if (!out.flush())
    throw Error(ErrorKind::internal,
                fmt::format("{} cannot be written; set TMPDIR to a folder with room", file.string()));
}

bool names_architecture(const std::string& option) {
  return option.starts_with("-arch") || option.starts_with("--gpu-architecture") || option.starts_with("-code");
}

Message ask(Channel& program, const Message& request) {
  if (!program.send(request))
    throw Error(ErrorKind::gpu_failed,
                "the program ended while its launch was captured; does it end well without regtune?");
  Channel::Received received = program.receive();
  if (received.state != Channel::State::message)
    throw Error(ErrorKind::gpu_failed,
                "the program ended while its launch was captured; does it end well without regtune?");
  return std::move(received.message);
}

}  // namespace

ProgramSourceFile write_program_source(const Message& source, const std::filesystem::path& folder) {
  ProgramSourceFile written;
  const auto given = source.at("name").get<std::string>();
  written.called = (given.empty() ? "a source without a name" : given) + ", compiled by the program";
  std::string name = std::filesystem::path(given).filename().string();
  if (name.empty()) name = "kernel.cu";
  if (std::filesystem::path(name).extension().empty()) name += ".cu";
  for (const Message& header : source.at("headers"))
    write_file(inside(folder, bytes_of(header.at(0))), bytes_of(header.at(1)));
  written.file = folder / name;
  write_file(written.file, bytes_of(source.at("text")));
  const auto options = source.at("options").get<std::vector<std::string>>();
  for (std::size_t i = 0; i < options.size(); ++i) {
    const bool has_value_behind = options[i] == "-arch" || options[i] == "--gpu-architecture" || options[i] == "-code";
    if (has_value_behind)
      ++i;
    else if (!names_architecture(options[i]))
      written.options.push_back(options[i]);
  }
  return written;
}

CapturedLaunch offered_launch(const Message& offer) {
  CapturedLaunch captured;
  captured.shape = {dim_of(offer.at("grid")), dim_of(offer.at("block")), offer.at("dynamic_shared_bytes")};
  captured.is_cooperative = offer.at("cooperative");
  if (!offer.at("cluster").is_null()) captured.cluster = dim_of(offer.at("cluster"));
  for (const Message& place : offer.at("parameters"))
    captured.memory.parameters.push_back({place.at(0).get<std::int64_t>(), place.at(1).get<std::int64_t>()});
  captured.memory.parameter_block = bytes_of(offer.at("parameter_block"));
  captured.host_pointers = offer.at("host_pointers");
  return captured;
}

void take_memory(Channel& program, CapturedLaunch& captured, bool with_contents) {
  const Message reply = ask(program, {{"do", with_contents ? "copy memory" : "list memory"}});
  if (reply.contains("failure")) throw Error(ErrorKind::buffer_too_large, reply.at("failure").get<std::string>());
  if (with_contents) captured.memory.descriptor = program.receive_descriptor({});
  if (with_contents && captured.memory.descriptor < 0)
    throw Error(ErrorKind::gpu_failed, "the copy of the program's memory did not come; did the program end?");
  for (const Message& range : reply.at("ranges"))
    captured.memory.ranges.push_back(
        {range.at(0).get<std::uint64_t>(), range.at(1).get<std::int64_t>(), range.at(2).get<std::int64_t>()});
}

void let_launch(Channel& program) {
  const Message reply = ask(program, {{"do", "launch"}});
  if (reply.contains("failure"))
    throw Error(ErrorKind::gpu_failed, reply.at("failure").get<std::string>() + "; does the program run by itself?");
}

std::map<std::string, std::string> take_variables(Channel& program, const std::vector<std::string>& names) {
  std::map<std::string, std::string> values;
  const Message reply = ask(program, {{"do", "copy variables"}, {"names", names}});
  for (const auto& [name, value] : reply.at("variables").items()) values[name] = bytes_of(value);
  return values;
}

std::string take_image(Channel& program) {
  const Message reply = ask(program, {{"do", "copy image"}});
  if (reply.contains("failure")) throw Error(ErrorKind::gpu_failed, reply.at("failure").get<std::string>());
  const auto bytes = reply.at("bytes").get<std::int64_t>();
  const int descriptor = program.receive_descriptor({});
  struct stat file {};
  std::string image;
  bool is_whole = descriptor >= 0 && fstat(descriptor, &file) == 0 && file.st_size == bytes;
  if (is_whole) image.resize(static_cast<std::size_t>(bytes));
  for (std::size_t got = 0; is_whole && got < image.size();) {
    const ssize_t count = pread(descriptor, image.data() + got, image.size() - got, static_cast<off_t>(got));
    is_whole = count > 0;
    got += is_whole ? static_cast<std::size_t>(count) : 0;
  }
  if (descriptor >= 0) close(descriptor);
  if (!is_whole)
    throw Error(ErrorKind::gpu_failed, "what the kernel was loaded from did not come; did the program end?");
  return image;
}

}  // namespace regtune
