/// \file
/// Peer access between the GPUs of a group: each other's memory, and the mailboxes by which kernels sum over ranks.
#pragma once

#include "core/cuda/peer_exchange.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace tessera::cuda {

class PeerLinks {
 public:
  /// \param devices GPUs, each with a context of its own \returns null where one does not reach another
  /// \throws OutOfMemory, CudaError
  [[nodiscard]] static std::unique_ptr<PeerLinks> make(std::span<const Device> devices, double patience_seconds);
  PeerLinks(const PeerLinks&) = delete;
  PeerLinks& operator=(const PeerLinks&) = delete;
  ~PeerLinks();

  /// In the memory of the rank's GPU.
  [[nodiscard]] PeerExchange* exchange(int rank) const noexcept;
  /// PeerExchange::lost of the rank, in memory of the host.
  [[nodiscard]] const volatile std::uint32_t* lost(int rank) const noexcept;

  /// Before all ranks work: no word of the past counts any more. Waits for all GPUs. \throws CudaError
  void begin();
  /// Ends all waits of kernels.
  void stop() noexcept;

 private:
  struct Impl;
  explicit PeerLinks(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::cuda
