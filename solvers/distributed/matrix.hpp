/// \file
/// Distributed matrices inside: a product per rank.
#pragma once

#include "solvers/distributed/group.hpp"
#include "solvers/distributed/product.hpp"
#include "tessera/several_devices.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace tessera {

template <class T>
struct DistributedMatrix<T>::Impl {
  DeviceGroup group;
  Partition partition;
  offset_t nnz = 0;
  std::vector<DevicePart> parts = {};
  std::vector<std::unique_ptr<detail::DistributedProduct<T>>> products = {};  ///< per rank

  [[nodiscard]] std::size_t first(int rank) const { return static_cast<std::size_t>(partition.first_row(rank)); }
  [[nodiscard]] std::size_t count(int rank) const { return static_cast<std::size_t>(partition.rows_of(rank)); }
  [[nodiscard]] const detail::DistributedProduct<T>& product(int rank) const {
    return *products[static_cast<std::size_t>(rank)];
  }
};

}  // namespace tessera
