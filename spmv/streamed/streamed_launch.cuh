/// \file
/// Launches of the streamed product: dispatch by format and by lanes per row.
#pragma once

#include "core/cuda/launch.cuh"
#include "spmv/streamed/streamed_kernel.cuh"
#include "spmv/streamed/streamed_product.hpp"

#include <type_traits>

namespace tessera::cuda {

/// The launches for one type of terms.
template <class T, class Terms>
class SliceLaunch {
 public:
  SliceLaunch(const Context& context, const Slice& slice, const SliceRule& rule, const std::byte* packed,
              const SliceOperands<T>& operands, const SliceSums<T>& sums)
      : context_(context),
        slice_(slice),
        packed_(packed),
        sums_(sums),
        update_{operands.y, operands.alpha, operands.beta},
        rows_{reinterpret_cast<const std::uint32_t*>(packed),
              slice.first_row,
              slice.rows,
              static_cast<std::uint32_t>(rule.long_row),
              slice.continues ? 1U : 0U,
              slice.is_open ? slice.rows - 1 : slice.rows} {}

  void run(int lanes, const Terms& terms) const {
    if (rows_.first_whole < rows_.end_whole) rows_by_lanes(lanes, terms);
    if (slice_.long_rows > 0) long_rows(terms);
  }

 private:
  void rows_by_lanes(int lanes, const Terms& terms) const {
    switch (lanes) {
      case 1:
        return rows<1>(terms);
      case 2:
        return rows<2>(terms);
      case 4:
        return rows<4>(terms);
      case 8:
        return rows<8>(terms);
      case 16:
        return rows<16>(terms);
      default:
        return rows<32>(terms);
    }
  }

  template <int Lanes>
  void rows(const Terms& terms) const {
    launch("rows of a slice", context_,
           Grid{blocks_for(std::int64_t{slice_.rows} * Lanes, csr_vector_threads), csr_vector_threads},
           slice_rows_kernel<Lanes, Terms, T>, rows_, terms, update_);
  }

  void long_rows(const Terms& terms) const {
    constexpr int warps = csr_vector_threads / warp_size;
    launch("parts of long rows of a slice", context_, Grid{blocks_for(slice_.parts, warps), csr_vector_threads},
           slice_parts_kernel<Terms, T>, slice_.parts,
           reinterpret_cast<const SlicePart*>(packed_ + slice_.layout.parts), rows_, terms, sums_.parts);
    launch("long rows of a slice", context_, Grid{blocks_for(slice_.long_rows, warps), csr_vector_threads},
           slice_long_rows_kernel<T>, slice_.long_rows,
           reinterpret_cast<const SliceLongRow*>(packed_ + slice_.layout.long_rows), rows_, sums_, update_);
  }

  const Context& context_;
  const Slice& slice_;
  const std::byte* packed_;
  SliceSums<T> sums_;
  SliceUpdate<T> update_;
  RowsOfSlice rows_;
};

/// function(terms) with the type of terms of the format, columns stored as C.
template <class C, class T, class Function>
void with_slice_values(const Slice& slice, SliceValues values, const std::byte* packed, StridedVector<const T> x,
                       Function&& function) {
  const auto* const columns = reinterpret_cast<const C*>(packed + slice.layout.columns);
  const std::byte* const section = packed + slice.layout.values;
  if (values == SliceValues::none) return function(SlicePatternTerms<T, C>{columns, x});
  if constexpr (std::is_same_v<T, double>) {
    if (values == SliceValues::single) {
      return function(SliceTerms<T, float, C>{reinterpret_cast<const float*>(section), columns, x});
    }
  }
  function(SliceTerms<T, T, C>{reinterpret_cast<const T*>(section), columns, x});
}

template <class T>
void enqueue_slice_product(const Device& device, const Slice& slice, const SliceRule& rule, const std::byte* packed,
                           const SliceOperands<T>& operands, const SliceSums<T>& sums) {
  const Context& context = Context::of(device);
  const auto run = [&](const auto& terms) {
    using Terms = std::remove_cvref_t<decltype(terms)>;
    SliceLaunch<T, Terms>(context, slice, rule, packed, operands, sums).run(rule.lanes, terms);
  };
  if (rule.format.columns == SliceColumns::full) {
    with_slice_values<index_t, T>(slice, rule.format.values, packed, operands.x, run);
  } else {
    with_slice_values<std::int16_t, T>(slice, rule.format.values, packed, operands.x, run);
  }
}

}  // namespace tessera::cuda
