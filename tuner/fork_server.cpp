#include "fork_server.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <map>

#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr double kAnswerLimitMs = 30000;  // for a fork or a wait, which take far under a millisecond

// The key under which the server's own requests travel; others are the handler's.
constexpr const char* kOwn = "fork server";

void serve(Channel& channel, const ForkServer::Handler& handle, const ForkServer::WorkerBody& body) {
  std::map<pid_t, std::unique_ptr<Worker>> workers;
  while (true) {
    const Channel::Received received = channel.receive();
    if (received.state != Channel::State::message) return;
    const Message& request = received.message;
    if (!request.contains(kOwn)) {
      if (!channel.send(handle(request))) return;
    } else if (request.at(kOwn) == "spawn") {
      auto worker = std::make_unique<Worker>([&](Channel& own) {
        // The worker must not hold the server's end: the supervisor's wait for a dead server would never end.
        { Channel closing = std::move(channel); }
        body(own);
      });
      const pid_t pid = worker->pid();
      // Our copy of the descriptor goes with `theirs`: the worker ends when the supervisor closes the last one.
      const Channel theirs = worker->release_channel();
      if (!channel.send({{"pid", pid}}) || !channel.send_descriptor(theirs.descriptor())) return;
      workers[pid] = std::move(worker);
    } else {
      const auto found = workers.find(request.at("pid").get<pid_t>());
      const std::string how = found == workers.end() ? "not known" : found->second->end();
      if (found != workers.end()) workers.erase(found);
      if (!channel.send({{"how", how}})) return;
    }
  }
}

}  // namespace

ForkServer::ForkServer(Handler handle, WorkerBody body) : handle_(std::move(handle)), body_(std::move(body)) {
  start();
}

void ForkServer::start() {
  server_ = std::make_unique<Worker>([this](Channel& channel) { serve(channel, handle_, body_); });
}

std::string ForkServer::restart() {
  std::string how = server_->end();
  start();
  return how;
}

std::optional<Message> ForkServer::ask(const Message& request, double limit_ms, std::string& how) {
  server_->channel().send(request);
  Channel::Received received = server_->channel().receive(after_ms(limit_ms));
  if (received.state == Channel::State::message) return std::move(received.message);
  how = received.state == Channel::State::timed_out
            ? fmt::format("took longer than {:.0f} s and was stopped", limit_ms / 1000)
            : "";
  const std::string ended = restart();
  if (how.empty()) how = ended;
  return {};
}

ForkedWorker ForkServer::spawn() {
  begin_spawn();
  return finish_spawn();
}

void ForkServer::begin_spawn() {
  server_->channel().send({{kOwn, "spawn"}});
}

ForkedWorker ForkServer::finish_spawn() {
  const Channel::Received received = server_->channel().receive(after_ms(kAnswerLimitMs));
  const int descriptor =
      received.state == Channel::State::message ? server_->channel().receive_descriptor(after_ms(kAnswerLimitMs)) : -1;
  if (descriptor < 0)
    throw Error(ErrorKind::internal,
                fmt::format("starting a compiler process failed; try fewer --jobs: its parent {}", server_->end()));
  return {Channel(descriptor), received.message.at("pid").get<pid_t>()};
}

std::string ForkServer::end(ForkedWorker& worker) {
  std::string how;
  const std::optional<Message> reply = ask({{kOwn, "end"}, {"pid", worker.pid}}, kAnswerLimitMs, how);
  worker.channel = Channel();
  worker.pid = -1;
  return reply ? reply->at("how").get<std::string>() : how;
}

void ForkServer::abandon(ForkedWorker& worker) {
  kill(worker.pid, SIGKILL);
  worker.channel = Channel();
  worker.pid = -1;
}

}  // namespace regtune
