// Built with the exported header, by the compiler of the host: there the macro stands for what stands otherwise.
#include "bounds.h"

#if !defined(REGTUNE_BOUNDS_transpose) || !defined(REGTUNE_ELSE_transpose)
#  error "the header has no bounds of transpose"
#endif

int main() {}
