/// \file
/// Codes of hub columns on a GPU: hubs are numbered, slots of far nonzeros are counted by a pass over all nonzeros, and
/// a second pass writes the codes.
#include "spmv/merbit/hub_codes.cuh"

#include "core/cuda/launch.cuh"
#include "core/cuda/memory.hpp"
#include "core/cuda/scan.hpp"
#include "tessera/error.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tessera::cuda {

namespace {

constexpr int column_threads = 256;

/// Hubs among 32 columns, by bits, and before them. So small that a cache keeps those of all columns.
struct HubBits {
  unsigned hubs;
  index_t before;

  [[nodiscard]] __device__ bool has(index_t column) const { return (hubs >> column % 32 & 1u) != 0; }
  [[nodiscard]] __device__ index_t number(index_t column) const {
    return before + __popc(hubs & ((1u << column % 32) - 1));
  }
};

/// A warp per 32 columns. \param hubs_of_bits their numbers
__global__ void __launch_bounds__(column_threads)
    mark_hubs_kernel(const unsigned* uses, index_t cols, std::uint64_t least_uses, HubBits* bits,
                     offset_t* hubs_of_bits) {
  const std::int64_t column = std::int64_t{blockIdx.x} * column_threads + threadIdx.x;
  const unsigned hubs = __ballot_sync(full_warp, column < cols && uses[column] >= least_uses);
  if (column % warp_size != 0 || column >= cols) return;
  bits[column / warp_size].hubs = hubs;
  hubs_of_bits[column / warp_size] = __popc(hubs);
}

/// Writes the hubs, in the order of columns.
__global__ void __launch_bounds__(column_threads)
    number_hubs_kernel(index_t cols, const offset_t* hubs_before, HubBits* bits, index_t* hubs) {
  const std::int64_t at = std::int64_t{blockIdx.x} * column_threads + threadIdx.x;
  if (at >= cols) return;
  const auto column = static_cast<index_t>(at);
  const HubBits own{bits[column / warp_size].hubs, static_cast<index_t>(hubs_before[column / warp_size])};
  if (own.has(column)) hubs[own.number(column)] = column;
  if (column % warp_size == 0) bits[column / warp_size].before = own.before;
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

/// Which nonzeros have slots, and where.
struct SlotPlan {
  SlotRules rules;
  int blocks = 0;              ///< of columns; 0: no nonzero has a slot
  offset_t* begins = nullptr;  ///< [block * strips + strip]: at first the number of slots, then where they begin

  [[nodiscard]] __device__ bool is_beyond(index_t distance) const { return distance > rules.beyond; }
};

/// Slots of a strip, given out in the order of its nonzeros, block of columns by block. One per warp.
class StripSlots {
 public:
  /// \param next in shared memory, an entry per block
  __device__ StripSlots(const SlotPlan& plan, offset_t* next) : plan_(plan), next_(next) {}

  __device__ void begin_with(std::int64_t strips, std::int64_t strip, bool from_zero) {
    for (int b = static_cast<int>(threadIdx.x % warp_size); b < plan_.blocks; b += warp_size) {
      next_[b] = from_zero ? 0 : plan_.begins[b * strips + strip];
    }
    __syncwarp();
  }

  /// All lanes. \param has whether the lane's nonzero has a slot \returns its number
  __device__ offset_t take(bool has, index_t column) {
    const int block = has ? column / plan_.rules.column_block : -1;
    const unsigned same = __match_any_sync(full_warp, block);
    const unsigned before = same & ((1u << threadIdx.x % warp_size) - 1);
    const offset_t slot = has ? next_[block] + __popc(before) : 0;
    __syncwarp();
    if (has && before == 0) next_[block] += __popc(same);
    __syncwarp();
    return slot;
  }

  __device__ void write_counts(std::int64_t strips, std::int64_t strip) const {
    for (int b = static_cast<int>(threadIdx.x % warp_size); b < plan_.blocks; b += warp_size) {
      plan_.begins[b * strips + strip] = next_[b];
    }
  }

 private:
  const SlotPlan& plan_;
  offset_t* next_;
};

__global__ void __launch_bounds__(strip_threads)
    count_slots_kernel(NonzeroStrips strips, StripSample sample, const HubBits* bits, SlotPlan plan) {
  __shared__ offset_t next[strip_threads / warp_size][most_slot_blocks];
  const std::int64_t strip = strip_of_warp(sample);
  if (strip >= strips.count()) return;
  StripSlots slots(plan, next[threadIdx.x / warp_size]);
  slots.begin_with(strips.count(), strip, true);
  strips.for_nonzeros(strip, [&](offset_t /*k*/, index_t column, index_t distance) {
    slots.take(plan.is_beyond(distance) && !bits[column / warp_size].has(column), column);
  });
  slots.write_counts(strips.count(), strip);
}

/// What coding reads and writes.
struct HubCodeArrays {
  const HubBits* bits = nullptr;
  const index_t* places = nullptr;    ///< of the hubs, or null where they are in the order of columns
  index_t hubs = 0;                   ///< their number
  index_t packed = 0;                 ///< hubs and slots
  index_t* packed_columns = nullptr;  ///< of the slots
  index_t* codes = nullptr;
  unsigned long long* of_hubs = nullptr;  ///< how many codes are those of hubs
};

__global__ void __launch_bounds__(strip_threads)
    code_nonzeros_kernel(NonzeroStrips strips, HubRules rules, SlotPlan plan, HubCodeArrays out) {
  __shared__ offset_t next[strip_threads / warp_size][most_slot_blocks];
  const std::int64_t strip = strip_of_warp({});
  if (strip >= strips.count()) return;
  StripSlots slots(plan, next[threadIdx.x / warp_size]);
  slots.begin_with(strips.count(), strip, false);
  unsigned mine = 0;
  strips.for_nonzeros(strip, [&](offset_t k, index_t column, index_t distance) {
    index_t code = column;
    const HubBits bits = rules.is_far(distance) ? out.bits[column / warp_size] : HubBits{};
    if (bits.has(column)) {
      const index_t number = bits.number(column);
      code = code_of_hub(out.places != nullptr ? __ldg(out.places + number) : number, out.hubs);
      ++mine;
    }
    if (plan.blocks > 0) {
      const bool has_slot = plan.is_beyond(distance) && !bits.has(column);
      const offset_t slot = slots.take(has_slot, column);
      if (has_slot) {
        out.packed_columns[slot] = column;
        code = code_of_slot(slot, out.packed);
      }
    }
    if (k >= 0) out.codes[k] = code;
  });
  add_count_of_warp(mine, out.of_hubs);
}

/// From chosen hubs to codes.
class HubCoding {
 public:
  HubCoding(const NonzeroStrips& strips, const HubRules& rules, const Device& device)
      : strips_(strips), rules_(rules), device_(device), context_(Context::of(device)) {}

  /// \param uses per column
  [[nodiscard]] HubColumns code(const Array<unsigned>& uses, const HubSelection& chosen) const {
    const std::int64_t words = (std::int64_t{strips_.cols} + warp_size - 1) / warp_size;
    const Grid grid{blocks_for(strips_.cols, column_threads), column_threads};
    Array<HubBits> bits(words, Init::none, device_);
    Array<offset_t> hubs_before(words, Init::none, device_);
    launch("marking hubs", context_, grid, mark_hubs_kernel, uses.data(), strips_.cols, chosen.all.least_uses,
           bits.data(), hubs_before.data());
    HubColumns hubs;
    hubs.columns = Array<index_t>(exclusive_sum(device_, hubs_before.span()), Init::none, device_);
    launch("numbering hubs", context_, grid, number_hubs_kernel, strips_.cols, hubs_before.data(), bits.data(),
           hubs.columns.data());
    const Array<index_t> places =
        chosen.staged.count > 0 ? order(hubs, uses, chosen.staged.least_uses) : Array<index_t>();
    Array<offset_t> begins;
    const SlotPlan plan = place_slots(bits, chosen.missed, begins, hubs);
    write_codes(bits, places, plan, hubs);
    return hubs;
  }

 private:
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

  /// Where slots pay, makes room for their columns before those of the hubs. None where memory gives out. \param missed
  /// uses of x \param begins what the plan refers to
  [[nodiscard]] SlotPlan place_slots(const Array<HubBits>& bits, double missed, Array<offset_t>& begins,
                                     HubColumns& hubs) const try {
    SlotRules rules = rules_.slots;
    if (rules.most <= 0) return {};
    // No number of slots saves more than one per miss.
    if (saved_by_slots(static_cast<std::int64_t>(missed), missed, rules_) < rules.least_saved) return {};
    rules.beyond = std::max(rules.beyond, rules_.near);
    SlotPlan plan{rules, slot_blocks(strips_.cols, rules)};
    if (plan.blocks > most_slot_blocks) return {};
    begins = Array<offset_t>(plan.blocks * strips_.count(), Init::zero, device_);
    plan.begins = begins.data();
    if (strips_.count() > sampled_strips) {
      const std::int64_t about = sampled_strips * count_slots({sampled_strips, 0}, bits, plan, begins);
      if (saved_by_slots(about, missed, rules_) < rules.least_saved / 2) return {};
    }
    const std::int64_t slots = count_slots({}, bits, plan, begins);
    if (slots == 0 || slots > rules.most || saved_by_slots(slots, missed, rules_) < rules.least_saved) return {};
    Array<index_t> columns(slots + hubs.columns.size(), Init::none, device_);
    detail::copy_bytes(device_, columns.data() + slots, device_, hubs.columns.data(), hubs.columns.bytes());
    hubs.columns = std::move(columns);
    hubs.slots = slots;
    return plan;
  } catch (const OutOfMemory&) {
    return {};
  }

  /// \returns their number; where they begin, in `begins`, for a sample of no use
  [[nodiscard]] std::int64_t count_slots(const StripSample& sample, const Array<HubBits>& bits, const SlotPlan& plan,
                                         Array<offset_t>& begins) const {
    launch("counting slots", context_, strips_.grid(sample), count_slots_kernel, strips_, sample, bits.data(), plan);
    return exclusive_sum(device_, begins.span());
  }

  void write_codes(const Array<HubBits>& bits, const Array<index_t>& places, const SlotPlan& plan,
                   HubColumns& hubs) const {
    hubs.codes = Array<index_t>(strips_.nnz, Init::none, device_);
    Array<unsigned long long> of_hubs(1, Init::zero, device_);
    const auto packed = static_cast<index_t>(hubs.columns.size());
    const HubCodeArrays out{bits.data(),   places.data(),       static_cast<index_t>(packed - hubs.slots),
                            packed,        hubs.columns.data(), hubs.codes.data(),
                            of_hubs.data()};
    launch("codes of nonzeros", context_, strips_.grid({}), code_nonzeros_kernel, strips_, rules_, plan, out);
    hubs.uses = of_hubs.to(Device{})[0];
  }

  NonzeroStrips strips_;
  HubRules rules_;
  Device device_;
  const Context& context_;
};

}  // namespace

HubColumns code_hubs(const NonzeroStrips& strips, const HubRules& rules, const Array<unsigned>& uses,
                     const HubSelection& chosen, const Device& device) {
  return HubCoding(strips, rules, device).code(uses, chosen);
}

}  // namespace tessera::cuda
