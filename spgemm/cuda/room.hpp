/// \file
/// Where rows of C are put whose places are not known yet.
#pragma once

#include "core/cuda/check.hpp"
#include "spgemm/cuda/job.hpp"

namespace tessera::cuda {

/// The room and where rows lie in it.
template <class V>
struct Room {
  Room(const ProductJob<V>& job, offset_t entries)
      : columns(entries, Init::none, job.device()),
        values(has_values<V> ? entries : 0, Init::none, job.device()),
        places(job.rows, Init::none, job.device()),
        cursor(1, Init::zero, job.device()) {
    static_assert(no_place == -1);
    if (job.rows == 0) return;
    check(cudaMemsetAsync(places.data(), 0xff, places.bytes(), job.context.stream()), "clearing places of rows");
  }

  Array<index_t> columns;
  Array<V> values;
  Array<offset_t> places;
  Array<unsigned long long> cursor;

  /// For the pass `claim`. \param counts entries of rows go here
  [[nodiscard]] RowOutput<V> output(offset_t* counts) noexcept {
    RowOutput<V> out;
    out.counts = counts;
    out.columns = columns.data();
    out.values = values.data();
    out.places = places.data();
    out.cursor = cursor.data();
    out.room = columns.size();
    return out;
  }

  [[nodiscard]] static std::uint64_t bytes(std::int64_t rows, offset_t entries) noexcept {
    return csr_bytes(rows, entries, value_bytes<V>);
  }
};

}  // namespace tessera::cuda
