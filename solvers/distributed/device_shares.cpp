/// Shares of several devices, counted from the matrix: one bit per element of the vector and device that needs it.
#include "tessera/device_shares.hpp"

#include "core/communicator.hpp"
#include "core/parallel.hpp"
#include "solvers/distributed/transition_block.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>

namespace tessera {

namespace {

using detail::most_ranks;

/// Bytes of an element with the number of its exchange, as GPUs write it into each other's memory.
constexpr std::uint64_t word_bytes = 16;
/// Sums of a product over peers, in blocks.
constexpr std::uint64_t peer_sums_bytes = 4352;

struct EntryCounts {
  std::array<offset_t, most_ranks> nnz{};
  std::array<offset_t, most_ranks> halo_nnz{};
  EntryCounts& operator+=(const EntryCounts& other) noexcept {
    for (std::size_t part = 0; part < most_ranks; ++part) {
      nnz[part] += other.nnz[part];
      halo_nnz[part] += other.halo_nnz[part];
    }
    return *this;
  }
};

/// Entries, and who needs what.
class ShareCounter {
 public:
  explicit ShareCounter(const Partition& partition) : partition_(partition) {
    const auto rows = static_cast<std::size_t>(partition.rows());
    part_of_.resize(rows);
    needed_by_.resize(rows);
    is_boundary_.resize(rows);
    for (int part = 0; part < partition.parts(); ++part) {
      std::fill(part_of_.begin() + partition.first_row(part), part_of_.begin() + partition.first_row(part + 1),
                static_cast<std::uint8_t>(part));
    }
  }

  template <class T>
  void count(const CsrView<T>& matrix) {
    counts_ = host::parallel_sum<EntryCounts>(Device{}, matrix.rows, [&](host::Range range) {
      EntryCounts counts;
      for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
        for (auto k = static_cast<std::size_t>(matrix.row_offsets[i]);
             k < static_cast<std::size_t>(matrix.row_offsets[i + 1]); ++k) {
          add(i, static_cast<std::size_t>(matrix.columns[k]), counts);
        }
      }
      return counts;
    });
    for (std::size_t element = 0; element < needed_by_.size(); ++element) {
      for (unsigned bits = needed_by_[element]; bits != 0; bits &= bits - 1) {
        ++needed_[static_cast<std::size_t>(std::countr_zero(bits))][part_of_[element]];
      }
    }
  }

  /// Who needs most of another's elements gets all.
  void take_whole_parts() {
    for (int part = 0; part < partition_.parts(); ++part) {
      for (int other = 0; other < partition_.parts(); ++other) {
        index_t& needed = needed_[static_cast<std::size_t>(part)][static_cast<std::size_t>(other)];
        const index_t rows = partition_.rows_of(other);
        if (part != other && needed >= detail::least_share_of_whole * rows) needed = rows;
      }
    }
  }

  /// Counts alone, without bytes.
  [[nodiscard]] DeviceShare share(int part) const {
    const auto at = static_cast<std::size_t>(part);
    DeviceShare result;
    result.first_row = partition_.first_row(part);
    result.rows = partition_.rows_of(part);
    result.nnz = counts_.nnz[at];
    result.halo_nnz = counts_.halo_nnz[at];
    for (index_t row = result.first_row; row < result.first_row + result.rows; ++row) {
      result.boundary_rows += is_boundary_[static_cast<std::size_t>(row)];
    }
    for (std::size_t other = 0; other < static_cast<std::size_t>(partition_.parts()); ++other) {
      result.halo += needed_[at][other];
      result.sent += needed_[other][at];
      result.neighbours += needed_[at][other] > 0 ? 1 : 0;
    }
    return result;
  }

  /// Elements that a part copies together before others fetch them: not those of who gets all.
  [[nodiscard]] std::uint64_t gathered(int part) const {
    std::uint64_t result = 0;
    for (int other = 0; other < partition_.parts(); ++other) {
      const index_t needed = needed_[static_cast<std::size_t>(other)][static_cast<std::size_t>(part)];
      if (needed < partition_.rows_of(part)) result += static_cast<std::uint64_t>(needed);
    }
    return result;
  }

 private:
  void add(std::size_t row, std::size_t element, EntryCounts& counts) {
    const std::uint8_t part = part_of_[row];
    ++counts.nnz[part];
    if (part_of_[element] == part) return;
    ++counts.halo_nnz[part];
    is_boundary_[row] = 1;
    const auto bit = static_cast<std::uint16_t>(1U << part);
    const std::atomic_ref<std::uint16_t> needed(needed_by_[element]);
    if ((needed.load(std::memory_order_relaxed) & bit) == 0) needed.fetch_or(bit, std::memory_order_relaxed);
  }

  const Partition& partition_;
  std::vector<std::uint8_t> part_of_;     ///< of a row or element
  std::vector<std::uint16_t> needed_by_;  ///< per element: a bit per part
  std::vector<std::uint8_t> is_boundary_;
  EntryCounts counts_;
  std::array<std::array<index_t, most_ranks>, most_ranks> needed_{};  ///< by a part, of another
};

/// \throws DimensionError, InvalidArgument
template <class T>
void require_fit(const CsrView<T>& matrix, const Partition& partition) {
  if (partition.parts() > static_cast<int>(most_ranks)) {
    throw InvalidArgument(
        fmt::format("at most {} devices share a matrix, got {} parts", most_ranks, partition.parts()));
  }
  if (matrix.is_square() && matrix.rows == partition.rows()) return;
  throw DimensionError(
      fmt::format("a partition of {} rows does not fit a {} x {} matrix", partition.rows(), matrix.rows, matrix.cols));
}

[[nodiscard]] std::uint64_t csr_bytes(std::uint64_t rows, std::uint64_t nnz, std::size_t value) {
  return (rows + 1) * sizeof(offset_t) + nnz * (sizeof(index_t) + value);
}

/// Two blocks, the lists of boundary rows and of columns of the halo, the halo and its product.
template <class T>
void add_bytes_of_rows(std::size_t value, std::uint64_t gathered, DeviceShare& share) {
  const auto rows = static_cast<std::uint64_t>(share.rows);
  const auto halo = static_cast<std::uint64_t>(share.halo);
  const auto boundary = static_cast<std::uint64_t>(share.boundary_rows);
  share.matrix_bytes = csr_bytes(rows, static_cast<std::uint64_t>(share.nnz - share.halo_nnz), value);
  if (halo > 0) share.matrix_bytes += csr_bytes(boundary, static_cast<std::uint64_t>(share.halo_nnz), value);
  share.matrix_bytes += boundary * sizeof(index_t);
  share.halo_bytes =
      (halo + boundary) * sizeof(T) + halo * sizeof(index_t) + gathered * (sizeof(index_t) + 2 * sizeof(T));
  share.peer_bytes = halo * word_bytes + static_cast<std::uint64_t>(share.sent) * sizeof(index_t) + peer_sums_bytes;
}

/// One block, with what divides and counts the out-links. The halo lies in the vectors.
template <class T>
void add_bytes_of_ranks(std::size_t value, std::uint64_t gathered, DeviceShare& share) {
  const auto rows = static_cast<std::uint64_t>(share.rows);
  share.matrix_bytes =
      csr_bytes(rows, static_cast<std::uint64_t>(share.nnz), value) + rows * (sizeof(T) + sizeof(index_t));
  share.halo_bytes = gathered * (sizeof(index_t) + 2 * sizeof(T));
  share.peer_bytes = static_cast<std::uint64_t>(share.sent) * sizeof(index_t);
}

template <class T>
[[nodiscard]] std::vector<DeviceShare> shares_of(const CsrView<T>& matrix, const Partition& partition, bool of_ranks) {
  require_fit(matrix, partition);
  ShareCounter counter(partition);
  counter.count(matrix);
  if (of_ranks) counter.take_whole_parts();
  const std::size_t value = matrix.is_pattern() ? 0 : sizeof(T);
  std::vector<DeviceShare> shares;
  for (int part = 0; part < partition.parts(); ++part) {
    DeviceShare& share = shares.emplace_back(counter.share(part));
    const std::uint64_t gathered = counter.gathered(part);
    of_ranks ? add_bytes_of_ranks<T>(value, gathered, share) : add_bytes_of_rows<T>(value, gathered, share);
  }
  return shares;
}

}  // namespace

template <class T>
std::vector<DeviceShare> device_shares(const CsrView<T>& matrix, const Partition& partition) {
  return shares_of(matrix, partition, false);
}

template <class T>
std::vector<DeviceShare> rank_shares(const TransitionMatrix<T>& transition, const Partition& partition) {
  return shares_of(transition.in_links()->view(), partition, true);
}

template std::vector<DeviceShare> device_shares(const CsrView<float>&, const Partition&);
template std::vector<DeviceShare> device_shares(const CsrView<double>&, const Partition&);
template std::vector<DeviceShare> rank_shares(const TransitionMatrix<float>&, const Partition&);
template std::vector<DeviceShare> rank_shares(const TransitionMatrix<double>&, const Partition&);

}  // namespace tessera
