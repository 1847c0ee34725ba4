/// \file
/// One iteration of conjugate gradients, as operations of a loop: driven by the host (cg.cpp), or without it
/// (enqueued_cg.cpp). The scalars and the operations are in cg.hpp.
#pragma once

#include "solvers/cg.hpp"
#include "solvers/krylov_problem.hpp"
#include "tessera/array.hpp"

#include <cstdint>
#include <span>
#include <variant>

namespace tessera::detail {

template <class T>
struct CgIteration {
  std::span<T> x;
  std::span<T> r;
  std::span<T> p;
  std::span<T> z;     ///< M r; not used where M is fused
  std::span<T> kept;  ///< receives x where that is to be kept

  /// \param q receives A p: a DualBuffer or a span
  template <class Loop, class Output>
  void enqueue(Loop& loop, const KrylovProblem<T>& problem, Output& q) const {
    const auto n = static_cast<std::int64_t>(x.size());
    const bool is_fused = problem.preconditioner.is_fused;
    // q = A p
    loop.template product<T>(problem.a, p, q, p);
    std::visit(
        [&]<class M>(const M& m) {
          // α = ρ / <p, q>,  r = r - α q
          loop.apply(n, CgUpdateResidual<T, M>{
                            .counts = problem.preconditioner.counts(), .m = m, .q = data_of(q), .r = r.data()});
          // z = M r,  ρ' = <r, z>
          if (!is_fused) loop.template product<T>(problem.m, r, z, r);
          // β = ρ' / ρ,  x = x + α p,  p = z + β p
          loop.apply(n, CgUpdateSolutionAndDirection<T, M>{.is_fused = is_fused,
                                                           .m = m,
                                                           .z = is_fused ? r.data() : z.data(),
                                                           .x = x.data(),
                                                           .p = p.data(),
                                                           .kept = kept.data()});
        },
        problem.preconditioner.entry);
  }

 private:
  /// Of the latest product.
  [[nodiscard]] static const T* data_of(DualBuffer<T>& q) { return q.current().data(); }
  [[nodiscard]] static const T* data_of(std::span<T> q) { return q.data(); }
};

}  // namespace tessera::detail
