/// The cycle of a rank on threads of the host.
#include "solvers/amg/cycle_host.hpp"
#include "solvers/distributed/amg_rank_cycle.hpp"

namespace tessera::host {

namespace {

template <class T, class V>
class HostBackend {
 public:
  using Matrix = CycleMatrix<V>;

  HostBackend(const Device& device, bool /*gathers*/) : rank_device_(device), device_(alone(device)) {}

  [[nodiscard]] Matrix matrix(const Csr<T>& rows, const std::string& /*name*/, bool /*may_list*/) const {
    return Matrix(device_, rows);
  }
  [[nodiscard]] std::string layout_name(const Matrix& matrix) const { return std::string(matrix.layout_name()); }
  [[nodiscard]] std::unique_ptr<VectorHalo<V>> make_halo(const ExchangeLists& lists, index_t rows,
                                                         int /*fetches*/) const {
    return std::make_unique<CopiedVectorHalo<V>>(lists, rows, rank_device_);
  }
  void begin_run() const {}
  [[nodiscard]] bool can_enqueue() const noexcept { return false; }
  void enqueue_dots(std::span<const T> /*w*/, std::span<T> /*z*/, ProductDots* /*sums*/,
                    const std::int32_t* /*halted*/) const {}
  template <class Function>
  void run(const std::int32_t* /*halted*/, const Function& function) const {
    HostExecutor<T, V> executor(device_, nullptr);
    function(executor);
  }
  [[nodiscard]] static std::unique_ptr<AmgCycleOperator<V>> make_rest(const AmgHierarchy<V>& hierarchy,
                                                                      const AmgOptions& options) {
    return make_amg_cycle(hierarchy, options);
  }

 private:
  Device rank_device_;
  Device device_;
};

}  // namespace

template <class T>
std::unique_ptr<DistributedCycle<T>> make_distributed_cycle(const SharedHierarchy<T>& hierarchy,
                                                            std::vector<LevelShare<T>> shares,
                                                            const AmgOptions& options, const Device& device) {
  return make_rank_cycle<HostBackend>(hierarchy, std::move(shares), options, device);
}

template std::unique_ptr<DistributedCycle<float>> make_distributed_cycle(const SharedHierarchy<float>&,
                                                                         std::vector<LevelShare<float>>,
                                                                         const AmgOptions&, const Device&);
template std::unique_ptr<DistributedCycle<double>> make_distributed_cycle(const SharedHierarchy<double>&,
                                                                          std::vector<LevelShare<double>>,
                                                                          const AmgOptions&, const Device&);

}  // namespace tessera::host
