// What is installed and packed, used by a project of somebody else's that has nothing but that.
#include <gtest/gtest.h>

#include <filesystem>

#include "program.hpp"
#include "shell.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

std::string quoted(const fs::path& path) {
  return "'" + path.string() + "'";
}

const std::string kCMake = REGTUNE_CMAKE;

class Packaging : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(build_ / "CMakeCache.txt")) GTEST_SKIP() << "the build folder is not on this machine";
  }

  // The command must succeed.
  std::string done(const std::string& command) {
    const Said said = run(command);
    EXPECT_EQ(said.exit_code, 0) << command << "\n" << said.text;
    return said.text;
  }

  const fs::path build_ = REGTUNE_BUILD_FOLDER;
  const std::string sources_ = source_folder();
  const std::string cache_ = sources_ + "/tests/data/caches/version_1.db";
  const TemporaryFolder folder_;
};

TEST_F(Packaging, AnOutsideProjectNeedsOnlyWhatIsInstalledWhereverItWasMovedTo) {
  const fs::path prefix = folder_.path() / "in stalled";
  done("'" + kCMake + "' --install " + quoted(build_) + " --prefix " + quoted(folder_.path() / "first"));
  fs::rename(folder_.path() / "first", prefix);

  const fs::path outside = folder_.path() / "outside";
  const std::string in_sanitized_builds =
      " -DCMAKE_C_FLAGS=" REGTUNE_SANITIZE_FLAGS " -DCMAKE_CXX_FLAGS=" REGTUNE_SANITIZE_FLAGS;
  done("'" + kCMake + "' -G Ninja -S '" + sources_ + "/tests/outside' -B " + quoted(outside) +
       " -DCMAKE_PREFIX_PATH=" + quoted(prefix) + " -DOUTSIDE_CACHE='" + cache_ + "'" + in_sanitized_builds);
  const std::string build = "'" + kCMake + "' --build " + quoted(outside);
  const std::string built = done(build);
  EXPECT_TRUE(holds(built, "2 codes checked, no breach"));  // CMAKE_CUDA_ARCHITECTURES names two
  EXPECT_FALSE(holds(done(build), "regtune check"));        // not again, for nothing changed
  const std::string found = "transpose(float*): __launch_bounds__(128, 8)\n";
  EXPECT_EQ(done(quoted(outside / "outside") + " '" + cache_ + "'"), found);
  EXPECT_EQ(done(quoted(outside / "outside_static") + " '" + cache_ + "'"), found);

  const Said breach = run(build + " --target breach");
  EXPECT_NE(breach.exit_code, 0);
  EXPECT_TRUE(holds(breach.text, "takes 10 registers, and 4 are allowed"));
  done(build + " --target analysis");
  EXPECT_TRUE(holds(text_of(outside / "regtune/analysis/scale.txt"), "author's code"));
  if (run(quoted(prefix / "bin/regtune") + " export --help | grep -q -- --format").exit_code == 0)
    done(build + " --target exported");
}

TEST_F(Packaging, TheExampleLibraryIsBuiltAndSaysThatThereIsNoGpu) {
  const fs::path prefix = folder_.path() / "installed";
  done("'" + kCMake + "' --install " + quoted(build_) + " --prefix " + quoted(prefix));
  const fs::path example = folder_.path() / "example";
  done("'" + kCMake + "' -G Ninja -S '" + sources_ + "/examples/library' -B " + quoted(example) +
       " -DCMAKE_PREFIX_PATH=" + quoted(prefix) +
       " -DCMAKE_C_FLAGS='-Wall -Wextra -Werror " REGTUNE_SANITIZE_FLAGS "'");
  done("'" + kCMake + "' --build " + quoted(example));
  const Said said = run("CUDA_VISIBLE_DEVICES= " + quoted(example / "decay_program") + " '" + sources_ +
                        "/kernels/decay_wide.cu' 1024");
  EXPECT_EQ(said.exit_code, 20);
  EXPECT_EQ(said.text, "decay: there is no GPU on this machine\n");
}

TEST_F(Packaging, CProgramsFindTheLibraryByPkgConfig) {
  const fs::path prefix = folder_.path() / "installed";
  const std::string install = "'" + kCMake + "' --install " + quoted(build_) + " --prefix " + quoted(prefix);
  done(install + " --component library && " + install + " --component dev");
  const std::string pkg_config =
      "PKG_CONFIG_PATH=" + quoted(prefix / "lib/pkgconfig") + ":" + quoted(prefix / "lib64/pkgconfig") + " pkg-config ";
  if (run("command -v pkg-config").exit_code != 0) GTEST_SKIP() << "pkg-config is not installed";
  const fs::path program = folder_.path() / "lookup";
  done("cc -std=c11 -Wall -Wextra -Werror " REGTUNE_SANITIZE_FLAGS " '" + sources_ + "/examples/library/lookup.c' $(" +
       pkg_config + "--cflags --libs regtune-db) -Wl,-rpath,$(" + pkg_config + "--variable=libdir regtune-db) -o " +
       quoted(program));
  EXPECT_EQ(done("REGTUNE_CACHE='" + cache_ + "' " + quoted(program) + " transpose n=4096 'NVIDIA H200'"),
            "transpose(float*) improved: __launch_bounds__(128, 8), 1.120x (exact)\n");
  EXPECT_FALSE(fs::exists(prefix / "bin"));  // the program is a component of its own
}

TEST_F(Packaging, EachDebHoldsItsComponent) {
  if (run("command -v dpkg-deb").exit_code != 0) GTEST_SKIP() << "no dpkg-deb here";
  const fs::path cpack = fs::path(kCMake).parent_path() / "cpack";
  done(quoted(cpack) + " -G DEB --config " + quoted(build_ / "CPackConfig.cmake") + " -B " + quoted(folder_.path()));
  const auto deb = [&](const std::string& package) {
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      if (entry.path().filename().string().starts_with(package + "_") && entry.path().extension() == ".deb")
        return entry.path();
    ADD_FAILURE() << "no package " << package;
    return fs::path();
  };
  const std::string program = done("dpkg-deb -c " + quoted(deb("regtune")));
  EXPECT_TRUE(holds(program, " ./usr/bin/regtune\n"));
  EXPECT_TRUE(holds(program, " ./usr/share/doc/regtune/copyright\n"));
  EXPECT_TRUE(holds(program, " ./usr/share/man/man1/regtune.1\n"));
  for (const char* completion :
       {"bash-completion/completions/regtune", "zsh/site-functions/_regtune", "fish/vendor_completions.d/regtune.fish"})
    EXPECT_TRUE(holds(program, std::string(" ./usr/share/") + completion + "\n"));
  EXPECT_FALSE(holds(program, "libregtune"));
  const std::string library = done("dpkg-deb -c " + quoted(deb("libregtune0")));
  EXPECT_TRUE(holds(library, "/libregtune_db.so.0 -> libregtune_db.so.0.1.0\n"));
  EXPECT_TRUE(holds(library, "/libregtune_jit.so.0 -> libregtune_jit.so.0.1.0\n"));
  EXPECT_FALSE(holds(library, "libregtune_db.so -> "));
  EXPECT_FALSE(holds(library, "/usr/include"));
  const std::string dev = done("dpkg-deb -c " + quoted(deb("libregtune-dev")));
  for (const char* file :
       {"/libregtune_db.so -> libregtune_db.so.0\n", "/libregtune_db.a\n", " ./usr/include/regtune.h\n",
        " ./usr/include/regtune_jit.h\n", "/pkgconfig/regtune-jit.pc\n", " ./usr/include/regtune/lookup.hpp\n",
        "/cmake/regtune/regtuneConfig.cmake\n", "/pkgconfig/regtune-db.pc\n"})
    EXPECT_TRUE(holds(dev, file));
  EXPECT_FALSE(holds(dev, "/usr/bin/"));
  EXPECT_TRUE(holds(done("dpkg-deb -f " + quoted(deb("libregtune-dev")) + " Depends"), "libregtune0 (= 0.1.0)"));
}

TEST_F(Packaging, PipInstallsThePythonModule) {
  if (run("python3 -m pip --version").exit_code != 0 || run("python3 -c 'import setuptools, wheel'").exit_code != 0)
    GTEST_SKIP() << "python3 has no pip, setuptools or wheel here";
  // A copy: pip builds where the sources are.
  const fs::path module = folder_.path() / "module";
  const fs::path target = folder_.path() / "target";
  fs::copy(sources_ + "/db/python", module, fs::copy_options::recursive);
  done("python3 -m pip install --no-index --no-build-isolation --no-deps --target " + quoted(target) + " " +
       quoted(module));
  EXPECT_TRUE(fs::exists(target / "regtune/py.typed"));
  if (*REGTUNE_SANITIZE_FLAGS) return;  // the run-time would have to be in Python itself
  fs::copy_file(build_ / "libregtune_db.so.0", target / "regtune/libregtune_db.so.0");  // as a wheel may carry it
  EXPECT_EQ(done("cd / && env -u REGTUNE_LIBRARY PYTHONPATH=" + quoted(target) +
                 " python3 -c 'import regtune; print(regtune.lookup(\"transpose\", {\"n\": 4096}, \"H200\", \"" +
                 cache_ + "\").bounds)'"),
            "(128, 8)\n");
}

}  // namespace
}  // namespace regtune
