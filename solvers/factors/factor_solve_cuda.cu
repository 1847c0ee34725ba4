/// z = C Q U⁻¹ L⁻¹ P R r on a GPU, level by level or without synchronization.
///
/// Memory movement per product, n rows, entries filled up to the length of their neighbours, values of v bytes:
///   L, U      (v + 4) per entry, 16 per 32 rows
///   ends      r, y written and read, w written, z: 5 v n; places of r, y and z: 12 n; the inverse diagonals v n each
///   sync-free marks of y and w: 2 v n more
/// Unknowns are read from the second-level cache as long as the rows of some levels fit into it. Where levels are
/// narrow time is not bandwidth but the number of levels: without synchronization each costs a store that another
/// multiprocessor sees, a load and the arithmetic of a row, some 0.4 us; as a kernel of its own 1.5 to 2 us.
#include "core/cuda/capture.hpp"
#include "core/cuda/dependent_launch.cuh"
#include "core/cuda/memory.hpp"
#include "core/cuda/reduce.cuh"
#include "core/cuda/vector_ops.hpp"
#include "core/enqueued_product.hpp"
#include "solvers/amg/phase_clock.hpp"
#include "solvers/factors/triangular_kernel.cuh"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

using namespace detail;

namespace {

/// A level of at most so many tasks is solved by one block, together with its neighbours: two rounds of its warps take
/// less than a launch.
constexpr index_t narrow_tasks = 2 * merged_threads / warp_size;

/// Blocks per multiprocessor of the synchronization-free kernels that are tried: few, so that rows that are far from
/// their turn do not fill the second-level cache with requests; or as many as fit.
constexpr std::array blocks_tried{2, 6, 16};
/// Products of a choice that are timed, after one that is not.
constexpr int timed_products = 1;

/// Milliseconds that a level takes at least, in a launch of its own or in one with others (H200: 1.0 to 2.2 µs). Levels
/// are not tried where they would take longer than the best so far.
constexpr double least_level_ms = 1.2e-3;

/// Levels that one launch solves: one, or several narrow ones by one block.
struct LevelLaunch {
  index_t first = 0;
  index_t last = 0;
  [[nodiscard]] bool is_merged() const noexcept { return last - first > 1; }
};

[[nodiscard]] std::vector<LevelLaunch> launches_of(const std::vector<index_t>& level_tasks) {
  std::vector<LevelLaunch> launches;
  bool grows = false;
  for (index_t level = 0; level + 1 < static_cast<index_t>(level_tasks.size()); ++level) {
    const auto l = static_cast<std::size_t>(level);
    const bool is_narrow = level_tasks[l + 1] - level_tasks[l] <= narrow_tasks;
    if (is_narrow && grows) {
      launches.back().last = level + 1;
    } else {
      launches.push_back({level, level + 1});
    }
    grows = is_narrow;
  }
  return launches;
}

/// values[order[q]]; of an empty array of places, which stands for the identity, the order itself.
template <class Value>
[[nodiscard]] Array<Value> in_order(const Array<index_t>& order, const Array<Value>& values) {
  if (values.empty()) {
    if constexpr (std::is_same_v<Value, index_t>) return order.to(order.device());
    return {};
  }
  Array<Value> result(order.size(), Init::none, order.device());
  for_each(order.device(), order.size(),
           [order = order.data(), from = values.data(), to = result.data()] __device__(std::int64_t q) {
             to[q] = from[order[q]];
           });
  return result;
}

template <class T>
[[nodiscard]] Array<T> ones(std::int64_t n, const Device& device) {
  Array<T> result(n, Init::none, device);
  for_each(device, n, [to = result.data()] __device__(std::int64_t i) { to[i] = T{1}; });
  return result;
}

/// How products are done.
struct SolveChoice {
  TriangularSolve kind = TriangularSolve::levels;
  int blocks = 0;  ///< per multiprocessor, sync_free
};

template <class T>
class GpuFactorSolve final : public FactorSolve<T>, private EnqueuedProduct<T> {
 public:
  GpuFactorSolve(PreparedFactors<T> factors, TriangularSolve wanted, const Device& device)
      : device_(device), context_(Context::of(device)), n_(factors.lower.strict.rows()) {
    const DeviceGuard current(device_);
    set_up(std::move(factors));
    overlaps_ = can_overlap(context_, solve_level_kernel<T, ForwardEnds<T>>);
    choose(wanted);
  }

  [[nodiscard]] std::int64_t rows() const override { return n_; }
  [[nodiscard]] std::int64_t cols() const override { return n_; }
  [[nodiscard]] Device device() const override { return device_; }
  [[nodiscard]] TriangularSolve kind() const noexcept override { return choice_.kind; }
  [[nodiscard]] index_t lower_levels() const noexcept override { return lower_.levels; }
  [[nodiscard]] index_t upper_levels() const noexcept override { return upper_.levels; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override {
    return lower_.bytes() + upper_.bytes() + forward_from_.bytes() + forward_scale_.bytes() + backward_from_.bytes() +
           backward_to_.bytes() + backward_scale_.bytes() + y_.bytes() + w_.bytes() + tickets_.bytes();
  }

 protected:
  void do_apply(T alpha, std::span<const T> r, T beta, std::span<T> z) const override {
    run(choice_, r.data(), z.data(), alpha, beta, nullptr);
  }

 private:
  [[nodiscard]] const EnqueuedProduct<T>* enqueued_product() const noexcept override { return this; }

  // EnqueuedProduct.

  void enqueue(std::span<const T> r, std::span<T> z, std::span<const T> w, ProductDots* sums) const override {
    run(choice_, r.data(), z.data(), T{1}, T{0}, nullptr);
    enqueue_dots<T>(device_, z, w, sums);
  }
  [[nodiscard]] std::span<const ProductDots> enqueue_parts(std::span<const T> r, std::span<T> z, std::span<const T> w,
                                                           ProductDots* sums,
                                                           const std::int32_t* halted) const override {
    run(choice_, r.data(), z.data(), T{1}, T{0}, halted);
    enqueue_dots<T>(device_, z, w, sums);
    return {sums, 1};
  }

  void set_up(PreparedFactors<T> factors) {
    const DeviceLevels lower = levels_of(factors.lower.strict.view(), TriangleSide::lower, device_);
    const Array<index_t> lower_positions = inverse_order(lower.order);
    lower_ = pack_triangle(factors.lower, lower, lower_positions, device_);
    factors.lower = {};
    const DeviceLevels upper = levels_of(factors.upper.strict.view(), TriangleSide::upper, device_);
    upper_ = pack_triangle(factors.upper, upper, inverse_order(upper.order), device_);
    factors.upper = {};
    forward_from_ = in_order(lower.order, factors.row_from);
    forward_scale_ = in_order(lower.order, factors.row_scale);
    backward_from_ = in_order(upper.order, lower_positions);
    backward_to_ = in_order(upper.order, factors.column_to);
    backward_scale_ = in_order(upper.order, factors.column_scale);
    y_ = Array<T>(n_, Init::none, device_);
    w_ = Array<T>(n_, Init::none, device_);
    tickets_ = Array<unsigned>(2, Init::zero, device_);
  }

  void choose(TriangularSolve wanted) {
    lower_launches_ = launches_of(lower_.level_tasks);
    upper_launches_ = launches_of(upper_.level_tasks);
    choice_ = {TriangularSolve::levels, 0};
    if (wanted == TriangularSolve::levels || n_ == 0) return;
    double best = std::numeric_limits<double>::infinity();
    const Array<T> r = ones<T>(n_, device_);
    Array<T> z(n_, Init::none, device_);
    const auto compare = [&](const SolveChoice& choice) {
      const double ms = milliseconds(choice, r.data(), z.data());
      if (ms >= best) return;
      best = ms;
      choice_ = choice;
    };
    for (const int blocks : blocks_tried) compare({TriangularSolve::sync_free, blocks});
    const auto levels = static_cast<double>(lower_levels() + upper_levels());
    if (wanted == TriangularSolve::automatic && levels * least_level_ms < best) {
      compare({TriangularSolve::levels, 0});
    }
    if (choice_.kind == TriangularSolve::sync_free) forget_solutions();
  }

  /// The shortest time of a product, as part of a graph where loops are.
  [[nodiscard]] double milliseconds(const SolveChoice& choice, const T* r, T* z) const {
    if (choice.kind == TriangularSolve::sync_free) forget_solutions();
    LoopGraph graph(device_);
    const auto product = [&] { run(choice, r, z, T{1}, T{0}, nullptr); };
    const bool is_graph = graphs_are_usable();
    if (is_graph) {
      graph.record_before(product);
      graph.complete();
    }
    EventClock clock(device_);
    for (int k = 0; k <= timed_products; ++k) {
      clock.mark();
      if (is_graph) {
        graph.launch();
      } else {
        product();
      }
    }
    clock.mark();
    const std::vector<double> all = clock.milliseconds();
    return *std::min_element(all.begin() + 1, all.end());
  }

  /// Before the first synchronization-free product, and after others.
  void forget_solutions() const {
    take_back_all(context_, y_);
    take_back_all(context_, w_);
    zero_bytes(device_, tickets_.data(), tickets_.bytes());
  }

  void run(const SolveChoice& choice, const T* r, T* z, T alpha, T beta, const std::int32_t* halted) const {
    if (n_ == 0) return;
    const DeviceGuard current(device_);
    const bool waits = choice.kind == TriangularSolve::sync_free;
    const std::scoped_lock lock(mutex_);
    const ForwardEnds<T> forward{forward_from_.data(), or_null(forward_scale_), r, waits ? w_.data() : nullptr};
    const BackwardEnds<T> backward{backward_from_.data(),    y_.data(), waits, backward_to_.data(),
                                   or_null(backward_scale_), z,         alpha, beta};
    if (waits) {
      solve_sync_free(choice, lower_, forward, y_.data(), tickets_.data(), halted);
      solve_sync_free(choice, upper_, backward, w_.data(), tickets_.data() + 1, halted);
    } else {
      bool is_first = true;
      solve_by_levels(lower_, lower_launches_, forward, y_.data(), halted, is_first);
      solve_by_levels(upper_, upper_launches_, backward, w_.data(), halted, is_first);
    }
  }

  [[nodiscard]] static const T* or_null(const Array<T>& array) { return array.empty() ? nullptr : array.data(); }

  template <class Ends>
  void solve_sync_free(const SolveChoice& choice, const PackedTriangle<T>& a, const Ends& ends, T* x, unsigned* ticket,
                       const std::int32_t* halted) const {
    const auto tasks = static_cast<unsigned>(a.tasks.size());
    const unsigned needed = blocks_for(tasks, triangular_threads / warp_size);
    const auto wanted = static_cast<unsigned>(context_.multiprocessors() * choice.blocks);
    unsigned* const other = ticket == tickets_.data() ? ticket + 1 : tickets_.data();
    launch("triangular solve without synchronization", context_, Grid{std::min(needed, wanted), triangular_threads},
           solve_sync_free_kernel<T, Ends>, halted, a.pointers(), ends, x, tasks, ticket, other);
  }

  template <class Ends>
  void solve_by_levels(const PackedTriangle<T>& a, const std::vector<LevelLaunch>& launches, const Ends& ends, T* x,
                       const std::int32_t* halted, bool& is_first) const {
    for (const LevelLaunch& each : launches) {
      if (each.is_merged()) {
        start(is_first, Grid{1, merged_threads}, solve_levels_kernel<T, Ends>, halted, a.pointers(), ends, x,
              a.level_tasks_on_gpu.data(), each.first, each.last);
      } else {
        const auto first = static_cast<unsigned>(a.level_tasks[static_cast<std::size_t>(each.first)]);
        const auto last = static_cast<unsigned>(a.level_tasks[static_cast<std::size_t>(each.last)]);
        start(is_first, Grid{blocks_for(last - first, triangular_threads / warp_size), triangular_threads},
              solve_level_kernel<T, Ends>, halted, a.pointers(), ends, x, first, last);
      }
    }
  }

  /// The first kernel of a product begins when everything before it has ended.
  template <class... Parameters, class... Arguments>
  void start(bool& is_first, const Grid& grid, void (*kernel)(Parameters...), const Arguments&... arguments) const {
    if (std::exchange(is_first, false) || !overlaps_) {
      launch("levels of a triangular solve", context_, grid, kernel, arguments...);
    } else {
      launch_dependent("levels of a triangular solve", context_, grid, kernel, arguments...);
    }
  }

  Device device_;
  const Context& context_;
  index_t n_;
  bool overlaps_ = false;
  SolveChoice choice_;
  PackedTriangle<T> lower_;
  PackedTriangle<T> upper_;
  std::vector<LevelLaunch> lower_launches_;
  std::vector<LevelLaunch> upper_launches_;
  // Per position: element of r, of the other solution, of z, and scales.
  Array<index_t> forward_from_;
  Array<T> forward_scale_;
  Array<index_t> backward_from_;
  Array<index_t> backward_to_;
  Array<T> backward_scale_;
  mutable std::mutex mutex_;  ///< of what follows, from the first launch of a product to its last
  mutable Array<T> y_;
  mutable Array<T> w_;
  mutable Array<unsigned> tickets_;  ///< of both synchronization-free solves
};

}  // namespace

template <class T>
std::unique_ptr<FactorSolve<T>> make_factor_solve(PreparedFactors<T> factors, TriangularSolve wanted,
                                                  const Device& device) {
  return std::make_unique<GpuFactorSolve<T>>(std::move(factors), wanted, device);
}

template std::unique_ptr<FactorSolve<float>> make_factor_solve(PreparedFactors<float>, TriangularSolve, const Device&);
template std::unique_ptr<FactorSolve<double>> make_factor_solve(PreparedFactors<double>, TriangularSolve,
                                                                const Device&);

}  // namespace tessera::cuda
