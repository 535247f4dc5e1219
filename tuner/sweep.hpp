#pragma once
// Compiles the register budgets of one kernel and reads back what each came to. The front end runs once: NVRTC
// makes LTO-IR of the text, and nvJitLink makes machine code of that for each cap. That it is the code which
// plain NVRTC gives is not assumed: at one cap the two ways are compared before any result is handed out, and
// where they differ, or LTO-IR cannot be had, plain NVRTC compiles everything.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compile.hpp"
#include "record.hpp"
#include "regtune/error.hpp"
#include "source.hpp"

namespace regtune {

// What one build came to.
struct BuildCode {
  Build build;
  std::string kernel;  // mangled, as this code calls it
  std::string cubin;
  std::string log;
  std::optional<StaticFacts> facts;  // without occupancy, which depends on the launch; empty: did not compile
  std::string failure;               // why it did not
  bool kept = false;                 // from an earlier run
};

// How machine code is made; the codes of one way answer for no other.
enum class Way { plain, linked };

// Where codes of earlier runs are kept.
class CodeKeeper {
 public:
  virtual ~CodeKeeper() = default;
  virtual std::optional<CompiledCode> first(Way way) = 0;
  virtual void keep_first(Way way, const CompiledCode& code) = 0;
  virtual std::optional<BuildCode> find(Way way, const std::string& kernel, const Build& build) = 0;
  virtual void keep(Way way, const std::string& kernel, const BuildCode& code) = 0;
  // Codes that turned out not to be what plain NVRTC gives.
  virtual void forget(Way way, const std::string& kernel) = 0;
};

class Sweep {
 public:
  Sweep(CompilePool& pool, CompileUnit unit, CodeKeeper& keeper);

  // Compiles the source for the first time and returns the code of all its kernels. Throws
  // Error(source_not_compiled) with the compiler's lines.
  const CompiledCode& first();

  // From here on for that kernel of first(), in all these builds; each will be delivered once.
  // `name`: the kernel's unqualified name in the source.
  void begin(const std::string& kernel, const std::string& name, const GpuLimits& limits,
             const std::vector<Build>& builds);
  // Of a kernel template: its code without bounds or cap under another choice of macros and template arguments, and
  // from here on its name there. Compiled in the server, whose front end then serves every cap of that choice; call
  // it between begin() without builds and add(). Its failure is that of the choice alone.
  BuildCode name_instance(const SourceChoice& choice);
  // More builds, later.
  void add(const std::vector<Build>& builds);

  // The next result, waiting until `deadline`; empty when none came in time or all are delivered.
  std::optional<BuildCode> next(Deadline deadline = {});
  std::size_t undelivered() const { return undelivered_; }

  // Whether plain NVRTC, with the option that a user would type, gives the code that was timed. For what is
  // about to be recommended. Empty when it does; else a sentence with the first difference.
  std::optional<std::string> difference_from_plain(const BuildCode& timed);
  // From here on plain NVRTC; what was begun is compiled and delivered again.
  void fall_back(const std::string& why);

  // "LTO-IR once, then nvJitLink 13.0", or "plain NVRTC: <why>".
  std::string route() const;
  bool linked() const { return why_plain_.empty(); }

 private:
  Error not_compiled(const std::string& why) const;
  CompileJob plain_job(int id, const Build& build, bool in_server) const;
  CompileJob linked_job(int id, const Build& build, bool only_this_kernel) const;
  std::string kernel_of(const Build& build) const;
  void submit(int index);
  BuildCode read_back(const Build& build, const CompiledCode& compiled) const;
  void receive(const CompiledCode& compiled);
  void compare();
  // True for a build whose text went through the front end in the server, for all caps: the text without bounds.
  bool shares_text(const Build& build) const;
  std::string header_folder(NvrtcOutput output) const;
  void submit_witnesses();
  Way way() const { return linked() ? Way::linked : Way::plain; }
  // The author's own code is never anything but what the author's own command gives.
  Way way_of(const Build& build) const { return build == Build{AuthorsOwn{}} ? Way::plain : way(); }

  // Ids of jobs: the index of a build, with the generation above it; the witnesses are jobs of their own.
  static constexpr int kGeneration = 1 << 20;
  static constexpr int kPlainWitness = kGeneration - 1;
  static constexpr int kLinkedWitness = kGeneration - 2;

  CompilePool& pool_;
  CompileUnit unit_;
  CodeKeeper& keeper_;
  std::string why_plain_;  // empty: linked
  CompiledCode first_;
  bool first_is_kept_ = false;  // in the keeper
  std::string kernel_;
  // Its mangled names under other choices of macros and template arguments.
  std::vector<std::pair<SourceChoice, std::string>> instances_;
  bool several_kernels_ = false;
  GpuLimits limits_;
  std::vector<Build> builds_;
  std::map<int, BuildCode> ready_;  // by index of build, not handed out yet
  int witness_cap_ = 0;             // where the two ways are compared
  std::optional<CompiledCode> plain_witness_;
  std::optional<CompiledCode> linked_witness_;
  bool trusted_ = true;  // false while the two ways are being compared
  int witness_tries_ = 0;
  // Headers are precompiled by the first build that has a text of its own; the others of that kind wait for it.
  int primer_ = -1;
  bool headers_are_precompiled_ = false;
  std::vector<int> waiting_for_headers_;
  int generation_ = 0;
  std::size_t undelivered_ = 0;
};

}  // namespace regtune
