/// \file
/// SpmvBatch: a plan of the block-diagonal matrix of its parts.
#include "tessera/spmv_batch.hpp"

#include "core/stopwatch.hpp"
#include "spmv/plan_values.hpp"
#include "tessera/array.hpp"
#include "tessera/block_diagonal.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

namespace tessera {

using namespace detail;

namespace {

template <class T>
[[nodiscard]] CsrView<T> view_of(const Csr<T>& part) {
  return part.view();
}
template <class T>
[[nodiscard]] CsrView<T> view_of(const CsrView<T>& part) {
  return part;
}

/// One behind the other.
template <class Part>
std::vector<BatchPart> places_of(std::span<const Part> parts) {
  std::vector<BatchPart> places;
  places.reserve(parts.size());
  BatchPart next;
  for (const Part& part : parts) {
    const auto view = view_of(part);
    next.rows = view.rows;
    next.cols = view.cols;
    next.entries = view.nnz();
    places.push_back(next);
    next.first_row += next.rows;
    next.first_column += next.cols;
    next.first_entry += next.entries;
  }
  return places;
}

/// \throws DimensionError
template <class T>
void require_sizes(const std::vector<BatchPart>& planned, std::span<const Csr<T>> given) {
  if (planned.size() != given.size()) {
    throw DimensionError(fmt::format("the batch has {} parts, got {}", planned.size(), given.size()));
  }
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const BatchPart& part = planned[i];
    if (part.rows == given[i].rows() && part.cols == given[i].cols() && part.entries == given[i].nnz()) continue;
    throw DimensionError(fmt::format("part {} is {} x {} with {} entries, got {} x {} with {}", i, part.rows, part.cols,
                                     part.entries, given[i].rows(), given[i].cols(), given[i].nnz()));
  }
}

}  // namespace

template <class T>
template <class Join>
typename SpmvBatch<T>::Joined SpmvBatch<T>::timed(const Join& join) {
  const Stopwatch watch;
  Csr<T> matrix = join();
  synchronize(matrix.device());
  const SpmvBatchInfo info{watch.milliseconds(), matrix.bytes()};
  return {std::move(matrix), info};
}

template <class T>
SpmvBatch<T>::SpmvBatch(std::vector<BatchPart> parts, Joined joined, const SpmvOptions& options)
    : parts_(std::move(parts)), info_(joined.info), plan_(std::move(joined.matrix), options) {}

template <class T>
SpmvBatch<T>::SpmvBatch(std::span<const Csr<T>> parts, const SpmvOptions& options)
    : SpmvBatch(places_of(parts), timed([&] { return block_diagonal(parts); }), options) {}

template <class T>
SpmvBatch<T>::SpmvBatch(std::span<const CsrView<T>> parts, const Device& place, const SpmvOptions& options)
    : SpmvBatch(places_of(parts), timed([&] { return block_diagonal(parts, place); }), options) {}

template <class T>
const BatchPart& SpmvBatch<T>::part(std::int64_t i) const {
  if (i >= 0 && i < size()) return parts_[static_cast<std::size_t>(i)];
  throw InvalidArgument(fmt::format("the batch has {} parts, counted from 0: there is no part {}", size(), i));
}

template <class T>
void SpmvBatch<T>::check_size(const char* name, std::size_t size, std::int64_t expected) const {
  if (static_cast<std::int64_t>(size) == expected) return;
  throw DimensionError(fmt::format("all parts of the batch are {} x {}: vector {} must have {} elements, has {}",
                                   plan_.rows(), plan_.cols(), name, expected, size));
}

template <class T>
void SpmvBatch<T>::update_values(std::int64_t i, std::span<const T> values) {
  const BatchPart& own = part(i);
  const CsrView<T> planned = plan_.matrix();
  if (planned.is_pattern()) throw InvalidArgument("a batch of pattern matrices has no values to update");
  if (std::ssize(values) != own.entries) {
    throw DimensionError(fmt::format("part {} has {} values, got {}", i, own.entries, values.size()));
  }
  if (values.empty()) return;
  const Device place = plan_.matrix_device();
  const Device given = location_of(plan_.device(), values.data());
  Array<T> all(planned.nnz(), Init::none, place);
  copy_bytes(place, all.data(), place, planned.values.data(), all.bytes());
  copy_bytes(place, all.data() + own.first_entry, given, values.data(), values.size_bytes());
  plan_.update_values(all.span());
}

template <class T>
void SpmvBatch<T>::update_values(std::span<const Csr<T>> parts) {
  require_sizes(parts_, parts);
  if (parts.empty()) return;
  plan_.update_values(block_diagonal(parts).view());
}

template class SpmvBatch<float>;
template class SpmvBatch<double>;

}  // namespace tessera
