// The workflow `tiles` (bmSPARSE, GRADES-NDA 2018; tSparse, Computers & Electrical Engineering 88, 2020): positions of
// both factors in tiles, symbolic phase beside the dense copies, numeric phase. The host waits twice: for the pairs,
// and for the entries of C. In a mixed product tile rows that exceed the limits of tiles, or do not pay, are formed row
// by row (DeviceJob), between the same two waits and a few more; both write into one C, one after the other.
#include "spgemm/cuda/workflows/tiles.hpp"
#include "spgemm/common/loss_sample.hpp"
#include "spgemm/cuda/workflows/automatic_tiles.hpp"
#include "spgemm/cuda/workflows/tile_job.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace tessera::cuda {

template <class V, class T>
std::optional<CsrArrays<V>> form_in_tiles(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& options,
                                          const TileChoice& choice, SpgemmReport& report) {
  report.reason = choice.reason;
  const bool narrow = has_values<V> && options.precision != SpgemmPrecision::working;
  try {
    return TileJob<V, T>(a, b, options, choice, report).run();
  } catch (const TilesGivenUp& given_up) {
    if (narrow) detail::refuse_without_tiles(options.precision, given_up.what());
    report.fallback = std::string(given_up.what()) + ": exact instead";
  } catch (const OutOfMemory& error) {
    if (narrow) throw;
    report.fallback = std::string(error.what()) + ": exact instead";
  }
  return std::nullopt;
}

template <class V, class T>
std::optional<CsrArrays<V>> tile_product(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& options,
                                         SpgemmReport& report) {
  TileChoice choice{TileShare::all, "chosen by name"};
  if (options.workflow != SpgemmWorkflow::tiles) {
    const bool narrow = has_values<V> && options.precision != SpgemmPrecision::working;
    choice = narrow ? TileChoice{TileShare::all, fmt::format("{} is for tiles", to_string(options.precision))}
                    : choose_tiles<V>(a, b, options);
  }
  if (choice.share == TileShare::none) return std::nullopt;
  return form_in_tiles<V>(a, b, options, choice, report);
}

template std::optional<CsrArrays<float>> tile_product(const CsrView<float>&, const CsrView<float>&,
                                                      const SpgemmOptions&, SpgemmReport&);
template std::optional<CsrArrays<double>> tile_product(const CsrView<double>&, const CsrView<double>&,
                                                       const SpgemmOptions&, SpgemmReport&);
template std::optional<CsrArrays<NoValue>> tile_product(const CsrView<float>&, const CsrView<float>&,
                                                        const SpgemmOptions&, SpgemmReport&);
template std::optional<CsrArrays<NoValue>> tile_product(const CsrView<double>&, const CsrView<double>&,
                                                        const SpgemmOptions&, SpgemmReport&);
template std::optional<CsrArrays<float>> form_in_tiles(const CsrView<float>&, const CsrView<float>&,
                                                       const SpgemmOptions&, const TileChoice&, SpgemmReport&);
template std::optional<CsrArrays<double>> form_in_tiles(const CsrView<double>&, const CsrView<double>&,
                                                        const SpgemmOptions&, const TileChoice&, SpgemmReport&);
template std::optional<CsrArrays<NoValue>> form_in_tiles(const CsrView<float>&, const CsrView<float>&,
                                                         const SpgemmOptions&, const TileChoice&, SpgemmReport&);
template std::optional<CsrArrays<NoValue>> form_in_tiles(const CsrView<double>&, const CsrView<double>&,
                                                         const SpgemmOptions&, const TileChoice&, SpgemmReport&);

}  // namespace tessera::cuda
