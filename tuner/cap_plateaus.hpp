#pragma once
// Which register caps need no compilation of their own. Once a cap no longer binds, the compiler gives one code for
// all that follow, up to the next cap at which its heuristics turn: a plateau. Caps on coarse steps are compiled first
// and the steps between them where they are needed; where three steps in a row give one code, the caps between them are
// taken to give it too, and the plateau's edges are found by halving. That is measured, not proven (DESIGN.md, "Fewer
// links"): whoever uses it says which caps it was. Between steps that differ and belong to no plateau every cap is
// compiled, for there neighbours differ without order. What is asked for depends on the codes alone and not on the
// order in which they come; what cores that would idle may do besides (guesses) does not change it, but where a guess
// contradicts an inference: then every cap that was to have that code is compiled.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace regtune {

class CapPlateaus {
 public:
  struct ToCompile {
    int cap = 0;
    bool decides = false;  // its code says about others whether they are to be compiled: the sooner the better
  };

  enum class Start { coarse_steps, all_steps };
  // `caps`: in ascending order, each once; requires has_all_steps(caps). `start`: the steps to be compiled in any case.
  // `binding_up_to`: caps up to that are all compiled too, since codes differ there anyway and none of them need wait.
  explicit CapPlateaus(std::vector<int> caps, Start start = Start::coarse_steps, int binding_up_to = 0);

  // Whether no step of 8 is missing between the first and the last of them, so that no two steps next to each other are
  // further apart than those the rule was measured with.
  static bool has_all_steps(const std::vector<int>& caps);
  // The coarse step: compiled in any case.
  static int step_at_or_below(int cap);
  // Steps, coarse or not, are what a settled cap is like.
  bool is_step(int cap) const;

  // What a cap came to, in any order, asked for or not. `code`: its identity; empty: it did not compile, and is like no
  // other.
  void add(int cap, const std::string& code, int registers_per_thread);

  // Caps which are known by now to need a compilation; each is told once, though it may have been told as a guess or,
  // before a guess contradicted that, as settled.
  std::vector<ToCompile> take_to_compile();

  // Caps which are known by now to need none, each with a compiled step whose code it has; each is told once.
  std::vector<std::pair<int, int>> take_settled();

  // Guesses: what a core may compile that has nothing to do. Each cap is told once. A cap that is likely to be asked
  // for, those first on which others depend; empty when all of these are under way, and while nothing is known.
  std::optional<int> take_likely();
  // A cap that is inferred or may come to be, as far from every compiled one as can be: its code checks the others'.
  std::optional<int> take_unchecked();

 private:
  // What two caps next to each other in a list have to do with each other.
  enum class Relation { open, equal, different };
  struct Code {
    std::string code;
    int registers_per_thread = 0;
  };
  // The end of a cell, and the compiled step with its code; 0: not on a plateau.
  struct End {
    int cap = 0;
    int plateau_step = 0;
  };

  void decide_half_step(std::size_t coarse);
  void decide_cell(std::size_t lower_step);
  void ask_at_quarters(End low, End high);
  void halve(End low, End high);
  Relation relation(const std::vector<int>& list, std::size_t lower) const;
  Relation ends_plateau(std::size_t step, int direction) const;
  const Code* code_at(int cap) const;
  std::optional<int> likely_cap() const;
  std::optional<int> unchecked_cap() const;
  bool is_begun(int cap) const;
  bool contradicted(int low, int high, int step) const;
  void distrust(int step);
  bool same(int cap, int step) const;
  std::vector<int> between(int low, int high) const;
  void ask(int cap, bool decides);
  void ask_all(int low, int high);
  void settle(int low, int high, int step);

  std::vector<int> caps_;
  std::vector<int> coarse_;        // the ends and the multiples of 16
  std::vector<int> steps_;         // the ends and the multiples of 8
  std::map<int, Code> known_;      // compiled
  std::map<int, int> settled_as_;  // the step whose code a settled cap has
  std::set<int> asked_;
  std::set<int> guessed_;
  std::set<std::string> distrusted_;  // codes of which an inference was contradicted
  std::vector<ToCompile> to_compile_;
  std::vector<std::pair<int, int>> settled_;
};

}  // namespace regtune
