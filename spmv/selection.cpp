#include "spmv/selection.hpp"

#include "core/parallel.hpp"
#include "preprocess/long_row_slices.hpp"
#include "preprocess/merge_search.hpp"
#include "spmv/common/chunks.hpp"
#include "spmv/csr_vector/row_lengths.hpp"
#include "spmv/registry.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace tessera {

namespace {

/// The row kernel balances all but a row that alone is more than this part of the work: no thread can help with it.
constexpr std::int64_t largest_row_part = 64;

/// Products that repay tiles on a GPU.
constexpr std::int64_t applications_worth_tiles = 50;

/// On a GPU, rows of at least so many nonzeros on average, and of like length, balance by themselves.
constexpr offset_t mean_worth_warps = 48;
constexpr double most_spread = 1.1;

/// On a GPU, products of matrices with values and at most so many nonzeros are as long as their chain of loads:
/// shortest where a few lanes sum a row, without anything to join (bench/NOTES.md). Patterns stay with tiles, since
/// PageRank does all of a step in a product of tiles.
constexpr offset_t most_of_short_chains = 2'000'000;

/// Products that repay tiles and slices: each product saves about a third of its time, the set-up takes the time of
/// one.
constexpr std::int64_t applications_worth_slices = 5;

struct LongestRow {
  offset_t length = 0;
  LongestRow& operator+=(const LongestRow& other) {
    length = std::max(length, other.length);
    return *this;
  }
};

template <class T>
offset_t longest_row(const CsrView<T>& a, const Device& device) {
  return host::parallel_sum<LongestRow>(device, a.rows,
                                        [&](host::Range rows) {
                                          LongestRow longest;
                                          for (std::int64_t i = rows.begin; i < rows.end; ++i) {
                                            const auto row = static_cast<std::size_t>(i);
                                            longest += {a.row_offsets[row + 1] - a.row_offsets[row]};
                                          }
                                          return longest;
                                        })
      .length;
}

[[nodiscard]] bool keeps_class(SpmvAlgorithm algorithm, const SpmvOptions& options) {
  const SpmvBackend& backend = spmv_kernel_entry(algorithm).cuda;
  return backend.offered() && backend.strongest >= options.determinism;
}

/// On a GPU: rows where they balance by themselves, tiles where products repay them, else the first kernel that
/// balances by itself; of those that keep the class asked for.
template <class T>
SpmvSelection select_for_gpu(const CsrView<T>& a, const SpmvOptions& options) {
  using enum SpmvAlgorithm;
  const offset_t mean = a.rows > 0 ? a.nnz() / a.rows : 0;
  if (mean >= mean_worth_warps && keeps_class(csr_vector, options) &&
      cuda::row_length_spread(options.device, a.row_offsets) <= most_spread) {
    return {csr_vector, fmt::format("rows of like length, {} nonzeros on average, balance by themselves", mean)};
  }
  if (a.nnz() <= most_of_short_chains && !a.is_pattern() && keeps_class(csr_vector, options) &&
      cuda::is_product_in_one_kernel(options.device, a.row_offsets)) {
    return {csr_vector, fmt::format("{} nonzeros are so few that launches and loads in a chain decide", a.nnz())};
  }
  const bool worth_tiles = options.expected_applications >= applications_worth_tiles;
  const std::array ranked =
      worth_tiles ? std::array{merbit, merge, csr_vector, csr5} : std::array{merge, csr_vector, merbit, csr5};
  for (const SpmvAlgorithm algorithm : ranked) {
    if (!keeps_class(algorithm, options)) continue;
    return {algorithm, algorithm == merbit
                           ? fmt::format("equal shares of the work for every warp; {} products repay the tiles",
                                         options.expected_applications)
                           : fmt::format("{} products would not repay tiles", options.expected_applications)};
  }
  throw NotSupported(fmt::format("no kernel on {} keeps {}", options.device.name(), to_string(options.determinism)));
}

/// MERBIT where its slices gain something and are repaid. Nothing else makes it faster than the others on the host.
template <class T>
std::optional<SpmvSelection> select_slices(const CsrView<T>& a, const SpmvOptions& options) {
  if (options.expected_applications < applications_worth_slices) return std::nullopt;
  const LongRowTotals sliced = rows_worth_slicing(a.row_offsets, a.cols, sizeof(T), options.device);
  if (sliced.rows == 0) return std::nullopt;
  const double passes = static_cast<double>(sliced.nonzeros) / static_cast<double>(a.cols);
  return SpmvSelection{SpmvAlgorithm::merbit,
                       fmt::format("{} long rows hold {} of {} nonzeros, {:.1f} a column: merbit reads x once for all "
                                   "of these rows",
                                   sliced.rows, sliced.nonzeros, a.nnz(), passes)};
}

}  // namespace

template <class T>
SpmvSelection select_spmv_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  if (!options.device.is_host()) return select_for_gpu(a, options);
  const offset_t length = path_length(a.rows, a.nnz());
  if (length <= 2 * host::items_per_chunk) {
    return {SpmvAlgorithm::csr,
            fmt::format("{} rows and {} nonzeros are too few to be worth sharing out evenly", a.rows, a.nnz())};
  }
  if (std::optional<SpmvSelection> slices = select_slices(a, options)) return *std::move(slices);
  const offset_t longest = longest_row(a, options.device);
  const double percent = a.nnz() > 0 ? 100.0 * static_cast<double>(longest) / static_cast<double>(a.nnz()) : 0.0;
  if (longest * largest_row_part <= length) {
    return {SpmvAlgorithm::csr,
            fmt::format("the longest row holds {} of {} nonzeros ({:.2g} %), so rows share out evenly", longest,
                        a.nnz(), percent)};
  }
  return {SpmvAlgorithm::merge,
          fmt::format("one row holds {} of {} nonzeros ({:.2g} %) and must be cut", longest, a.nnz(), percent)};
}

template SpmvSelection select_spmv_kernel(const CsrView<float>&, const SpmvOptions&);
template SpmvSelection select_spmv_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera
