// docs/errors.md holds every message with which the sources end a run, and no other, and each says what to do: a new
// message without an entry or without a cure fails here, and so does an entry whose message is gone.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>

#include "program.hpp"
#include "thrown_messages.hpp"

namespace regtune {
namespace {

// A command to the reader where a clause begins, or the question to be answered first.
bool says_what_to_do(const std::string& message) {
  static const std::regex command(
      "(^|[;:.,?(] |\\) |, or | and | or "
      ")([Aa]dd|[Bb]uild|[Cc]heck|[Cc]hoose|[Cc]lose|[Cc]onvert|[Cc]ompile|[Cc]opy|[Dd]escribe|[Dd]rop|[Ee]nd|[Gg]ive|"
      "[Ii]nstall|[Kk]eep|[Ll]aunch|[Ll]eave|[Ll]ook|[Mm]ake|[Mm]end|[Mm]ove|[Nn]ame|[Pp]ad|[Pp]ut|[Rr]ecord|[Rr]ename|"
      "[Rr]eport|[Rr]un|[Ss]ave|[Ss]ay|[Ss]et|[Ss]horten|[Tt]ake|[Tt]ry|[Tt]une|[Uu]se|[Ww]rite)\\b|\\?|"
      "(--[a-z-]+|regtune [a-z ]+) (leaves|lists|says|shows|writes) ");
  return std::regex_search(message, command);
}

// What ends with words that the program puts together, and what another message takes up, with the cure at its end.
const std::set<std::string>& messages_completed_later() {
  static const std::set<std::string> all{
      // said of a JSON file: "...; record the run again", "...; --write-baseline writes one"
      "... is ..., which no kernel has", "format ... is not known", "'...' is not a kind of outcome",
      "'...' is not a kind of register budget", "it holds no list", "not a regtune record of format version 1",
      "samples: 'round' and 'ms' differ in length", "the key '...' is missing",
      // "; did you mean ...?", "; choose of n, ceil_div, ...", "add read = ...", "name another file with --cache FILE",
      // "; name one of:"
      "...: unknown key ......", "...: ...: unknown name '...'",
      "...: filter = \"linear\" needs texels that are read as floats, and these are ...; ...",
      "...: ... with this block: .... ...", "...: no kernel (__global__ function) was compiled...",
      "...: no kernel is called '...'... one of:......", "the cache has an empty name: ..."};
  return all;
}

struct Listed {
  bool in_a_table = false;
  std::string cure;  // of a row
};

// The rows of the tables, a message in backquotes and its cure, and the lines of the lists.
std::map<std::string, Listed> listed_messages() {
  std::map<std::string, Listed> found;
  const std::string text = text_of(source_folder() / "docs/errors.md");
  for (std::size_t at = 0; (at = text.find("\n| `", at)) != std::string::npos;) {
    const std::size_t begin = at + 4;
    const std::size_t end = text.find("` | ", begin);
    found[text.substr(begin, end - begin)] = {true, text.substr(end + 4, text.find(" |\n", end) - end - 4)};
    at = end;
  }
  for (std::size_t at = 0; (at = text.find("\n- `", at)) != std::string::npos;) {
    const std::size_t begin = at + 4;
    at = text.find("`\n", begin);
    found[text.substr(begin, at - begin)] = {};
  }
  return found;
}

TEST(ErrorList, IsReadFromTheSources) {
  const auto& thrown = thrown_messages();
  EXPECT_GT(thrown.size(), 300u);
  for (const char* message :
       {"...: is not there; name a cache file", "cannot start a child process: ...; try fewer --jobs",
        "...: expected ..., but this is ...; write for example ...",              // refuse()
        "...: a block of 0 threads; write at least 1, usually a multiple of 32",  // refuse_launch()
        "...: its header ends within a string; write it with numpy.save",         // words around it
        "...:...: not valid TOML: write [name] at the head of a table. --no-config leaves the file unread",
        "...: ...: division by zero; write a divisor of 1 or more",  // out of Lua
        "...: there is no NaN of ...; write oob_fill = \"zeros\"",   // a broken rule
        "cache ... holds run ... as finished already: tune again"})  // of the database
    EXPECT_TRUE(thrown.contains(message)) << message;
}

TEST(ErrorList, SaysInEachMessageWhatToDo) {
  for (const auto& [message, thrown] : thrown_messages()) {
    // A patch that cannot be made ends with the line to write by hand.
    const bool by_hand = message.find("; by hand: ...") != std::string::npos;
    EXPECT_TRUE(by_hand || thrown.is_internal || says_what_to_do(message) ||
                messages_completed_later().contains(message))
        << thrown.file << " throws this message, which does not say what to do: end it with \"; write ...\", say\n"
        << message;
  }
  for (const std::string& message : messages_completed_later())
    EXPECT_TRUE(thrown_messages().contains(message)) << "nobody throws any more:\n" << message;
}

TEST(ErrorList, HoldsEveryMessageWithItsCure) {
  const auto listed = listed_messages();
  for (const auto& [message, thrown] : thrown_messages()) {
    const auto found = listed.find(message);
    const char* where = thrown.says_more_itself ? "as \"- `...`\"" : "as a row, with what to do";
    EXPECT_TRUE(found != listed.end()) << thrown.file << " throws this message: enter it into docs/errors.md " << where
                                       << ":\n"
                                       << message;
    if (found != listed.end() && found->second.in_a_table) {
      EXPECT_GE(found->second.cure.size(), 10u) << message;
    }
  }
}

TEST(ErrorList, HoldsNoMessageThatNobodyThrows) {
  const auto& thrown = thrown_messages();
  for (const auto& [message, listed] : listed_messages())
    EXPECT_TRUE(thrown.contains(message)) << "docs/errors.md lists what no source throws any more:\n" << message;
}

}  // namespace
}  // namespace regtune
