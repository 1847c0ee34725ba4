/// \file
/// Order of association of a chain of products: matrix-chain multiplication by dynamic programming (Cormen, Leiserson,
/// Rivest & Stein, Introduction to Algorithms, 15.2), and addition chains for powers (Knuth, The Art of Computer
/// Programming 2, 4.6.3), both with a cost per product that the caller knows.
#pragma once

#include "core/detail_namespace.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace tessera::detail {

/// Whether a cost is less than another by more than `margin` of it.
[[nodiscard]] inline bool is_less(double cost, double other, double margin = 1e-6) noexcept {
  return cost < (1.0 - margin) * other;
}

/// F_first ... F_last as the product of F_first ... F_split and F_(split + 1) ... F_last; factors count from 0.
struct ChainStep {
  int first = 0;
  int split = 0;
  int last = 0;
};

/// Steps in the order in which they are formed, and their cost.
struct ChainPlan {
  std::vector<ChainStep> steps;
  double cost = 0.0;
};

/// \param split_of split_of(first, last) of every product of the plan \param cost cost(ChainStep)
template <class SplitOf, class Cost>
[[nodiscard]] ChainPlan chain_plan(int first, int last, const SplitOf& split_of, const Cost& cost) {
  if (first == last) return {};
  const ChainStep step{first, split_of(first, last), last};
  ChainPlan plan = chain_plan(first, step.split, split_of, cost);
  ChainPlan right = chain_plan(step.split + 1, last, split_of, cost);
  plan.steps.insert(plan.steps.end(), right.steps.begin(), right.steps.end());
  plan.steps.push_back(step);
  plan.cost += right.cost + cost(step);
  return plan;
}

/// The plan of least cost. O(factors^3) calls of cost.
template <class Cost>
[[nodiscard]] ChainPlan best_chain(int factors, const Cost& cost) {
  const auto n = static_cast<std::size_t>(factors);
  std::vector<double> least(n * n, 0.0);
  std::vector<int> splits(n * n, 0);
  const auto at = [n](int first, int last) {
    return static_cast<std::size_t>(first) * n + static_cast<std::size_t>(last);
  };
  for (int length = 2; length <= factors; ++length) {
    for (int first = 0; first + length <= factors; ++first) {
      const int last = first + length - 1;
      double best = std::numeric_limits<double>::infinity();
      for (int split = first; split < last; ++split) {
        const double sum = least[at(first, split)] + least[at(split + 1, last)] + cost(ChainStep{first, split, last});
        if (!is_less(sum, best)) continue;
        best = sum;
        splits[at(first, last)] = split;
      }
      least[at(first, last)] = best;
    }
  }
  return chain_plan(
      0, factors - 1, [&](int first, int last) { return splits[at(first, last)]; }, cost);
}

/// The split of F_first ... F_last in a plan with these steps. They must outlive the result.
[[nodiscard]] inline auto splits_of(const std::vector<ChainStep>& steps) {
  return [&steps](int first, int last) {
    for (const ChainStep& step : steps) {
      if (step.first == first && step.last == last) return step.split;
    }
    return first;
  };
}

/// "(A B) C" for the plan of factors with these names.
template <class SplitOf>
[[nodiscard]] std::string chain_text(int first, int last, const std::vector<std::string>& names,
                                     const SplitOf& split_of) {
  if (first == last) return names[static_cast<std::size_t>(first)];
  const int split = split_of(first, last);
  const auto part = [&](int begin, int end) {
    std::string text = chain_text(begin, end, names, split_of);
    return begin == end ? text : "(" + text + ")";
  };
  return part(first, split) + " " + part(split + 1, last);
}

/// A^(left + right) = A^left A^right.
struct PowerProduct {
  int left = 1;
  int right = 1;
  [[nodiscard]] int exponent() const noexcept { return left + right; }
};

struct PowerPlan {
  std::vector<PowerProduct> steps;
  double cost = 0.0;
};

/// "A^2 A".
[[nodiscard]] inline std::string power_text(const PowerProduct& step) {
  const auto power = [](int exponent) { return exponent == 1 ? std::string("A") : "A^" + std::to_string(exponent); };
  return power(step.left) + " " + power(step.right);
}

/// "A A, A^2 A, A^3 A".
[[nodiscard]] inline std::string powering_text(const std::vector<PowerProduct>& steps) {
  std::string text;
  for (const PowerProduct& step : steps) text += (text.empty() ? "" : ", ") + power_text(step);
  return text;
}

/// Squares from the left, then times A where the bit is 1.
template <class Cost>
[[nodiscard]] PowerPlan binary_powering(int k, const Cost& cost) {
  PowerPlan plan;
  const auto add = [&](PowerProduct step) {
    plan.steps.push_back(step);
    plan.cost += cost(step);
  };
  int bit = 0;
  while (k >> (bit + 1) != 0) ++bit;
  for (int power = 1; bit-- > 0;) {
    add({power, power});
    power *= 2;
    if ((k >> bit & 1) == 0) continue;
    add({power, 1});
    ++power;
  }
  return plan;
}

/// A^j A for j = 1 ... k - 1.
template <class Cost>
[[nodiscard]] PowerPlan one_by_one(int k, const Cost& cost) {
  PowerPlan plan;
  for (int power = 1; power < k; ++power) {
    plan.steps.push_back({power, 1});
    plan.cost += cost(plan.steps.back());
  }
  return plan;
}

/// Estimates do not tell powers apart that differ less.
inline constexpr double power_margin = 0.01;

/// Extends `plan`, whose powers are `powers`, ascending, to A^k in all ways that cost less than `best`.
template <class Cost>
void extend_powers(int k, const Cost& cost, std::vector<int>& powers, PowerPlan& plan, PowerPlan& best) {
  if (powers.back() == k) {
    if (is_less(plan.cost, best.cost, power_margin)) best = plan;
    return;
  }
  // Of factors as good the larger one is the left one: it has the longer rows, B the shorter ones.
  const std::vector<int> known(powers.rbegin(), powers.rend());
  for (const int left : known) {
    for (const int right : known) {
      const PowerProduct step{left, right};
      if (step.exponent() <= powers.back() || step.exponent() > k) continue;
      const double before = plan.cost;
      const double after = before + cost(step);
      if (!is_less(after, best.cost, power_margin)) continue;
      powers.push_back(step.exponent());
      plan.steps.push_back(step);
      plan.cost = after;
      extend_powers(k, cost, powers, plan, best);
      plan.cost = before;
      plan.steps.pop_back();
      powers.pop_back();
    }
  }
}

/// The addition chain of least cost. For k up to 8: there are few.
template <class Cost>
[[nodiscard]] PowerPlan best_powering(int k, const Cost& cost) {
  PowerPlan best = binary_powering(k, cost);
  PowerPlan plan;
  std::vector<int> powers{1};
  extend_powers(k, cost, powers, plan, best);
  return best;
}

}  // namespace tessera::detail
