/// \file
/// Heat equation u_t = Δu on the unit square by implicit Euler, on a GPU: a time step is one CUDA graph of this
/// program's own, of a kernel that forms the right-hand side, a whole solve of (I + τ A) u' = b, and a kernel that
/// counts solves that did not converge. The host launches steps and waits once, at the end. The solution is known in
/// closed form.
///
///     heat_graph [STEPS]

#include <tessera/array.hpp>
#include <tessera/context.hpp>
#include <tessera/enqueued_cg.hpp>
#include <tessera/error.hpp>
#include <tessera/generators.hpp>
#include <tessera/preconditioner.hpp>
#include <tessera/spmv.hpp>

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <numbers>
#include <vector>

namespace {

constexpr std::int64_t points = 60;  // per side, inside
constexpr double h = 1.0 / (points + 1);
constexpr double tau = 1e-4;

/// What the steps leave behind for the host.
struct Tally {
  std::int64_t iterations;
  std::int64_t failures;
};

/// b = u, in the units of the stencil: h² / τ.
__global__ void form_right_side(std::int64_t n, const double* u, double* b) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) b[i] = h * h / tau * u[i];
}

__global__ void count(const tessera::SolveOutcome* outcome, Tally* tally) {
  tally->iterations += outcome->iterations;
  if (outcome->status != tessera::Status::converged) ++tally->failures;
}

void check(cudaError_t code) {
  if (code != cudaSuccess) throw tessera::Error(cudaGetErrorString(code));
}

/// h² / τ I + the 5-point stencil.
tessera::Csr<double> step_matrix() {
  const tessera::Csr<double> stencil = tessera::poisson2d<double>(points, points);
  std::vector<double> values(stencil.values().begin(), stencil.values().end());
  for (double& value : values) {
    if (value > 0.0) value += h * h / tau;
  }
  return stencil.with_values(tessera::Array<double>::copy_of(values));
}

/// sin(πx) sin(πy): an eigenvector of A.
std::vector<double> mode() {
  std::vector<double> u;
  for (int i = 1; i <= points; ++i) {
    for (int j = 1; j <= points; ++j)
      u.push_back(std::sin(std::numbers::pi * h * i) * std::sin(std::numbers::pi * h * j));
  }
  return u;
}

/// A stream of this program and the graph of one step.
class Step {
 public:
  Step() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  ~Step() {
    if (ready_ != nullptr) cudaGraphExecDestroy(ready_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
    cudaStreamDestroy(stream_);
  }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  template <class Work>
  void record(const Work& work) {
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    work();
    check(cudaStreamEndCapture(stream_, &graph_));
    check(cudaGraphInstantiate(&ready_, graph_, 0));
  }
  void launch() const { check(cudaGraphLaunch(ready_, stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t ready_ = nullptr;
};

int run(int steps) {
  if (tessera::survey_cuda().devices.empty()) {
    std::cout << "no GPU here: nothing to show\n";
    return 0;
  }
  Step step;
  const tessera::Context context(tessera::Device::cuda(0), {.stream = step.stream()});
  const tessera::SpmvPlan<double> A(step_matrix(), {.device = context});
  const tessera::JacobiPreconditioner<double> M(A.matrix(), context);
  tessera::SolverOptions options;
  options.relative_tolerance = 1e-10;
  tessera::EnqueuedCg<double> solver(A, M, options);

  const std::vector<double> start = mode();
  const std::int64_t n = A.rows();
  auto u = tessera::Array<double>::copy_of(start, context);
  tessera::Array<double> b(n, tessera::Init::zero, context);
  tessera::Array<tessera::SolveOutcome> outcome(1, tessera::Init::zero, context);
  tessera::Array<Tally> tally(1, tessera::Init::zero, context);

  step.record([&] {
    constexpr unsigned threads = 256;
    const auto blocks = static_cast<unsigned>((n + threads - 1) / threads);
    form_right_side<<<blocks, threads, 0, step.stream()>>>(n, u.data(), b.data());
    solver.enqueue(b, u, outcome.data());  // u is the guess, then the next state
    count<<<1, 1, 0, step.stream()>>>(outcome.data(), tally.data());
  });
  const tessera::ContextCounts before = context.counts();
  for (int k = 0; k < steps; ++k) step.launch();
  const auto waits = context.counts().waits - before.waits;
  const Tally result = tally.to(tessera::Device::host())[0];
  if (result.failures > 0) throw tessera::Error(std::to_string(result.failures) + " steps did not converge");

  const tessera::Array<double> found = u.to(tessera::Device::host());
  const double s = std::sin(std::numbers::pi * h / 2.0);
  const double left = std::pow(1.0 / (1.0 + tau * 8.0 / (h * h) * s * s), steps);
  double error = 0.0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    error = std::fmax(error, std::fabs(found[static_cast<std::int64_t>(i)] - left * start[i]));
  }
  const bool is_right = error < 1e-7 * left;
  std::cout << steps << " steps, " << result.iterations << " iterations, " << waits << " waits in between\n"
            << "error " << (is_right ? "below" : "above") << " 1e-7 of the mode, which fell to " << left << '\n';
  return is_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const long steps = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 1000;
  if (argc > 2 || steps < 1 || steps > 1000000) {
    std::cerr << "usage: heat_graph [STEPS, 1 to 1000000]\n";
    return 2;
  }
  try {
    return run(static_cast<int>(steps));
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
