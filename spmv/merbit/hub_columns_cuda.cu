/// \file
/// Hub columns on a GPU: uses of columns are counted, first of a sample of the nonzeros, then the most used ones get
/// codes.
#include "spmv/merbit/hub_columns.hpp"

#include "core/cuda/launch.cuh"
#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "core/partition_point.hpp"

#include <cstdint>
#include <utility>

namespace tessera::cuda {

namespace {

/// Nonzeros of a strip, which one warp passes over. Its rows are taken for one, which is near enough to tell far
/// columns.
constexpr offset_t strip_nonzeros = 2048;
constexpr int strip_threads = 256;

/// Of so many strips a sample has one.
constexpr std::int64_t sampled_strips = 16;

/// Of a sample, to be told from columns that were met by chance.
constexpr std::uint64_t least_sampled_uses = 2;

/// The strips first, first + one_in, ...
struct Sample {
  std::int64_t one_in = 1;
  std::int64_t first = 0;
};
constexpr Sample promising{sampled_strips, 0};
constexpr Sample confirming{sampled_strips, sampled_strips / 2};

constexpr int column_threads = 256;

/// Where the strips lie.
struct Strips {
  const offset_t* row_offsets = nullptr;
  const index_t* columns = nullptr;
  index_t rows = 0;
  index_t cols = 0;
  offset_t nnz = 0;

  [[nodiscard]] TESSERA_HOST_DEVICE std::int64_t count() const { return (nnz + strip_nonzeros - 1) / strip_nonzeros; }
  /// The diagonal in the row of nonzero k.
  [[nodiscard]] __device__ index_t diagonal_at(offset_t k) const {
    const index_t after =
        detail::partition_point(index_t{0}, rows, [&](index_t row) { return __ldg(row_offsets + row) <= k; });
    return diagonal_column(after - 1, rows, cols);
  }
  /// function(nonzero or none, its column, whether that is far) for the nonzeros of a strip, one per lane at a time.
  template <class Function>
  __device__ void for_nonzeros(std::int64_t strip, const HubRules& rules, const Function& function) const {
    const offset_t begin = strip * strip_nonzeros;
    const offset_t end = begin + strip_nonzeros < nnz ? begin + strip_nonzeros : nnz;
    const index_t diagonal = diagonal_at(begin);
#pragma unroll 4
    for (offset_t first = begin; first < end; first += warp_size) {
      const offset_t k = first + threadIdx.x % warp_size;
      const index_t column = k < end ? __ldcs(columns + k) : 0;
      function(k < end ? k : offset_t{-1}, column, k < end && rules.is_far(column, diagonal));
    }
  }
};

[[nodiscard]] __device__ std::int64_t strip_of_warp(const Sample& sample) {
  const std::int64_t warp = std::int64_t{blockIdx.x} * (strip_threads / warp_size) + threadIdx.x / warp_size;
  return sample.first + warp * sample.one_in;
}

/// Whether no earlier lane has a far nonzero in the same column: what neighbours read together is one use.
[[nodiscard]] __device__ bool is_first_use(index_t column, bool is_far) {
  const auto lane = threadIdx.x % warp_size;
  const unsigned same = __match_any_sync(full_warp, is_far ? column : -1);
  return is_far && (same & ((1u << lane) - 1)) == 0;
}

__global__ void __launch_bounds__(strip_threads)
    count_uses_kernel(Strips strips, HubRules rules, Sample sample, unsigned* uses) {
  const std::int64_t strip = strip_of_warp(sample);
  if (strip >= strips.count()) return;
  strips.for_nonzeros(strip, rules, [uses](offset_t /*k*/, index_t column, bool is_far) {
    if (is_first_use(column, is_far)) atomicAdd(uses + column, 1u);
  });
}

/// Uses, in a sample, of columns that are hubs by another one.
__global__ void __launch_bounds__(strip_threads)
    count_confirmed_kernel(Strips strips, HubRules rules, Sample sample, const unsigned* uses, std::uint64_t least_uses,
                           unsigned long long* confirmed) {
  const std::int64_t strip = strip_of_warp(sample);
  if (strip >= strips.count()) return;
  unsigned mine = 0;
  strips.for_nonzeros(strip, rules, [&](offset_t /*k*/, index_t column, bool is_far) {
    if (is_first_use(column, is_far) && __ldg(uses + column) >= least_uses) ++mine;
  });
  const unsigned of_warp = __reduce_add_sync(full_warp, mine);
  if (threadIdx.x % warp_size == 0 && of_warp != 0) atomicAdd(confirmed, static_cast<unsigned long long>(of_warp));
}

/// Histograms of the uses of columns and of whole lines of x.
struct UseHistograms {
  UseCounts columns;
  UseCounts lines;
};

/// Of a block, in shared memory.
struct SharedBins {
  unsigned with_uses[UseCounts::bins];
  unsigned long long uses_of_last_bin;

  __device__ void clear() {
    for (int b = static_cast<int>(threadIdx.x); b < UseCounts::bins; b += column_threads) with_uses[b] = 0;
    if (threadIdx.x == 0) uses_of_last_bin = 0;
  }
  __device__ void add(unsigned long long uses) {
    constexpr unsigned last = UseCounts::bins - 1;
    if (uses == 0) return;
    atomicAdd(with_uses + (uses < last ? uses : last), 1u);
    if (uses >= last) atomicAdd(&uses_of_last_bin, uses);
  }
  __device__ void add_to(UseCounts& counts) const {
    for (int b = static_cast<int>(threadIdx.x); b < UseCounts::bins; b += column_threads) {
      if (with_uses[b] != 0) atomicAdd(counts.with_uses + b, static_cast<unsigned long long>(with_uses[b]));
    }
    if (threadIdx.x == 0 && uses_of_last_bin != 0) atomicAdd(&counts.uses_of_last_bin, uses_of_last_bin);
  }
};

__global__ void __launch_bounds__(column_threads)
    use_histograms_kernel(const unsigned* uses, index_t cols, int line_entries, unsigned scale,
                          UseHistograms* histograms) {
  __shared__ SharedBins columns;
  __shared__ SharedBins lines;
  columns.clear();
  lines.clear();
  __syncthreads();
  const std::int64_t stride = std::int64_t{gridDim.x} * column_threads * line_entries;
  for (std::int64_t first = (std::int64_t{blockIdx.x} * column_threads + threadIdx.x) * line_entries; first < cols;
       first += stride) {
    unsigned long long of_line = 0;
    for (std::int64_t c = first; c < first + line_entries && c < cols; ++c) {
      columns.add(uses[c] / scale);
      of_line += uses[c] / scale;
    }
    lines.add(of_line);
  }
  __syncthreads();
  columns.add_to(histograms->columns);
  lines.add_to(histograms->lines);
}

/// Hubs among 32 columns, by bits, and before them. So small that a cache keeps those of all columns.
struct HubWord {
  unsigned hubs;
  index_t before;

  [[nodiscard]] __device__ bool has(index_t column) const { return (hubs >> column % 32 & 1u) != 0; }
  [[nodiscard]] __device__ index_t number(index_t column) const {
    return before + __popc(hubs & ((1u << column % 32) - 1));
  }
};

/// A word per warp. \param hubs_of_word their numbers
__global__ void __launch_bounds__(column_threads)
    mark_hubs_kernel(const unsigned* uses, index_t cols, std::uint64_t least_uses, HubWord* words,
                     offset_t* hubs_of_word) {
  const std::int64_t column = std::int64_t{blockIdx.x} * column_threads + threadIdx.x;
  const unsigned hubs = __ballot_sync(full_warp, column < cols && uses[column] >= least_uses);
  if (column % warp_size != 0 || column >= cols) return;
  words[column / warp_size].hubs = hubs;
  hubs_of_word[column / warp_size] = __popc(hubs);
}

/// Writes the hubs, in the order of columns.
__global__ void __launch_bounds__(column_threads)
    number_hubs_kernel(index_t cols, const offset_t* hubs_before, HubWord* words, index_t* hubs) {
  const std::int64_t at = std::int64_t{blockIdx.x} * column_threads + threadIdx.x;
  if (at >= cols) return;
  const auto column = static_cast<index_t>(at);
  const HubWord word{words[column / warp_size].hubs, static_cast<index_t>(hubs_before[column / warp_size])};
  if (word.has(column)) hubs[word.number(column)] = column;
  if (column % warp_size == 0) words[column / warp_size].before = word.before;
}

/// Marks the hubs that are staged. \param uses of columns
__global__ void __launch_bounds__(column_threads)
    mark_staged_kernel(const unsigned* uses, const index_t* hubs, index_t count, std::uint64_t least_uses,
                       offset_t* staged) {
  const auto h = static_cast<index_t>(blockIdx.x * column_threads + threadIdx.x);
  if (h < count) staged[h] = uses[hubs[h]] >= least_uses ? 1 : 0;
}

/// Brings staged hubs behind the others. \param places of the hubs in the new order
__global__ void __launch_bounds__(column_threads)
    order_hubs_kernel(const unsigned* uses, const index_t* hubs, index_t count, std::uint64_t least_uses,
                      const offset_t* staged_before, index_t staged, index_t* places, index_t* ordered) {
  const auto h = static_cast<index_t>(blockIdx.x * column_threads + threadIdx.x);
  if (h >= count) return;
  const auto before = static_cast<index_t>(staged_before[h]);
  places[h] = uses[hubs[h]] >= least_uses ? count - staged + before : h - before;
  ordered[places[h]] = hubs[h];
}

/// Writes the code of every nonzero. \param places of the hubs, or null where they are in the order of columns \param
/// coded how many are those of hubs
__global__ void __launch_bounds__(strip_threads)
    code_nonzeros_kernel(Strips strips, HubRules rules, const HubWord* words, const index_t* places, index_t hubs,
                         index_t* codes, unsigned long long* coded) {
  const std::int64_t strip = strip_of_warp({});
  if (strip >= strips.count()) return;
  unsigned mine = 0;
  strips.for_nonzeros(strip, rules, [&](offset_t k, index_t column, bool is_far) {
    if (k < 0) return;
    index_t code = column;
    if (is_far) {
      const HubWord word = words[column / warp_size];
      if (word.has(column)) {
        const index_t number = word.number(column);
        code = code_of_hub(places != nullptr ? __ldg(places + number) : number, hubs);
        ++mine;
      }
    }
    codes[k] = code;
  });
  const unsigned of_warp = __reduce_add_sync(full_warp, mine);
  if (threadIdx.x % warp_size == 0 && of_warp != 0) atomicAdd(coded, static_cast<unsigned long long>(of_warp));
}

/// Which columns are hubs, and which of those are staged.
struct HubSelection {
  MostUsed all;
  MostUsed staged;
};

/// The search, by its passes.
class HubSearch {
 public:
  HubSearch(const Strips& strips, const HubRules& rules, const Device& device)
      : strips_(strips), rules_(rules), device_(device), context_(Context::of(device)) {}

  /// Uses per column.
  [[nodiscard]] Array<unsigned> count_uses(const Sample& sample) const {
    Array<unsigned> uses(strips_.cols, Init::zero, device_);
    launch("uses of columns", context_, strip_grid(sample), count_uses_kernel, strips_, rules_, sample, uses.data());
    return uses;
  }

  /// \param scale so many uses are one
  [[nodiscard]] UseHistograms histograms(const Array<unsigned>& uses, unsigned scale = 1) const {
    Array<UseHistograms> found(1, Init::zero, device_);
    const std::int64_t lines = (strips_.cols + rules_.line_entries - 1) / rules_.line_entries;
    const auto most_blocks = static_cast<unsigned>(4 * context_.multiprocessors());
    const unsigned blocks = blocks_for(lines, column_threads);
    launch("histograms of uses", context_, Grid{blocks < most_blocks ? blocks : most_blocks, column_threads},
           use_histograms_kernel, uses.data(), strips_.cols, rules_.line_entries, scale, found.data());
    return found.to(Device{})[0];
  }

  /// Whether a sample has hubs that would save enough, by what they are worth in another one: in that by which they
  /// were chosen, chance makes hubs of any columns.
  [[nodiscard]] bool is_promising() const {
    const Array<unsigned> uses = count_uses(promising);
    const UseHistograms found = histograms(uses);
    MostUsed hubs = most_used(found.columns, rules_.most, least_sampled_uses);
    if (hubs.count == 0) return false;
    Array<unsigned long long> confirmed(1, Init::zero, device_);
    launch("uses of hubs", context_, strip_grid(confirming), count_confirmed_kernel, strips_, rules_, confirming,
           uses.data(), hubs.least_uses, confirmed.data());
    hubs.uses = confirmed.to(Device{})[0];
    return saved_bytes(found.lines, hubs, rules_, sampled_strips) >= rules_.least_saved;
  }

  /// \returns none where they do not save enough
  [[nodiscard]] HubSelection choose(const Array<unsigned>& uses) const {
    const UseHistograms found = histograms(uses);
    HubSelection hubs{most_used(found.columns, rules_.most, rules_.least_uses), {}};
    if (saved_bytes(found.lines, hubs.all, rules_, 1) < rules_.least_saved) return {};
    const MostUsed staged = choose_staged(uses, found.columns, hubs.all);
    const double share = static_cast<double>(staged.uses) / static_cast<double>(strips_.nnz);
    if (staged.count > 0 && share >= rules_.least_staged_share) hubs.staged = staged;
    return hubs;
  }

  [[nodiscard]] HubColumns code(const Array<unsigned>& uses, const HubSelection& chosen) const {
    const std::int64_t word_count = (std::int64_t{strips_.cols} + warp_size - 1) / warp_size;
    const Grid grid{blocks_for(strips_.cols, column_threads), column_threads};
    Array<HubWord> words(word_count, Init::none, device_);
    Array<offset_t> hubs_before(word_count, Init::none, device_);
    launch("marking hubs", context_, grid, mark_hubs_kernel, uses.data(), strips_.cols, chosen.all.least_uses,
           words.data(), hubs_before.data());
    HubColumns hubs;
    hubs.columns = Array<index_t>(exclusive_sum(device_, hubs_before.span()), Init::none, device_);
    launch("numbering hubs", context_, grid, number_hubs_kernel, strips_.cols, hubs_before.data(), words.data(),
           hubs.columns.data());
    const Array<index_t> places =
        chosen.staged.count > 0 ? order(hubs, uses, chosen.staged.least_uses) : Array<index_t>();
    hubs.codes = Array<index_t>(strips_.nnz, Init::none, device_);
    Array<unsigned long long> coded(1, Init::zero, device_);
    launch("codes of nonzeros", context_, strip_grid({}), code_nonzeros_kernel, strips_, rules_, words.data(),
           places.data(), static_cast<index_t>(hubs.columns.size()), hubs.codes.data(), coded.data());
    hubs.uses = coded.to(Device{})[0];
    return hubs;
  }

 private:
  /// Uses are told apart more coarsely where more hubs than fit have the most.
  [[nodiscard]] MostUsed choose_staged(const Array<unsigned>& uses, UseCounts counts, const MostUsed& hubs) const {
    constexpr unsigned coarsest = 1U << 20;
    unsigned scale = 1;
    while (counts.with_uses[UseCounts::bins - 1] > static_cast<unsigned long long>(rules_.most_staged) &&
           rules_.most_staged > 0 && scale < coarsest) {
      scale *= 16;
      counts = histograms(uses, scale).columns;
    }
    MostUsed staged = most_used(counts, rules_.most_staged, (hubs.least_uses + scale - 1) / scale);
    staged.least_uses *= scale;
    staged.uses *= scale;
    return staged;
  }

  /// Brings the hubs that are staged behind the others. \returns places by number
  [[nodiscard]] Array<index_t> order(HubColumns& hubs, const Array<unsigned>& uses, std::uint64_t least_uses) const {
    const auto count = static_cast<index_t>(hubs.columns.size());
    const Grid grid{blocks_for(count, column_threads), column_threads};
    Array<offset_t> staged_before(count, Init::none, device_);
    Array<index_t> places(count, Init::none, device_);
    Array<index_t> ordered(count, Init::none, device_);
    launch("marking staged hubs", context_, grid, mark_staged_kernel, uses.data(), hubs.columns.data(), count,
           least_uses, staged_before.data());
    hubs.staged = static_cast<index_t>(exclusive_sum(device_, staged_before.span()));
    launch("ordering hubs", context_, grid, order_hubs_kernel, uses.data(), hubs.columns.data(), count, least_uses,
           staged_before.data(), hubs.staged, places.data(), ordered.data());
    hubs.columns = std::move(ordered);
    return places;
  }

  [[nodiscard]] Grid strip_grid(const Sample& sample) const {
    const std::int64_t strips = (strips_.count() - sample.first + sample.one_in - 1) / sample.one_in;
    return {blocks_for(strips, strip_threads / warp_size), strip_threads};
  }

  Strips strips_;
  HubRules rules_;
  Device device_;
  const Context& context_;
};

}  // namespace

HubColumns find_hub_columns(index_t cols, std::span<const offset_t> row_offsets, std::span<const index_t> columns,
                            const HubRules& rules, const Device& device) {
  const auto rows = static_cast<index_t>(std::ssize(row_offsets) - 1);
  const Strips strips{row_offsets.data(), columns.data(), rows, cols, std::ssize(columns)};
  if (rows <= 0 || strips.nnz == 0 || rules.most <= 0) return {};
  const DeviceGuard current(device);
  const HubSearch search(strips, rules, device);
  if (strips.count() > sampled_strips && !search.is_promising()) return {};
  const Array<unsigned> uses = search.count_uses({});
  const HubSelection chosen = search.choose(uses);
  return chosen.all.count > 0 ? search.code(uses, chosen) : HubColumns{};
}

}  // namespace tessera::cuda
