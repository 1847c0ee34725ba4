/// Stands in for what GPUs do with each other's memory, and for the kernels of halos, in a build without CUDA.
#include "solvers/distributed/amg_cycle.hpp"
#include "solvers/distributed/level_columns.hpp"
#include "solvers/distributed/peer_links.hpp"
#include "solvers/distributed/peer_ranks.hpp"
#include "solvers/distributed/product.hpp"
#include "solvers/fused/ops.hpp"
#include "tessera/error.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace tessera::cuda {

namespace {

[[noreturn]] void refuse(const Device& device) {
  throw DeviceUnavailable("no work for " + device.name() + ": this build has no CUDA backend");
}

}  // namespace

struct PeerLinks::Impl {};
PeerLinks::PeerLinks(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PeerLinks::~PeerLinks() = default;
std::unique_ptr<PeerLinks> PeerLinks::make(std::span<const Device> devices, double /*patience_seconds*/) {
  refuse(devices.front());
}
PeerExchange* PeerLinks::exchange(int /*rank*/) const noexcept { return nullptr; }
const volatile std::uint32_t* PeerLinks::lost(int /*rank*/) const noexcept { return nullptr; }
void PeerLinks::begin() {}
void PeerLinks::stop() noexcept {}

template <class T>
std::unique_ptr<detail::DistributedProduct<T>> make_peer_product(detail::LocalMatrix<T> /*local*/,
                                                                 const detail::ExchangeLists& /*lists*/,
                                                                 const Device& device) {
  refuse(device);
}
template std::unique_ptr<detail::DistributedProduct<float>> make_peer_product(detail::LocalMatrix<float>,
                                                                              const detail::ExchangeLists&,
                                                                              const Device&);
template std::unique_ptr<detail::DistributedProduct<double>> make_peer_product(detail::LocalMatrix<double>,
                                                                               const detail::ExchangeLists&,
                                                                               const Device&);

template <class T>
std::unique_ptr<detail::RankExchange> make_peer_ranks(const detail::ExchangeLists& /*lists*/, index_t /*rows*/,
                                                      const detail::RankVectors<T>& /*vectors*/, const Device& device) {
  refuse(device);
}
template std::unique_ptr<detail::RankExchange> make_peer_ranks(const detail::ExchangeLists&, index_t,
                                                               const detail::RankVectors<float>&, const Device&);
template std::unique_ptr<detail::RankExchange> make_peer_ranks(const detail::ExchangeLists&, index_t,
                                                               const detail::RankVectors<double>&, const Device&);

template <class T>
std::unique_ptr<detail::DistributedCycle<T>> make_distributed_cycle(const detail::SharedHierarchy<T>& /*hierarchy*/,
                                                                    std::vector<detail::LevelShare<T>> /*shares*/,
                                                                    const AmgOptions& /*options*/,
                                                                    const Device& device) {
  refuse(device);
}
template std::unique_ptr<detail::DistributedCycle<float>> make_distributed_cycle(const detail::SharedHierarchy<float>&,
                                                                                 std::vector<detail::LevelShare<float>>,
                                                                                 const AmgOptions&, const Device&);
template std::unique_ptr<detail::DistributedCycle<double>> make_distributed_cycle(
    const detail::SharedHierarchy<double>&, std::vector<detail::LevelShare<double>>, const AmgOptions&, const Device&);

void mark_halo(const Device& device, std::span<const index_t> /*columns*/, index_t /*first*/, index_t /*last*/,
               std::span<offset_t> /*marks*/) {
  refuse(device);
}
void mark_whole_halo(const Device& device, index_t /*first*/, index_t /*last*/, std::span<offset_t> /*marks*/) {
  refuse(device);
}
std::vector<index_t> number_halo(const Device& device, std::span<offset_t> /*marks*/) { refuse(device); }
void renumber_columns(const Device& device, std::span<const index_t> /*columns*/, std::span<const offset_t> /*numbers*/,
                      index_t /*first*/, index_t /*last*/, index_t /*lower*/, std::span<index_t> /*own*/) {
  refuse(device);
}
std::vector<std::int64_t> aggregates_before_parts(const Partition& /*fine*/, const Array<index_t>& aggregate_of_node,
                                                  index_t /*block*/, index_t /*aggregates*/) {
  refuse(aggregate_of_node.device());
}

template <class Op>
typename Op::Sums TransformReduce<Op>::run(const Device& device, std::int64_t /*n*/, const Op& /*op*/) {
  refuse(device);
}

}  // namespace tessera::cuda

#include "solvers/distributed/registration.hpp"
