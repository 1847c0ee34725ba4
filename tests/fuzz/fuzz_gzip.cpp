// Compressed input. First byte even: the rest is a gzip stream. First byte odd: the rest is compressed into two
// members, cut where the byte says, and must read like the text itself.
#include "io/source.hpp"
#include "tests/fuzz/fuzzing.hpp"

#include <zlib.h>

#include <cstdint>

namespace tessera::fuzzing {
namespace {

const std::string name = "fuzz.mtx.gz";

std::string gzip(std::string_view text) {
  z_stream stream{};
  constexpr int gzip_format = 16 + MAX_WBITS;
  require(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, gzip_format, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib works");
  std::string input(text);
  std::string output(deflateBound(&stream, input.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(output.data());
  stream.avail_out = static_cast<uInt>(output.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib compresses");
  output.resize(stream.total_out);
  deflateEnd(&stream);
  return output;
}

std::optional<std::string> inflated(std::string_view bytes) {
  return accepted(name, [&] {
    auto budget = io::read_budget(limited().memory_limit_bytes);
    return std::string(io::inflate_bytes(bytes, name, budget, Device::host(2)).view());
  });
}

void read_stream(std::string_view bytes) {
  const auto text = inflated(bytes);
  if (text) static_cast<void>(accepted(name, [&] { return parse_matrix_market<double>(*text, name, limited()); }));
}

void read_compressed(std::size_t cut, std::string_view text) {
  cut = text.empty() ? 0 : cut % text.size();
  const auto back = inflated(gzip(text.substr(0, cut)) + gzip(text.substr(cut)));
  require(back.has_value() && *back == text, "compressed text comes back");
}

}  // namespace

void fuzz_gzip(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (first % 2 == 0) {
    read_stream(bytes.substr(1));
  } else {
    read_compressed(first / 2, bytes.substr(1));
  }
}

}  // namespace tessera::fuzzing
