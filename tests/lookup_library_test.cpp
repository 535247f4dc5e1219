// The shared library as others get it: what it shows, what it needs, and that C programs can use it.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "shell.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

const std::string kLibrary = REGTUNE_DB_LIBRARY;
const std::string kSource = REGTUNE_SOURCE_FOLDER;
const std::string kCache = kSource + "/tests/data/caches/version_1.db";

TEST(LookupLibrary, ShowsItsTwoInterfacesAndNothingElse) {
  const Said names = run("nm -D --defined-only --demangle=auto '" + kLibrary + "'");
  ASSERT_EQ(names.exit_code, 0) << names.text;
  std::istringstream lines(names.text);
  std::set<std::string> c_functions;
  int members = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string address, kind, name;
    words >> address >> kind;
    std::getline(words >> std::ws, name);
    name = name.substr(0, name.find("@@"));
    if (kind == "A") continue;  // the version itself
    if (name.starts_with("regtune::Cache::")) {
      ++members;
      continue;
    }
    c_functions.insert(name);
  }
  EXPECT_EQ(c_functions, (std::set<std::string>{"regtune_open", "regtune_close", "regtune_find", "regtune_problem",
                                                "regtune_status_text", "regtune_match_text", "regtune_version"}));
  EXPECT_GE(members, 7);
}

TEST(LookupLibrary, NeedsSqliteAndTheSystemOnly) {
  const Said needed = run("readelf -d '" + kLibrary + "' | grep -E 'NEEDED|SONAME'");
  ASSERT_EQ(needed.exit_code, 0);
  EXPECT_NE(needed.text.find("libregtune_db.so.0"), std::string::npos) << needed.text;
  EXPECT_NE(needed.text.find("libsqlite3.so"), std::string::npos) << needed.text;
  std::istringstream lines(needed.text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("NEEDED") == std::string::npos) continue;
    bool known = false;
    for (const char* name : {"libsqlite3.so", "libc.so", "libm.so", "libstdc++.so", "libgcc_s.so", "libasan.so",
                             "libubsan.so", "libtsan.so", "ld-linux"})
      known = known || line.find(name) != std::string::npos;
    EXPECT_TRUE(known) << line;
  }
}

TEST(LookupLibrary, ServesCProgramsAsItsHeaderSays) {
  const Said said = run(std::string("'") + REGTUNE_C_API_TEST + "' '" + kCache + "'");
  EXPECT_EQ(said.exit_code, 0) << said.text;
}

// The public headers alone, as they are installed: nothing of theirs is private.
TEST(LookupLibrary, PublicHeadersNeedNoPrivateOnes) {
  const TemporaryFolder folder;
  folder.write("c.c", "#include <regtune.h>\nint main(void) { return 0; }\n");
  folder.write("cc.cpp", "#include <regtune.h>\n#include <regtune/lookup.hpp>\nint main() {}\n");
  const std::string include = " -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I '" + kSource + "/db/include' ";
  const Said c = run("cc -std=c11" + include + (folder.path() / "c.c").string());
  EXPECT_EQ(c.exit_code, 0) << c.text;
  const Said cpp = run("c++ -std=c++20" + include + (folder.path() / "cc.cpp").string());
  EXPECT_EQ(cpp.exit_code, 0) << cpp.text;
}

TEST(LookupLibrary, AnOutsideProgramLooksUpAndPrintsTheBounds) {
  const TemporaryFolder folder;
  const std::string source = kSource + "/examples/library/lookup.c";
  std::ifstream in(source);
  int lines = 0;
  for (std::string line; std::getline(in, line);) ++lines;
  EXPECT_LE(lines, 30);
  const std::string libraries = kLibrary.substr(0, kLibrary.rfind('/'));
  const std::string program = (folder.path() / "lookup").string();
  const Said built =
      run("cc -std=c11 -Wall -Wextra -Werror " REGTUNE_SANITIZE_FLAGS " -I '" + kSource + "/db/include' '" + source +
          "' -L '" + libraries + "' -lregtune_db -Wl,-rpath,'" + libraries + "' -o '" + program + "'");
  ASSERT_EQ(built.exit_code, 0) << built.text;
  const Said found = run("REGTUNE_CACHE='" + kCache + "' '" + program + "' transpose n=4096 'NVIDIA H200'");
  EXPECT_EQ(found.exit_code, 0) << found.text;
  EXPECT_EQ(found.text, "transpose(float*) improved: __launch_bounds__(128, 8), 1.120x (exact)\n");
  const Said missed = run("REGTUNE_CACHE='" + kCache + "' '" + program + "' nothing n=4096 'NVIDIA H200'");
  EXPECT_EQ(missed.exit_code, 1);
  EXPECT_NE(missed.text.find("nothing is stored for this kernel"), std::string::npos) << missed.text;
}

}  // namespace
}  // namespace regtune
