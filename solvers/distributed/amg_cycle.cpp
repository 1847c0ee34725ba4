/// The rows of a rank of every level of a hierarchy.
#include "solvers/distributed/amg_cycle.hpp"

#include <optional>
#include <utility>

namespace tessera::detail {

namespace {

/// The finders of a rank, level by level.
template <class T>
class Shares {
 public:
  Shares(const SharedHierarchy<T>& hierarchy, int rank, Device device)
      : hierarchy_(hierarchy), rank_(rank), device_(std::move(device)) {}

  /// The columns of a level: what A and R of the level and P of the finer one are multiplied by.
  [[nodiscard]] LevelColumns find(std::size_t level) {
    LevelColumnFinder& finder = finders_.emplace_back(partition(level), rank_, device_);
    if (level == hierarchy_.shared_levels) {
      finder.mark_all();
      return finder.number();
    }
    finder.mark(this->level(level).a->view(), first(level), last(level));
    if (this->level(level).r) finder.mark(this->level(level).r->view(), first(level + 1), last(level + 1));
    if (level > 0) finder.mark(this->level(level - 1).p->view(), first(level - 1), last(level - 1));
    return finder.number();
  }

  /// Once the columns of all levels are found.
  void take_rows(std::size_t level, const std::vector<LevelShare<T>>& all, LevelShare<T>& share) const {
    const auto rows_of = [&](const std::shared_ptr<const Csr<T>>& matrix, std::size_t of_rows, std::size_t of_columns) {
      return finders_[of_columns].rows(matrix->view(), first(of_rows), last(of_rows), all[of_columns].columns.size());
    };
    const AmgLevel<T>& whole = this->level(level);
    share.a = rows_of(whole.a, level, level);
    if (!whole.p) return;
    share.p = rows_of(whole.p, level, level + 1);
    share.r = rows_of(whole.r, level + 1, level);
  }

 private:
  [[nodiscard]] const AmgLevel<T>& level(std::size_t number) const { return hierarchy_.whole.levels[number]; }
  [[nodiscard]] const Partition& partition(std::size_t level) const { return hierarchy_.partitions[level]; }
  [[nodiscard]] index_t first(std::size_t level) const { return partition(level).first_row(rank_); }
  [[nodiscard]] index_t last(std::size_t level) const { return partition(level).first_row(rank_ + 1); }

  const SharedHierarchy<T>& hierarchy_;
  int rank_;
  Device device_;  ///< of the hierarchy
  std::vector<LevelColumnFinder> finders_;
};

}  // namespace

template <class T>
std::vector<LevelShare<T>> shares_of(const SharedHierarchy<T>& hierarchy, int rank, Communicator& communicator,
                                     std::vector<std::vector<LevelColumns>>& all, const Device& host) {
  const Device& device = hierarchy.whole.device;
  Shares<T> shares(hierarchy, rank, device.is_host() ? host : device);
  std::vector<LevelShare<T>> result(hierarchy.partitions.size());
  for (std::size_t level = 0; level < result.size(); ++level) {
    result[level].columns = all[level][static_cast<std::size_t>(rank)] = shares.find(level);
  }
  communicator.wait(rank);
  for (std::size_t level = 0; level < result.size(); ++level) {
    result[level].lists = lists_of(all[level], hierarchy.partitions[level], rank);
    if (level < hierarchy.shared_levels) shares.take_rows(level, result, result[level]);
  }
  communicator.wait(rank);
  return result;
}

template std::vector<LevelShare<float>> shares_of(const SharedHierarchy<float>&, int, Communicator&,
                                                  std::vector<std::vector<LevelColumns>>&, const Device&);
template std::vector<LevelShare<double>> shares_of(const SharedHierarchy<double>&, int, Communicator&,
                                                   std::vector<std::vector<LevelColumns>>&, const Device&);

}  // namespace tessera::detail
