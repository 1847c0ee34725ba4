/// AMG on several devices: set-up, a cycle per rank, and the solves that take it.
#include "tessera/amg_several_devices.hpp"

#include "core/borrowed_csr.hpp"
#include "core/stopwatch.hpp"
#include "solvers/amg/probe.hpp"
#include "solvers/distributed/amg_cycle.hpp"
#include "solvers/distributed/amg_setup_ranks.hpp"
#include "solvers/distributed/matrix.hpp"
#include "solvers/distributed/solve_on_ranks.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "solvers/fused/vector_ops.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessera {

namespace {

using detail::DistributedCycle;
using detail::DistributedProduct;
using detail::SharedHierarchy;

/// M of a rank.
template <class T>
class AmgOfRank final : public FusedOperator<T> {
 public:
  AmgOfRank(std::unique_ptr<DistributedCycle<T>> cycle, std::int64_t rows, Device device)
      : cycle_(std::move(cycle)), rows_(rows), device_(std::move(device)) {}

  [[nodiscard]] std::int64_t rows() const override { return rows_; }
  [[nodiscard]] std::int64_t cols() const override { return rows_; }
  [[nodiscard]] Device device() const override { return device_; }
  [[nodiscard]] std::vector<detail::AmgLayout> layouts() const { return cycle_->layouts(); }
  void begin_run() const { cycle_->begin_run(); }

 protected:
  /// Products with α and β are rare: solvers ask for M r alone.
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    if (alpha == T{1} && beta == T{0}) return cycle_->apply(x, y);
    Array<T> z(rows_, Init::none, detail::alone(device_));
    cycle_->apply(x, z.span());
    IdentityOperator<T>(rows_, detail::alone(device_)).apply(alpha, std::as_const(z).span(), beta, y);
  }

 private:
  [[nodiscard]] const detail::EnqueuedProduct<T>* enqueued_product() const noexcept override {
    return cycle_->enqueued();
  }

  std::unique_ptr<DistributedCycle<T>> cycle_;
  std::int64_t rows_;
  Device device_;
};

template <class T>
void check_arguments(const DistributedMatrix<T>& A, const Csr<T>& matrix, const AmgOptions& options,
                     const DistributedAmgOptions& sharing) {
  if (matrix.rows() != A.rows() || matrix.cols() != A.rows() || matrix.nnz() != A.nnz()) {
    throw DimensionError(fmt::format("AMG: A is {0} x {0} with {1} nonzeros, the matrix for set-up {2} x {3} with {4}",
                                     A.rows(), A.nnz(), matrix.rows(), matrix.cols(), matrix.nnz()));
  }
  if (options.cycle != AmgCycle::v) {
    throw NotSupported(fmt::format("the cycle {} of AMG runs on one device, several devices have the cycle v",
                                   to_string(options.cycle)));
  }
  if (sharing.least_rows >= 1) return;
  throw InvalidArgument(
      fmt::format("DistributedAmgOptions::least_rows must be at least 1, got {}", sharing.least_rows));
}

/// One set-up serves all hosts: with all threads that they have together.
Device set_up_device(const DeviceGroup& group) {
  int threads = 0;
  for (int number = 0; number < group.size(); ++number) threads += group.device(number).threads();
  return Device::host(std::min(threads, std::max(group.device(0).threads(), Device{}.threads())));
}

/// The matrix on a device, as a copy where it lies elsewhere. Work with a matrix on a GPU is done.
template <class T>
Csr<T> brought_to(const Csr<T>& matrix, const Device& device) {
  if (matrix.device() == device) return detail::borrow_csr(matrix.view(), device);
  if (matrix.device().is_host()) return matrix.to(device);
  // In another context of that GPU: its ranks, which work there already, do not wait for the copy.
  return detail::borrow_csr(matrix.view(), Device::cuda(matrix.device().ordinal())).to(device);
}

bool is_same(const Partition& a, const Partition& b) {
  bool same = a.parts() == b.parts();
  for (int part = 0; same && part <= a.parts(); ++part) same = a.first_row(part) == b.first_row(part);
  return same;
}

}  // namespace

template <class T>
struct DistributedAmg<T>::Impl {
  using ColumnsOfRanks = std::vector<std::vector<detail::LevelColumns>>;  ///< per level

  DeviceGroup group;
  Partition partition;
  DistributedAmgInfo info = {};
  std::vector<std::unique_ptr<AmgOfRank<T>>> ranks = {};

  /// Of one set-up, or of a set-up by every GPU: all have the same bits. GPUs that reach each other share its work, and
  /// begin with the rows that they have of A.
  void set_up(const DistributedMatrix<T>& A, const Csr<T>& matrix, const AmgOptions& options, index_t least_rows) {
    const Stopwatch watch;
    const auto set_up_on = [&](const Csr<T>& here, const Device& device) {
      return detail::set_up_shared(here.view(), options, device, partition, least_rows);
    };
    ranks.resize(static_cast<std::size_t>(group.size()));
    ColumnsOfRanks all;
    if (group.device(0).is_host()) {
      const Csr<T> here = brought_to(matrix, Device{});
      SharedHierarchy<T> hierarchy = set_up_on(here, set_up_device(group));
      note(hierarchy, watch);
      group.impl()->run([&](int rank) { take_share(rank, hierarchy, options, all); });
    } else {
      if (!matrix.device().is_host()) synchronize(matrix.device());
      group.impl()->run([&](int rank) {
        const Device device = group.device(rank);
        const bool shares = group.has_peer_access();
        detail::GpuSetupRanks<T> together(group, rank, A.impl().product(rank), partition, least_rows);
        const Csr<T> here = shares ? Csr<T>() : brought_to(matrix, device);
        SharedHierarchy<T> hierarchy =
            shares ? detail::set_up_shared(together, options, device) : set_up_on(here, device);
        if (rank == 0) note(hierarchy, watch);
        if (rank == 0) info.exchange_ms = together.exchange_ms();
        take_share(rank, hierarchy, options, all);
        synchronize(device);
      });
    }
    note_layouts();
    info.share_ms = watch.milliseconds() - info.setup_ms;
    if (options.check) check();
    info.check_ms = watch.milliseconds() - info.setup_ms - info.share_ms;
  }

  void note(SharedHierarchy<T>& hierarchy, const Stopwatch& watch) {
    info.hierarchy = std::move(hierarchy.info);
    info.is_symmetric = hierarchy.is_symmetric;
    info.shared_levels = static_cast<int>(hierarchy.shared_levels);
    info.setup_ms = watch.milliseconds();
  }

  /// Of a rank. Collective. \param all sized by the first rank
  void take_share(int rank, const SharedHierarchy<T>& hierarchy, const AmgOptions& options, ColumnsOfRanks& all) {
    const DeviceGroup::Impl& devices = *group.impl();
    if (rank == 0) all.assign(hierarchy.partitions.size(), std::vector<detail::LevelColumns>(ranks.size()));
    devices.communicator->wait(rank);
    const Device device = devices.rank(rank, partition.first_row(rank), partition.rows());
    auto shares = detail::shares_of(hierarchy, rank, *devices.communicator, all, detail::share_of_host(group.size()));
    auto cycle = device.is_host() ? host::make_distributed_cycle(hierarchy, std::move(shares), options, device)
                                  : cuda::make_distributed_cycle(hierarchy, std::move(shares), options, device);
    auto& own = ranks[static_cast<std::size_t>(rank)];
    own = std::make_unique<AmgOfRank<T>>(std::move(cycle), partition.rows_of(rank), device);
  }

  void note_layouts() {
    std::vector<AmgLevelInfo>& levels = info.hierarchy.levels;
    for (const std::unique_ptr<AmgOfRank<T>>& rank : ranks) {
      std::uint64_t& total = info.bytes.emplace_back(0);
      const std::vector<detail::AmgLayout> layouts = rank->layouts();
      for (std::size_t l = 0; l < levels.size(); ++l) {
        if (levels[l].layout.empty()) levels[l].layout = layouts[l].name;
        levels[l].bytes += layouts[l].bytes;
        total += layouts[l].bytes;
      }
    }
  }

  void apply(std::span<const T> r, std::span<T> z) const {
    group.impl()->run([&](int rank) {
      const AmgOfRank<T>& own = *ranks[static_cast<std::size_t>(rank)];
      const auto first = static_cast<std::size_t>(partition.first_row(rank));
      const auto count = static_cast<std::size_t>(partition.rows_of(rank));
      detail::LocalVector<const T> from(r.subspan(first, count), own.device());
      detail::LocalVector<T> to(z.subspan(first, count), own.device());
      own.begin_run();
      own.LinearOperator<T>::apply(from.span(), to.span());
      detail::require_answers(own.device());
      to.bring_back();
    });
  }

  /// As Amg: M is finite, and positive definite as far as one vector can tell.
  void check() const {
    double product = 0.0;
    group.impl()->run([&](int rank) {
      const AmgOfRank<T>& own = *ranks[static_cast<std::size_t>(rank)];
      const Device device = own.device();
      Array<T> u(own.rows(), Init::none, detail::alone(device));
      Array<T> mu(own.rows(), Init::none, detail::alone(device));
      fused::transform_reduce(detail::alone(device), own.rows(),
                              detail::ProbeVector<T>{.x = u.data(), .first = partition.first_row(rank)});
      own.begin_run();
      own.LinearOperator<T>::apply(std::as_const(u).span(), mu.span());
      const double of_all = fused::dot<T>(device, std::as_const(u).span(), std::as_const(mu).span());
      if (rank == 0) product = of_all;
    });
    detail::require_sound_cycle(product, info.is_symmetric);
  }

  /// \throws InvalidArgument where A lies elsewhere
  void require_made_for(const DistributedMatrix<T>& A) const {
    if (A.group().impl() == group.impl() && is_same(A.partition(), partition)) return;
    throw InvalidArgument("AMG was made for another group of devices or another partition than A has");
  }
};

template <class T>
DistributedAmg<T>::DistributedAmg(const DistributedMatrix<T>& A, const Csr<T>& matrix, const AmgOptions& options,
                                  const DistributedAmgOptions& sharing)
    : impl_((check_arguments(A, matrix, options, sharing), new Impl{.group = A.group(), .partition = A.partition()})) {
  AmgOptions own = options;
  own.prepare_refresh = false;
  impl_->set_up(A, matrix, own, sharing.least_rows);
}

template <class T>
DistributedAmg<T>::DistributedAmg(const DistributedMatrix<T>& A, const CsrView<T>& matrix, const AmgOptions& options,
                                  const DistributedAmgOptions& sharing)
    : DistributedAmg(A, detail::borrow_csr(matrix, Device{}), options, sharing) {}

template <class T>
DistributedAmg<T>::~DistributedAmg() = default;
template <class T>
DistributedAmg<T>::DistributedAmg(DistributedAmg&&) noexcept = default;
template <class T>
DistributedAmg<T>& DistributedAmg<T>::operator=(DistributedAmg&&) noexcept = default;

template <class T>
index_t DistributedAmg<T>::rows() const noexcept {
  return impl_->partition.rows();
}
template <class T>
const DistributedAmgInfo& DistributedAmg<T>::info() const noexcept {
  return impl_->info;
}

template <class T>
void DistributedAmg<T>::apply(std::span<const T> r, std::span<T> z) const {
  detail::check_vector<T>("r", r.size(), rows());
  detail::check_vector<T>("z", z.size(), rows());
  impl_->apply(r, z);
}

namespace {

/// \param method as solve_on_ranks()
template <class T, class Method>
SolveReport solve_with(const DistributedMatrix<T>& A, const DistributedAmg<T>& M, std::span<const T> b, std::span<T> x,
                       const SolverOptions& options, const Method& method) {
  M.impl().require_made_for(A);
  const auto of_rank = [&M](int rank, const DistributedProduct<T>& /*product*/) {
    const AmgOfRank<T>* const own = M.impl().ranks[static_cast<std::size_t>(rank)].get();
    own->begin_run();
    return own;
  };
  return detail::solve_on_ranks<T>(A, of_rank, b, x, options, method);
}

}  // namespace

template <class T>
SolveReport cg(const DistributedMatrix<T>& A, const DistributedAmg<T>& M, std::span<const T> b, std::span<T> x,
               const SolverOptions& options) {
  return solve_with<T>(A, M, b, x, options, [](const auto&... arguments) { return cg<T>(arguments...); });
}

template <class T>
SolveReport bicgstab(const DistributedMatrix<T>& A, const DistributedAmg<T>& M, std::span<const T> b, std::span<T> x,
                     const SolverOptions& options) {
  return solve_with<T>(A, M, b, x, options, [](const auto&... arguments) { return bicgstab<T>(arguments...); });
}

template class DistributedAmg<float>;
template class DistributedAmg<double>;
template SolveReport cg(const DistributedMatrix<float>&, const DistributedAmg<float>&, std::span<const float>,
                        std::span<float>, const SolverOptions&);
template SolveReport bicgstab(const DistributedMatrix<float>&, const DistributedAmg<float>&, std::span<const float>,
                              std::span<float>, const SolverOptions&);
template SolveReport cg(const DistributedMatrix<double>&, const DistributedAmg<double>&, std::span<const double>,
                        std::span<double>, const SolverOptions&);
template SolveReport bicgstab(const DistributedMatrix<double>&, const DistributedAmg<double>&, std::span<const double>,
                              std::span<double>, const SolverOptions&);

}  // namespace tessera
