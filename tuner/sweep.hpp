#pragma once
// Compiles the register budgets of one kernel and reads back what each came to. The front end runs once: the
// unit's compiler, NVRTC or nvcc, makes LTO-IR of the text, and nvJitLink makes machine code of that for each cap. That
// it is the code which the plain compiler gives is not assumed: at one cap the two ways are compared before any result
// is handed out, and where they differ, or LTO-IR cannot be had, the plain compiler compiles everything. Builds are
// begun in the order in which they were given; once the compile budget is spent, those that were not begun are
// delivered as skipped.
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cap_plateaus.hpp"
#include "compile.hpp"
#include "compile_budget.hpp"
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
  bool skipped = false;              // not compiled, for want of time; `failure` says so
  bool inferred = false;             // not compiled: the code is that of another cap, see Budget
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
  // Codes that turned out not to be what the plain compiler gives.
  virtual void forget(Way way, const std::string& kernel) = 0;
};

class Sweep {
 public:
  Sweep(CompilePool& pool, CompileUnit unit, CodeKeeper& keeper, CompileBudget budget = CompileBudget());

  // Compiles the source for the first time and returns the code of all its kernels. Throws
  // Error(source_not_compiled) with the compiler's lines.
  const CompiledCode& first();

  const CompiledCode& first_code() const { return first_; }  // after first()

  // From here on for that kernel of first(), in all these builds; each will be delivered once. The author's own code
  // is always compiled.
  // `name`: the kernel's unqualified name in the source.
  void begin(const std::string& kernel, const std::string& name, const GpuLimits& limits,
             const std::vector<Build>& builds);
  // Of a kernel template: its code without bounds or cap under another choice of macros and template arguments, and
  // from here on its name there. Compiled in the server, whose front end then serves every cap of that choice; call
  // it between begin() without builds and add(). Its failure is that of the choice alone.
  BuildCode name_instance(const SourceChoice& choice);
  // More of them, later. How many of them will come as code: 0 when the budget is spent and none is kept.
  std::size_t add(const std::vector<Build>& builds);
  // What that many of them would take, by what the first compilation took; empty where that is not known, because it
  // was kept from an earlier run.
  std::optional<CompileCost> cost_of(const std::vector<Build>& builds) const;

  // Before begin(): no cap is taken to give the code of the caps around it (cap_plateaus.hpp).
  void compile_every_cap() { infers_ = false; }

  // The next result, waiting until `deadline`; empty when none came in time or all are delivered.
  std::optional<BuildCode> next(Deadline deadline = {});
  std::size_t undelivered() const { return undelivered_; }

  // Whether the plain compiler, with the option that a user would type, gives the code that was timed. For what is
  // about to be recommended. Empty when it does; else a sentence with the first difference.
  std::optional<std::string> difference_from_plain(const BuildCode& timed);
  // For what is likely to be recommended: the plain compilations begin, so that there is less to wait for then.
  void begin_plain(const std::vector<Build>& builds);
  // From here on the plain compiler, with a fresh budget; what was begun before is forgotten.
  void fall_back(const std::string& why);

  // "LTO-IR once, then nvJitLink 13.0", or "plain NVRTC: <why>"; of nvcc "nvcc, LTO-IR once, ...", "plain nvcc: ...".
  std::string route() const;
  bool linked() const { return why_plain_.empty(); }
  const std::string& why_plain() const { return why_plain_; }  // empty: linked
  std::string plain() const;                                   // "plain NVRTC"

 private:
  // The caps of one source choice of which some may need no compilation.
  struct CapGroup {
    SourceChoice choice;
    CapPlateaus plateaus;
    std::map<int, int> index_of_cap;        // in builds_
    std::map<int, BuildCode> code_of_step;  // what each came to
  };

  // A cap that a worker is at though nothing asked for it.
  struct Guess {
    int index = 0;
    bool checks = false;  // an inference; else it is likely to be asked for
  };

  // A plain compilation of what is likely to be recommended.
  struct PlainCheck {
    Build build;
    std::optional<CompiledCode> compiled;
  };

  const CompilerIdentity& compiler() const { return pool_.identity(unit_.front_end); }
  Error not_compiled(const std::string& why) const;
  CompileJob plain_job(int id, const Build& build, bool in_server) const;
  CompileJob linked_job(int id, const Build& build, bool only_this_kernel) const;
  std::string kernel_of(const Build& build) const;
  std::vector<int> form_groups(std::size_t first_new);
  void know(int index);
  void advance(CapGroup& group);
  static BuildCode inferred(int cap, const BuildCode& step);
  bool end_guess(int index);
  void drop_guess(Guess guess);
  void feed_idle_workers();
  bool begin_guess();
  void hand_out_inferred();
  void feed();
  bool waits_for_headers(const Build& build) const;
  void submit(int index);
  BuildCode read_back(const Build& build, const CompiledCode& compiled) const;
  void receive(const CompiledCode& compiled);
  void compare();
  // True for a build whose text went through the front end in the server, for all caps: the text without bounds.
  bool shares_text(const Build& build) const;
  // True for a build whose text is that of other caps too, under its source choice.
  static bool is_cap(const Build& build);
  int binding_cap() const;
  void begin_comparison();
  void submit_witnesses(bool linked_too);
  CompiledCode compile_plainly(const Build& build);
  std::size_t workers_for_builds() const;
  void use_plain(const std::string& why);
  Way way() const { return linked() ? Way::linked : Way::plain; }
  // The author's own code is never anything but what the author's own command gives.
  Way way_of(const Build& build) const { return build == Build{AuthorsOwn{}} ? Way::plain : way(); }

  // Ids of jobs: the index of a build, with the generation above it; the witnesses are jobs of their own.
  static constexpr int kGeneration = 1 << 20;
  static constexpr int kPlainWitness = kGeneration - 1;
  static constexpr int kLinkedWitness = kGeneration - 2;
  static constexpr int kFirstPlainCheck = kGeneration / 2;
  int id_of(int index) const { return generation_ * kGeneration + index; }

  CompilePool& pool_;
  CompileUnit unit_;
  CodeKeeper& keeper_;
  CompileBudget budget_;
  std::string why_plain_;  // empty: linked
  CompiledCode first_;
  bool first_is_kept_ = false;      // in the keeper
  bool first_is_measured_ = false;  // its seconds are those of this run
  std::string kernel_;
  // Its mangled names under other choices of macros and template arguments.
  std::vector<std::pair<SourceChoice, std::string>> instances_;
  bool several_kernels_ = false;
  GpuLimits limits_;
  std::vector<Build> builds_;
  bool infers_ = true;
  std::vector<CapGroup> groups_;
  std::set<int> waiting_for_steps_;    // indices of builds
  std::map<int, BuildCode> inferred_;  // by index of build, not handed out yet
  std::vector<Guess> guesses_;         // in the order of their beginning
  std::set<int> deciding_;             // indices of caps for which others wait
  std::deque<int> queue_;              // indices of builds that are not begun
  std::set<int> in_workers_;           // ids of jobs
  std::map<int, BuildCode> ready_;     // by index of build, not handed out yet
  int witness_cap_ = 0;                // where the two ways are compared
  std::optional<CompiledCode> plain_witness_;
  std::optional<CompiledCode> linked_witness_;
  bool trusted_ = true;  // false while the two ways are being compared
  int witness_tries_ = 0;
  std::map<int, PlainCheck> plain_checks_;  // by id of job
  int plain_checks_begun_ = 0;
  int witness_build_ = -1;  // the build that is the linked witness, if any is
  // Headers are precompiled by the first build that has a text of its own; the others of that kind wait for it.
  int primer_ = -1;
  bool headers_are_precompiled_ = false;
  int generation_ = 0;
  std::size_t undelivered_ = 0;
  std::size_t skipped_ = 0;
};

}  // namespace regtune
