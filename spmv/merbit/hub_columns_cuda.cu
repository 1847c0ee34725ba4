/// \file
/// Hub columns on a GPU: uses of columns are counted, first of a sample of the nonzeros, then the most used ones get
/// codes.
#include "spmv/merbit/hub_columns.hpp"

#include "core/cuda/launch.cuh"
#include "spmv/merbit/hub_codes.cuh"
#include "spmv/merbit/nonzero_strips.cuh"

#include <cstdint>

namespace tessera::cuda {

namespace {

/// Of a sample, to be told from columns that were met by chance.
constexpr std::uint64_t least_sampled_uses = 2;

constexpr StripSample promising{sampled_strips, 0};
constexpr StripSample confirming{sampled_strips, sampled_strips / 2};

constexpr int column_threads = 256;

/// Whether no earlier lane has a far nonzero in the same column: what neighbours read together is one use.
[[nodiscard]] __device__ bool is_first_use(index_t column, bool is_far) {
  const auto lane = threadIdx.x % warp_size;
  const unsigned same = __match_any_sync(full_warp, is_far ? column : -1);
  return is_far && (same & ((1u << lane) - 1)) == 0;
}

__global__ void __launch_bounds__(strip_threads)
    count_uses_kernel(NonzeroStrips strips, HubRules rules, StripSample sample, unsigned* uses) {
  const std::int64_t strip = strip_of_warp(sample);
  if (strip >= strips.count()) return;
  strips.for_nonzeros(strip, [=](offset_t /*k*/, index_t column, index_t distance) {
    if (is_first_use(column, rules.is_far(distance))) atomicAdd(uses + column, 1u);
  });
}

/// Counted in a sample, of columns chosen by another one.
struct ConfirmedUses {
  unsigned long long of_hubs;
  unsigned long long of_staged;
  unsigned long long beyond;  ///< nonzeros so far from the diagonal that they may have slots, in other columns
};

/// From how many uses in a sample columns are hubs, and are staged.
struct UseThresholds {
  std::uint64_t hubs;
  std::uint64_t staged;
};

__global__ void __launch_bounds__(strip_threads)
    count_confirmed_kernel(NonzeroStrips strips, HubRules rules, StripSample sample, const unsigned* uses,
                           UseThresholds least, ConfirmedUses* confirmed) {
  const std::int64_t strip = strip_of_warp(sample);
  if (strip >= strips.count()) return;
  unsigned of_hubs = 0;
  unsigned of_staged = 0;
  unsigned beyond = 0;
  strips.for_nonzeros(strip, [&](offset_t /*k*/, index_t column, index_t distance) {
    const bool is_far = rules.is_far(distance);
    const bool is_use = is_first_use(column, is_far);
    if (!is_far) return;
    const unsigned uses_of_column = __ldg(uses + column);
    if (is_use && uses_of_column >= least.hubs) ++of_hubs;
    if (is_use && uses_of_column >= least.staged) ++of_staged;
    if (distance > rules.slots.beyond && uses_of_column < least.hubs) ++beyond;
  });
  add_count_of_warp(of_hubs, &confirmed->of_hubs);
  add_count_of_warp(of_staged, &confirmed->of_staged);
  add_count_of_warp(beyond, &confirmed->beyond);
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

NonzeroStrips strips_of(index_t cols, std::span<const offset_t> row_offsets, std::span<const index_t> columns) {
  const auto rows = static_cast<index_t>(std::ssize(row_offsets) - 1);
  return {row_offsets.data(), columns.data(), rows, cols, std::ssize(columns)};
}

/// What two samples say of hubs.
struct SampledHubs {
  bool are_there = false;
  HubGain gain{};
  ConfirmedUses confirmed{};
};

/// The search, by its passes.
class HubSearch {
 public:
  HubSearch(const NonzeroStrips& strips, const HubRules& rules, const Device& device)
      : strips_(strips), rules_(rules), device_(device), context_(Context::of(device)) {}

  /// Uses per column.
  [[nodiscard]] Array<unsigned> count_uses(const StripSample& sample) const {
    Array<unsigned> uses(strips_.cols, Init::zero, device_);
    launch("uses of columns", context_, strips_.grid(sample), count_uses_kernel, strips_, rules_, sample, uses.data());
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

  /// Hubs of a sample, by what they are worth in another one: in that by which they were chosen, chance makes hubs of
  /// any columns. \param staging whether to tell the staged ones, too
  [[nodiscard]] SampledHubs sampled_hubs(bool staging) const {
    const Array<unsigned> uses = count_uses(promising);
    const UseHistograms found = histograms(uses);
    MostUsed hubs = most_used(found.columns, rules_.most, least_sampled_uses);
    if (hubs.count == 0) return {};
    const MostUsed staged = staging ? choose_staged(uses, found.columns, hubs) : MostUsed{};
    const UseThresholds least{hubs.least_uses, staged.count > 0 ? staged.least_uses : ~std::uint64_t{0}};
    Array<ConfirmedUses> confirmed(1, Init::zero, device_);
    launch("uses of hubs", context_, strips_.grid(confirming), count_confirmed_kernel, strips_, rules_, confirming,
           uses.data(), least, confirmed.data());
    const ConfirmedUses counted = confirmed.to(Device{})[0];
    hubs.uses = counted.of_hubs;
    return {true, gain_by_hubs(found.lines, hubs, rules_, sampled_strips), counted};
  }

  [[nodiscard]] bool is_promising() const { return promises(sampled_hubs(false)); }

  [[nodiscard]] HubForecast forecast() const {
    const SampledHubs hubs = sampled_hubs(true);
    if (!promises(hubs)) return {};
    constexpr auto scale = static_cast<double>(sampled_strips);
    const auto nnz = static_cast<double>(strips_.nnz);
    const double staged = scale * static_cast<double>(hubs.confirmed.of_staged) / nnz;
    const double saved = hubs.gain.saved + saved_by_sampled_slots(hubs);
    return {saved / memory_line_bytes / nnz, staged >= rules_.least_staged_share ? staged : 0.0};
  }

  /// \returns none where they do not save enough
  [[nodiscard]] HubSelection choose(const Array<unsigned>& uses) const {
    const UseHistograms found = histograms(uses);
    HubSelection hubs{most_used(found.columns, rules_.most, rules_.least_uses), {}};
    const HubGain gain = gain_by_hubs(found.lines, hubs.all, rules_, 1);
    if (gain.saved < rules_.least_saved) return {};
    hubs.missed = gain.missed;
    const MostUsed staged = choose_staged(uses, found.columns, hubs.all);
    const double share = static_cast<double>(staged.uses) / static_cast<double>(strips_.nnz);
    if (staged.count > 0 && share >= rules_.least_staged_share) hubs.staged = staged;
    return hubs;
  }

 private:
  [[nodiscard]] bool promises(const SampledHubs& hubs) const {
    return hubs.are_there && hubs.gain.saved >= rules_.least_saved;
  }

  /// \returns 0 where they do not pay
  [[nodiscard]] double saved_by_sampled_slots(const SampledHubs& hubs) const {
    const auto slots = static_cast<std::int64_t>(sampled_strips * hubs.confirmed.beyond);
    if (slots > rules_.slots.most) return 0.0;
    const double saved = saved_by_slots(slots, hubs.gain.missed, rules_);
    return saved >= rules_.slots.least_saved ? saved : 0.0;
  }

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

  NonzeroStrips strips_;
  HubRules rules_;
  Device device_;
  const Context& context_;
};

}  // namespace

HubColumns find_hub_columns(index_t cols, std::span<const offset_t> row_offsets, std::span<const index_t> columns,
                            const HubRules& rules, const Device& device) {
  const NonzeroStrips strips = strips_of(cols, row_offsets, columns);
  if (strips.rows <= 0 || strips.nnz == 0 || rules.most <= 0) return {};
  const DeviceGuard current(device);
  const HubSearch search(strips, rules, device);
  if (strips.count() > sampled_strips && !search.is_promising()) return {};
  const Array<unsigned> uses = search.count_uses({});
  const HubSelection chosen = search.choose(uses);
  return chosen.all.count > 0 ? code_hubs(strips, rules, uses, chosen, device) : HubColumns{};
}

HubForecast forecast_hub_columns(index_t cols, std::span<const offset_t> row_offsets, std::span<const index_t> columns,
                                 const HubRules& rules, const Device& device) {
  const NonzeroStrips strips = strips_of(cols, row_offsets, columns);
  if (strips.count() <= sampled_strips || rules.most <= 0) return {};
  const DeviceGuard current(device);
  return HubSearch(strips, rules, device).forecast();
}

}  // namespace tessera::cuda
