/// \file
/// The table of iterative methods. A new method is one file and one line of this table.
#pragma once

#include "solvers/krylov_problem.hpp"
#include "tessera/iterative_solver.hpp"

#include <memory>
#include <type_traits>

namespace tessera::detail {

/// For a problem that outlives the method. \throws OutOfMemory, CudaError
template <class T>
using MethodFactory = std::unique_ptr<KrylovMethod<T>> (*)(const KrylovProblem<T>&);

struct MethodEntry {
  MethodInfo info;
  MethodFactory<float> make_float;
  MethodFactory<double> make_double;

  template <class T>
  [[nodiscard]] std::unique_ptr<KrylovMethod<T>> make(const KrylovProblem<T>& problem) const {
    if constexpr (std::is_same_v<T, float>) {
      return make_float(problem);
    } else {
      return make_double(problem);
    }
  }
};

/// \throws InvalidArgument for a value that no method has
[[nodiscard]] const MethodEntry& method_entry(IterativeMethod method);

}  // namespace tessera::detail
