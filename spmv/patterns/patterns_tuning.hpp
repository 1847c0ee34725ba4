/// \file
/// Limits and tuning of row patterns, and when they pay.
#pragma once

#include "core/host_device.hpp"
#include "tessera/types.hpp"

#include <cstddef>
#include <cstdint>

namespace tessera::detail {

/// Lists that a byte can name, besides "none".
inline constexpr int most_row_lists = 254;

/// Entries of a list; longer rows are exceptions.
inline constexpr index_t longest_row_list = 256;

/// Places of the table of lists, with one per list for its length, in the shared memory of a block: 32 KB, with values
/// in double 42 KB.
inline constexpr int most_pattern_places = 8192;
inline constexpr int most_template_places = 3584;

/// A list that is longer than all others widens the table for all of them: it has to name this part of the rows.
inline constexpr double least_share_of_longer_list = 1e-3;

/// Lists of a smaller part of the rows than this may not make the table large: every block loads all of it.
inline constexpr double least_share_of_many_places = 1e-4;
inline constexpr int most_places_of_rare_lists = 1024;

/// Part of the rows that lists have to name. The sample may fall short of it a little.
inline constexpr double least_named_share = 0.99;
inline constexpr double least_named_share_of_sample = 0.985;

/// Rows of the sample that decides whether all rows are looked at.
inline constexpr index_t sampled_rows_for_lists = 8192;

/// Nonzeros of an exception, which one warp adds up, in a chain of loads.
inline constexpr offset_t longest_exception = 8192;

/// Padded slices are taken up to this ratio of places to nonzeros, else jagged ones.
inline constexpr double most_padding_of_slices = 1.05;
/// The same of codes of a byte: a place of a jagged slice costs more than the bytes of a few padded ones.
inline constexpr double most_padding_of_codes = 3.0;

/// Diagonals of a symmetric half, places of the table of lists beside which that of its places stands in shared memory,
/// and what a diagonal is rounded up to: whole cache lines.
inline constexpr int most_half_diagonals = 32;
inline constexpr int most_half_table_places = 4096;
inline constexpr int half_alignment = 32;

/// A half is taken up to this part of the values in full, where it also saves the ballots of jagged slices.
inline constexpr double most_half_share = 0.9;

/// Nonzeros from which a dictionary of values is looked for, and values of its copies in shared memory, which every
/// block makes.
inline constexpr offset_t least_nonzeros_of_dictionary = 4096;
inline constexpr int most_replicated_values = 1024;

/// Nonzeros per place of lists, padded to the longest, of a matrix in double precision, unless the longest list has all
/// columns of the others, so that rows are uniform. Below it lists differ from row to row, neighbouring lanes read
/// different diagonals, and jagged slices are faster (H200, a grid with holes, filled by .6, by the table of lists:
/// .281 ms instead of .245; in single precision .139 instead of .156).
inline constexpr double least_fill_of_half = 0.7;

/// Rows of the sample that decides whether a half is filled, and the part of them that may differ from their mirror
/// images: rows on no list.
inline constexpr index_t sampled_rows_for_half = 1024;
inline constexpr double most_unlike_in_sample = 0.03;

/// On the host, part of the rows whose next row is on the same list, from which values lie in slices: others are summed
/// one by one. And places per nonzero of slices, but for codes.
inline constexpr double least_alike_on_host = 0.75;
inline constexpr double most_padding_on_host = 1.5;

/// Nonzeros from which `auto` and multigrid take row patterns on the host: caches hold smaller matrices.
inline constexpr offset_t least_nonzeros_on_host = 2'000'000;

/// Products from which `auto` takes row patterns on the host where values take fewer bytes; bench/NOTES.md.
inline constexpr std::int64_t applications_worth_row_patterns_on_host = 100;

/// Products from which `auto` takes row patterns on a GPU, without values also on the host: the set-up reads the matrix
/// once, and brings the values into their order unless they are templates or a pattern.
inline constexpr std::int64_t applications_worth_row_patterns = 50;
inline constexpr std::int64_t applications_worth_row_templates = 10;

/// Part of the sampled nonzeros that lists have to name for `auto`: the others cost as much as in CSR, or more.
inline constexpr double least_named_nonzeros = 0.95;

/// Bytes of the matrix that a product reads per nonzero. \param value_bytes 0 for templates and pattern matrices
/// \param mean nonzeros per row
[[nodiscard]] constexpr double pattern_bytes_per_nonzero(double value_bytes, double mean) noexcept {
  return mean > 0.0 ? value_bytes + 1.0 / mean : value_bytes;
}

}  // namespace tessera::detail

namespace tessera::cuda {

inline constexpr int pattern_threads = 256;

/// Blocks per multiprocessor that registers are bounded for: a lane holds all terms of its rows that are in flight.
/// Without values from memory there are half as many, and hardly anything else hides the loads of x.
inline constexpr int pattern_min_blocks = 2;
inline constexpr int pattern_min_blocks_without_values = 4;
inline constexpr int pattern_min_blocks_with_codes = 3;
inline constexpr int pattern_min_blocks_of_single_rows = 3;

/// Rows of a lane, so that about 20 loads of the matrix are in flight per lane. \param chunk terms of a row
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int pattern_rows_per_lane(int chunk) noexcept { return chunk <= 5 ? 4 : 2; }

/// Longer lists are multiplied in chunks of so many terms.
inline constexpr int most_terms_at_once = 9;

/// Terms of the list of uniform rows that fit into the parameters of a kernel: whole chunks.
inline constexpr int most_uniform_terms = 4 * most_terms_at_once;

/// A lane has one row where rows with values of their own are long and few: their lists are longer than those of
/// uniform rows, and a GPU of today has a lane for each, so that twice as many warps are under way. Measured on an H200
/// in ms, with two rows and one: 192 000 rows of 77 nonzeros in double .0445, .0337, in single precision .0318, .0255,
/// 131 072 of 102 .0305, .0262 and .0245, .0213. Without values .0128, .0139 and .0142, .0129: there it stays with two.
inline constexpr index_t most_single_rows = 1 << 18;

/// By the mean, since one long list among short ones is no reason.
[[nodiscard]] constexpr bool are_rows_long_and_few(index_t rows, offset_t nnz) noexcept {
  return rows > 0 && rows <= most_single_rows && nnz / rows > most_uniform_terms;
}

/// Part of the slices that a list has to cover for products: the others load its terms in vain and read the table from
/// global memory. Of a symmetric half, and for two-kernel CG, which ranks of a few planes of a grid take, too. Chosen,
/// not measured: grids have .98 and more.
inline constexpr double least_covered_share = 0.5;
inline constexpr double least_covered_share_of_half = 0.75;
inline constexpr double least_covered_share_of_cg = 0.25;
/// From which the most frequent list is taken without a look at the longest.
inline constexpr double enough_covered_share = 0.9;

/// Part of the slices that have to be on the list itself, so that a bit tells it instead of codes.
inline constexpr double least_uniform_share = 0.6;

/// Blocks take slices a pitch apart where a pitch is so many slices, since 8 neighbouring ones reach over shorter ones,
/// and where there are so many groups of 8 pitches, since the last one is not full.
inline constexpr std::int64_t least_slices_of_pitch = 4;
inline constexpr std::int64_t least_groups_of_pitches = 4;

/// As pattern_min_blocks, where all terms of a chunk are loaded before it is known which of them a row has. Measured on
/// an H100 in ms, with two, three and four blocks: constant lists of 5 points in double precision (160 bytes) -, .153,
/// .159, of 27 points (144) -, .044, .043; symmetric halves of 5 points (320) .335, .480, -, in single precision (160)
/// .168, .168, .183, of 27 points (144) .076, .076, .081, of a grid with holes (128) -, .149, .142; with values of
/// single precision in double of a grid with holes (192) .232, .220, -, of 27 points (216) .087, .090, -, of 5 (240)
/// .240, .305. \param bytes of x and of values that a lane has on their way
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int uniform_min_blocks(std::size_t bytes, bool loads_values) noexcept {
  if (!loads_values) return bytes <= 144 ? pattern_min_blocks_without_values : 3;
  if (bytes <= 128) return 4;
  return bytes <= 192 ? 3 : pattern_min_blocks;
}

/// The same where a lane has one row: 27 points, 144 bytes, .106 with three blocks, .103 with four (H200).
inline constexpr int uniform_min_blocks_of_one_row = 4;

/// Warps that share a slice of a symmetric half whose rows are uniform: fewer rows per lane leave room
/// for more warps. Measured on an H200 in double precision, in ms, one and two warps: grid with holes (4 terms) .227,
/// .195; 27 points (three times 9 terms) .110, .103; 5 points .229, .234. Others are not measured. \param terms at once
/// \param bytes of a value
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int warps_per_slice_of_half(int terms, std::size_t bytes) noexcept {
  return bytes == sizeof(double) && (terms <= 4 || terms == most_terms_at_once) ? 2 : 1;
}

/// Two-kernel CG recomputes q = A p instead of storing it: for rows of at most so many terms, whose vectors go through
/// memory and not through the second-level cache alone. Ranks take it for any number of rows: without it an iteration
/// of theirs has more kernels.
inline constexpr int most_terms_of_cg_product = 9;
inline constexpr std::int64_t least_rows_of_cg_product = 1'000'000;

}  // namespace tessera::cuda
