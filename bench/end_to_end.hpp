/// \file
/// Rows of bench_end_to_end: seeded systems and products, each measured to a checked result, one JSON object a row.
#pragma once

#include "bench/end_to_end_device.hpp"
#include "bench/report.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tessera::bench {

struct EndToEndSettings {
  Device device;
  bool quick = false;   ///< the rows of two minutes
  std::string command;  ///< path of `solve`, which then tells warnings, exit codes and predicted memory; may be empty
  std::uint64_t seed = 42;

  /// Repetitions of a row end after them.
  [[nodiscard]] double seconds_of_row() const { return device.is_host() ? 0.5 : 0.25; }
};

/// One row. `measure` fills "input", "samples_ms" and what else it knows.
struct EndToEndRow {
  std::string name;  ///< AREA/INPUT
  bool on_host = true;
  bool on_gpu = true;
  bool is_quick = false;
  /// Needs a process of its own, which may be killed after limit_seconds: it may not come back.
  bool is_alone = false;
  double limit_seconds = 0.0;
  std::function<Json(const EndToEndRow&, const EndToEndSettings&)> measure;

  [[nodiscard]] std::string area() const { return name.substr(0, name.find('/')); }
  [[nodiscard]] std::string input() const { return name.substr(name.find('/') + 1); }
};

/// The rows of a device, in their order. Those of real matrices where TESSERA_TEST_DATA is set.
[[nodiscard]] std::vector<EndToEndRow> end_to_end_rows(const EndToEndSettings& settings);

// Their measurements; each throws Error, and what matrices and methods throw.

/// `solve A.mtx` with its defaults. Input: a generator, or a file in TESSERA_TEST_DATA.
[[nodiscard]] Json measure_system(const EndToEndRow& row, const EndToEndSettings& settings);
/// y = A x by the kernel that `auto` takes. Input: STRUCTURE:fp64 or STRUCTURE:fp32 of drawn_structure().
[[nodiscard]] Json measure_product(const EndToEndRow& row, const EndToEndSettings& settings);
/// C = A B. Input: as make_spgemm_problem().
[[nodiscard]] Json measure_sparse_product(const EndToEndRow& row, const EndToEndSettings& settings);
/// PageRank of a graph without weights to 1e-9, transposition and plan included. Input: a generator.
[[nodiscard]] Json measure_ranking(const EndToEndRow& row, const EndToEndSettings& settings);
/// A solve by a kept solver. Input: METHOD@GENERATOR.
[[nodiscard]] Json measure_small_system(const EndToEndRow& row, const EndToEndSettings& settings);
/// Eight right-hand sides together. Input: METHOD@GENERATOR.
[[nodiscard]] Json measure_columns(const EndToEndRow& row, const EndToEndSettings& settings);
/// An implicit step of the heat equation, enqueued; on a GPU recorded into a graph. Input: points a side.
[[nodiscard]] Json measure_heat_step(const EndToEndRow& row, const EndToEndSettings& settings);
/// Amg::refresh() with other values. Input: a generator.
[[nodiscard]] Json measure_refresh(const EndToEndRow& row, const EndToEndSettings& settings);

/// A matrix whose structure is drawn by the seed, about `nnz` entries, values uniform in [-1, 1).
/// \throws InvalidArgument for an unknown name
[[nodiscard]] Csr<double> drawn_structure(const std::string& name, std::int64_t nnz, std::uint64_t seed);
[[nodiscard]] const std::vector<std::string>& drawn_structures();

/// Memory between its construction and figures(): the growth of what the process has resident, and what the library
/// allocated on a GPU.
class MemoryWatch {
 public:
  explicit MemoryWatch(const Device& device);
  /// Peaks, and what is still held: "host_peak_bytes", "host_left_bytes", "device_peak_bytes", "device_left_bytes", the
  /// latter two null on the host.
  [[nodiscard]] Json figures() const;

 private:
  Device device_;
  std::uint64_t resident_ = 0;  ///< at the beginning
  std::uint64_t held_ = 0;      ///< by the library on the GPU at the beginning
  std::uint64_t outside_ = 0;   ///< of the GPU, taken by others than the library's pool
};

/// Hash of bytes, 16 hexadecimal digits.
template <class T>
[[nodiscard]] std::string bits_of(std::span<const T> elements);
/// Hash of a matrix, and of a vector that belongs to it.
template <class T>
[[nodiscard]] std::string bits_of(const CsrView<T>& matrix, std::span<const T> vector = {});

/// Milliseconds of `work`, again and again: the first call warms up unless it takes longer than the row has.
/// \param after called after every repetition, untimed
[[nodiscard]] std::vector<double> repeat(const EndToEndSettings& settings, const std::function<void()>& work,
                                         const std::function<void()>& after);

/// b - A x in the 2-norm over ‖b‖, summed in long double. \param matrix, b, x on the host
[[nodiscard]] double relative_residual(const CsrView<double>& matrix, std::span<const double> b,
                                       std::span<const double> x);
/// A x with sums in long double.
[[nodiscard]] std::vector<double> oracle_product(const CsrView<double>& matrix, std::span<const double> x);

/// "outcome" of a row whose result was checked against `bound`: no claim about an error is made.
[[nodiscard]] Json checked_outcome(double measured, double bound, const std::string& failed);

}  // namespace tessera::bench
