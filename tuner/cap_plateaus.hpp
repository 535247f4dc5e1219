#pragma once
// Which register caps need no compilation of their own. Once a cap no longer binds, the compiler gives one code for
// all that follow, up to the next cap at which its heuristics turn: a plateau. Caps on the steps in which the hardware
// allocates registers are compiled first; where three steps in a row give one code, the caps between them are taken
// to give it too. That is measured, not proven (DESIGN.md, "Fewer links"): whoever uses it says which caps it
// was. Between steps that differ every cap is compiled, for there neighbours differ without order.
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace regtune {

class CapPlateaus {
 public:
  // `caps`: in ascending order, each once.
  explicit CapPlateaus(std::vector<int> caps);

  // Whether no step is missing between the first and the last of them, so that no two steps next to each other are
  // further apart than those the rule was measured with.
  static bool has_all_steps(const std::vector<int>& caps);
  static int step_at_or_below(int cap);
  bool is_step(int cap) const;

  // To be compiled in any case, lowest first.
  const std::vector<int>& steps() const { return steps_; }

  // What the cap of a step came to, in any order. `code`: its identity; empty: it did not compile, and
  // is like no other.
  void add(int step, const std::string& code);

  // Caps which are known by now to need a compilation; each is told once.
  std::vector<int> take_to_compile();

  // Caps which are known by now to need none, each with the step below it, whose code it has; each is told once.
  std::vector<std::pair<int, int>> take_settled();

 private:
  // Between two steps next to each other.
  enum class Cell { open, equal, different };
  Cell cell(std::size_t lower_step) const;
  void decide(std::size_t lower_step);

  std::vector<int> caps_;
  std::vector<int> steps_;
  std::map<int, std::string> code_of_;  // by step
  std::vector<bool> decided_;           // by the cell's lower step
  std::vector<int> to_compile_;
  std::vector<std::pair<int, int>> settled_;
};

}  // namespace regtune
