/// \file
/// One system A x = b as the rungs of the ladder see it: on its device or on the host, as it is or negated.
#pragma once

#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/spmv.hpp"

#include <array>
#include <memory>
#include <optional>
#include <span>

namespace tessera::detail {

/// Where a rung runs, and the sign of its system.
struct Side {
  bool on_host = true;
  bool negated = false;  ///< (-A) x = -b
};

template <class T>
class LadderSystems {
 public:
  /// A and b outlive this.
  LadderSystems(const SpmvPlan<T>& A, std::span<const T> b) : a_(A), b_(b) {}

  /// Copies to the host and negated values are made when they are first asked for.
  [[nodiscard]] const SpmvPlan<T>& plan(const Side& side);
  [[nodiscard]] std::span<const T> b(const Side& side);
  [[nodiscard]] Device device(const Side& side) const { return side.on_host ? Device{} : a_.device(); }
  [[nodiscard]] CsrView<T> host_matrix() { return plan({true, false}).matrix(); }

 private:
  /// What has to be made for a side that is not the original one.
  struct Copy {
    std::optional<SpmvPlan<T>> plan;
    Array<T> b;
  };
  [[nodiscard]] bool is_original(const Side& side) const {
    return !side.negated && side.on_host == a_.device().is_host();
  }
  [[nodiscard]] Copy& made(const Side& side);
  [[nodiscard]] Copy make(const Side& side);

  const SpmvPlan<T>& a_;
  std::span<const T> b_;
  std::array<std::optional<Copy>, 4> copies_;
};

}  // namespace tessera::detail
