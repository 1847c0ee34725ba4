/// \file
/// solve --engine petsc: one system solved by several processes through PETSc. The command loads this library when it
/// is asked for, so that no other run needs MPI. Library and command come from one build: C++ types and exceptions
/// cross.
#pragma once

#include "tessera/iterative_solver.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/report.hpp"
#include "tessera/solvers.hpp"
#include "tessera/statistics.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::petsc {

/// Matrices of which every process makes its own part.
enum class MatrixSource {
  matrix_market,  ///< a coordinate file, not compressed
  binary,         ///< compressed sparse rows
  poisson2d,
  poisson3d,
  convdiff,
};

struct VectorSource {
  enum class Kind { zero, ones, a_ones, a_random, random, unit, rhs, file };
  Kind kind = Kind::zero;
  std::string path;        ///< of a file
  std::int64_t index = 0;  ///< of a unit vector, 0-based
};

enum class PrecondSource { automatic, none, jacobi, tessera };

struct EngineRequest {
  MatrixSource source = MatrixSource::matrix_market;
  std::string path;       ///< of a file
  std::int64_t size = 0;  ///< points a side of a grid
  Duplicates duplicates = Duplicates::sum;
  VectorSource rhs;
  bool rhs_is_named = false;  ///< else A times random numbers stand in for A times ones where that is 0
  VectorSource x0;
  std::optional<IterativeMethod> method;  ///< nothing: by the matrix
  PrecondSource precond = PrecondSource::automatic;
  std::string precond_name;  ///< of PrecondSource::tessera, as --precond names it
  /// The observer is called in every process; one that asks to stop stops all.
  SolverOptions solver;
  int threads = 0;  ///< of a process; 0: its share of the CPUs
  bool wants_solution = false;
  std::function<void(const std::string&)> phase;  ///< told what begins
};

/// Of PETSc and the matrix as it lies in the processes.
struct EngineInfo {
  std::string petsc;  ///< "PETSc 3.18.5"
  std::string mpi;    ///< "Open MPI v4.1.4"
  std::string mat_type;
  std::string ksp_type;
  std::string pc_type;
  int processes = 1;
  std::int64_t most_rows = 0;  ///< of a process
  offset_t most_nnz = 0;       ///< of a process
};

struct EngineResult {
  EngineInfo info;
  MatrixMarketHeader header;  ///< of a file
  MatrixStatistics matrix;    ///< sizes, row lengths, symmetry and diagonal alone
  offset_t duplicates = 0;    ///< entries summed into others
  std::string method;         ///< Tessera's name, or PETSc's where PETSC_OPTIONS chose
  std::string method_reason;  ///< empty where the user chose
  std::string precond;        ///< likewise
  std::string precond_reason;
  bool rhs_replaced = false;
  SolveReport report;  ///< the residual was computed as b - A x, whatever PETSc estimated
  /// max |x - x_exact| and ||x - x_exact|| / ||x_exact||, where x_exact is known.
  struct KnownError {
    double largest = 0.0;
    double relative = 0.0;
  };
  std::optional<KnownError> error;
  std::uint64_t matrix_bytes = 0;  ///< of all processes
  std::uint64_t vector_bytes = 0;  ///< estimate, likewise
  std::vector<double> solution;    ///< in the first process, where it was asked for
};

/// MPI and PETSc while they run. The destructor ends them and waits for the other processes.
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  /// Whether this process is the one that speaks.
  [[nodiscard]] virtual bool is_first() const = 0;

  /// Called by all processes with equal requests. Results are equal in all but for the solution.
  /// \throws the same exception in all: InvalidMatrix for a faulty file, with file and line, or a matrix; IoError;
  ///         DimensionError; InvalidArgument; BudgetExceeded without memory. A fault of PETSc in one process ends all
  [[nodiscard]] virtual EngineResult solve(const EngineRequest& request) = 0;
};

/// What the library offers.
struct EngineLibrary {
  std::string build;          ///< version and commit, which have to be those of the command
  std::string (*versions)();  ///< "PETSc 3.18.5, Open MPI v4.1.4"; starts nothing
  /// Starts MPI and PETSc. \param announce tells the user why this process ends all, and returns the exit code
  std::unique_ptr<Engine> (*start)(std::function<int(const std::exception&)> announce);
};

/// Name and type of the function that returns it.
inline constexpr const char* engine_library_function = "tessera_petsc_engine";
using EngineLibraryFunction = const EngineLibrary* (*)();

}  // namespace tessera::petsc
