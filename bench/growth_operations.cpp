// Operations whose growth is measured: analysis, plans, set-up of preconditioners, advice, PageRank.
#include "bench/growth_operations.hpp"

#include "spmv/common/layout_outlook.hpp"
#include "support/amg_prediction.hpp"
#include "support/precond.hpp"
#include "tessera/ladder.hpp"
#include "tessera/matching.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/spmv.hpp"
#include "tessera/tile_matrix.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace tessera::bench {

namespace {

using support::Precond;
using support::PrecondRequest;

void inspect(const GrowthSubject& subject) {
  const CsrView<double> view = subject.matrix->view();
  const Device& device = subject.device;
  const MatrixStatistics facts = statistics(view, device);
  static_cast<void>(matrix_details(view, device));
  const TileEstimate tiles = estimate_tiles(view, device, TileSample::all());
  if (view.is_square()) {
    static_cast<void>(connected_components(view, device));
    static_cast<void>(strong_components(view));
  }
  constexpr int most_cells = 40;
  static_cast<void>(spy(view, std::min(view.rows, most_cells), std::min(view.cols, 2 * most_cells), device));
  if (facts.full_diagonal() && facts.diagonal_negative == 0) {
    static_cast<void>(support::strong_neighbours(view, AmgOptions{}.strength_threshold, device));
  }
  const detail::ValueFacts values = detail::value_facts(view, device);
  static_cast<void>(detail::outlook_on_patterns(view, values, device));
  static_cast<void>(detail::outlook_on_sell(view, values));
  static_cast<void>(detail::outlook_on_tiles(view, tiles.fill));
}

void match(const GrowthSubject& subject) {
  const CsrView<double> view = subject.matrix->view();
  static_cast<void>(maximum_matching(view));
  if (view.is_square()) static_cast<void>(maximum_product_matching(view));
}

void plan(const GrowthSubject& subject) {
  const SpmvPlan<double> made(subject.matrix, SpmvOptions{.device = subject.device});
}

void advise(const GrowthSubject& subject) {
  const CsrView<double> view = subject.matrix->view();
  static_cast<void>(plan_ladder(ladder_facts<double>(subject.facts, &view, true)));
}

void rank_vertices(const GrowthSubject& subject) {
  const Csr<double> graph = subject.matrix->structure();  // weights must not be negative
  PageRankOptions options;
  options.tolerance = 0.0;
  options.max_iterations = 10;
  options.spmv.device = subject.device;
  static_cast<void>(pagerank(TransitionMatrix<double>(graph.view(), subject.device), options));
}

GrowthOperation set_up(std::string name, PrecondRequest request) {
  return {std::move(name), [request = std::move(request)](const GrowthSubject& subject) {
            static_cast<void>(support::prepare_precond<double>(
                request, {subject.facts, subject.matrix->view(), subject.device, "the matrix"}));
          }};
}

PrecondRequest factors(FactorKind kind, index_t blocks = 1) {
  PrecondRequest request;
  request.precond = Precond::factors;
  request.factors.kind = kind;
  request.factors.blocks = blocks;
  return request;
}

PrecondRequest polynomial(PolynomialKind kind) {
  PrecondRequest request;
  request.precond = Precond::polynomial;
  request.polynomial.kind = kind;
  return request;
}

PrecondRequest by_default(Precond precond) {
  PrecondRequest request;
  request.precond = precond;
  return request;
}

}  // namespace

std::vector<GrowthOperation> growth_operations() {
  constexpr index_t blocks = 8;
  return {{"inspect", inspect, true},
          {"matching", match, true},
          {"plan", plan, true},
          set_up("jacobi", by_default(Precond::jacobi)),
          set_up("ilu0", factors(FactorKind::ilu0)),
          set_up("ilut", factors(FactorKind::ilut)),
          set_up("ilutp", factors(FactorKind::ilutp)),
          set_up("ic0", factors(FactorKind::ic0)),
          set_up("ict", factors(FactorKind::ict)),
          set_up("fsai", by_default(Precond::fsai)),
          set_up("spai", by_default(Precond::spai)),
          set_up("amg", by_default(Precond::amg)),
          set_up("poly", polynomial(PolynomialKind::chebyshev)),
          set_up("neumann", polynomial(PolynomialKind::neumann)),
          set_up("bjacobi", factors(FactorKind::ilu0, blocks)),
          {"advice", advise},
          {"pagerank", rank_vertices}};
}

std::string climb_ladder(const GrowthSubject& subject, double time_limit_seconds) {
  const SpmvPlan<double> A(subject.matrix, SpmvOptions{.device = subject.device});
  const Array<double> ones = Array<double>::copy_of(std::vector<double>(static_cast<std::size_t>(A.cols()), 1.0));
  Array<double> b(A.rows());
  Array<double> x(A.cols());
  A.apply(ones.span(), b.span());
  LadderOptions options;
  options.solver.time_limit_seconds = time_limit_seconds;
  return std::string(to_string(solve<double>(A, subject.facts, b.span(), x.span(), options).report.status));
}

}  // namespace tessera::bench
