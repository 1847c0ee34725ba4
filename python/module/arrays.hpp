/// \file
/// NumPy arrays, and whatever speaks DLPack, as spans of the library; memory of the library as NumPy arrays.
#pragma once

#include "tessera/csr.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::python {

namespace nb = nanobind;

/// Vectors on any device, contiguous; nanobind refuses another type instead of converting it.
template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig>;

template <class T>
[[nodiscard]] std::span<T> span_of(const Vector<T>& vector) {
  return {vector.data(), vector.size()};
}

/// The device of DLPack as one of the library: the host, or the library's own stream on a GPU.
[[nodiscard]] Device device_of(int type, int ordinal);

/// Where work runs: what the vectors of a product or a solve must agree with. \throws InvalidArgument naming both
void require_device(const char* name, int type, int ordinal, const Device& wanted);

template <class T>
void require_device(const char* name, const Vector<T>& vector, const Device& wanted) {
  require_device(name, vector.device_type(), vector.device_id(), wanted);
}

/// Keeps what refers to Python objects alive from the side of the library, which may let go of it without the
/// interpreter's lock.
template <class Kept>
[[nodiscard]] std::shared_ptr<const void> owner_of(Kept kept) {
  return {new Kept(std::move(kept)), [](Kept* pointer) {
            // After the interpreter's end there is nothing to let go of.
            if (nb::is_alive()) {
              const nb::gil_scoped_acquire lock;
              delete pointer;
            }
          }};
}

/// A NumPy array on memory that `owner` keeps. The array may be written: the caller vouches that nobody else reads it.
template <class T>
[[nodiscard]] nb::object numpy_on(const T* data, std::size_t size, std::shared_ptr<const void> owner) {
  auto* const kept = new std::shared_ptr<const void>(std::move(owner));
  const nb::capsule capsule(kept,
                            [](void* pointer) noexcept { delete static_cast<std::shared_ptr<const void>*>(pointer); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(const_cast<T*>(data), {size}, capsule));
}

/// A NumPy array that takes over a vector.
template <class T>
[[nodiscard]] nb::object numpy_of(std::vector<T> values) {
  const auto kept = std::make_shared<std::vector<T>>(std::move(values));
  return numpy_on<T>(kept->data(), kept->size(), kept);
}

/// A NumPy array that takes over an array of the host.
template <class T>
[[nodiscard]] nb::object numpy_of(Array<T> values) {
  const auto kept = std::make_shared<Array<T>>(std::move(values));
  return numpy_on<T>(kept->data(), static_cast<std::size_t>(kept->size()), kept);
}

}  // namespace tessera::python
