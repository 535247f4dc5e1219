#include "compilers.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "key.hpp"
#include "nvjitlink.hpp"
#include "regtune/error.hpp"
#include "toolkit.hpp"

namespace regtune {
namespace {

constexpr double kLinkerLimitMs = 30000;    // to load nvJitLink
constexpr std::size_t kMostKeptTexts = 80;  // 64 choices of macros, and other names of a few

bool gives_lto_ir(const CompilerRequest& request) {
  if (const auto* of_nvrtc = std::get_if<NvrtcRequest>(&request)) return of_nvrtc->output == NvrtcOutput::lto_ir;
  const auto* of_nvcc = std::get_if<NvccRequest>(&request);
  return of_nvcc && of_nvcc->lto_ir;
}

// Equal for requests of LTO-IR that come to the same.
std::string key_of(const CompilerRequest& request) {
  FieldHash hash;
  const auto add_all = [&](const char* what, const std::vector<std::string>& values) {
    for (const std::string& value : values) hash.add(what, value);
  };
  if (const auto* of_nvrtc = std::get_if<NvrtcRequest>(&request)) {
    hash.add("source", of_nvrtc->source);
    add_all("option", of_nvrtc->options);
    add_all("name expression", of_nvrtc->name_expressions);
    add_all("empty header", of_nvrtc->empty_headers);
  } else {
    const auto& of_nvcc = std::get<NvccRequest>(request);
    hash.add("nvcc", of_nvcc.file).add("text", of_nvcc.text);
    add_all("option", of_nvcc.options);
    add_all("name expression", of_nvcc.name_expressions);
  }
  return hash.hex();
}

double clock_seconds(std::chrono::steady_clock::time_point at) {
  return std::chrono::duration<double>(at.time_since_epoch()).count();
}

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  rusage children{};  // nvcc and all that it starts
  getrusage(RUSAGE_CHILDREN, &children);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9 + seconds(children.ru_utime) +
         seconds(children.ru_stime);
}

double resident_mib() {
  long pages = 0;
  long resident = 0;
  if (FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// Beyond what a fork had from the server when it began: those pages are the server's, and count there.
double peak_mib(double inherited_mib) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return std::max(0.0, static_cast<double>(used.ru_maxrss) / 1024 - inherited_mib);
}

// Compilers and what they made so far. One object in the server's memory, of which every worker has a copy as
// it was at the fork.
class Compilers {
 public:
  // In a fork of the server, before its first job.
  void begin_worker() { inherited_mib_ = resident_mib(); }

  Message answer(const Message& asked) {
    if (linker_answered_) linker_asked_.reset();  // not sooner: that takes a moment, and the identity is waited for
    if (asked.contains("identify")) return identify();
    if (asked.contains("identify_nvcc")) return identify_nvcc(asked.at("nvcc_file"));
    if (asked.contains("identify_ptxas")) return identify_ptxas();
    if (asked.contains("load_linker")) return {{"loaded", linker().has_value()}};
    const auto start = std::chrono::steady_clock::now();
    const double cpu_start = cpu_seconds();
    const CompilerRequest request = request_from(asked);
    CompilerReply reply =
        gives_lto_ir(request) ? lto_ir(request, key_of(request), asked.at("keep_lto_ir")) : compile(request);
    const auto link_start = std::chrono::steady_clock::now();
    if (reply.compiled && asked.contains("link_options")) link(reply, asked.at("link_options"));
    if (const auto* of_nvcc = std::get_if<NvccRequest>(&request)) name_codes(reply, *of_nvcc);
    const auto end = std::chrono::steady_clock::now();
    return {{"compiled", reply.compiled},
            {"cubin", binary(reply.cubin)},
            {"log", binary(reply.log)},  // may quote source lines that are not UTF-8
            {"lowered_names", reply.lowered_names},
            {"begun_s", clock_seconds(start)},
            {"ended_s", clock_seconds(end)},
            {"link_seconds", std::chrono::duration<double>(end - link_start).count()},
            {"cpu_s", cpu_seconds() - cpu_start},
            {"peak_mib", peak_mib(inherited_mib_)},
            {"pid", getpid()}};
  }

 private:
  const Nvrtc& nvrtc() {
    if (!nvrtc_) nvrtc_ = Nvrtc::open();
    return *nvrtc_;
  }

  CompilerReply compile(const CompilerRequest& request) {
    if (const auto* of_nvrtc = std::get_if<NvrtcRequest>(&request)) return nvrtc().compile(*of_nvrtc);
    if (const auto* of_ptxas = std::get_if<PtxasRequest>(&request)) return compile_by_ptxas(*of_ptxas);
    return compile_by_nvcc(std::get<NvccRequest>(request));
  }

  // What NVRTC tells is read from the code here.
  static void name_codes(CompilerReply& reply, const NvccRequest& request) {
    fix_anonymous_names(reply.cubin);
    if (!reply.cubin.empty()) reply.lowered_names = instance_names(reply.cubin, request.name_expressions.size());
  }

  // Loaded for the first link; a run that finds every code kept never does.
  const std::optional<NvJitLink>& linker() {
    if (linker_looked_for_) return linker_;
    linker_looked_for_ = true;
    linker_ = NvJitLink::open(why_no_linker_);
    if (linker_ && linker_facts_ && linker_->facts() != *linker_facts_) {
      why_no_linker_ =
          fmt::format("{} is not used: it was another one when this run began", linker_->facts().library_path);
      linker_.reset();
    }
    return linker_;
  }

  // What the linker is, asked in a process of its own, so that it is loaded there while the compiler is loaded here:
  // one after the other, the two would be most of what a run takes that finds every code kept.
  void begin_to_ask_linker() {
    if (linker_asked_ || linker_answered_) return;
    linker_asked_.emplace([](Channel& channel) {
      std::string why_not;
      const std::optional<NvJitLink> linker = NvJitLink::open(why_not);
      if (!linker) {
        channel.send({{"failure", why_not}});
        return;
      }
      const LinkerFacts facts = linker->facts();
      channel.send({{"library_path", facts.library_path},
                    {"major", facts.major},
                    {"minor", facts.minor},
                    {"takes_no_cache", facts.takes_no_cache}});
    });
  }

  // Requires: begin_to_ask_linker() was called.
  const std::optional<LinkerFacts>& linker_facts() {
    if (linker_answered_) return linker_facts_;
    linker_answered_ = true;
    const Channel::Received received = linker_asked_->channel().receive(after_ms(kLinkerLimitMs));
    if (received.state != Channel::State::message) {
      why_no_linker_ =
          fmt::format("nvJitLink is not used: the process that loaded it {}",
                      received.state == Channel::State::timed_out ? "did not answer" : linker_asked_->end());
      return linker_facts_;
    }
    const Message& answer = received.message;
    if (answer.contains("failure"))
      why_no_linker_ = answer.at("failure");
    else
      linker_facts_ = {answer.at("library_path"), answer.at("major"), answer.at("minor"), answer.at("takes_no_cache")};
    return linker_facts_;
  }

  // The part of an identity that is the linker's. `compiler`: whose LTO-IR it is to take.
  template <typename Compiler>
  void add_linker(Message& identity, const Compiler& compiler) {
    const std::optional<LinkerFacts>& facts = linker_facts();
    identity["linker"] = facts ? "nvJitLink " + facts->version() : "";
    identity["why_no_linker"] = facts ? facts->cannot_serve(compiler).value_or("") : why_no_linker_;
    identity["linker_takes_no_cache"] = facts && facts->takes_no_cache;
  }

  // Made once for each distinct request that others will make too.
  CompilerReply lto_ir(const CompilerRequest& request, const std::string& key, bool keep) {
    const auto known = made_.find(key);
    if (known != made_.end()) return known->second;
    CompilerReply reply = compile(request);
    if (keep && made_.size() < kMostKeptTexts) made_[key] = reply;
    return reply;
  }

  void link(CompilerReply& reply, const std::vector<std::string>& options) {
    LinkReply linked;
    if (linker())
      linked = linker()->link({reply.lto_ir, options});
    else
      linked.log = why_no_linker_;
    reply.compiled = linked.linked;
    reply.cubin = std::move(linked.cubin);
    reply.log = std::move(linked.log);
  }

  Message identify() {
    try {
      begin_to_ask_linker();
      std::vector<std::string> folders;
      for (const auto& folder : include_folders(nvrtc().library_path())) folders.push_back(folder.string());
      std::vector<std::string> fixed;
      // Asking costs a compilation: known versions are not asked.
      const bool recent = nvrtc().major() >= 13;
      if (recent || nvrtc().accepts_option("--frandom-seed=regtune")) fixed.emplace_back("--frandom-seed=regtune");
      if (nvrtc().has_own_cache()) fixed.emplace_back("--no-cache");
      Message identity{{"name", "NVRTC " + nvrtc().version()},
                       {"library_path", nvrtc().library_path()},
                       {"architectures", nvrtc().supported_architectures()},
                       {"include_folders", folders},
                       {"fixed_options", fixed},
                       {"precompiles_headers", nvrtc().precompiles_headers()}};
      add_linker(identity, nvrtc());
      return identity;
    } catch (const Error& failure) {
      return {{"failure", failure.what()}};
    }
  }

  Message identify_nvcc(const std::string& file) {
    begin_to_ask_linker();
    std::string why_not;
    const std::optional<Nvcc> nvcc = Nvcc::open(file, why_not);
    if (!nvcc) return {{"failure", why_not}};
    Message identity{{"name", "nvcc " + nvcc->version()},
                     {"library_path", nvcc->file()},
                     {"architectures", nvcc->architectures()},
                     {"include_folders", std::vector<std::string>()},  // it knows its own
                     {"fixed_options", std::vector<std::string>()},
                     {"precompiles_headers", false}};
    add_linker(identity, *nvcc);
    return identity;
  }

  static Message identify_ptxas() {
    std::string why_not;
    const std::optional<Ptxas> ptxas = Ptxas::open(why_not);
    if (!ptxas) return {{"failure", why_not}};
    return {{"name", "ptxas " + ptxas->version()},
            {"library_path", ptxas->file()},
            {"architectures", ptxas->architectures()},
            {"include_folders", std::vector<std::string>()},
            {"fixed_options", std::vector<std::string>()},
            {"precompiles_headers", false},
            {"linker", ""},
            {"why_no_linker", "it makes machine code of PTX by itself"},
            {"linker_takes_no_cache", false}};
  }

  std::optional<Nvrtc> nvrtc_;
  std::optional<Worker> linker_asked_;
  bool linker_answered_ = false;
  std::optional<LinkerFacts> linker_facts_;
  std::optional<NvJitLink> linker_;
  bool linker_looked_for_ = false;
  std::string why_no_linker_;
  std::map<std::string, CompilerReply> made_;
  double inherited_mib_ = 0;
};

}  // namespace

Message request_message(const CompilerRequest& request) {
  if (const auto* of_nvcc = std::get_if<NvccRequest>(&request))
    return {{"nvcc", of_nvcc->program},
            {"file", of_nvcc->file},
            {"text", binary(of_nvcc->text)},
            {"options", of_nvcc->options},
            {"name_expressions", of_nvcc->name_expressions},
            {"lto_ir", of_nvcc->lto_ir},
            {"limit_s", of_nvcc->limit_s},
            {"scratch_folder", of_nvcc->scratch_folder}};
  if (const auto* of_ptxas = std::get_if<PtxasRequest>(&request))
    return {{"ptxas", of_ptxas->program},     {"file", of_ptxas->file},
            {"text", binary(of_ptxas->text)}, {"options", of_ptxas->options},
            {"limit_s", of_ptxas->limit_s},   {"scratch_folder", of_ptxas->scratch_folder}};
  const auto& of_nvrtc = std::get<NvrtcRequest>(request);
  return {{"source", binary(of_nvrtc.source)},
          {"file_name", of_nvrtc.file_name},
          {"options", of_nvrtc.options},
          {"name_expressions", of_nvrtc.name_expressions},
          {"lto_ir", of_nvrtc.output == NvrtcOutput::lto_ir},
          {"stand_ins", of_nvrtc.stand_ins},
          {"empty_headers", of_nvrtc.empty_headers}};
}

CompilerRequest request_from(const Message& message) {
  if (message.contains("nvcc"))
    return NvccRequest{message.at("nvcc"),
                       message.at("file"),
                       bytes_of(message.at("text")),
                       message.at("options"),
                       message.at("name_expressions"),
                       message.at("lto_ir"),
                       message.at("limit_s"),
                       message.at("scratch_folder")};
  if (message.contains("ptxas"))
    return PtxasRequest{message.at("ptxas"),   message.at("file"),    bytes_of(message.at("text")),
                        message.at("options"), message.at("limit_s"), message.at("scratch_folder")};
  return NvrtcRequest{bytes_of(message.at("source")),
                      message.at("file_name"),
                      message.at("options"),
                      message.at("name_expressions"),
                      message.at("lto_ir") ? NvrtcOutput::lto_ir : NvrtcOutput::cubin,
                      message.at("stand_ins"),
                      message.at("empty_headers")};
}

ForkServer compile_server() {
  const auto compilers = std::make_shared<Compilers>();
  return ForkServer([compilers](const Message& asked) { return compilers->answer(asked); },
                    [compilers](Channel& channel) {
                      compilers->begin_worker();
                      while (true) {
                        const Channel::Received received = channel.receive();
                        if (received.state != Channel::State::message) return;
                        if (!channel.send(compilers->answer(received.message))) return;
                      }
                    });
}

}  // namespace regtune
