/// \file
/// Where the matrix of a view lies, for what is set up on a GPU: a plan that streams has its matrix on the host.
#pragma once

#include "core/cuda/memory.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <string_view>

namespace tessera::detail {

/// Whether `device` is a GPU whose kernels cannot read the matrix. \throws CudaError
template <class T>
[[nodiscard]] bool is_out_of_reach(const CsrView<T>& a, const Device& device) {
  return !device.is_host() && !a.row_offsets.empty() && !cuda::is_reachable(device, a.row_offsets.data());
}

/// \param who begins the message \throws InvalidArgument for a matrix out of reach
template <class T>
void require_within_reach(const CsrView<T>& a, const Device& device, std::string_view who) {
  if (!is_out_of_reach(a, device)) return;
  throw InvalidArgument(
      fmt::format("{} works on a matrix in the memory of {}, but this one lies on the host, as that of a plan that "
                  "streams it: take "
                  "Jacobi, which needs the diagonal alone, or no preconditioner",
                  who, device.name()));
}

}  // namespace tessera::detail
