/// Links between GPUs by memory that all of them reach: access to pools, mailboxes, words for the host.
#include "solvers/distributed/peer_links.hpp"

#include "core/cuda/check.hpp"
#include "core/cuda/context.hpp"
#include "core/cuda/memory.hpp"
#include "core/cuda/relaxed.cuh"
#include "tessera/array.hpp"

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace tessera::cuda {

namespace {

/// In the memory of each GPU.
struct alignas(16) RankMemory {
  PeerExchange exchange;
  alignas(16) std::byte mailbox[mailbox_words * sizeof(NumberedWord)];
};

/// Page-locked, one rank per line.
struct alignas(64) HostWords {
  volatile std::uint32_t lost = 0;
  volatile std::uint32_t stop = 0;
};

bool reach_each_other(std::span<const Device> devices) {
  for (const Device& one : devices) {
    for (const Device& other : devices) {
      if (one == other) continue;
      int can = 0;
      check(cudaDeviceCanAccessPeer(&can, one.ordinal(), other.ordinal()), "asking for access between GPUs");
      if (can == 0) return false;
    }
  }
  return true;
}

/// The memory pool of each GPU to all others. A pool is one per GPU, and keeps the access.
void open_pools(std::span<const Device> devices) {
  for (const Device& one : devices) {
    for (const Device& other : devices) {
      if (one == other) continue;
      cudaMemAccessDesc access{};
      access.location.type = cudaMemLocationTypeDevice;
      access.location.id = other.ordinal();
      access.flags = cudaMemAccessFlagsProtReadWrite;
      check(cudaMemPoolSetAccess(Context::of(one).pool(), &access, 1), "opening memory to another GPU");
    }
  }
}

}  // namespace

struct PeerLinks::Impl {
  std::vector<Device> devices;
  std::uint64_t patience;
  std::vector<Array<std::byte>> memory;  ///< a RankMemory each
  HostWords* words = nullptr;            ///< per rank
  std::uint64_t epoch = 0;

  Impl(std::span<const Device> ranks, double patience_seconds)
      : devices(ranks.begin(), ranks.end()), patience(static_cast<std::uint64_t>(patience_seconds * 1e9)) {
    void* data = nullptr;
    check(cudaMallocHost(&data, devices.size() * sizeof(HostWords)), "allocating page-locked memory");
    std::memset(data, 0, devices.size() * sizeof(HostWords));
    words = static_cast<HostWords*>(data);
    for (const Device& each : devices) memory.emplace_back(std::int64_t{sizeof(RankMemory)}, Init::zero, each);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { static_cast<void>(cudaFreeHost(words)); }

  [[nodiscard]] std::byte* memory_of(std::size_t rank) noexcept { return memory[rank].data(); }
  [[nodiscard]] PeerExchange* exchange(std::size_t rank) noexcept {
    return reinterpret_cast<PeerExchange*>(memory_of(rank) + offsetof(RankMemory, exchange));
  }

  [[nodiscard]] PeerExchange initial(std::size_t rank) {
    PeerExchange result;
    result.rank = static_cast<int>(rank);
    result.size = static_cast<int>(devices.size());
    result.number = epoch;
    result.patience = patience;
    result.lost_on_host = const_cast<std::uint32_t*>(&words[rank].lost);
    result.stop = const_cast<const std::uint32_t*>(&words[rank].stop);
    for (std::size_t other = 0; other < devices.size(); ++other) {
      result.mailboxes[other] = reinterpret_cast<NumberedWord*>(memory_of(other) + offsetof(RankMemory, mailbox));
    }
    return result;
  }
};

PeerLinks::PeerLinks(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PeerLinks::~PeerLinks() = default;

std::unique_ptr<PeerLinks> PeerLinks::make(std::span<const Device> devices, double patience_seconds) {
  if (!reach_each_other(devices)) return nullptr;
  open_pools(devices);
  return std::unique_ptr<PeerLinks>(new PeerLinks(std::make_unique<Impl>(devices, patience_seconds)));
}

PeerExchange* PeerLinks::exchange(int rank) const noexcept { return impl_->exchange(static_cast<std::size_t>(rank)); }

const volatile std::uint32_t* PeerLinks::lost(int rank) const noexcept { return &impl_->words[rank].lost; }

void PeerLinks::begin() {
  // More sums than any run makes lie between two epochs.
  impl_->epoch += std::uint64_t{1} << 40;
  for (const Device& each : impl_->devices) cuda::synchronize(each);
  for (std::size_t rank = 0; rank < impl_->devices.size(); ++rank) {
    impl_->words[rank].lost = 0;
    impl_->words[rank].stop = 0;
    const PeerExchange initial = impl_->initial(rank);
    copy_bytes(impl_->devices[rank], impl_->exchange(rank), Device{}, &initial, sizeof(PeerExchange));
  }
}

void PeerLinks::stop() noexcept {
  for (std::size_t rank = 0; rank < impl_->devices.size(); ++rank) impl_->words[rank].stop = 1;
}

}  // namespace tessera::cuda
