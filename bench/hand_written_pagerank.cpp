#include "bench/hand_written_pagerank.hpp"

#include "bench/report.hpp"
#include "core/cuda/context.hpp"
#include "core/stopwatch.hpp"

namespace tessera::bench {

HandWrittenPageRank::HandWrittenPageRank(const TransitionMatrix<double>& transition, const Device& device)
    : device_(device),
      n_(transition.vertices()),
      ranks_(n_, device),
      next_(n_, device),
      partial_(rank_step_blocks, Init::none, device),
      sums_(1, Init::zero, device) {
  const cuda::CurrentDevice current(device_);
  const Stopwatch upload;
  in_links_ = std::make_unique<const Csr<double>>(transition.in_links()->to(device_));
  out_inverse_ = Array<double>::copy_of(transition.inverse_out_weight(), device_);
  synchronize(device_);
  upload_ms_ = upload.milliseconds();
  constexpr int setups = 3;
  std::vector<double> times;
  for (int i = 0; i < setups; ++i) {
    const Stopwatch setup;
    set_up();
    times.push_back(setup.milliseconds());
  }
  setup_ms_ = summarise(times).median;
}

void HandWrittenPageRank::set_up() {
  const CsrView<double> links = in_links_->view();
  product_.reset();
  offsets_ = narrow_row_offsets(links, device_);
  values_ = {};
  values_ = Array<double>(links.nnz(), Init::none, device_);
  gather(device_, links.nnz(), links.columns.data(), out_inverse_.data(), values_.data());
  product_ = std::make_unique<const VendorProduct>(links, offsets_.span(), values_.span(), device_);
  synchronize(device_);
}

/// x = 1 / n, and the sums of a step that led there: what dangles of it.
void HandWrittenPageRank::start() {
  detail::zero_bytes(device_, sums_.data(), sums_.bytes());
  detail::zero_bytes(device_, next_.data(), next_.values.bytes());
  rank_step(device_, n_, 0.0, next_.data(), out_inverse_.data(), ranks_.data(), partial_.data(), sums_.data());
  synchronize(device_);
}

double HandWrittenPageRank::run(double damping, std::int64_t iterations, int check_every) {
  const cuda::CurrentDevice current(device_);
  const cudaStream_t stream = cuda::Context::of(device_).stream();
  start();
  const Stopwatch watch;
  for (std::int64_t iteration = 1; iteration <= iterations; ++iteration) {
    product_->multiply(ranks_, next_);
    rank_step(device_, n_, damping, next_.data(), out_inverse_.data(), ranks_.data(), partial_.data(), sums_.data());
    if (iteration % check_every == 0 || iteration == iterations) {
      static_cast<void>(on_host_.bring(sums_.data(), stream));
    }
  }
  return watch.milliseconds();
}

std::vector<double> HandWrittenPageRank::ranks() const {
  std::vector<double> result(static_cast<std::size_t>(n_));
  detail::copy_bytes(Device{}, result.data(), device_, ranks_.values.data(), ranks_.values.bytes());
  return result;
}

}  // namespace tessera::bench
