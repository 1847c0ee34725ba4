#include "compare/gate.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <utility>
#include <vector>

namespace tessera::compare {

namespace {

/// Enough that both vectors of a dual buffer are written three times.
constexpr int buffered_products = 6;

/// Fills vectors of a device with NaN.
template <class T>
class Poison {
 public:
  Poison(std::size_t size, const Device& device)
      : device_(device), nans_(Array<T>::copy_of(std::vector<T>(size, std::numeric_limits<T>::quiet_NaN()), device)) {}

  /// The second vector of a buffer may be empty.
  void operator()(std::span<T> vector) const {
    detail::copy_bytes(device_, vector.data(), device_, nans_.data(), vector.size_bytes());
  }

 private:
  Device device_;
  Array<T> nans_;
};

template <class T>
[[nodiscard]] std::vector<T> to_host(const Device& device, std::span<const T> vector) {
  std::vector<T> result(vector.size());
  detail::copy_bytes(Device{}, result.data(), device, vector.data(), vector.size_bytes());
  return result;
}

template <class T>
[[nodiscard]] bool same_bits(std::span<const T> a, std::span<const T> b) {
  return a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// Takes a result into the verdict. \returns whether it is within its bounds
template <class T>
bool judge(const ProductOracle& oracle, std::span<const T> y, std::string_view which, Verdict& verdict) {
  const Deviation found = deviation(oracle, y);
  verdict.error_over_bound = std::max(verdict.error_over_bound, found.error_over_bound);
  if (found.within_bound()) return true;
  verdict.reason = fmt::format("{}, {}", which, found.reason);
  return false;
}

template <class T>
void check_all(const PlannedKernel<T>& kernel, std::span<const T> x, const ProductOracle& oracle, Verdict& verdict) {
  const FusedOperator<T>& product = *kernel.product;
  const Device device = product.device();
  const auto placed_x = Array<T>::copy_of(x, device);
  const Poison<T> poison(oracle.y.size(), device);
  Array<T> plain(product.rows(), Init::none, device);
  poison(plain.span());
  product.apply(placed_x.span(), plain.span());
  std::vector<T> first = to_host<T>(device, plain.span());
  if (!judge<T>(oracle, first, "plain output", verdict)) return;

  DualBuffer<T> out = product.make_output();
  poison(out.current());
  poison(out.next());
  verdict.repeats = true;
  for (int i = 0; i < buffered_products; ++i) {
    product.apply(placed_x.span(), out);
    const std::vector<T> y = to_host<T>(device, std::as_const(out).current());
    if (!judge<T>(oracle, y, fmt::format("product {} of a loop", i + 1), verdict)) return;
    if (i == 0) first = y;
    verdict.repeats = verdict.repeats && same_bits<T>(first, y);
    // The result belongs to the caller, who may do with it what he likes.
    poison(out.current());
  }
  if (!verdict.repeats && kernel.info.determinism != Determinism::not_guaranteed) {
    verdict.reason =
        fmt::format("products differ in their bits, although the plan promises {}", to_string(kernel.info.determinism));
    return;
  }
  verdict.passed = true;
}

}  // namespace

bool is_out_of_memory(const std::exception& error) {
  return dynamic_cast<const OutOfMemory*>(&error) != nullptr || dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
}

template <class T>
Verdict check_products(const PlannedKernel<T>& kernel, std::span<const T> x, const ProductOracle& oracle) {
  Verdict verdict;
  try {
    check_all(kernel, x, oracle, verdict);
  } catch (const std::exception& error) {
    verdict.passed = false;
    verdict.out_of_memory = is_out_of_memory(error);
    verdict.reason = error.what();
  }
  return verdict;
}

template Verdict check_products(const PlannedKernel<float>&, std::span<const float>, const ProductOracle&);
template Verdict check_products(const PlannedKernel<double>&, std::span<const double>, const ProductOracle&);

}  // namespace tessera::compare
