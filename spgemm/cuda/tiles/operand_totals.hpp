/// \file
/// Totals over the copies of a factor in operand tiles: losses by rounding, values that exclude tensor instructions.
#pragma once

namespace tessera::cuda {

/// Of one factor.
struct OperandTotals {
  unsigned long long to_zero = 0;       ///< values other than 0 that became 0
  unsigned long long to_subnormal = 0;  ///< values that became subnormal
  unsigned largest_rounding = 0;        ///< bits of the largest relative error of a value, in single precision
  unsigned beyond_half = 0;             ///< 1 where a finite value became infinite
  unsigned beyond_tf32 = 0;             ///< 1 where a value lies outside the range of Tf32Pair
  unsigned not_finite = 0;              ///< 1 where a value is infinite or not a number
};

}  // namespace tessera::cuda
