/// AMG on several devices: set-up on the first, a cycle per rank, and the solves that take it.
#include "tessera/amg_several_devices.hpp"

#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "solvers/amg/probe.hpp"
#include "solvers/distributed/amg_cycle.hpp"
#include "solvers/distributed/solve_on_ranks.hpp"
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
void check_arguments(const DistributedMatrix<T>& A, const CsrView<T>& matrix, const AmgOptions& options,
                     const DistributedAmgOptions& sharing) {
  if (matrix.rows != A.rows() || matrix.cols != A.rows() || matrix.nnz() != A.nnz()) {
    throw DimensionError(fmt::format("AMG: A is {0} x {0} with {1} nonzeros, the matrix for set-up {2} x {3} with {4}",
                                     A.rows(), A.nnz(), matrix.rows, matrix.cols, matrix.nnz()));
  }
  if (options.cycle != AmgCycle::v) {
    throw NotSupported(fmt::format("the cycle {} of AMG runs on one device, several devices have the cycle v",
                                   to_string(options.cycle)));
  }
  if (sharing.least_rows >= 1) return;
  throw InvalidArgument(
      fmt::format("DistributedAmgOptions::least_rows must be at least 1, got {}", sharing.least_rows));
}

/// Set-up runs alone: with all threads that the ranks have together.
Device set_up_device(const DeviceGroup& group) {
  Device first = group.device(0);
  if (!first.is_host()) return first;
  int threads = 0;
  for (int number = 0; number < group.size(); ++number) threads += group.device(number).threads();
  return Device::host(std::min(threads, std::max(first.threads(), Device{}.threads())));
}

bool is_same(const Partition& a, const Partition& b) {
  bool same = a.parts() == b.parts();
  for (int part = 0; same && part <= a.parts(); ++part) same = a.first_row(part) == b.first_row(part);
  return same;
}

}  // namespace

template <class T>
struct DistributedAmg<T>::Impl {
  DeviceGroup group;
  Partition partition;
  DistributedAmgInfo info = {};
  std::vector<std::unique_ptr<AmgOfRank<T>>> ranks = {};

  void share(const SharedHierarchy<T>& hierarchy, const AmgOptions& options) {
    const DeviceGroup::Impl& devices = *group.impl();
    const auto size = static_cast<std::size_t>(group.size());
    const Device host = detail::share_of_host(group.size());
    std::vector<std::vector<detail::LevelColumns>> all(hierarchy.partitions.size(),
                                                       std::vector<detail::LevelColumns>(size));
    ranks.resize(size);
    devices.run([&](int rank) {
      const Device device = devices.rank(rank, partition.first_row(rank), partition.rows());
      const auto shares = detail::shares_of(hierarchy, rank, *devices.communicator, all, host);
      auto cycle = device.is_host() ? host::make_distributed_cycle(hierarchy, shares, options, device)
                                    : cuda::make_distributed_cycle(hierarchy, shares, options, device);
      auto& own = ranks[static_cast<std::size_t>(rank)];
      own = std::make_unique<AmgOfRank<T>>(std::move(cycle), partition.rows_of(rank), device);
    });
    note_layouts();
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
    const std::int64_t n = partition.rows();
    std::vector<T> u(static_cast<std::size_t>(n));
    std::vector<T> mu(u.size());
    host::parallel_for(Device{}, n, [&](host::Range range) {
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        u[static_cast<std::size_t>(i)] = static_cast<T>(detail::probe_element(i, 0x1001U));
      }
    });
    apply(u, mu);
    const auto product = host::parallel_sum<double>(Device{}, n, [&](host::Range range) {
      double sum = 0.0;
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        sum += static_cast<double>(u[at]) * static_cast<double>(mu[at]);
      }
      return sum;
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
DistributedAmg<T>::DistributedAmg(const DistributedMatrix<T>& A, const CsrView<T>& matrix, const AmgOptions& options,
                                  const DistributedAmgOptions& sharing)
    : impl_((check_arguments(A, matrix, options, sharing), new Impl{.group = A.group(), .partition = A.partition()})) {
  AmgOptions own = options;
  own.prepare_refresh = false;
  DistributedAmgInfo& info = impl_->info;
  const Stopwatch setting_up;
  SharedHierarchy<T> hierarchy =
      detail::set_up_shared(matrix, own, set_up_device(A.group()), A.partition(), sharing.least_rows);
  info.setup_ms = setting_up.milliseconds();
  const Stopwatch sharing_out;
  info.hierarchy = std::move(hierarchy.info);
  info.is_symmetric = hierarchy.is_symmetric;
  info.shared_levels = static_cast<int>(hierarchy.shared_levels);
  impl_->share(hierarchy, own);
  if (options.check) impl_->check();
  info.share_ms = sharing_out.milliseconds();
}

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
