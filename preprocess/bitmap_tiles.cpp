#include "preprocess/bitmap_tiles.hpp"

#include "core/stopwatch.hpp"

namespace tessera {

namespace detail {

template <class T>
BuiltTiles<T> build_tiles(const CsrView<T>& matrix, const Device& device) {
  const Stopwatch timer;
  BuiltTiles<T> built{device.is_host() ? host::build_tiles(matrix, device) : cuda::build_tiles(matrix, device)};
  built.build_ms = timer.milliseconds();
  return built;
}

template <class T>
Csr<T> csr_of(const TileView<T>& tiles, const Device& device) {
  return device.is_host() ? host::csr_of(tiles, device) : cuda::csr_of(tiles, device);
}

template BuiltTiles<float> build_tiles(const CsrView<float>&, const Device&);
template BuiltTiles<double> build_tiles(const CsrView<double>&, const Device&);
template Csr<float> csr_of(const TileView<float>&, const Device&);
template Csr<double> csr_of(const TileView<double>&, const Device&);

}  // namespace detail

template <class T>
TileMatrix<T> to_tiles(const Csr<T>& matrix) {
  return detail::build_tiles(matrix.view(), matrix.device()).matrix;
}

template <class T>
Csr<T> to_csr(const TileMatrix<T>& matrix) {
  return detail::csr_of(matrix.view(), matrix.device());
}

template TileMatrix<float> to_tiles(const Csr<float>&);
template TileMatrix<double> to_tiles(const Csr<double>&);
template Csr<float> to_csr(const TileMatrix<float>&);
template Csr<double> to_csr(const TileMatrix<double>&);

}  // namespace tessera
