#pragma once
// From compiled codes to the race, as they come: each new code gets its facts and its occupancy, codes that are
// one machine code become one entrant, and what cannot be launched never enters. Each time the race has settled,
// another wave of builds joins: the neighbours of the fast ones among what was not compiled yet, the budgets near them
// that can be written into the source, and the rest.
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collapse.hpp"
#include "measure.hpp"
#include "past_runs.hpp"
#include "record.hpp"
#include "run_log.hpp"
#include "sweep.hpp"

namespace regtune {

class CompiledEntrants final : public EntrantSource {
 public:
  // The sweep was begun with every build of the record's trials but `later`, which are compiled once the race tells
  // which of the first are fast. All references outlive this.
  CompiledEntrants(Sweep& sweep, TuningRecord& record, const GpuLimits& limits, const PastRuns& past, RunLog& log,
                   std::vector<Build> later = {});
  // Which budgets would be recommended if the race ended as it stands; a rough guess where some were launched once.
  using LikelyWatch = std::function<void(const std::vector<Build>&, bool is_rough)>;
  void on_likely_winners(LikelyWatch watch) { on_likely_ = std::move(watch); }

  // The code to compare with: the author's own as soon as it is there, if it can be launched; else all codes are
  // waited for, and choose_reference says. Empty when nothing can be launched. Throws Error(gpu_failed) when that code
  // is in quarantine: it is never passed over in silence.
  std::optional<Entrant> reference();
  std::optional<Entrant> next() override;
  bool has_more(const std::vector<int>& still_racing) override;
  void leads(const std::vector<Lead>& leads) override;
  bool in_source(int id) const override;
  bool own_name(int id) const override;

  // Compiles and waits for the rest, and gives every trial its final outcome: the first variant of each code, by id,
  // carries what the race found out about it.
  void finish(const std::map<int, Outcome>& outcomes);
  const BuildCode& code_of_trial(int id) const;
  Candidate candidate(int id) const;

 private:
  bool receive(Deadline deadline = {});  // false: none is left, or came in time
  void receive_all();                    // of everything, `later` too
  // The waves: true when any code of it may come.
  bool add_neighbours(const std::vector<int>& still_racing);
  bool add_max_registers(const std::vector<int>& still_racing);
  bool add_rest();
  std::vector<Build> least_caps(int id) const;
  bool is_planned(const Build& build) const;
  // Whether a variant of that code is such a one.
  bool any_variant(int id, bool (*is_such)(const Variant&)) const;
  Entrant entrant(int id);
  int take_likeliest();  // of those that wait
  // True when earlier runs have settled what becomes of it: it is not launched.
  bool settled_before(int id);

  Sweep& sweep_;
  TuningRecord& record_;
  RunLog& log_;
  const PastRuns& past_;
  std::map<int, Outcome> settled_;  // by earlier runs
  Collapse collapse_;
  std::vector<BuildCode> codes_;
  std::vector<int> waiting_;  // ids of trials that may enter
  GpuLimits limits_;
  std::vector<Build> later_;
  LikelyWatch on_likely_;
  static constexpr std::size_t kMostMaxRegisters = 64;  // values that are tried around what came until then
  std::size_t max_registers_left_ = kMostMaxRegisters;
};

}  // namespace regtune
