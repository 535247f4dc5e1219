#pragma once
// Which stored results may stand in for launches of a program: those that were measured in the same image of it, at the
// same shape and integers, on this model of GPU, with all outputs compared, and whose code is stored. Reads the cache,
// and never writes it.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "captured_text.hpp"
#include "record.hpp"
#include "store.hpp"

namespace regtune {

struct TunedLaunch {
  std::string cubin;
  std::string entry;                   // mangled name of the kernel in it
  std::vector<std::string> constants;  // variables of its module that the program's own values go into
  double speedup = 1;                  // as it was measured
  bool from_ptx = false;               // it was made of PTX
};

class TunedLaunches {
 public:
  // Opens it. Throws Error(cache_unusable); a cache that is not there has nothing.
  explicit TunedLaunches(std::filesystem::path cache);

  // Whether anything is stored that could serve some launch of the kernel, and where the integers stand by which its
  // launches differ. "": nothing known of the image, nothing serves.
  std::optional<std::vector<IntegerPlace>> integers(const std::string& kernel, const std::string& image,
                                                    const std::string& gpu);

  // Empty where the program's own code is best, or nothing serves; `why_not` is then for the person.
  std::optional<TunedLaunch> find(const std::string& kernel, const std::string& image, const std::string& gpu,
                                  const LaunchShape& shape, std::string_view parameter_block, std::string& why_not);

 private:
  struct Stored {
    TuningRecord record;
    CapturedFacts facts;
  };
  using Question = std::tuple<std::string, std::string, std::string>;  // kernel, image, GPU
  const std::vector<Stored>& stored(const std::string& kernel, const std::string& image, const std::string& gpu);

  std::filesystem::path cache_;
  std::optional<Store> store_;                        // empty: there is none
  std::map<Question, std::vector<Stored>> answered_;  // a program waits for each answer
};

}  // namespace regtune
