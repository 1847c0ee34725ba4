/// \file
/// --engine: who solves a system. Tessera alone, or several processes of mpiexec through PETSc, whose library is loaded
/// only then.
#pragma once

#include "commands.hpp"
#include "errors.hpp"
#include "options.hpp"
#include "outcome.hpp"

#include "petsc/engine/engine.hpp"

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

/// Whether --engine says petsc.
[[nodiscard]] bool uses_petsc(const Options& options);

/// \throws OptionError for an option that has no meaning with PETSc, wherever it was set
void require_petsc_options(const Options& options);

/// A run by PETSc. In processes other than the first it prints nothing and returns success, so that mpiexec returns the
/// exit code of the first. \throws as run_command; DeviceUnavailable where the library is not there
[[nodiscard]] ExitCode run_with_petsc(const Options& options, const Invocation& invocation);

/// Versions of PETSc and MPI, or why --engine petsc cannot be used.
struct PetscSurvey {
  bool compiled_in = false;
  std::string versions;  ///< empty: it does not work
  std::string problem;
};
[[nodiscard]] PetscSurvey survey_petsc();

/// Starts MPI and PETSc. \param announce as petsc::EngineLibrary::start \throws DeviceUnavailable
[[nodiscard]] std::unique_ptr<petsc::Engine> start_petsc(std::function<int(const std::exception&)> announce);

/// Number and count of the processes that one mpiexec or srun started, as environment variables of Open MPI, of PMI
/// (MPICH and those like it) or of Slurm say; 0 of 1 without them.
struct Launch {
  int number = 0;
  int count = 1;
};
[[nodiscard]] Launch launch();

/// Where the arguments ask for PETSc, lets the first process alone speak, before anything can be refused.
void silence_copies(const std::vector<std::string>& arguments);

/// Sends what this process prints to nobody. Its exit code no longer matters.
void fall_silent();
/// Tells why this process ends all others, silent or not, and returns the exit code.
[[nodiscard]] int speak_of_failure(const std::exception& error);
/// What main() returns: success where this process is silent.
[[nodiscard]] int exit_status(ExitCode code);

/// The line of the summary.
[[nodiscard]] std::string engine_line(const petsc::EngineInfo& info);

/// W027, in the first of several processes that were started and do not know of each other.
void warn_about_copies(Warnings& warnings);

}  // namespace tessera::cli
