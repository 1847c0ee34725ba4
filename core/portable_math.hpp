/// \file
/// Powers, logarithms and sines with the same bits on every machine, for generated matrices: mathematical libraries
/// differ in the last place. Only additions, multiplications and divisions, each rounded separately.
#pragma once

namespace tessera {

/// Base-2 logarithm of a positive, finite, normal x; relative error below 1e-15.
[[nodiscard]] double portable_log2(double x);

/// 2^x for |x| <= 1000; relative error below 1e-15.
[[nodiscard]] double portable_exp2(double x);

/// base^exponent for a positive, normal base and |exponent * log2(base)| <= 1000; relative error below 1e-12.
[[nodiscard]] double portable_pow(double base, double exponent);

/// sin(π x) for finite x; relative error below 1e-15, exactly 0 at whole numbers and ±1 halfway between them.
[[nodiscard]] double portable_sin_pi(double x);

}  // namespace tessera
