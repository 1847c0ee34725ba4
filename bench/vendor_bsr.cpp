#include "bench/vendor_bsr.hpp"

#include "core/cuda/context.hpp"
#include "core/shared_library.hpp"
#include "spmv/vendor/cusparse.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <type_traits>

namespace tessera::bench {

namespace {

/// What of the library only this program calls.
struct Functions {
  decltype(&cusparseCreateMatDescr) create;
  decltype(&cusparseDestroyMatDescr) destroy;
  decltype(&cusparseSbsrmv) multiply_float;
  decltype(&cusparseDbsrmv) multiply_double;

  static const Functions& library() {
    static const Functions loaded = [] {
      const detail::SharedLibrary library("libcusparse.so.12", "the vendor's product in blocks");
      const auto find = [&]<class F>(F& function, const char* symbol) { function = library.function<F>(symbol); };
      Functions result{};
      find(result.create, "cusparseCreateMatDescr");
      find(result.destroy, "cusparseDestroyMatDescr");
      find(result.multiply_float, "cusparseSbsrmv");
      find(result.multiply_double, "cusparseDbsrmv");
      return result;
    }();
    return loaded;
  }
};

struct DestroyDescription {
  void operator()(cusparseMatDescr_t description) const noexcept {
    static_cast<void>(Functions::library().destroy(description));
  }
};

/// The block columns of a block row, ascending.
template <class T>
void find_block_columns(const CsrView<T>& a, int size, index_t block_row, std::vector<index_t>& found) {
  const auto first = static_cast<std::size_t>(block_row) * static_cast<std::size_t>(size);
  found.clear();
  for (offset_t k = a.row_offsets[first]; k < a.row_offsets[first + static_cast<std::size_t>(size)]; ++k) {
    const index_t column = a.columns[static_cast<std::size_t>(k)] / size;
    if (found.empty() || found.back() != column) found.push_back(column);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
}

/// BSR on the host; blocks row by row.
template <class T>
struct HostBlocks {
  std::vector<std::int32_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<T> values;

  HostBlocks(const CsrView<T>& a, int size) {
    std::vector<index_t> found;
    for (index_t block_row = 0; block_row < a.rows / size; ++block_row) {
      find_block_columns(a, size, block_row, found);
      const std::size_t before = columns.size();
      columns.insert(columns.end(), found.begin(), found.end());
      values.resize(columns.size() * static_cast<std::size_t>(size * size));
      for (int r = 0; r < size; ++r) fill_row(a, size, block_row * size + r, r, before);
      offsets.push_back(static_cast<std::int32_t>(columns.size()));
    }
  }

 private:
  /// \param before first block of the block row
  void fill_row(const CsrView<T>& a, int size, index_t row, int r, std::size_t before) {
    std::size_t block = before;
    for (offset_t k = a.row_offsets[static_cast<std::size_t>(row)];
         k < a.row_offsets[static_cast<std::size_t>(row) + 1]; ++k) {
      const index_t column = a.columns[static_cast<std::size_t>(k)];
      while (columns[block] != column / size) ++block;
      const index_t place = r * size + column % size;
      values[block * static_cast<std::size_t>(size * size) + static_cast<std::size_t>(place)] = a.value(k);
    }
  }
};

}  // namespace

template <class T>
std::vector<BlockSize> block_sizes(const CsrView<T>& a) {
  std::vector<BlockSize> result;
  std::vector<index_t> found;
  for (const int size : {2, 3, 4, 6, 8}) {
    if (a.rows % size != 0 || a.cols % size != 0) continue;
    BlockSize blocks{size, 0, 0.0};
    for (index_t block_row = 0; block_row < a.rows / size; ++block_row) {
      find_block_columns(a, size, block_row, found);
      blocks.blocks += static_cast<std::int64_t>(found.size());
    }
    blocks.fill = static_cast<double>(a.nnz()) / (static_cast<double>(blocks.blocks) * size * size);
    result.push_back(blocks);
  }
  std::sort(result.begin(), result.end(),
            [](const BlockSize& one, const BlockSize& other) { return one.bytes(sizeof(T)) < other.bytes(sizeof(T)); });
  return result;
}

template <class T>
struct VendorBsr<T>::Impl {
  Device device;
  std::int64_t rows;
  std::int64_t cols;
  int size;
  cusparseHandle_t handle;
  Array<std::int32_t> offsets;
  Array<index_t> columns;
  Array<T> values;
  std::unique_ptr<std::remove_pointer_t<cusparseMatDescr_t>, DestroyDescription> description;

  Impl(const CsrView<T>& a, int block_size, const Device& gpu)
      : device(gpu), rows(a.rows), cols(a.cols), size(block_size), handle(cuda::cusparse_handle(gpu)) {
    cusparseMatDescr_t made = nullptr;
    cuda::CuSparse::library().check(Functions::library().create(&made), "describing a matrix in blocks");
    description.reset(made);
    const HostBlocks<T> blocks(a, size);
    offsets = Array<std::int32_t>::copy_of(blocks.offsets, device);
    columns = Array<index_t>::copy_of(blocks.columns, device);
    values = Array<T>::copy_of(blocks.values, device);
  }

  void multiply(T alpha, const T* x, T beta, T* y) const {
    const auto call = [&](auto function) {
      cuda::CuSparse::library().check(
          function(handle, CUSPARSE_DIRECTION_ROW, CUSPARSE_OPERATION_NON_TRANSPOSE, static_cast<int>(rows / size),
                   static_cast<int>(cols / size), static_cast<int>(columns.size()), &alpha, description.get(),
                   values.data(), offsets.data(), columns.data(), size, x, &beta, y),
          "the product in blocks");
    };
    if constexpr (std::is_same_v<T, double>) {
      call(Functions::library().multiply_double);
    } else {
      call(Functions::library().multiply_float);
    }
  }
};

template <class T>
VendorBsr<T>::VendorBsr(const CsrView<T>& a, int block_size, const Device& device)
    : impl_(std::make_unique<Impl>(a, block_size, device)) {}
template <class T>
VendorBsr<T>::~VendorBsr() = default;
template <class T>
std::int64_t VendorBsr<T>::rows() const {
  return impl_->rows;
}
template <class T>
std::int64_t VendorBsr<T>::cols() const {
  return impl_->cols;
}
template <class T>
Device VendorBsr<T>::device() const {
  return impl_->device;
}
template <class T>
std::uint64_t VendorBsr<T>::bytes() const noexcept {
  return impl_->offsets.bytes() + impl_->columns.bytes() + impl_->values.bytes();
}
template <class T>
void VendorBsr<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  const cuda::DeviceGuard current(impl_->device);
  impl_->multiply(alpha, x.data(), beta, y.data());
}

template std::vector<BlockSize> block_sizes(const CsrView<float>&);
template std::vector<BlockSize> block_sizes(const CsrView<double>&);
template class VendorBsr<float>;
template class VendorBsr<double>;

}  // namespace tessera::bench
