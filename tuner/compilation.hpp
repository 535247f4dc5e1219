#pragma once
// Which compiler takes an author's file. NVRTC does, unless the user says otherwise; what NVRTC refuses nvcc compiles,
// where there is one, and that is told. PTX is ptxas's alone. It judges by whether a compiler takes the file, never by
// what comes out.
#include <memory>
#include <optional>
#include <string>

#include "compile.hpp"
#include "compile_budget.hpp"
#include "description.hpp"
#include "kept_codes.hpp"
#include "progress.hpp"
#include "regtune/error.hpp"
#include "source.hpp"
#include "store.hpp"
#include "sweep.hpp"

namespace regtune {

// What the user says of it.
struct CompilerWish {
  std::optional<FrontEnd> only;  // empty: NVRTC, and nvcc where NVRTC does not take the file
  std::string nvcc_file;         // which nvcc; empty: the first that is found
};

struct CompilationRequest {
  const Source& source;
  const LaunchDescription& description;
  std::string architecture;
  std::optional<FrontEnd> only;
};

// The compiler that is wanted first. Throws Error(usage) where the user wants PTX compiled by another than ptxas.
FrontEnd first_front_end(const Source& source, const std::optional<FrontEnd>& only);

// The unit of the compiler that is wanted first. Throws Error(source_not_compiled) where NVRTC takes no text of the
// file, and Error(no_toolkit) where nvcc or ptxas is wanted and not there.
CompileUnit unit_to_compile(const CompilationRequest& request, CompilePool& pool);

// nvcc's unit, once NVRTC has refused the file for the reason that `refusal` tells. Throws `refusal` where there is no
// nvcc, only NVRTC is wanted, or the file is PTX.
CompileUnit unit_for_nvcc_instead(const CompilationRequest& request, const Error& refusal, CompilePool& pool,
                                  Progress& progress);

// What is to be said when nvcc does not take it either.
Error refused_by_both(const Error& by_nvrtc, const Error& by_nvcc);

// A sweep whose source has been compiled for the first time, by the compiler that takes it.
struct Compilation {
  CompileUnit unit;
  std::unique_ptr<CodeKeeper> kept;
  std::unique_ptr<Sweep> sweep;
};

struct SweepSettings {
  std::optional<double> budget_s;  // wall time of the back end; empty: everything is compiled
  bool every_cap = false;
};

// `store` may be nullptr. Throws Error(source_not_compiled) where no compiler takes it.
Compilation begin_compilation(const CompilationRequest& request, const SweepSettings& settings, Store* store,
                              CompilePool& pool, Progress& progress);

}  // namespace regtune
