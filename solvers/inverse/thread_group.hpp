/// \file
/// Operations on the rows of a matrix by groups of lanes, written once for the host and a GPU: a thread of the host is
/// a group of one lane, a GPU takes a thread, a warp or a block per row. Set-up of approximate inverses is made of
/// these.
///
/// A row operation is a small value: pointers to arrays on one device, and
///   template <class Group> void run(const Group&, index_t row, double* scratch) const;
///   static constexpr bool solves;       whether it solves a dense system per row, and needs scratch memory:
///   int unknowns(index_t row) const;    of that system, at most max_unknowns
/// Every number is computed by operations in an order that does not depend on the group, and a product that is added is
/// a rounded_product(): host and GPU give the same bits.
#pragma once

#include "core/host_device.hpp"
#include "core/interruption.hpp"
#include "core/parallel.hpp"
#include "solvers/fused/preconditioner.hpp"
#include "tessera/array.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tessera::detail {

/// Largest dense system: its triangle fits into the shared memory of a block on every GPU of compute capability 8.0 on.
inline constexpr int max_unknowns = 128;

/// Doubles of scratch memory: a triangle by columns, and a vector.
[[nodiscard]] constexpr int scratch_size(int unknowns) noexcept { return unknowns * (unknowns + 1) / 2 + unknowns; }

/// Sums of doubles have so many interleaved parts, which are then added pairwise.
inline constexpr int sum_parts = 32;

/// A group of one lane.
struct SerialGroup {
  static constexpr bool is_serial = true;
  [[nodiscard]] TESSERA_HOST_DEVICE static int rank() noexcept { return 0; }
  [[nodiscard]] TESSERA_HOST_DEVICE static int size() noexcept { return 1; }
  TESSERA_HOST_DEVICE static void sync() noexcept {}
  [[nodiscard]] TESSERA_HOST_DEVICE static offset_t sum(offset_t value) noexcept { return value; }
  [[nodiscard]] TESSERA_HOST_DEVICE static double largest(double value) noexcept { return value; }
  [[nodiscard]] TESSERA_HOST_DEVICE static int smallest(int value) noexcept { return value; }
  /// Of the lanes before this one that say yes; `total` receives that of all lanes.
  [[nodiscard]] TESSERA_HOST_DEVICE static int yes_before(bool yes, int& total) noexcept {
    total = yes ? 1 : 0;
    return 0;
  }
  /// Σ term(k) over [begin, end).
  template <class Term>
  [[nodiscard]] TESSERA_HOST_DEVICE static double sum_terms(offset_t begin, offset_t end, const Term& term) noexcept {
    double part[sum_parts] = {};
    for (offset_t k = begin; k < end; ++k) part[(k - begin) % sum_parts] += term(k);
    for (int half = sum_parts / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) part[lane] += part[lane + half];
    }
    return part[0];
  }
};

/// Lowers *address to value. Many rows report, few lower: the plain read keeps the others from queueing.
TESSERA_HOST_DEVICE inline void lower_to(int* address, int value) {
#ifdef __CUDA_ARCH__
  if (value < *address) atomicMin(address, value);
#else
  const std::atomic_ref<int> shared(*address);
  for (int seen = shared.load(std::memory_order_relaxed); value < seen;) {
    if (shared.compare_exchange_weak(seen, value, std::memory_order_relaxed)) return;
  }
#endif
}

/// What the rows of an operation report.
struct RowReport {
  static constexpr int none = std::numeric_limits<int>::max();
  int first_bad = none;     ///< the first row that cannot be computed
  int largest_negated = 0;  ///< of the entries of a row
};

/// A report in the memory of a device, which rows write and the host asks for.
class SharedReport {
 public:
  explicit SharedReport(const Device& device) : memory_(1, Init::none, device) {
    const RowReport empty;
    copy_bytes(device, memory_.data(), Device{}, &empty, sizeof(empty));
  }
  [[nodiscard]] RowReport* data() noexcept { return memory_.data(); }
  /// Waits for the device.
  [[nodiscard]] RowReport get() const {
    RowReport report;
    copy_bytes(Device{}, &report, memory_.device(), memory_.data(), sizeof(report));
    return report;
  }

 private:
  Array<RowReport> memory_;
};

}  // namespace tessera::detail

namespace tessera::cuda {

/// The kernels of a row operation. \param most unknowns of any row \throws CudaError; DeviceUnavailable in a build
/// without CUDA
template <class Op>
struct ForRows {
  static void run(const Device& device, index_t rows, const Op& op, int most);
};

}  // namespace tessera::cuda

namespace tessera::detail {

/// Runs an operation on all rows. Returns before it is done on a GPU. On the host rows that solve are an interruption
/// point from time to time. \param most unknowns of any row, where it solves
template <class Op>
void for_rows(const Device& device, index_t rows, const Op& op, int most = 0) {
  if (!device.is_host()) return cuda::ForRows<Op>::run(device, rows, op, most);
  // Rows differ in their work, so threads take a few at a time.
  constexpr std::int64_t rows_of_task = 64;
  const std::int64_t tasks = (std::int64_t{rows} + rows_of_task - 1) / rows_of_task;
  const std::int64_t at_once = Op::solves ? 16 * std::int64_t{std::max(device.threads(), 1)} : tasks;
  for (std::int64_t first = 0; first < tasks; first += at_once) {
    require_wanted();
    host::parallel_tasks(
        device, std::min(at_once, tasks - first),
        [&](std::int64_t task) {
          std::array<double, Op::solves ? static_cast<std::size_t>(scratch_size(max_unknowns)) : 1> scratch;
          const std::int64_t begin = (first + task) * rows_of_task;
          const std::int64_t end = std::min<std::int64_t>(rows, begin + rows_of_task);
          for (std::int64_t i = begin; i < end; ++i) {
            op.run(SerialGroup{}, static_cast<index_t>(i), scratch.data());
          }
        },
        Op::solves ? 1 : 4);
  }
}

}  // namespace tessera::detail
