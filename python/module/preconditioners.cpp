// Preconditioners by name, with their options as keyword arguments.
#include "errors.hpp"
#include "interruptible.hpp"
#include "matrix.hpp"
#include "object_locks.hpp"
#include "words.hpp"

#include "tessera/amg.hpp"
#include "tessera/approximate_inverse.hpp"
#include "tessera/direct.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/nearest.hpp"
#include "tessera/polynomial.hpp"
#include "tessera/preconditioner.hpp"
#include "tessera/spmv.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::python {

namespace {

template <class Value>
[[nodiscard]] constexpr const char* expected() {
  if constexpr (std::is_same_v<Value, bool>) {
    return "True or False";
  } else if constexpr (std::is_integral_v<Value>) {
    return "a whole number";
  } else if constexpr (std::is_floating_point_v<Value>) {
    return "a number";
  } else {
    return std::is_same_v<Value, std::string> ? "a word" : "an array of numbers";
  }
}

/// The keywords of a preconditioner, taken one by one; those that are left are none of its options.
class KeywordArguments {
 public:
  KeywordArguments(std::string kind, const nb::dict& given) : kind_(std::move(kind)) { left_.update(given); }

  template <class Value>
  void take(const char* name, Value& value) {
    known_.emplace_back(name);
    if (!left_.contains(name)) return;
    const nb::object given = left_[name];
    // 20.0 is a whole number.
    const bool is_whole = std::is_integral_v<Value> && !std::is_same_v<Value, bool> &&
                          nb::isinstance<nb::float_>(given) && nb::cast<bool>(given.attr("is_integer")());
    if (!nb::try_cast(is_whole ? nb::object(nb::int_(given)) : given, value)) refuse(name, expected<Value>(), given);
    nb::del(left_[name]);
  }

  /// Likewise a value that has words.
  template <class Value, std::size_t n>
  void take(const char* name, Value& value, const std::array<Value, n>& values) {
    std::string word;
    take(name, word);
    if (!word.empty()) value = named(kind_ + ": " + name, word, values);
  }

  void refuse_rest() const {
    for (const auto& [key, value] : left_) {
      const auto name = nb::cast<std::string>(key);
      throw OptionError("preconditioner \"" + kind_ + "\" has no option \"" + name + '"' + nearest_hint(name, known_));
    }
  }

 private:
  [[noreturn]] void refuse(const char* name, const std::string& wanted, const nb::object& given) const {
    const nb::object shown = nb::module_::import_("tessera._arguments").attr("shown")(given);
    throw OptionError(kind_ + ": " + name + ": expected " + wanted + ", got " + nb::cast<std::string>(shown));
  }

  std::string kind_;
  nb::dict left_;
  std::vector<std::string_view> known_;
};

[[nodiscard]] AmgOptions amg_options(KeywordArguments& keywords) {
  AmgOptions options;
  keywords.take("strength_threshold", options.strength_threshold);
  keywords.take("coarsest_rows", options.coarsest_rows);
  keywords.take("max_levels", options.max_levels);
  keywords.take("block_size", options.block_size);
  keywords.take("near_nullspace", options.near_nullspace);
  keywords.take("coordinates", options.coordinates);
  keywords.take("prolongator_damping", options.prolongator_damping);
  keywords.take("sweeps", options.sweeps);
  keywords.take("prepare_refresh", options.prepare_refresh);
  keywords.take("cycle", options.cycle, std::array{AmgCycle::v, AmgCycle::w, AmgCycle::k});
  keywords.take("smoother", options.smoother,
                std::array{AmgSmoother::jacobi, AmgSmoother::l1_jacobi, AmgSmoother::spai0, AmgSmoother::chebyshev});
  keywords.take("precision", options.precision, std::array{AmgPrecision::single, AmgPrecision::full});
  return options;
}

[[nodiscard]] PolynomialOptions polynomial_options(const std::string& kind, KeywordArguments& keywords) {
  PolynomialOptions options;
  if (kind == "neumann") {
    options.kind = PolynomialKind::neumann;
    options.degree = 3;
  }
  keywords.take("degree", options.degree);
  keywords.take("interval_ratio", options.interval_ratio);
  keywords.take("damping", options.damping);
  keywords.take("power_steps", options.power_steps);
  keywords.take("explicit_matrix", options.explicit_matrix);
  keywords.take("drop_tolerance", options.drop_tolerance);
  keywords.take("max_row_entries", options.max_row_entries);
  return options;
}

[[nodiscard]] IncompleteFactorOptions factor_options(FactorKind kind, KeywordArguments& keywords) {
  IncompleteFactorOptions options;
  options.kind = kind;
  if (kind == FactorKind::ict) {
    options.drop_tolerance = 1e-2;
    options.max_row_entries = 10;
  }
  keywords.take("level", options.level);
  keywords.take("drop_tolerance", options.drop_tolerance);
  keywords.take("max_row_entries", options.max_row_entries);
  keywords.take("pivot_tolerance", options.pivot_tolerance);
  keywords.take("blocks", options.blocks);
  keywords.take("fill_limit", options.fill_limit);
  keywords.take("time_limit", options.time_limit_seconds);
  return options;
}

constexpr std::array factor_kinds{FactorKind::ilu0,  FactorKind::iluk, FactorKind::ilut,
                                  FactorKind::ilutp, FactorKind::ic0,  FactorKind::ict};

/// \param settings of M, between the matrix and the device
template <class M, class T, class... Settings>
[[nodiscard]] std::shared_ptr<Preconditioner<T>> set_up(const SpmvPlan<T>& plan, const Settings&... settings) {
  return interruptible(plan.matrix().nnz(), [&plan, keep = kept(plan), settings...] {
    const ObjectLock lock("a preconditioner", plan.device(), {{&plan}});
    return std::shared_ptr<Preconditioner<T>>(std::make_shared<M>(plan.matrix(), settings..., plan.device()));
  });
}

template <class T>
[[nodiscard]] std::shared_ptr<Preconditioner<T>> make_preconditioner(const SpmvPlan<T>& plan, const std::string& kind,
                                                                     KeywordArguments keywords) {
  if (kind == "jacobi") {
    keywords.refuse_rest();
    return set_up<JacobiPreconditioner<T>>(plan);
  }
  if (kind == "amg") {
    const AmgOptions options = amg_options(keywords);
    keywords.refuse_rest();
    return set_up<Amg<T>>(plan, options);
  }
  if (kind == "fsai") {
    FsaiOptions options;
    keywords.take("power", options.power);
    keywords.take("filter", options.filter);
    keywords.take("max_row_entries", options.max_row_entries);
    keywords.take("post_filter", options.post_filter);
    keywords.refuse_rest();
    return set_up<FsaiPreconditioner<T>>(plan, options);
  }
  if (kind == "spai") {
    SpaiOptions options;
    keywords.take("level", options.level);
    keywords.take("max_row_entries", options.max_row_entries);
    keywords.refuse_rest();
    return set_up<SpaiPreconditioner<T>>(plan, options);
  }
  if (kind == "poly" || kind == "neumann") {
    const PolynomialOptions options = polynomial_options(kind, keywords);
    keywords.refuse_rest();
    return set_up<PolynomialPreconditioner<T>>(plan, options);
  }
  if (kind == "direct") {
    keywords.refuse_rest();
    if (!plan.device().is_host()) throw NotSupported("preconditioner \"direct\" works on the host alone");
    return interruptible(plan.matrix().nnz(), [&plan, keep = kept(plan)] {
      const ObjectLock lock("a preconditioner", plan.device(), {{&plan}});
      return std::shared_ptr<Preconditioner<T>>(std::make_shared<DirectFactors<T>>(plan.matrix()));
    });
  }
  const IncompleteFactorOptions options = factor_options(named("preconditioner", kind, factor_kinds), keywords);
  keywords.refuse_rest();
  return set_up<IncompleteFactors<T>>(plan, options);
}

/// Four chains of multiplications, which a processor runs side by side.
template <class Index>
[[nodiscard]] std::uint64_t hash_of(std::span<const Index> indices) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  std::array<std::uint64_t, 4> chains{1, 2, 3, indices.size()};
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::uint64_t& chain = chains[i % chains.size()];
    chain = std::rotl((chain ^ static_cast<std::uint64_t>(indices[i])) * odd, 29);
  }
  std::uint64_t hash = 0;
  for (const std::uint64_t chain : chains) hash = std::rotl((hash ^ chain) * odd, 29);
  return hash;
}

/// Hashes the positions of a matrix; on a GPU the number of its entries alone.
template <class T>
[[nodiscard]] std::uint64_t hash_of_positions(const Matrix<T>& matrix) {
  const CsrView<T> view = matrix.csr->view();
  if (!matrix.csr->device().is_host()) return static_cast<std::uint64_t>(view.nnz());
  return unlocked([&] { return hash_of(view.row_offsets) ^ hash_of(view.columns); });
}

template <class T>
void bind_type(nb::module_& module, const std::string& suffix) {
  nb::class_<Preconditioner<T>, LinearOperator<T>>(module, ("Preconditioner" + suffix).c_str(), "z = M r")
      .def_prop_ro("facts",
                   [](const Preconditioner<T>& self) {
                     const PreconditionerInfo info = unlocked([&] {
                       const ObjectLock lock("info", Device{}, {{&self}});
                       return self.info();
                     });
                     nb::dict facts;
                     facts["name"] = text(info.name);
                     facts["setup_ms"] = info.setup_ms;
                     facts["bytes"] = info.bytes;
                     facts["is_symmetric"] = info.is_symmetric;
                     return facts;
                   })
      .def("refresh", [](Preconditioner<T>& self, const SpmvPlan<T>& plan) {
        unlocked([&] {
          const ObjectLock lock("refresh", self.device(), {{&self, LockMode::exclusive}, {&plan}});
          self.refresh(plan.matrix());
        });
      });
  module.def("hash_of_positions", &hash_of_positions<T>);
  module.def("make_preconditioner", [](const SpmvPlan<T>& plan, const std::string& kind, const nb::dict& keywords) {
    return make_preconditioner<T>(plan, kind, KeywordArguments(kind, keywords));
  });
}

}  // namespace

void bind_preconditioners(nb::module_& module) {
  bind_type<double>(module, "64");
  bind_type<float>(module, "32");
}

}  // namespace tessera::python
