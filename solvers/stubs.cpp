/// Stands in for the kernels of the solvers and for loops on a GPU in a build without CUDA.
#include "solvers/amg/coarsest.hpp"
#include "solvers/amg/cycle.hpp"
#include "solvers/amg/phase_clock.hpp"
#include "solvers/amg/prolongator.hpp"
#include "solvers/amg/strength.hpp"
#include "solvers/factors/prepared_factors.hpp"
#include "solvers/fused/block.hpp"
#include "solvers/fused/enqueued_loops.hpp"
#include "solvers/fused/graph_loop.hpp"
#include "solvers/fused/ops.hpp"
#include "solvers/inverse/thread_group.hpp"
#include "solvers/persistent_kernel.hpp"
#include "solvers/two_kernel_cg.hpp"
#include "tessera/error.hpp"

#include <utility>

namespace tessera::cuda {

namespace {

[[noreturn]] void refuse(const Device& device) {
  throw DeviceUnavailable("no work for " + device.name() + ": this build has no CUDA backend");
}

}  // namespace

struct GraphLoop::Impl {
  LoopFrame frame;
  std::function<void()> iteration;
};

bool has_graph_loops(const Device& /*device*/) { return false; }

GraphLoop::GraphLoop(const Device& device, std::uint64_t /*state_bytes*/, int /*iterations_per_check*/) {
  refuse(device);
}
GraphLoop::~GraphLoop() = default;
const LoopFrame& GraphLoop::frame() const noexcept { return impl_->frame; }
bool GraphLoop::is_graph() const noexcept { return false; }
void GraphLoop::record(std::function<void()> iteration) { impl_->iteration = std::move(iteration); }
void GraphLoop::run_by_kernel(std::function<void()> launch) { impl_->iteration = std::move(launch); }
std::span<const fused::LoopEntry> GraphLoop::run(std::int64_t /*iterations*/, void* /*state*/, bool /*enter*/) {
  return {};
}

struct EnqueuedLoops::Impl {
  LoopFrame frame;
};

EnqueuedLoops::EnqueuedLoops(const Device& device, std::uint64_t /*state_bytes*/) { refuse(device); }
EnqueuedLoops::~EnqueuedLoops() = default;
const LoopFrame& EnqueuedLoops::frame() const noexcept { return impl_->frame; }
bool EnqueuedLoops::is_graph() const noexcept { return false; }
void EnqueuedLoops::enqueue(const std::function<void()>& /*loops*/) {}
void EnqueuedLoops::forget() noexcept {}
void EnqueuedLoops::repeat_until_halted(const std::function<void()>& /*body*/) {}
void EnqueuedLoops::repeat_until_done(const std::function<void()>& /*body*/) {}

template <class Op>
void StateOp<Op>::enqueue(const Device& device, const LoopFrame& /*frame*/, const Op& /*op*/) {
  refuse(device);
}

bool has_persistent_kernels(const Device& /*device*/) { return false; }

template <class T>
std::unique_ptr<PersistentMatrix<T>> make_persistent_matrix(const Device& /*device*/, const CsrView<T>& /*a*/,
                                                            PersistentLoop /*loop*/, int /*directions*/) {
  return nullptr;
}
template std::unique_ptr<PersistentMatrix<float>> make_persistent_matrix(const Device&, const CsrView<float>&,
                                                                         PersistentLoop, int);
template std::unique_ptr<PersistentMatrix<double>> make_persistent_matrix(const Device&, const CsrView<double>&,
                                                                          PersistentLoop, int);

template <class Op>
void LoopOp<Op>::record(const Device& device, const LoopFrame& /*frame*/, std::int64_t /*n*/, const Op& /*op*/,
                        std::span<const ProductDots> /*dot_parts*/) {
  refuse(device);
}

template <class Op>
typename Op::Sums TransformReduce<Op>::run(const Device& device, std::int64_t /*n*/, const Op& /*op*/) {
  refuse(device);
}

template <class Op>
void LoopBlock<Op>::record(const Device& device, const LoopFrame& /*frame*/, std::int64_t /*n*/, const Op& /*op*/,
                           fused::BlockSpace& /*space*/, std::span<const ProductDots> /*dot_parts*/) {
  refuse(device);
}

template <class Op>
typename Op::Sums BlockPass<Op>::run(const Device& device, std::int64_t /*n*/, const Op& /*op*/,
                                     const typename Op::Scalars& /*scalars*/, int /*columns*/,
                                     fused::BlockSpace& /*space*/) {
  refuse(device);
}

template <class Op>
void TransformRows<Op>::run(const Device& device, const RowSet& /*rows*/, const Op& /*op*/,
                            typename Op::Total* /*total*/) {
  refuse(device);
}

template <class Op>
void ForRows<Op>::run(const Device& device, index_t /*rows*/, const Op& /*op*/, int /*most*/) {
  refuse(device);
}

template <class Op>
void record_cg_scalars(const Device& device, const LoopFrame& /*frame*/, std::span<const detail::CgSums> /*parts*/,
                       const Op& /*op*/) {
  refuse(device);
}
template void record_cg_scalars(const Device&, const LoopFrame&, std::span<const detail::CgSums>,
                                const detail::CgScalarsAfterDirection&);
template void record_cg_scalars(const Device&, const LoopFrame&, std::span<const detail::CgSums>,
                                const detail::CgScalarsAfterResidual&);

template <class T>
void fill_strong(const Device& device, const RowSet& /*rows*/, const detail::StrongRows<T>& /*strong*/) {
  refuse(device);
}
template void fill_strong(const Device&, const RowSet&, const detail::StrongRows<float>&);
template void fill_strong(const Device&, const RowSet&, const detail::StrongRows<double>&);

void list_undecided(const Device& device, const std::uint32_t* /*words*/, const RowSet& /*from*/, index_t* /*to*/,
                    std::int64_t* /*found*/) {
  refuse(device);
}

template <class T>
Array<T> dense_inverse(const Device& device, const CsrView<T>& /*a*/, const T* /*diagonal*/) {
  refuse(device);
}
template Array<float> dense_inverse(const Device&, const CsrView<float>&, const float*);
template Array<double> dense_inverse(const Device&, const CsrView<double>&, const double*);

template <class T>
Csr<T> smooth_short_rows(const Device& device, const CsrView<T>& /*a*/, detail::RowRange /*rows*/,
                         const detail::Aggregates& /*aggregates*/, const T* /*diagonal*/, double /*omega*/) {
  refuse(device);
}
template Csr<float> smooth_short_rows(const Device&, const CsrView<float>&, detail::RowRange, const detail::Aggregates&,
                                      const float*, double);
template Csr<double> smooth_short_rows(const Device&, const CsrView<double>&, detail::RowRange,
                                       const detail::Aggregates&, const double*, double);

EventClock::EventClock(const Device& device) { refuse(device); }
EventClock::~EventClock() = default;
void EventClock::mark() {}
std::vector<double> EventClock::milliseconds() const { return {}; }

template <class T>
std::unique_ptr<AmgCycleOperator<T>> make_amg_cycle(const AmgHierarchy<T>& hierarchy, const AmgOptions& /*options*/) {
  refuse(hierarchy.device);
}
template <class T>
std::unique_ptr<AmgCycleOperator<T>> make_amg_cycle(const AmgHierarchy<T>& hierarchy, const AmgOptions& /*options*/,
                                                    const AmgLayoutTuning& /*tuning*/) {
  refuse(hierarchy.device);
}

template std::unique_ptr<AmgCycleOperator<float>> make_amg_cycle(const AmgHierarchy<float>&, const AmgOptions&);
template std::unique_ptr<AmgCycleOperator<double>> make_amg_cycle(const AmgHierarchy<double>&, const AmgOptions&);
template std::unique_ptr<AmgCycleOperator<float>> make_amg_cycle(const AmgHierarchy<float>&, const AmgOptions&,
                                                                 const AmgLayoutTuning&);
template std::unique_ptr<AmgCycleOperator<double>> make_amg_cycle(const AmgHierarchy<double>&, const AmgOptions&,
                                                                  const AmgLayoutTuning&);

template <class T>
std::unique_ptr<detail::FactorSolve<T>> make_factor_solve(detail::PreparedFactors<T> /*factors*/,
                                                          TriangularSolve /*wanted*/, const Device& device) {
  refuse(device);
}
template std::unique_ptr<detail::FactorSolve<float>> make_factor_solve(detail::PreparedFactors<float>, TriangularSolve,
                                                                       const Device&);
template std::unique_ptr<detail::FactorSolve<double>> make_factor_solve(detail::PreparedFactors<double>,
                                                                        TriangularSolve, const Device&);

template <class T>
DeviceFactors<T> factor_on_device(const CsrView<T>& /*matrix*/, bool /*cholesky*/, double /*shift*/,
                                  const Device& device) {
  refuse(device);
}
template DeviceFactors<float> factor_on_device(const CsrView<float>&, bool, double, const Device&);
template DeviceFactors<double> factor_on_device(const CsrView<double>&, bool, double, const Device&);

}  // namespace tessera::cuda

#include "solvers/amg/registration.hpp"
#include "solvers/centrality_registration.hpp"
#include "solvers/inverse/registration.hpp"
#include "solvers/least_squares_registration.hpp"
#include "solvers/minres_chebyshev_registration.hpp"
#include "solvers/mixed_precision_registration.hpp"
#include "solvers/registration.hpp"
