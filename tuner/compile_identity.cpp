// Which compilers a pool has: NVRTC is asked in the compile server, nvcc and ptxas are looked for by processes of their
// own, since the server may be at work by then.
#include <fmt/format.h>

#include "compile.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr double kIdentityLimitMs = 60000;

CompilerIdentity identity_from(const Message& reply, FrontEnd front_end) {
  return {reply.at("name"),
          reply.at("library_path"),
          reply.at("architectures"),
          reply.at("include_folders"),
          reply.at("fixed_options"),
          reply.at("precompiles_headers"),
          reply.at("linker"),
          reply.at("why_no_linker"),
          reply.at("linker_takes_no_cache"),
          front_end};
}

}  // namespace

const CompilerIdentity& CompilePool::identity() {
  if (identity_) return *identity_;
  std::string how;
  const std::optional<Message> reply = server_.ask({{"identify", true}}, kIdentityLimitMs, how);
  if (!reply)
    throw Error(ErrorKind::no_toolkit,
                fmt::format("loading NVRTC failed: its process {}; is the CUDA toolkit complete?", how));
  if (reply->contains("failure")) throw Error(ErrorKind::no_toolkit, reply->at("failure").get<std::string>());
  identity_ = identity_from(*reply, FrontEnd::nvrtc);
  return *identity_;
}

void CompilePool::look_for(CompilerProgram& program, const Message& question) {
  if (program.was_looked_for || program.search) return;
  program.search = server_.spawn();
  program.search->channel.send(question);
}

// Requires: the search was begun.
void CompilePool::finish_search(CompilerProgram& program, FrontEnd front_end) {
  if (program.was_looked_for) return;
  program.was_looked_for = true;
  const Channel::Received received = program.search->channel.receive(after_ms(kIdentityLimitMs));
  ForkServer::abandon(*program.search);
  program.search.reset();
  const std::string variable = front_end == FrontEnd::nvcc ? "REGTUNE_NVCC" : "REGTUNE_PTXAS";
  if (received.state == Channel::State::timed_out)
    program.why_not = fmt::format("looking for {} took longer than {:.0f} s; name it by {}", to_string(front_end),
                                  kIdentityLimitMs / 1000, variable);
  else if (received.state != Channel::State::message)
    program.why_not = fmt::format("the process that looked for {} died; name it by {}", to_string(front_end), variable);
  else if (received.message.contains("failure"))
    program.why_not = received.message.at("failure").get<std::string>();
  else
    program.found = identity_from(received.message, front_end);
}

void CompilePool::look_for_nvcc() {
  look_for(nvcc_, {{"identify_nvcc", true}, {"nvcc_file", nvcc_file_}});
}

const CompilerIdentity* CompilePool::nvcc() {
  look_for_nvcc();
  finish_search(nvcc_, FrontEnd::nvcc);
  return nvcc_.found ? &*nvcc_.found : nullptr;
}

const CompilerIdentity& CompilePool::identity(FrontEnd front_end) {
  if (front_end == FrontEnd::nvrtc) return identity();
  if (front_end == FrontEnd::nvcc) nvcc();
  if (front_end == FrontEnd::ptxas) {
    look_for(ptxas_, {{"identify_ptxas", true}});
    finish_search(ptxas_, front_end);
  }
  const CompilerProgram& program = front_end == FrontEnd::nvcc ? nvcc_ : ptxas_;
  if (program.found) return *program.found;
  throw Error(ErrorKind::no_toolkit, program.why_not);
}

}  // namespace regtune
