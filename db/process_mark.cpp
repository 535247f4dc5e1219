#include "process_mark.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace regtune {
namespace {

std::string first_word_of(const char* file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

// Ids mean something within one boot and one namespace only: containers have their own.
std::string place() {
  std::array<char, 64> space{};
  const ssize_t length = readlink("/proc/self/ns/pid", space.data(), space.size() - 1);
  return first_word_of("/proc/sys/kernel/random/boot_id") + " " +
         std::string(space.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
}

// Field 22 of /proc/PID/stat, in clock ticks since the boot; empty when there is no such process, or it is a zombie.
// The second field is the program's name in parentheses, which may hold anything.
std::string start_of(const std::string& pid) {
  std::ifstream in("/proc/" + pid + "/stat");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return "";
  std::istringstream fields(text.substr(name_end + 1));
  const std::vector<std::string> words{std::istream_iterator<std::string>(fields), {}};
  if (words.size() < 20 || words[0] == "Z" || words[0] == "X") return "";
  return words[19];
}

}  // namespace

std::string process_mark() {
  const std::string pid = std::to_string(getpid());
  return place() + " " + pid + " " + start_of(pid);
}

Life life_of(const std::string& mark) {
  const std::string here = place() + " ";
  if (here.size() < 20 || !mark.starts_with(here)) return Life::unknown;
  std::istringstream rest(mark.substr(here.size()));
  std::string pid, start;
  if (!(rest >> pid >> start) || !std::all_of(pid.begin(), pid.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return Life::unknown;
  return start_of(pid) == start ? Life::alive : Life::ended;
}

std::string process_id_in(const std::string& mark) {
  std::istringstream words(mark);
  const std::vector<std::string> all{std::istream_iterator<std::string>(words), {}};
  return all.size() < 2 ? "" : all[all.size() - 2];
}

}  // namespace regtune
