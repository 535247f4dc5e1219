// The commands of a release engineer, as they are typed, on a machine without a GPU: what was recorded on an H200 is
// imported, looked after and exported, and a bundle is made and taken apart again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "program.hpp"
#include "regtune/error.hpp"
#include "scale_kernel.hpp"

namespace regtune {
namespace {

constexpr int kNoGpu = 20;

class Release : public testing::Test {
 protected:
  static std::string record(const std::string& name) { return source_folder() / "tests/data/h200" / (name + ".json"); }

  std::string said(const std::vector<std::string>& arguments, int exit_code = 0) {
    const Ending ending = program_.run(arguments);
    EXPECT_EQ(ending.exit_code, exit_code) << ending.out << ending.err;
    return ending.out + ending.err;
  }

  // As a shell would, with the program's and the cache's places told.
  int shell(const std::string& command) const {
    const std::string line = "cd '" + program_.folder().string() + "' && REGTUNE='" + program_path().string() +
                             "' REGTUNE_CACHE='" + program_.cache().string() + "' " + command +
                             " >stdout.txt 2>stderr.txt </dev/null";
    return std::system(line.c_str());
  }

  Program program_{true};
};

TEST_F(Release, ImportsRecordsAndSaysWhatBecameOfThem) {
  EXPECT_TRUE(holds(said({"import", record("decay_bounded"), record("saxpy")}), "decayBounded(const float*, float*"));
  EXPECT_TRUE(holds(said({"import", record("decay_bounded")}), "there already"));
  EXPECT_TRUE(
      holds(said({"lookup", "decayBounded", "--set", "n=1<<24", "--gpu", "NVIDIA H200"}), "__launch_bounds__(256)"));
  EXPECT_TRUE(holds(said({"db", "list"}), "x __launch_bounds__(256)"));
  EXPECT_TRUE(holds(said({"db", "show", "saxpy"}), "kernels/saxpy.cu, tag "));
  EXPECT_EQ(nlohmann::json::parse(said({"db", "list", "--json"})).size(), 2u);
  EXPECT_TRUE(holds(said({"db", "verify"}), "2 runs, 2 answers, 0 codes: sound"));
  EXPECT_TRUE(holds(said({"db", "prune"}), "removed 0 runs"));
  EXPECT_TRUE(holds(said({"db", "vacuum"}), "KiB now"));
  said({"db", "show", "nothing"}, 1);
  said({"db", "polish"}, static_cast<int>(ErrorKind::usage));
  said({"import", "nothing.db"}, static_cast<int>(ErrorKind::file_not_found));
}

TEST_F(Release, ExportsInEveryFormat) {
  said({"import", record("decay_bounded"), record("matmul_registers")});
  EXPECT_TRUE(holds(said({"export"}), "#define REGTUNE_BOUNDS_decayBounded __launch_bounds__(256)"));
  EXPECT_EQ(said({"export", "-o", "bounds.h", "--quiet"}), "");
  EXPECT_TRUE(holds(text_of(program_.folder() / "bounds.h"), "REGTUNE_BOUNDS_matmulRegisters"));
  EXPECT_TRUE(holds(said({"export", "matmulRegisters", "--format", "cmake"}), "kernels/matmul_registers.cu"));
  const nlohmann::json document = nlohmann::json::parse(said({"export", "decayBounded", "--json", "--quiet"}));
  EXPECT_EQ(document.at("kernels").at(0).at("name"), "decayBounded");
  EXPECT_TRUE(holds(said({"export", "nothing"}, 1), "stored: decayBounded(const float*"));
  EXPECT_TRUE(holds(said({"export", "--format", "sqlite"}, static_cast<int>(ErrorKind::usage)), "-o FILE"));
  EXPECT_TRUE(holds(said({"export", "--gpu", "H100"}, 1), "on H100"));
}

TEST_F(Release, AShippedFileAnswersAloneAndReadOnly) {
  said({"import", record("decay_bounded")});
  said({"export", "-o", "tuned.db"});
  std::filesystem::permissions(program_.folder() / "tuned.db", std::filesystem::perms(0444));
  EXPECT_TRUE(holds(said({"lookup", "decayBounded", "--set", "n=16777216", "--gpu", "H200", "--cache", "tuned.db"}),
                    "x faster than the author's code"));
  EXPECT_TRUE(holds(said({"db", "verify", "tuned.db"}), "sound"));
  EXPECT_TRUE(holds(said({"db", "merge", "tuned.db"}), "there already"));
}

// The kernel as its record has it: what is patched must be the source that was tuned.
TEST_F(Release, PatchesTheSourceThatWasTunedAndNoOther) {
  nlohmann::json run = nlohmann::json::parse(text_of(record("decay_bounded")));
  std::filesystem::create_directory(program_.folder() / "kernels");
  const std::string source = text_of(source_folder() / "kernels/decay_bounded.cu");
  program_.write("kernels/decay_bounded.cu", source);
  const std::string tag = said({"tag", "kernels/decay_bounded.cu"}).substr(0, 32);
  run["source_hash"] = tag;
  program_.write("run.json", run.dump());
  said({"import", "run.json"});
  said({"export", "decayBounded", "--patch", "-o", "bounds.patch"});
  ASSERT_EQ(shell("patch -p1 -i bounds.patch"), 0) << text_of(program_.folder() / "stdout.txt");
  const std::string patched = text_of(program_.folder() / "kernels/decay_bounded.cu");
  EXPECT_TRUE(holds(patched, "__launch_bounds__(256)"));
  EXPECT_EQ(patched.find("__launch_bounds__(256, 5)"), std::string::npos);
  EXPECT_EQ(std::count(patched.begin(), patched.end(), '\n'), std::count(source.begin(), source.end(), '\n'));
  EXPECT_TRUE(holds(said({"export", "decayBounded", "--patch"}, static_cast<int>(ErrorKind::claim_not_held)),
                    "has changed since"));
}

TEST_F(Release, TagsASourceWithAllThatItIncludes) {
  program_.write("k.cu", "#include \"k.h\"\n__global__ void k(float* p) { *p = N; }\n");
  program_.write("k.h", "#define N 1\n");
  const std::string tag = said({"tag", "k.cu"});
  EXPECT_EQ(tag.size(), 33u);
  EXPECT_EQ(said({"tag", "k.cu"}), tag);
  EXPECT_NE(said({"tag", "k.cu", "-D", "X=1"}), tag);
  EXPECT_NE(said({"tag", "k.cu", "--", "--use_fast_math"}), tag);
  program_.write("k.h", "#define N 2\n");
  EXPECT_NE(said({"tag", "k.cu"}), tag);
}

// Sets a variable of the environment for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

// Whether a cap between two that give one code is compiled too depends on which cores were idle: what the code is does
// not, but its ceiling is known of a compiled one alone.
nlohmann::json facts_of_code(const nlohmann::json& trial, bool either_is_inferred) {
  nlohmann::json facts = trial.at("facts");
  if (either_is_inferred)
    for (const char* name : {"budget", "register_ceiling"}) facts.erase(name);
  return facts;
}

bool is_inferred(const nlohmann::json& trial) {
  const nlohmann::json& facts = trial.at("facts");
  return facts.is_object() && facts.at("budget").at("status") == "inferred";
}

TEST_F(Release, ABundleIsTakenApartWithoutAnyCompiler) {
  program_.write("scale.cu", std::string("#include \"factor.h\"\n") + kScale);
  program_.write("factor.h", "#define FACTOR 2.0f\n");
  program_.write("scale.regtune.toml", kScaleLaunch);
  const std::string tag = said({"tag", "scale.cu"}).substr(0, 32);
  const Ending studied = program_.run({"scale.cu", "--arch", "sm_90", "--json", "--quiet"});
  EXPECT_EQ(studied.exit_code, kNoGpu);
  EXPECT_TRUE(holds(said({"bundle", "scale.cu", "--arch", "sm_80,sm_90", "-o", "scale.rtb"}), "sm_90: "));
  for (const char* name : {"scale.cu", "factor.h", "scale.regtune.toml"})
    std::filesystem::remove(program_.folder() / name);

  const Variable nvrtc("REGTUNE_NVRTC", "/nowhere/libnvrtc.so");
  const Variable linker("REGTUNE_NVJITLINK", "/nowhere/libnvJitLink.so");
  const Ending timed = program_.run({"scale.rtb", "--json", "--quiet"});
  EXPECT_EQ(timed.exit_code, kNoGpu) << timed.err;
  const nlohmann::json run = nlohmann::json::parse(timed.out);
  const nlohmann::json plain = nlohmann::json::parse(studied.out);
  EXPECT_EQ(run.at("source_hash"), tag) << "the answer is found by those who have the source";
  EXPECT_EQ(run.at("kernel"), "scale");
  EXPECT_EQ(run.at("compiler"), plain.at("compiler"));
  EXPECT_EQ(run.at("route"), plain.at("route"));
  // The same codes as by compiling here; a bundle has __maxnreg__ besides.
  for (const nlohmann::json& trial : plain.at("trials")) {
    const auto same = std::find_if(run.at("trials").begin(), run.at("trials").end(), [&](const nlohmann::json& other) {
      return other.at("policy") == trial.at("policy") &&
             other.value("choice", nlohmann::json()) == trial.value("choice", nlohmann::json());
    });
    ASSERT_NE(same, run.at("trials").end());
    const bool inferred = is_inferred(*same) || is_inferred(trial);
    EXPECT_EQ(facts_of_code(*same, inferred), facts_of_code(trial, inferred)) << trial.at("budget");
  }
  EXPECT_EQ(program_.run({"scale.rtb", "--arch", "sm_80", "--set", "n=1<<16", "--quiet"}).exit_code, kNoGpu);
  EXPECT_TRUE(
      holds(said({"scale.rtb", "--arch", "sm_75"}, static_cast<int>(ErrorKind::unknown_architecture)), "sm_75"));
  EXPECT_TRUE(holds(said({"scale.rtb", "-D", "X=1"}, static_cast<int>(ErrorKind::usage)), "compiled already"));
}

TEST_F(Release, TheExampleShipsBoundsToNvcc) {
  if (std::system("command -v nvcc >/dev/null || test -x /usr/local/cuda/bin/nvcc") != 0)
    GTEST_SKIP() << "no nvcc here";
  said({"import", record("decay_bounded")});
  const std::string example = source_folder() / "examples/aot/build.sh";
  ASSERT_EQ(shell("sh '" + example + "' out sm_90"), 0) << text_of(program_.folder() / "stderr.txt");
  EXPECT_TRUE(holds(text_of(program_.folder() / "out/tuned_bounds.h"), "REGTUNE_BOUNDS_decayBounded"));
  EXPECT_TRUE(std::filesystem::exists(program_.folder() / "out/decay"));
}

TEST_F(Release, TheExampleTunesInOnePlaceAndLooksUpInAnother) {
  said({"import", record("decay_bounded")});
  const std::string example = source_folder() / "examples/offline/ship.sh";
  ASSERT_EQ(shell("sh '" + example + "' tuned.db"), 0) << text_of(program_.folder() / "stderr.txt");
  const std::string there = source_folder() / "examples/offline/use.sh";
  ASSERT_EQ(shell("sh '" + there + "' tuned.db decayBounded n=16777216 'NVIDIA H200'"), 0)
      << text_of(program_.folder() / "stderr.txt");
  EXPECT_TRUE(holds(text_of(program_.folder() / "stdout.txt"), "__launch_bounds__(256)"));
}

}  // namespace
}  // namespace regtune
