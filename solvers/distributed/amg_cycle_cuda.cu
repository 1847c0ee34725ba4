/// The cycle of a rank on a GPU: the kernels of one device, between exchanges of halos. Where GPUs reach each other's
/// memory and all ranks gather in every cycle, halos travel by kernels and the host only launches.
#include "solvers/amg/cycle_executor.cuh"
#include "solvers/distributed/amg_rank_cycle.hpp"
#include "solvers/distributed/peer_dots.cuh"
#include "solvers/distributed/peer_vector_halo.cuh"

namespace tessera::cuda {

namespace {

template <class T, class V>
class GpuBackend {
 public:
  using Matrix = AmgDeviceMatrix<V>;

  /// Kernels do not overlap: between them halos travel.
  GpuBackend(const Device& device, bool gathers)
      : rank_device_(device), device_(alone(device)), setting_{&Context::of(device), false, nullptr} {
    if (!gathers || rank_of(device)->exchange == nullptr) return;
    cycles_ = std::make_unique<PeerCycles>(device);
    dots_ = std::make_unique<PeerDots>(device);
  }

  [[nodiscard]] Matrix matrix(Csr<T> rows, const std::string& name, bool may_list) const {
    return Matrix(rows.device() == device_ ? std::move(rows) : rows.to(device_), name, AmgLayoutTuning{}, may_list);
  }
  [[nodiscard]] std::string layout_name(const Matrix& matrix) const { return std::string(matrix.layout_name()); }
  [[nodiscard]] std::unique_ptr<VectorHalo<V>> make_halo(const ExchangeLists& lists, index_t rows, int fetches) const {
    if (cycles_) return std::make_unique<PeerVectorHalo<V>>(lists, rows, fetches, *cycles_, rank_device_);
    return std::make_unique<CopiedVectorHalo<V>>(lists, rows, rank_device_);
  }
  void begin_run() const {
    if (cycles_) cycles_->agree();
  }
  [[nodiscard]] bool can_enqueue() const noexcept { return cycles_ != nullptr; }
  void enqueue_dots(std::span<const T> w, std::span<const T> z, ProductDots* sums, const std::int32_t* halted) const {
    const DeviceGuard current(device_);
    dots_->enqueue(w, z, sums, halted);
  }
  template <class Function>
  void run(const std::int32_t* halted, const Function& function) const {
    const DeviceGuard current(device_);
    if (cycles_) cycles_->begin(halted);
    CycleOutput<T> output;
    GpuExecutor<T, V> executor(setting_, output, halted);
    function(executor);
  }
  [[nodiscard]] static std::unique_ptr<AmgCycleOperator<V>> make_rest(const AmgHierarchy<V>& hierarchy,
                                                                      const AmgOptions& options) {
    return make_amg_cycle(hierarchy, options);
  }

 private:
  Device rank_device_;
  Device device_;
  CycleSetting setting_;
  std::unique_ptr<PeerCycles> cycles_;  ///< null: halos are copied
  std::unique_ptr<PeerDots> dots_;
};

}  // namespace

template <class T>
std::unique_ptr<DistributedCycle<T>> make_distributed_cycle(const SharedHierarchy<T>& hierarchy,
                                                            std::vector<LevelShare<T>> shares,
                                                            const AmgOptions& options, const Device& device) {
  return make_rank_cycle<GpuBackend>(hierarchy, std::move(shares), options, device);
}

template std::unique_ptr<DistributedCycle<float>> make_distributed_cycle(const SharedHierarchy<float>&,
                                                                         std::vector<LevelShare<float>>,
                                                                         const AmgOptions&, const Device&);
template std::unique_ptr<DistributedCycle<double>> make_distributed_cycle(const SharedHierarchy<double>&,
                                                                          std::vector<LevelShare<double>>,
                                                                          const AmgOptions&, const Device&);

}  // namespace tessera::cuda
