#pragma once
// The command line as its tests ask it: what a tuning is told, what is shown, and why something is refused.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "cli.hpp"
#include "program.hpp"
#include "regtune/error.hpp"

namespace regtune {

using Arguments = std::vector<std::string>;

inline TuneCommand tune_of(const Arguments& arguments) {
  const Command command = parse_command_line(arguments);
  const auto* tune = std::get_if<TuneCommand>(&command.what);
  if (!tune) throw std::runtime_error("not a tuning");
  return *tune;
}

inline std::string shown_text(const Arguments& arguments) {
  const Command command = parse_command_line(arguments);
  const auto* show = std::get_if<ShowText>(&command.what);
  if (!show) throw std::runtime_error("not a text");
  return show->text;
}

inline std::string refusal(const Arguments& arguments) {
  try {
    parse_command_line(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  ADD_FAILURE() << arguments.back() << " was understood";
  return "";
}

}  // namespace regtune
