/// Halos by copies between ranks.
#include "solvers/distributed/copied_halo.hpp"

#include "solvers/distributed/halo_ops.hpp"
#include "solvers/fused/transform_reduce.hpp"

#include <algorithm>

namespace tessera::detail {

template <class T>
CopiedHalo<T>::CopiedHalo(const ExchangeLists& lists, std::int64_t rows, const Device& device)
    : device_(device), own_rows_(rows), halo_offsets_(lists.halo_offsets) {
  std::vector<index_t> packed;
  Begins begins{};
  for (std::size_t other = 0; other < lists.rows_for.size(); ++other) {
    const std::vector<index_t>& needed = lists.rows_for[other];
    const bool is_whole = static_cast<std::int64_t>(needed.size()) == rows;
    begins[other] = is_whole ? whole : static_cast<index_t>(packed.size());
    if (!is_whole) packed.insert(packed.end(), needed.begin(), needed.end());
  }
  rows_ = Array<index_t>::copy_of(packed, alone(device));
  for (Array<T>& each : packed_) each = Array<T>(rows_.size(), Init::none, alone(device));
  std::vector<Begins> all(lists.rows_for.size());
  rank().communicator->gather(rank().number, begins, std::span(all));
  for (const Begins& each : all) {
    begins_.push_back(each[static_cast<std::size_t>(rank().number)]);
    reads_whole_ = reads_whole_ || std::find(each.begin(), each.end(), whole) != each.end();
  }
}

template <class T>
void CopiedHalo<T>::fetch(std::span<const T> x, std::span<T> halo) const {
  fetch_to(x.data(), halo.data(), halo.data());
}

template <class T>
void CopiedHalo<T>::fetch_around(std::span<T> x) const {
  const index_t lower = halo_offsets_[static_cast<std::size_t>(rank().number)];
  fetch_to(x.data() + lower, x.data(), x.data() + own_rows_);
}

template <class T>
void CopiedHalo<T>::fetch_to(const T* x, T* lower, T* higher) const {
  const Device here = alone(device_);
  T* const packed = packed_[turn_++ % 2].data();
  fused::transform_reduce(here, rows_.size(), PackHalo<T>{.rows = rows_.data(), .x = x, .out = packed});
  synchronize(here);
  std::vector<Source> sources(begins_.size());
  rank().communicator->gather(rank().number, Source{x, packed, here.ordinal()}, std::span(sources));
  for (std::size_t other = 0; other < sources.size(); ++other) {
    const auto begin = static_cast<std::size_t>(halo_offsets_[other]);
    const auto count = static_cast<std::size_t>(halo_offsets_[other + 1]) - begin;
    if (count == 0) continue;
    const T* const from = begins_[other] == whole ? sources[other].x : sources[other].packed + begins_[other];
    const Device there = here.is_host() ? here : Device::cuda(sources[other].gpu);
    T* const to = static_cast<int>(other) < rank().number ? lower : higher;
    copy_bytes(here, to + begin, there, from, count * sizeof(T));
  }
}

template <class T>
void CopiedHalo<T>::release() const {
  if (!reads_whole_) return;
  synchronize(alone(device_));
  rank().communicator->wait(rank().number);
}

template class CopiedHalo<float>;
template class CopiedHalo<double>;

}  // namespace tessera::detail
