#pragma once
// How a watched program finds regtune.
namespace regtune {

// Names the socket. Set by regtune for the programs it starts; without it the injected library does nothing.
inline constexpr const char* kSocketVariable = "REGTUNE_RUN_SOCKET";

}  // namespace regtune
