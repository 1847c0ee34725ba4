/// \file
/// The loops of CG, BiCGSTAB and GMRES as one kernel each, for a small matrix and a diagonal M: all blocks stay on the
/// GPU until the loop halts, each with a part of the matrix and of the vectors in shared memory. Blocks exchange the
/// elements of halos and sums alone, two times per iteration of CG and of GMRES and three times per iteration of
/// BiCGSTAB.
///
/// Scalars, their order and the operations on elements are those of cg.hpp, bicgstab.hpp and gmres.hpp; sums are added
/// in the order of the blocks, so that results differ from the launched loop by rounding, and repeat from run to run.
#pragma once

#include "solvers/fused/block.hpp"
#include "solvers/fused/graph_loop.hpp"
#include "solvers/persistent/parts.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <memory>

namespace tessera::cuda {

struct NumberedWord;

/// A value and the number of a reduction.
inline constexpr std::uint64_t bytes_per_element_handed_over = 16;

/// n elements each, on the GPU.
template <class T>
struct PersistentCgVectors {
  const T* diagonal = nullptr;  ///< of M; null: M is the identity
  bool counts = false;          ///< as an application of M
  T* x = nullptr;
  T* r = nullptr;
  T* p = nullptr;
  T* kept = nullptr;
};

template <class T>
struct PersistentBicgstabVectors {
  const T* diagonal = nullptr;  ///< of M; null: M is the identity
  bool counts = false;          ///< as an application of M
  const T* shadow = nullptr;
  T* x = nullptr;
  T* r = nullptr;
  T* p = nullptr;
  T* p_hat = nullptr;  ///< p itself where M is the identity
  T* v = nullptr;
  T* kept = nullptr;
};

template <class T>
struct PersistentGmresVectors {
  const T* diagonal = nullptr;    ///< of M; null: M is the identity
  bool is_left = false;           ///< M is applied after A
  bool counts = false;            ///< as an application of M
  T* z = nullptr;                 ///< the next direction
  fused::BlockView<T> v;          ///< the basis
  double* scalars = nullptr;      ///< GmresScalars
  int directions = 0;             ///< m
  NumberedWord* words = nullptr;  ///< of BasisSums; of the matrix
};

/// Whether kernels of this GPU may wait for each other's blocks, and TESSERA_CUDA_PERSISTENT=0 is not in the
/// environment. False for the host.
[[nodiscard]] bool has_persistent_kernels(const Device& device);

/// One matrix, ready for the kernels of one loop at a time.
template <class T>
class PersistentMatrix {
 public:
  PersistentMatrix() = default;
  PersistentMatrix(const PersistentMatrix&) = delete;
  PersistentMatrix& operator=(const PersistentMatrix&) = delete;
  virtual ~PersistentMatrix() = default;

  /// Puts the kernel into the device's stream. It iterates until the state of `frame` (a CgState, a BicgstabState)
  /// halts or its control block says that the run is over. \param a the matrix that was cut, its values those of now
  virtual void launch_cg(const LoopFrame& frame, const CsrView<T>& a, const PersistentCgVectors<T>& vectors) = 0;
  virtual void launch_bicgstab(const LoopFrame& frame, const CsrView<T>& a,
                               const PersistentBicgstabVectors<T>& vectors) = 0;
  /// With as many directions as the matrix was made for; their scalars in global memory are those of now, too.
  virtual void launch_gmres(const LoopFrame& frame, const CsrView<T>& a, PersistentGmresVectors<T> vectors) = 0;

  /// On the GPU, besides the matrix and the vectors.
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
};

enum class PersistentLoop { cg, bicgstab, gmres };

/// bytes() of a PersistentMatrix, at most; 0 where no GPU's multiprocessors have the shared memory for the matrix.
/// \param value_bytes of a nonzero; 0: a pattern \param directions of GMRES
[[nodiscard]] constexpr std::uint64_t most_persistent_bytes(PersistentLoop loop, std::int64_t rows, offset_t nnz,
                                                            std::uint64_t value_bytes,
                                                            std::int64_t directions = 0) noexcept {
  constexpr std::uint64_t most_shared_bytes = 64 << 20;  // an H200 has 30 MB
  constexpr std::uint64_t of_parts = 1 << 18;            // their sizes, and lines for their sums
  const auto entries = static_cast<std::uint64_t>(nnz);
  if (entries * (value_bytes + sizeof(std::uint16_t)) > most_shared_bytes) return 0;
  const std::uint64_t handed_over = (loop == PersistentLoop::bicgstab ? 2 : 1) * bytes_per_element_handed_over;
  constexpr int most_multiprocessors = 160;
  const auto blocks = static_cast<std::uint64_t>(part_count(static_cast<index_t>(rows), nnz, most_multiprocessors));
  const std::uint64_t of_columns = loop == PersistentLoop::gmres ? 2 * (static_cast<std::uint64_t>(directions) + 2) *
                                                                       (blocks + 1) * bytes_per_element_handed_over
                                                                 : 0;
  return entries * (sizeof(std::uint16_t) + sizeof(index_t)) +
         static_cast<std::uint64_t>(rows) * (sizeof(std::uint8_t) + handed_over) + of_columns + of_parts;
}

/// Null where the matrix is empty, or a part with its vectors exceeds the shared memory of a multiprocessor, or the GPU
/// has no such kernels. \param a square, on `device` \param directions of GMRES, whose scalars lie there too
/// \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::unique_ptr<PersistentMatrix<T>> make_persistent_matrix(const Device& device, const CsrView<T>& a,
                                                                          PersistentLoop loop, int directions = 0);

extern template std::unique_ptr<PersistentMatrix<float>> make_persistent_matrix(const Device&, const CsrView<float>&,
                                                                                PersistentLoop, int);
extern template std::unique_ptr<PersistentMatrix<double>> make_persistent_matrix(const Device&, const CsrView<double>&,
                                                                                 PersistentLoop, int);

}  // namespace tessera::cuda
