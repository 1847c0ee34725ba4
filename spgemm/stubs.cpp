/// \file
/// SpGEMM on a GPU in a build without CUDA: refuses.
#include "spgemm/common/backends.hpp"
#include "spgemm/common/prediction.hpp"
#include "spgemm/common/slices.hpp"
#include "spgemm/common/tile_backends.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {

namespace {

[[noreturn]] void refuse(const Device& device) {
  throw DeviceUnavailable("no sparse product on " + device.name() + ": this build has no CUDA backend");
}

}  // namespace

template <class V, class T>
SpgemmResult<T> multiply(const Csr<T>& /*a*/, const Csr<T>& /*b*/, const SpgemmOptions& options) {
  refuse(options.device);
}

template <class T>
std::unique_ptr<ProductPlan<T>> make_product_plan(std::shared_ptr<const Csr<T>> /*a*/,
                                                  std::shared_ptr<const Csr<T>> /*b*/, const SpgemmOptions& options) {
  refuse(options.device);
}

template <class T>
std::optional<TileMatrix<T>> multiply_tiles(const TileView<T>& /*a*/, const TileView<T>& /*b*/,
                                            const SpgemmOptions& options, SpgemmReport& /*report*/) {
  refuse(options.device);
}

template <class T>
ProductSample sample_product(const CsrView<T>& /*a*/, const CsrView<T>& /*b*/, const Device& device) {
  refuse(device);
}

template <class T>
RowSketches sketch_rows(const CsrView<T>& /*a*/, int /*registers*/, const Device& device) {
  refuse(device);
}

template <class T>
RowSketches merge_sketches(const CsrView<T>& /*a*/, const RowSketches& /*b*/, index_t /*most*/, int /*registers*/,
                           const Device& device) {
  refuse(device);
}

double products_of_sizes(const Array<float>& /*u*/, const Array<float>& /*v*/, const Device& device) { refuse(device); }

int multiprocessors_of(const Device& device) { refuse(device); }

template ProductSample sample_product(const CsrView<float>&, const CsrView<float>&, const Device&);
template ProductSample sample_product(const CsrView<double>&, const CsrView<double>&, const Device&);
template RowSketches sketch_rows(const CsrView<float>&, int, const Device&);
template RowSketches sketch_rows(const CsrView<double>&, int, const Device&);
template RowSketches merge_sketches(const CsrView<float>&, const RowSketches&, index_t, int, const Device&);
template RowSketches merge_sketches(const CsrView<double>&, const RowSketches&, index_t, int, const Device&);

template <class T>
std::optional<detail::RowPrediction> predict_rows(const CsrView<T>& /*a*/, const CsrView<T>& /*b*/,
                                                  const SpgemmOptions& options, std::uint64_t /*limit_bytes*/) {
  refuse(options.device);
}

template <class T>
std::unique_ptr<SliceDownload<T>> make_slice_download(const Device& device) {
  refuse(device);
}
template std::unique_ptr<SliceDownload<float>> make_slice_download(const Device&);
template std::unique_ptr<SliceDownload<double>> make_slice_download(const Device&);

template std::optional<detail::RowPrediction> predict_rows(const CsrView<float>&, const CsrView<float>&,
                                                           const SpgemmOptions&, std::uint64_t);
template std::optional<detail::RowPrediction> predict_rows(const CsrView<double>&, const CsrView<double>&,
                                                           const SpgemmOptions&, std::uint64_t);
template std::optional<TileMatrix<float>> multiply_tiles(const TileView<float>&, const TileView<float>&,
                                                         const SpgemmOptions&, SpgemmReport&);
template std::optional<TileMatrix<double>> multiply_tiles(const TileView<double>&, const TileView<double>&,
                                                          const SpgemmOptions&, SpgemmReport&);
template std::unique_ptr<ProductPlan<float>> make_product_plan(std::shared_ptr<const Csr<float>>,
                                                               std::shared_ptr<const Csr<float>>, const SpgemmOptions&);
template std::unique_ptr<ProductPlan<double>> make_product_plan(std::shared_ptr<const Csr<double>>,
                                                                std::shared_ptr<const Csr<double>>,
                                                                const SpgemmOptions&);
template SpgemmResult<float> multiply<float>(const Csr<float>&, const Csr<float>&, const SpgemmOptions&);
template SpgemmResult<float> multiply<NoValue>(const Csr<float>&, const Csr<float>&, const SpgemmOptions&);
template SpgemmResult<double> multiply<double>(const Csr<double>&, const Csr<double>&, const SpgemmOptions&);
template SpgemmResult<double> multiply<NoValue>(const Csr<double>&, const Csr<double>&, const SpgemmOptions&);

}  // namespace tessera::cuda
