/// \file
/// GMRES on a panel: every column has a basis, and cycles, of its own (gmres_cycle.hpp); the products are those of the
/// panel. Columns restart when their directions are used up, in whatever iteration that is, so they have the residuals
/// and the iterations of gmres().
///
/// Memory movement per iteration and column besides that of the single solve (gmres.cpp), n elements each: 2n from the
/// panel of the product to vectors, 2n back, and as much again for an M that is not fused. The matrix is read once for
/// all columns (per eight of them, where the product takes no more at a time).
#pragma once

#include "solvers/gmres_cycle.hpp"
#include "solvers/panel/panel_loop.hpp"
#include "solvers/panel/panel_vectors.hpp"

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace tessera::detail {

template <class T>
class GmresPanel {
 public:
  using State = GmresState;
  using HostSteps = GmresHostSteps<T>;
  /// Of a column.
  struct Memory {
    explicit Memory(const KrylovProblem<T>& problem)
        : cycle(problem.a.rows(), gmres_directions(problem.a.rows(), problem.options),
                GmresSide<T>(problem.preconditioner, problem.options.side), problem.device(), problem.device()) {}
    GmresCycle<T> cycle;
  };
  /// r holds the next directions. Of w and image every column is a vector without gaps.
  enum Vector : int { x, r, kept, product, w, preconditioned, image };
  static constexpr int lasting = 3;

  [[nodiscard]] static int blocks(const fused::FusedPreconditioner<T>& m) { return m.is_fused ? 5 : 7; }
  /// That of the product is room for M r.
  [[nodiscard]] static std::vector<int> host_vectors(const fused::FusedPreconditioner<T>& /*m*/) {
    return {x, r, kept, product};
  }

  static void iterate(fused::PanelLoop<State>& loop, const fused::PanelProblem<T>& problem,
                      fused::PanelVectors<T>& vectors, std::span<Memory* const> columns) {
    Iteration{loop, problem, vectors, columns}.enqueue();
  }

  [[nodiscard]] static HostSteps host_steps(KrylovSolve<T>& solve, State& state, Memory& memory,
                                            fused::PanelVectors<T>& vectors) {
    return {.solve = solve, .state = state, .cycle = memory.cycle, .scratch = vectors.column(product)};
  }

 private:
  struct Iteration {
    fused::PanelLoop<State>& loop;
    const fused::PanelProblem<T>& problem;
    fused::PanelVectors<T>& vectors;
    std::span<Memory* const> columns;

    void enqueue() const {
      const GmresSide<T>& side = columns.front()->cycle.side();
      Vector from = r;
      if (side.keeps_z) {
        // Z = M V
        loop.multiply(problem.m, panel(r), vectors.panel(preconditioned));
        to_vectors(preconditioned, image);
        loop.apply_scalars(GmresPreconditionedNorm{});
        from = preconditioned;
      }
      // W = A Z, or M A Z
      loop.multiply(problem.a, panel(from), vectors.panel(product));
      Vector result = product;
      if (side.is_left && !side.is_fused) {
        loop.multiply(problem.m, panel(product), vectors.panel(preconditioned));
        result = preconditioned;
      }
      to_vectors(result, w);
      orthogonalize(side);
      // R = V, or Z
      loop.apply(elements(), fused::VectorsToPanel<T>{.vectors = vectors.panel(w).data(),
                                                      .panel = vectors.panel(r).data(),
                                                      .n = n(),
                                                      .columns = count(),
                                                      .row = fused::RowOfElement(count())});
    }

   private:
    /// w becomes the next direction of every column.
    void orthogonalize(const GmresSide<T>& side) const {
      if (side.is_left && side.is_fused) {
        apply_blocks([&](int j) { return cycle(j).precondition_and_project(vector(w, j)); });
      } else {
        apply_blocks([&](int j) { return cycle(j).project(vector(w, j)); });
      }
      apply_blocks(
          [&](int j) { return cycle(j).orthogonalize(vector(w, j), side.keeps_z ? vector(image, j) : vector(w, j)); });
      std::visit(
          [&](const auto& m) { apply_blocks([&](int j) { return cycle(j).extend(m, vector(w, j), vector(w, j)); }); },
          side.direction);
    }

    template <class OfColumn>
    void apply_blocks(const OfColumn& of_column) const {
      loop.apply_blocks(n(), [&](int j) {
        return fused::BlockOfColumn<decltype(of_column(0))>{of_column(j), &cycle(j).space()};
      });
    }

    void to_vectors(Vector from, Vector to) const {
      loop.apply(elements(), fused::PanelToVectors<T>{.panel = vectors.panel(from).data(),
                                                      .vectors = vectors.panel(to).data(),
                                                      .n = n(),
                                                      .columns = count(),
                                                      .row = fused::RowOfElement(count())});
    }

    [[nodiscard]] int count() const { return static_cast<int>(columns.size()); }
    [[nodiscard]] std::int64_t elements() const { return static_cast<std::int64_t>(vectors.panel(r).size()); }
    [[nodiscard]] std::int64_t n() const { return elements() / count(); }
    [[nodiscard]] std::span<const T> panel(Vector k) const { return vectors.panel(k); }
    [[nodiscard]] T* vector(Vector k, int j) const { return vectors.panel(k).data() + j * n(); }
    [[nodiscard]] GmresCycle<T>& cycle(int j) const { return columns[static_cast<std::size_t>(j)]->cycle; }
  };
};

}  // namespace tessera::detail
