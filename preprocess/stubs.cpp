/// \file
/// Stands in for the CUDA sources in a build without CUDA.
#include "preprocess/bitmap_tiles.hpp"
#include "preprocess/block_diagonal.hpp"
#include "preprocess/csr5_tiles.hpp"
#include "preprocess/degree_groups.hpp"
#include "preprocess/keep_rows.hpp"
#include "preprocess/merbit_tiles.hpp"
#include "preprocess/permuted.hpp"
#include "preprocess/snapped_tiles.hpp"
#include "preprocess/statistics.hpp"
#include "preprocess/tile_estimate.hpp"
#include "preprocess/transition.hpp"
#include "preprocess/transpose_map.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {

namespace {

[[noreturn]] void refuse(const Device& device) {
  throw DeviceUnavailable("no preprocessing on " + device.name() + ": this build has no CUDA backend");
}

}  // namespace

MerbitTiles build_merbit_tiles(index_t /*rows*/, std::span<const offset_t> /*row_offsets*/, int /*sigma*/,
                               int /*descriptor_bits*/, const Device& device) {
  refuse(device);
}

SnappedTiles build_snapped_tiles(index_t /*rows*/, std::span<const offset_t> /*row_offsets*/, offset_t /*nnz*/,
                                 const TileRules& /*rules*/, const Device& device) {
  refuse(device);
}

Csr5GpuTiles build_csr5_tiles(const Device& device, index_t /*rows*/, std::span<const offset_t> /*row_offsets*/,
                              std::span<const index_t> /*columns*/, int /*sigma*/, int /*descriptor_bits*/,
                              const std::function<void(const Csr5Tiles&)>& /*meanwhile*/) {
  refuse(device);
}

template <class From, class To>
void permute_csr5_values(const Device& device, const Csr5Tiles& /*tiles*/, std::span<const From> /*values*/,
                         std::span<To> /*permuted*/) {
  refuse(device);
}

template <class T>
void transpose_into(const CsrView<T>& /*matrix*/, const Device& device, const detail::TransposeOutput<T>& /*out*/) {
  refuse(device);
}

template <class T>
TileMatrix<T> build_tiles(const CsrView<T>& /*matrix*/, const Device& device) {
  refuse(device);
}

template <class T>
Csr<T> csr_of(const TileView<T>& /*tiles*/, const Device& device) {
  refuse(device);
}

TwoSums count_sample(const CsrStructurePointers& /*a*/, const SampledTileRows& /*sample*/, offset_t /*most*/,
                     const Device& device) {
  refuse(device);
}

template <class T>
detail::RowExtremes row_extremes(const CsrView<T>& /*a*/, const Device& device) {
  refuse(device);
}

template <class T>
std::vector<index_t> rows_of_length(const CsrView<T>& /*a*/, offset_t /*longest*/, const Device& device) {
  refuse(device);
}

template <class T>
index_t empty_columns(const CsrView<T>& /*a*/, const Device& device) {
  refuse(device);
}

template <class T>
detail::ValueCounts value_counts(const CsrView<T>& /*a*/, const Device& device) {
  refuse(device);
}

template <class T>
detail::DiagonalSums diagonal_sums(const CsrView<T>& /*a*/, const Device& device) {
  refuse(device);
}

template <class T>
unsigned mirrors(const CsrView<T>& /*a*/, const Device& device) {
  refuse(device);
}

template <class T>
detail::WeightSurvey survey_weights(const CsrView<T>& /*a*/, const Device& device) {
  refuse(device);
}

template <class T>
Csr<T> drop_zeros(const CsrView<T>& /*a*/, offset_t /*zeros*/, const Device& device) {
  refuse(device);
}

template <class T>
detail::OutLinks<T> out_links(const CsrView<T>& /*a*/, const Device& device) {
  refuse(device);
}

Array<index_t> vertices_without_links(const Array<index_t>& degree) { refuse(degree.device()); }

template <class T>
std::int64_t first_row_without_positive_diagonal(const CsrView<T>& /*a*/, const Device& device) {
  refuse(device);
}

template <class T>
Csr<T> keep_entries(const CsrView<T>& /*a*/, const Keep& /*keep*/, index_t /*first_row*/, const Device& device) {
  refuse(device);
}

template <class T>
Array<index_t> degree_ordering(const CsrView<T>& /*matrix*/, const Device& device) {
  refuse(device);
}

Array<index_t> natural_ordering(index_t /*n*/, const Device& device) { refuse(device); }

template <class T>
void permute_into(const CsrView<T>& /*matrix*/, std::span<const index_t> /*order*/,
                  std::span<const index_t> /*position*/, const Device& device,
                  const detail::PermutedOutput<T>& /*out*/) {
  refuse(device);
}

Array<index_t> inverse_permutation(std::span<const index_t> /*order*/, const Device& device) { refuse(device); }

template <class T>
void fill_block_diagonal(const Device& device, const detail::BlockDiagonal<T>& /*matrix*/, index_t /*rows*/,
                         offset_t /*nnz*/) {
  refuse(device);
}

template void fill_block_diagonal(const Device&, const detail::BlockDiagonal<float>&, index_t, offset_t);
template void fill_block_diagonal(const Device&, const detail::BlockDiagonal<double>&, index_t, offset_t);
template Array<index_t> degree_ordering(const CsrView<float>&, const Device&);
template Array<index_t> degree_ordering(const CsrView<double>&, const Device&);
template void permute_into(const CsrView<float>&, std::span<const index_t>, std::span<const index_t>, const Device&,
                           const detail::PermutedOutput<float>&);
template void permute_into(const CsrView<double>&, std::span<const index_t>, std::span<const index_t>, const Device&,
                           const detail::PermutedOutput<double>&);
template Csr<float> keep_entries(const CsrView<float>&, const Keep&, index_t, const Device&);
template Csr<double> keep_entries(const CsrView<double>&, const Keep&, index_t, const Device&);

template std::int64_t first_row_without_positive_diagonal(const CsrView<float>&, const Device&);
template std::int64_t first_row_without_positive_diagonal(const CsrView<double>&, const Device&);
template detail::RowExtremes row_extremes(const CsrView<float>&, const Device&);
template detail::RowExtremes row_extremes(const CsrView<double>&, const Device&);
template std::vector<index_t> rows_of_length(const CsrView<float>&, offset_t, const Device&);
template std::vector<index_t> rows_of_length(const CsrView<double>&, offset_t, const Device&);
template index_t empty_columns(const CsrView<float>&, const Device&);
template index_t empty_columns(const CsrView<double>&, const Device&);
template detail::ValueCounts value_counts(const CsrView<float>&, const Device&);
template detail::ValueCounts value_counts(const CsrView<double>&, const Device&);
template detail::DiagonalSums diagonal_sums(const CsrView<float>&, const Device&);
template detail::DiagonalSums diagonal_sums(const CsrView<double>&, const Device&);
template unsigned mirrors(const CsrView<float>&, const Device&);
template unsigned mirrors(const CsrView<double>&, const Device&);
template detail::WeightSurvey survey_weights(const CsrView<float>&, const Device&);
template detail::WeightSurvey survey_weights(const CsrView<double>&, const Device&);
template Csr<float> drop_zeros(const CsrView<float>&, offset_t, const Device&);
template Csr<double> drop_zeros(const CsrView<double>&, offset_t, const Device&);
template detail::OutLinks<float> out_links(const CsrView<float>&, const Device&);
template detail::OutLinks<double> out_links(const CsrView<double>&, const Device&);
template TileMatrix<float> build_tiles(const CsrView<float>&, const Device&);
template TileMatrix<double> build_tiles(const CsrView<double>&, const Device&);
template Csr<float> csr_of(const TileView<float>&, const Device&);
template Csr<double> csr_of(const TileView<double>&, const Device&);
template void transpose_into(const CsrView<float>&, const Device&, const detail::TransposeOutput<float>&);
template void transpose_into(const CsrView<double>&, const Device&, const detail::TransposeOutput<double>&);
template void permute_csr5_values(const Device&, const Csr5Tiles&, std::span<const float>, std::span<float>);
template void permute_csr5_values(const Device&, const Csr5Tiles&, std::span<const double>, std::span<double>);

}  // namespace tessera::cuda
