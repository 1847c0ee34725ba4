#include "petsc/engine/engine.hpp"

#include "core/random.hpp"
#include "core/stopwatch.hpp"
#include "petsc/engine/collective.hpp"
#include "petsc/engine/krylov.hpp"
#include "petsc/engine/matrix_part.hpp"
#include "petsc/plugin.hpp"
#include "tessera/error.hpp"
#include "tessera/version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

extern "C" PetscErrorCode PetscDLLibraryRegister_tessera_petsc();

namespace tessera::petsc {

namespace {

[[nodiscard]] std::string petsc_version() {
  PetscInt major = 0;
  PetscInt minor = 0;
  PetscInt subminor = 0;
  check(PetscGetVersionNumber(&major, &minor, &subminor, nullptr));
  return fmt::format("PETSc {}.{}.{}", major, minor, subminor);
}

/// The first words of a text that goes on with package, host and date.
[[nodiscard]] std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check_mpi(MPI_Get_library_version(text.data(), &length));
  const std::string all(text.data(), static_cast<std::size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

[[nodiscard]] std::string versions() { return petsc_version() + ", " + mpi_version(); }

/// The elements of this process while they are written.
class LocalElements {
 public:
  explicit LocalElements(Vec vector) : vector_(vector) {
    PetscInt size = 0;
    PetscInt end = 0;
    check(VecGetLocalSize(vector, &size));
    check(VecGetOwnershipRange(vector, &begin_, &end));
    check(VecGetArray(vector, &data_));
    elements_ = {data_, static_cast<std::size_t>(size)};
  }
  LocalElements(const LocalElements&) = delete;
  LocalElements& operator=(const LocalElements&) = delete;
  ~LocalElements() { static_cast<void>(VecRestoreArray(vector_, &data_)); }

  [[nodiscard]] std::span<double> span() const noexcept { return elements_; }
  /// Number of the first.
  [[nodiscard]] std::int64_t begin() const noexcept { return begin_; }

 private:
  Vec vector_;
  PetscInt begin_ = 0;
  PetscScalar* data_ = nullptr;
  std::span<double> elements_;
};

/// The numbers that one process would draw for the whole vector: those of the rows before are drawn and dropped.
void fill_random(Vec vector, std::uint64_t seed) {
  const LocalElements elements(vector);
  tessera::detail::SplitMix64 random(seed);
  for (std::int64_t row = 0; row < elements.begin(); ++row) static_cast<void>(random.next());
  for (double& value : elements.span()) value = 2.0 * tessera::detail::unit_interval<double>(random.next()) - 1.0;
}

/// A vector whose elements are all in the first process, and the way there.
struct Gathered {
  OwnedScatter scatter;
  OwnedVec vector;
};

[[nodiscard]] Gathered gathering(Vec vector) {
  Gathered gathered;
  check(VecScatterCreateToZero(vector, gathered.scatter.out(), gathered.vector.out()));
  return gathered;
}

void move_elements(const Gathered& gathered, Vec from, Vec to, ScatterMode mode) {
  check(VecScatterBegin(gathered.scatter.get(), from, to, INSERT_VALUES, mode));
  check(VecScatterEnd(gathered.scatter.get(), from, to, INSERT_VALUES, mode));
}

/// The first process reads the file and deals out its elements.
void read_file(MPI_Comm comm, const std::string& path, const std::string& what, Vec vector) {
  const Gathered gathered = gathering(vector);
  PetscInt n = 0;
  check(VecGetSize(vector, &n));
  together(comm, [&] {
    if (process_number(comm) != 0) return;
    try {
      const std::vector<double> elements = read_vector<double>(path, {}, n);
      const LocalElements local(gathered.vector.get());
      std::copy(elements.begin(), elements.end(), local.span().begin());
    } catch (const DimensionError& error) {
      throw DimensionError(fmt::format("{} {}, the rows of the matrix", what, error.what()));
    }
  });
  move_elements(gathered, gathered.vector.get(), vector, SCATTER_REVERSE);
}

[[nodiscard]] OwnedVec duplicate(Vec vector) {
  OwnedVec copy;
  check(VecDuplicate(vector, copy.out()));
  return copy;
}

/// \param x_exact takes x of A x = b where b is made of it; else left empty
void make_vector(MPI_Comm comm, const VectorSource& source, Mat matrix, std::uint64_t seed, const std::string& what,
                 Vec vector, OwnedVec& x_exact) {
  using Kind = VectorSource::Kind;
  PetscInt n = 0;
  check(VecGetSize(vector, &n));
  switch (source.kind) {
    case Kind::zero:
    case Kind::rhs:
      return check(VecSet(vector, 0.0));
    case Kind::ones:
      return check(VecSet(vector, 1.0));
    case Kind::random:
      return fill_random(vector, seed);
    case Kind::file:
      return read_file(comm, source.path, what, vector);
    case Kind::a_ones:
    case Kind::a_random:
      x_exact = duplicate(vector);
      check(VecSet(x_exact.get(), 1.0));
      if (source.kind == Kind::a_random) fill_random(x_exact.get(), seed);
      return check(MatMult(matrix, x_exact.get(), vector));
    case Kind::unit:
      break;
  }
  if (source.index >= n) {
    throw InvalidArgument(fmt::format("option --rhs unit:{}: the matrix has {} rows", source.index + 1, n));
  }
  check(VecSet(vector, 0.0));
  check(VecSetValue(vector, static_cast<PetscInt>(source.index), 1.0, INSERT_VALUES));
  check(VecAssemblyBegin(vector));
  check(VecAssemblyEnd(vector));
}

[[nodiscard]] EngineResult::KnownError distance(Vec x, Vec x_exact) {
  const OwnedVec difference = duplicate(x);
  check(VecWAXPY(difference.get(), -1.0, x_exact, x));
  EngineResult::KnownError error;
  double norm = 0.0;
  double exact_norm = 0.0;
  check(VecNorm(difference.get(), NORM_INFINITY, &error.largest));
  check(VecNorm(difference.get(), NORM_2, &norm));
  check(VecNorm(x_exact, NORM_2, &exact_norm));
  error.relative = norm == 0.0 ? 0.0 : norm / exact_norm;
  return error;
}

[[nodiscard]] std::vector<double> collected(MPI_Comm comm, Vec x) {
  const Gathered gathered = gathering(x);
  move_elements(gathered, x, gathered.vector.get(), SCATTER_FORWARD);
  if (process_number(comm) != 0) return {};
  const LocalElements elements(gathered.vector.get());
  return {elements.span().begin(), elements.span().end()};
}

[[nodiscard]] MatrixPart make_part(MPI_Comm comm, const EngineRequest& request) {
  switch (request.source) {
    case MatrixSource::matrix_market:
      return read_matrix_market_part(comm, request.path);
    case MatrixSource::binary:
      return read_binary_part(comm, request.path);
    case MatrixSource::poisson2d:
    case MatrixSource::poisson3d:
    case MatrixSource::convdiff:
      break;
  }
  return make_grid_part(comm, request.source, request.size);
}

/// Events of PETSc's log so far.
[[nodiscard]] std::int64_t event_count(const char* name) {
  PetscLogEvent event = 0;
  PetscEventPerfInfo info = {};
  check(PetscLogEventGetId(name, &event));
  if (event < 0) return 0;
  constexpr PetscInt main_stage = 0;
  check(PetscLogEventGetPerfInfo(main_stage, event, &info));
  return info.count;
}

class RunningEngine final : public Engine {
 public:
  explicit RunningEngine(std::function<int(const std::exception&)> announce) : announce_(std::move(announce)) {
    // Signals are the command's. Options of PETSc come from PETSC_OPTIONS alone: a .petscrc of the working directory
    // could name libraries to run (-dll_prepend).
    check(PetscOptionsSetValue(nullptr, "-no_signal_handler", "true"));
    check(PetscInitialize(&argument_count_, &arguments_, nullptr, nullptr));
    catch_petsc_errors();
    check(PetscDLLibraryRegister_tessera_petsc());
    check(PetscLogDefaultBegin());
    comm_ = PETSC_COMM_WORLD;
  }
  RunningEngine(const RunningEngine&) = delete;
  RunningEngine& operator=(const RunningEngine&) = delete;
  ~RunningEngine() override { static_cast<void>(PetscFinalize()); }

  [[nodiscard]] bool is_first() const override { return process_number(comm_) == 0; }

  [[nodiscard]] EngineResult solve(const EngineRequest& request) override {
    try {
      return solve_together(request);
    } catch (const PetscFailure& error) {
      end_all(error);
    } catch (const std::bad_alloc& error) {
      end_all(error);
    }
    throw PetscFailure("MPI did not end the processes");
  }

 private:
  /// The others may wait for this process for ever.
  void end_all(const std::exception& error) const {
    const int code = announce_(error);
    static_cast<void>(MPI_Abort(comm_, code));
  }

  [[nodiscard]] EngineResult solve_together(const EngineRequest& request) {
    EngineResult result;
    for (const char* option : {"-mat_tessera_threads", "-pc_tessera_threads"}) {
      if (request.threads > 0) set_default(option, std::to_string(request.threads));
    }
    const Stopwatch reading;
    MatrixPart part = make_part(comm_, request);
    result.header = part.header;
    require_square(part.header, request.path);
    const double read_ms = reading.milliseconds();

    request.phase("assembling the matrix");
    const Stopwatch assembling;
    const DistributedMatrix matrix = assemble(comm_, std::move(part), request.duplicates, request.path);
    Mat A = matrix.matrix.get();
    result.duplicates = matrix.duplicates;
    result.matrix = facts_of(comm_, A);
    if (result.matrix.not_finite > 0) {
      throw InvalidMatrix(fmt::format("{}: repeated entries sum to {} values that are not finite", request.path,
                                      result.matrix.not_finite));
    }
    describe(A, result);
    const double assembly_ms = assembling.milliseconds();

    request.phase("preparing vectors");
    OwnedVec x;
    OwnedVec b;
    OwnedVec x_exact;
    make_vectors(request, A, b, x, x_exact, result);

    request.phase("setting up the preconditioner");
    const Stopwatch setting_up;
    const OwnedKsp solver = make_solver(request, A, result);
    set_up_precond(solver.get(), result);
    const double precond_ms = setting_up.milliseconds();

    request.phase(fmt::format("solving with {} and precond {}", result.method, result.precond));
    const std::int64_t products = event_count("MatMult");
    const std::int64_t applications = event_count("PCApply");
    result.report = solve_in_rounds(solver.get(), A, b.get(), x.get(), request.solver);
    result.report.spmv_count = event_count("MatMult") - products;
    result.report.preconditioner_count = result.info.pc_type == PCNONE ? 0 : event_count("PCApply") - applications;
    result.report.timings.read_ms = read_ms;
    result.report.timings.plan_ms = assembly_ms;
    result.report.timings.preconditioner_ms = precond_ms;
    if (x_exact.get() != nullptr) result.error = distance(x.get(), x_exact.get());
    if (request.wants_solution) result.solution = collected(comm_, x.get());
    return result;
  }

  static void require_square(const MatrixMarketHeader& header, const std::string& path) {
    if (header.rows == header.cols) return;
    throw DimensionError(
        fmt::format("{}: the matrix is {} x {}, --engine petsc needs a square one", path, header.rows, header.cols));
  }

  void set_up_precond(KSP solver, const EngineResult& result) const {
    if (result.matrix.rows == 0) return;
    PC precond = nullptr;
    check(KSPGetPC(solver, &precond));
    // That of Tessera communicates with nobody, and may fail in one process: a block may be singular.
    if (result.info.pc_type == pc_type) {
      together(comm_, [&] {
        try {
          check(PCSetUp(precond));
        } catch (const PetscFailure& failure) {
          throw InvalidMatrix(
              fmt::format("{} of the rows of process {}: {}", result.precond, process_number(comm_), failure.what()));
        }
      });
    }
    check(KSPSetUp(solver));
    check(KSPSetUpOnBlocks(solver));
  }

  void describe(Mat A, EngineResult& result) const {
    MatType type = nullptr;
    MatInfo local;
    PetscInt rows = 0;
    check(MatGetType(A, &type));
    check(MatGetInfo(A, MAT_LOCAL, &local));
    check(MatGetLocalSize(A, &rows, nullptr));
    result.info.petsc = petsc_version();
    result.info.mpi = mpi_version();
    result.info.mat_type = type;
    result.info.processes = process_count(comm_);
    result.info.most_rows = largest_of(comm_, std::int64_t{rows}, MPI_INT64_T);
    result.info.most_nnz = largest_of(comm_, static_cast<std::int64_t>(local.nz_used), MPI_INT64_T);
    constexpr std::uint64_t entry_bytes = sizeof(PetscScalar) + sizeof(PetscInt);
    // Row offsets of the diagonal and the off-diagonal block.
    result.matrix_bytes = static_cast<std::uint64_t>(result.matrix.nnz) * entry_bytes +
                          2 * (static_cast<std::uint64_t>(result.matrix.rows) + 1) * sizeof(PetscInt);
  }

  void make_vectors(const EngineRequest& request, Mat A, OwnedVec& b, OwnedVec& x, OwnedVec& x_exact,
                    EngineResult& result) const {
    check(MatCreateVecs(A, x.out(), b.out()));
    const std::uint64_t seed = request.solver.seed;
    make_vector(comm_, request.rhs, A, seed, "right-hand side", b.get(), x_exact);
    if (request.rhs.kind == VectorSource::Kind::a_ones && !request.rhs_is_named && is_rounding(comm_, A, b.get())) {
      result.rhs_replaced = true;
      make_vector(comm_, {VectorSource::Kind::a_random, {}, 0}, A, seed, "right-hand side", b.get(), x_exact);
    }
    OwnedVec unused;
    make_vector(comm_, request.x0, A, seed + 1, "initial guess", x.get(), unused);
    if (request.x0.kind == VectorSource::Kind::rhs) check(VecCopy(b.get(), x.get()));
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::function<int(const std::exception&)> announce_;
  // PETSc keeps the addresses.
  std::string program_ = "solve";
  std::string skip_files_ = "-skip_petscrc";
  std::array<char*, 3> argument_array_{program_.data(), skip_files_.data(), nullptr};
  char** arguments_ = argument_array_.data();
  int argument_count_ = 2;
};

[[nodiscard]] std::unique_ptr<Engine> start(std::function<int(const std::exception&)> announce) {
  return std::make_unique<RunningEngine>(std::move(announce));
}

}  // namespace

}  // namespace tessera::petsc

extern "C" __attribute__((visibility("default"))) const tessera::petsc::EngineLibrary* tessera_petsc_engine() {
  using namespace tessera::petsc;
  static const EngineLibrary library{fmt::format("{} {}", tessera::build_info().version, tessera::build_info().commit),
                                     versions, start};
  return &library;
}
