/// \file
/// Random numbers that are the same on every machine and for every number of threads: a stream is a pure function of
/// seed and stream number, and each edge or row has its own stream.
#pragma once

#include "core/host_device.hpp"

#include <bit>
#include <concepts>
#include <cstdint>

namespace tessera::detail {

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
class SplitMix64 {
 public:
  TESSERA_HOST_DEVICE explicit constexpr SplitMix64(std::uint64_t seed) : state_(seed) {}

  /// Stream number `stream` of `seed`.
  TESSERA_HOST_DEVICE constexpr SplitMix64(std::uint64_t seed, std::uint64_t stream)
      : state_(SplitMix64(seed).next() ^ SplitMix64(stream * gamma).next()) {}

  TESSERA_HOST_DEVICE constexpr std::uint64_t next() {
    state_ += gamma;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  /// Uniform in [0, 1), a multiple of 2^-53.
  TESSERA_HOST_DEVICE constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  /// Uniform in [0, bound) for bound in 1 ... 2^32; off by less than bound / 2^32 relatively.
  constexpr std::uint64_t below(std::uint64_t bound) { return ((next() >> 32) * bound) >> 32; }

 private:
  static constexpr std::uint64_t gamma = 0x9e3779b97f4a7c15U;

  std::uint64_t state_;
};

/// Uniform in [0, 1) from random bits: a multiple of 2^-53, for float of 2^-24. The float is the double cut short, so
/// it never reaches 1.
template <std::floating_point T>
[[nodiscard]] constexpr T unit_interval(std::uint64_t bits) {
  if constexpr (sizeof(T) == sizeof(float)) return static_cast<T>(bits >> 40) * static_cast<T>(0x1p-24);
  return static_cast<T>(bits >> 11) * static_cast<T>(0x1p-53);
}

/// A seeded bijection of [0, 2^bits), bits in 0 ... 31.
class Scramble {
 public:
  constexpr Scramble(int bits, std::uint64_t seed)
      : mask_((std::uint64_t{1} << bits) - 1), shift_(bits / 2 + 1), random_(seed, 0x5ca1ab1eU) {
    for (Round& round : rounds_) round = {random_.next() | 1U, random_.next()};
  }

  /// Odd multiplication, addition and xor with a right shift are each invertible modulo 2^bits.
  [[nodiscard]] constexpr std::uint64_t operator()(std::uint64_t x) const {
    for (const Round& round : rounds_) {
      x = (x * round.factor + round.offset) & mask_;
      x ^= x >> shift_;
    }
    return x;
  }

 private:
  struct Round {
    std::uint64_t factor = 1;
    std::uint64_t offset = 0;
  };

  std::uint64_t mask_;
  int shift_;
  SplitMix64 random_;
  Round rounds_[3];
};

/// A seeded bijection of [0, n) for n in 1 ... 2^31: a scramble of the next power of two, repeated until the result is
/// below n (cycle walking; Black and Rogaway, CT-RSA 2002).
class Permutation {
 public:
  constexpr Permutation(std::uint64_t n, std::uint64_t seed)
      : n_(n), scramble_(static_cast<int>(std::bit_width(n - 1)), seed) {}

  [[nodiscard]] constexpr std::uint64_t operator()(std::uint64_t x) const {
    do {
      x = scramble_(x);
    } while (x >= n_);
    return x;
  }

 private:
  std::uint64_t n_;
  Scramble scramble_;
};

}  // namespace tessera::detail
