#pragma once
// Runs the built program as a user does: in a scratch folder, with a cache of its own, and keeps all that it says.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "temporary_folder.hpp"

namespace regtune {

// Where this project's sources are; a test program that was carried to another machine is told.
inline std::filesystem::path source_folder() {
  const char* told = std::getenv("REGTUNE_SOURCE");
  return told ? told : REGTUNE_SOURCE_FOLDER;
}

inline std::filesystem::path program_path() {
  const char* told = std::getenv("REGTUNE_PROGRAM_PATH");
  return std::filesystem::absolute(told ? told : REGTUNE_PROGRAM);
}

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Ending {
  int exit_code = -1;  // 128 + signal where one ended it
  std::string out;
  std::string err;
};

class Program {
 public:
  // `hide_gpu`: what a machine without a GPU does, on any machine.
  explicit Program(bool hide_gpu) : hide_gpu_(hide_gpu) {}

  const std::filesystem::path& folder() const { return folder_.path(); }
  std::filesystem::path cache() const { return folder() / "cache.db"; }
  void write(const std::string& name, const std::string& text) const { folder_.write(name, text); }

  Ending run(const std::vector<std::string>& arguments) const { return run("", program_path(), arguments); }
  // What it reads from standard input is that file, of the folder.
  Ending run_on(const std::string& input, const std::vector<std::string>& arguments) const {
    return run("", program_path(), arguments, quoted(input));
  }

  // As a user who owns nothing here and may write nothing: root ignores permissions.
  Ending run_as_nobody(const std::vector<std::string>& arguments) const {
    const std::filesystem::path copy = folder() / "regtune";
    std::filesystem::copy_file(program_path(), copy, std::filesystem::copy_options::skip_existing);
    std::filesystem::permissions(copy, std::filesystem::perms(0755));
    std::filesystem::permissions(folder(), std::filesystem::perms(0755));
    return run(geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "", copy, arguments);
  }

  // Starts it as the leader of a process group, so that it and its children can be killed as one.
  pid_t start(std::vector<std::string> arguments) const {
    const pid_t child = fork();
    if (child != 0) {
      setpgid(child, child);
      return child;
    }
    setpgid(0, 0);
    arguments.insert(arguments.begin(), program_path().string());
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    setenv("REGTUNE_CACHE", cache().c_str(), 1);
    setenv("XDG_CONFIG_HOME", folder().c_str(), 1);  // and not that of who runs the tests
    if (hide_gpu_) setenv("CUDA_VISIBLE_DEVICES", "", 1);
    const bool ready = chdir(folder().c_str()) == 0 && std::freopen("stdout.txt", "w", stdout) != nullptr &&
                       std::freopen("stderr.txt", "w", stderr) != nullptr;
    if (ready) execv(words.front(), words.data());
    _exit(127);
  }

  // Everything in the folder but what run() leaves.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      const std::string name = entry.path().filename();
      if (name != "stdout.txt" && name != "stderr.txt") names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  Ending run(const std::string& prefix, const std::filesystem::path& program, const std::vector<std::string>& arguments,
             const std::string& input = "/dev/null") const {
    std::string command =
        "cd " + quoted(folder()) + " && REGTUNE_CACHE=" + quoted(cache()) + " XDG_CONFIG_HOME=" + quoted(folder());
    if (hide_gpu_) command += " CUDA_VISIBLE_DEVICES=";
    command += " timeout 300 " + prefix + quoted(program);
    for (const std::string& argument : arguments) command += " " + quoted(argument);
    const int status = std::system((command + " >stdout.txt 2>stderr.txt <" + input).c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text_of(folder() / "stdout.txt"),
            text_of(folder() / "stderr.txt")};
  }

  static std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char letter : text) result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return result + "'";
  }

  bool hide_gpu_;
  TemporaryFolder folder_;
};

inline testing::AssertionResult holds(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no '" << part << "' in:\n" << text;
}

}  // namespace regtune
