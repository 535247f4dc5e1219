#pragma once
// How a watched program finds regtune, and what it is to do beside counting.
namespace regtune {

// Names the socket. Set by regtune for the programs it starts; without it the injected library does nothing.
inline constexpr const char* kSocketVariable = "REGTUNE_RUN_SOCKET";

// Set where regtune may ask for the images that kernels were loaded from.
inline constexpr const char* kImagesVariable = "REGTUNE_RUN_IMAGES";

}  // namespace regtune
