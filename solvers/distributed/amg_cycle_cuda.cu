/// The cycle of a rank on a GPU: the kernels of one device, between exchanges of halos.
#include "solvers/amg/cycle_executor.cuh"
#include "solvers/distributed/amg_rank_cycle.hpp"

namespace tessera::cuda {

namespace {

template <class T, class V>
class GpuBackend {
 public:
  using Matrix = AmgDeviceMatrix<V>;

  /// Kernels do not overlap: between them halos travel.
  explicit GpuBackend(const Device& device) : device_(device), setting_{&Context::of(device), false, nullptr} {}

  [[nodiscard]] Matrix matrix(const Csr<T>& rows, const std::string& name, bool may_list) const {
    return Matrix(rows.to(device_), name, AmgLayoutTuning{}, may_list);
  }
  [[nodiscard]] std::string layout_name(const Matrix& matrix) const { return std::string(matrix.layout_name()); }
  template <class Function>
  void run(const Function& function) const {
    const DeviceGuard current(device_);
    CycleOutput<T> output;
    GpuExecutor<T, V> executor(setting_, output, nullptr);
    function(executor);
  }
  [[nodiscard]] static std::unique_ptr<AmgCycleOperator<V>> make_rest(const AmgHierarchy<V>& hierarchy,
                                                                      const AmgOptions& options) {
    return make_amg_cycle(hierarchy, options);
  }

 private:
  Device device_;
  CycleSetting setting_;
};

}  // namespace

template <class T>
std::unique_ptr<DistributedCycle<T>> make_distributed_cycle(const SharedHierarchy<T>& hierarchy,
                                                            const std::vector<LevelShare<T>>& shares,
                                                            const AmgOptions& options, const Device& device) {
  if (options.precision == AmgPrecision::single) {
    return std::make_unique<RankCycle<T, float, GpuBackend<T, float>>>(hierarchy, shares, options, device);
  }
  return std::make_unique<RankCycle<T, T, GpuBackend<T, T>>>(hierarchy, shares, options, device);
}

template std::unique_ptr<DistributedCycle<float>> make_distributed_cycle(const SharedHierarchy<float>&,
                                                                         const std::vector<LevelShare<float>>&,
                                                                         const AmgOptions&, const Device&);
template std::unique_ptr<DistributedCycle<double>> make_distributed_cycle(const SharedHierarchy<double>&,
                                                                          const std::vector<LevelShare<double>>&,
                                                                          const AmgOptions&, const Device&);

}  // namespace tessera::cuda
