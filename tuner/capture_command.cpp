#include "capture_command.hpp"

#include <fmt/format.h>

#include "awaited_launch.hpp"
#include "captured_case.hpp"
#include "case_folder.hpp"
#include "case_source.hpp"
#include "description.hpp"
#include "offered_kernel.hpp"
#include "watched_program.hpp"

namespace regtune {
namespace {

class Capture {
 public:
  Capture(const CaptureRequest& request, AwaitedLaunch& awaited, WatchedProgram& program, Progress& progress)
      : request_(request), awaited_(awaited), program_(program), progress_(progress) {}

  void answer(int process, const Message& question) {
    const std::string what = question.at("ask");
    if (what == "kernel") program_.channel(process).send(about_kernel(process, question));
    if (what == "launch") at_launch(process, question);
    if (what == "code")
      program_.channel(process).send({{"none", "nothing is applied"}, {"integers", Message::array()}});
  }

  CaptureResult result(int exit_code) {
    for (int process = 0; process < program_.processes(); ++process)
      listing_.add_counts(process, program_.table(process));
    const std::vector<ListedKernel> kernels = listing_.kernels();
    result_.exit_code = exit_code;
    if (!result_.written && !result_.failure)
      result_.failure =
          Error(ErrorKind::no_kernel,
                why_nothing_was_seen(kernels).value_or(awaited_.why_not(kernels).value_or("the launch never came")));
    return std::move(result_);
  }

 private:
  Message about_kernel(int process, const Message& question) {
    const ToldKernel kernel = told_kernel(question);
    listing_.add_kernel(process, kernel);
    std::string ignored;  // a source is not needed here
    return awaited_.interest(kernel, question, ignored);
  }

  void at_launch(int process, const Message& offer) {
    Channel& channel = program_.channel(process);
    const ToldKernel* const kernel = listing_.find(process, offer.at("number"));
    if (kernel && awaited_.take()) {
      try {
        write(channel, *kernel, offer);
      } catch (const Error& failure) {
        result_.failure =
            Error(failure.kind(), fmt::format("{} was not captured: {}", kernel_name(kernel->name), failure.what()));
      }
    }
    channel.send({{"do", "go on"}});
  }

  std::string source_text(const Message* programs) const {
    if (request_.source) return whole_text(*request_.source, request_.include_folders, request_.options);
    return programs ? whole_text(*programs) : "";
  }

  // All that can be refused is, before the first file is written.
  void write(Channel& channel, const ToldKernel& kernel, const Message& offer) {
    CapturedLaunch captured = awaited_.captured(kernel, offer, request_.program.front());
    captured.memory.absolute_tolerance = request_.absolute_tolerance;
    captured.memory.relative_tolerance = request_.relative_tolerance;
    const Message* const programs = awaited_.program_source(kernel.name);
    const std::string text = source_text(programs);
    const KernelSignature signature = captured_signature(captured, text);
    progress_.stage(
        fmt::format("launch {} of {}: copying the program's memory", request_.launch, kernel_name(kernel.name)));
    take_memory(channel, captured, true);
    const DescriptorOwner owner(captured.memory.descriptor);
    CapturedCase written = captured_case(captured, signature, take_variables(channel, variables_in(text)));
    const CaseFiles data = write_case_data(written, captured.memory, request_.folder);
    const CaseSource source = put_source(programs);
    written.description.options = source.options;
    written.description.include_folders = source.include_folders;
    const std::filesystem::path description =
        request_.folder / (source.file.empty() ? unqualified_name(signature) : source.file);
    const std::filesystem::path side_file = side_file_of(description);
    write_case_file(side_file,
                    case_text(written, fmt::format("Launch {} of {} in {}, as it was captured.", request_.launch,
                                                   signature.display, request_.program.front())));
    note(source, side_file, written);
    result_.written = WrittenCase{signature.display, side_file, source.file, data.count, data.bytes, data.stored_bytes};
  }

  CaseSource put_source(const Message* programs) const {
    if (request_.source)
      return copy_source(*request_.source, request_.include_folders, request_.options, request_.folder);
    if (programs) return keep_program_source(*programs, request_.folder);
    return {};
  }

  void note(const CaseSource& source, const std::filesystem::path& side_file, const CapturedCase& written) {
    result_.notes.insert(result_.notes.end(), source.notes.begin(), source.notes.end());
    for (const CaseBuffer& buffer : written.buffers)
      if (!buffer.ends_at.empty())
        result_.notes.push_back(fmt::format("{} and {} lie in one allocation: {} is taken to end where {} begins",
                                            buffer.name, buffer.ends_at, buffer.name, buffer.ends_at));
    if (source.file.empty())
      result_.notes.push_back(
          fmt::format("the kernel's source is not known, for the program does not compile it by NVRTC: put it into {} "
                      "as {}, or give it by --source FILE.cu; variables of its module were not captured",
                      request_.folder.string(), side_file.stem().stem().string() + ".cu"));
  }

  const CaptureRequest& request_;
  AwaitedLaunch& awaited_;
  WatchedProgram& program_;
  Progress& progress_;
  LaunchListing listing_;
  CaptureResult result_;
};

}  // namespace

CaptureResult capture(const CaptureRequest& request, Progress& progress) {
  require_new_folder(request.folder);
  AwaitedLaunch awaited({request.kernel, request.source, request.launch, false, "captured"});
  WatchedProgram program({request.program, !request.source});
  Capture capture(request, awaited, program, progress);
  while (const std::optional<WatchedProgram::Question> question = program.next())
    capture.answer(question->process, question->message);
  return capture.result(program.exit_code());
}

std::string capture_text(const CaptureRequest& request, const WrittenCase& written) {
  std::string text = fmt::format("wrote {}: launch {} of {}, {} data files of {} bytes", written.description.string(),
                                 request.launch, written.kernel, written.data_files, written.data_bytes);
  if (written.stored_bytes < written.data_bytes)
    text += fmt::format(", which take {} compressed", written.stored_bytes);
  if (!written.source.empty()) text += fmt::format(". regtune {} tunes it", request.folder.string());
  return text + "\n";
}

}  // namespace regtune
