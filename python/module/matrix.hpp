/// \file
/// Matrix: a matrix of the library as Python holds it.
#pragma once

#include "arrays.hpp"

#include "tessera/csr.hpp"

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

namespace tessera::python {

template <class T>
struct Matrix {
  std::shared_ptr<const Csr<T>> csr;
  nb::object context;  ///< of Python, in which a matrix on a GPU was adopted; None: the library's own
};

/// Runs work of the library without the interpreter's lock; then raises what a signal asked for meanwhile.
template <class Work>
auto unlocked(Work&& work);

/// (rows, columns, offsets, columns, values) of a matrix of the host that nobody else holds, without a copy; values are
/// None for a pattern.
template <class T>
[[nodiscard]] nb::tuple arrays_of(Csr<T>&& matrix);

void bind_matrices(nb::module_& module);
void bind_operators(nb::module_& module);
void bind_preconditioners(nb::module_& module);
void bind_solvers(nb::module_& module);
void bind_least_squares(nb::module_& module);
void bind_pagerank(nb::module_& module);
void bind_centrality(nb::module_& module);
void bind_spgemm(nb::module_& module);
void bind_views(nb::module_& module);

/// Symmetric with a positive diagonal: what conjugate gradients ask for.
template <class T>
[[nodiscard]] bool suits_cg(const CsrView<T>& matrix, const Device& device);

template <class Work>
auto unlocked(Work&& work) {
  const nb::gil_scoped_release release;
  return std::forward<Work>(work)();
}

}  // namespace tessera::python
