#include "petsc/engine/collective.hpp"

#include <fmt/format.h>

#include <new>
#include <vector>

namespace tessera::petsc {

namespace {

std::string last_error;

/// Keeps where and why an error began; PETSc calls it again on the way up.
PetscErrorCode remember_error(MPI_Comm /*comm*/, int line, const char* function, const char* /*file*/,
                              PetscErrorCode code, PetscErrorType type, const char* message, void* /*context*/) {
  if (type == PETSC_ERROR_INITIAL) {
    const char* meaning = nullptr;
    static_cast<void>(PetscErrorMessage(code, &meaning, nullptr));
    last_error = fmt::format("{}: {} (line {} of {})", meaning == nullptr ? "error" : meaning,
                             message == nullptr ? "" : message, line, function == nullptr ? "?" : function);
  }
  return code;
}

}  // namespace

void catch_petsc_errors() { check(PetscPushErrorHandler(remember_error, nullptr)); }

void check(PetscErrorCode code) {
  if (code == 0) return;
  if (code == PETSC_ERR_MEM) throw std::bad_alloc();
  throw PetscFailure("PETSc: " + (last_error.empty() ? fmt::format("error {}", static_cast<int>(code)) : last_error));
}

void check_mpi(int code) {
  if (code != MPI_SUCCESS) throw PetscFailure(fmt::format("MPI: error {}", code));
}

void set_default(const char* option, const std::string& value) {
  PetscBool is_set = PETSC_FALSE;
  check(PetscOptionsHasName(nullptr, nullptr, option, &is_set));
  if (!is_set) check(PetscOptionsSetValue(nullptr, option, value.c_str()));
}

int process_count(MPI_Comm comm) {
  int count = 1;
  check_mpi(MPI_Comm_size(comm, &count));
  return count;
}

int process_number(MPI_Comm comm) {
  int number = 0;
  check_mpi(MPI_Comm_rank(comm, &number));
  return number;
}

RowRange rows_of_process(MPI_Comm comm, std::int64_t n) {
  const std::int64_t count = process_count(comm);
  const std::int64_t number = process_number(comm);
  const auto begin_of = [&](std::int64_t p) { return n / count * p + std::min(p, n % count); };
  return {begin_of(number), begin_of(number + 1)};
}

std::int64_t sum_before(MPI_Comm comm, std::int64_t value) {
  std::int64_t sum = 0;
  check_mpi(MPI_Exscan(&value, &sum, 1, MPI_INT64_T, MPI_SUM, comm));
  // MPI leaves the result of the first process undefined.
  return process_number(comm) == 0 ? 0 : sum;
}

namespace {

/// What of an exception its receivers need: the exit code follows from it.
enum class FaultKind : int { none, bad_input, usage, no_memory, other };

struct Fault {
  FaultKind kind = FaultKind::none;
  std::string message;
};

[[nodiscard]] Fault fault_of(const std::exception_ptr& caught) {
  if (!caught) return {};
  try {
    std::rethrow_exception(caught);
  } catch (const std::bad_alloc&) {
    return {FaultKind::no_memory, "the system has no more memory"};
  } catch (const OutOfMemory& error) {
    return {FaultKind::no_memory, error.what()};
  } catch (const InvalidArgument& error) {
    return {FaultKind::usage, error.what()};
  } catch (const ParseError& error) {
    return {FaultKind::bad_input, error.what()};
  } catch (const InvalidMatrix& error) {
    return {FaultKind::bad_input, error.what()};
  } catch (const IoError& error) {
    return {FaultKind::bad_input, error.what()};
  } catch (const DimensionError& error) {
    return {FaultKind::bad_input, error.what()};
  } catch (const std::exception& error) {
    return {FaultKind::other, error.what()};
  }
}

[[noreturn]] void raise(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::bad_input:
      throw InvalidMatrix(fault.message);
    case FaultKind::usage:
      throw InvalidArgument(fault.message);
    case FaultKind::no_memory:
      throw BudgetExceeded(fault.message);
    case FaultKind::none:
    case FaultKind::other:
      break;
  }
  throw Error(fault.message);
}

}  // namespace

void throw_together(MPI_Comm comm, const std::exception_ptr& caught) {
  Fault fault = fault_of(caught);
  const int none = process_count(comm);
  const int mine = fault.kind == FaultKind::none ? none : process_number(comm);
  int first = none;
  check_mpi(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm));
  if (first == none) return;
  int header[2] = {static_cast<int>(fault.kind), static_cast<int>(fault.message.size())};
  check_mpi(MPI_Bcast(header, 2, MPI_INT, first, comm));
  fault.kind = static_cast<FaultKind>(header[0]);
  fault.message.resize(static_cast<std::size_t>(header[1]));
  check_mpi(MPI_Bcast(fault.message.data(), header[1], MPI_CHAR, first, comm));
  raise(fault);
}

}  // namespace tessera::petsc
