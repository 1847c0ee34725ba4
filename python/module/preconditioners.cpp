// Preconditioners by name, with their options as keyword arguments.
#include "interruptible.hpp"
#include "matrix.hpp"
#include "words.hpp"

#include "tessera/amg.hpp"
#include "tessera/approximate_inverse.hpp"
#include "tessera/direct.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/polynomial.hpp"
#include "tessera/preconditioner.hpp"
#include "tessera/spmv.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>
#include <string>

namespace tessera::python {

namespace {

/// Takes the keyword `name` out of `keywords`, if it is there.
template <class Value>
void take(nb::dict& keywords, const char* name, Value& value) {
  if (!keywords.contains(name)) return;
  value = nb::cast<Value>(keywords[name]);
  nb::del(keywords[name]);
}

/// The same for a value that has words.
template <class Value, std::size_t n>
void take(nb::dict& keywords, const char* name, Value& value, const std::array<Value, n>& values) {
  std::string word;
  take(keywords, name, word);
  if (!word.empty()) value = named(name, word, values);
}

void refuse_rest(const nb::dict& keywords, const std::string& kind) {
  for (const auto& [name, value] : keywords) {
    throw InvalidArgument("preconditioner \"" + kind + "\" has no option \"" + nb::cast<std::string>(name) + '"');
  }
}

[[nodiscard]] AmgOptions amg_options(nb::dict& keywords) {
  AmgOptions options;
  take(keywords, "strength_threshold", options.strength_threshold);
  take(keywords, "coarsest_rows", options.coarsest_rows);
  take(keywords, "max_levels", options.max_levels);
  take(keywords, "block_size", options.block_size);
  take(keywords, "near_nullspace", options.near_nullspace);
  take(keywords, "coordinates", options.coordinates);
  take(keywords, "prolongator_damping", options.prolongator_damping);
  take(keywords, "sweeps", options.sweeps);
  take(keywords, "prepare_refresh", options.prepare_refresh);
  take(keywords, "cycle", options.cycle, std::array{AmgCycle::v, AmgCycle::w, AmgCycle::k});
  take(keywords, "smoother", options.smoother,
       std::array{AmgSmoother::jacobi, AmgSmoother::l1_jacobi, AmgSmoother::spai0, AmgSmoother::chebyshev});
  take(keywords, "precision", options.precision, std::array{AmgPrecision::single, AmgPrecision::full});
  return options;
}

[[nodiscard]] PolynomialOptions polynomial_options(const std::string& kind, nb::dict& keywords) {
  PolynomialOptions options;
  if (kind == "neumann") {
    options.kind = PolynomialKind::neumann;
    options.degree = 3;
  }
  take(keywords, "degree", options.degree);
  take(keywords, "interval_ratio", options.interval_ratio);
  take(keywords, "damping", options.damping);
  take(keywords, "power_steps", options.power_steps);
  take(keywords, "explicit_matrix", options.explicit_matrix);
  take(keywords, "drop_tolerance", options.drop_tolerance);
  take(keywords, "max_row_entries", options.max_row_entries);
  return options;
}

[[nodiscard]] IncompleteFactorOptions factor_options(FactorKind kind, nb::dict& keywords) {
  IncompleteFactorOptions options;
  options.kind = kind;
  if (kind == FactorKind::ict) {
    options.drop_tolerance = 1e-2;
    options.max_row_entries = 10;
  }
  take(keywords, "level", options.level);
  take(keywords, "drop_tolerance", options.drop_tolerance);
  take(keywords, "max_row_entries", options.max_row_entries);
  take(keywords, "pivot_tolerance", options.pivot_tolerance);
  take(keywords, "blocks", options.blocks);
  take(keywords, "fill_limit", options.fill_limit);
  take(keywords, "time_limit", options.time_limit_seconds);
  return options;
}

constexpr std::array factor_kinds{FactorKind::ilu0,  FactorKind::iluk, FactorKind::ilut,
                                  FactorKind::ilutp, FactorKind::ic0,  FactorKind::ict};

/// \param settings of M, between the matrix and the device
template <class M, class T, class... Settings>
[[nodiscard]] std::shared_ptr<Preconditioner<T>> set_up(const SpmvPlan<T>& plan, const Settings&... settings) {
  return interruptible(plan.matrix().nnz(), [&plan, keep = kept(plan), settings...] {
    return std::shared_ptr<Preconditioner<T>>(std::make_shared<M>(plan.matrix(), settings..., plan.device()));
  });
}

template <class T>
[[nodiscard]] std::shared_ptr<Preconditioner<T>> make_preconditioner(const SpmvPlan<T>& plan, const std::string& kind,
                                                                     nb::dict keywords) {
  if (kind == "jacobi") {
    refuse_rest(keywords, kind);
    return set_up<JacobiPreconditioner<T>>(plan);
  }
  if (kind == "amg") {
    const AmgOptions options = amg_options(keywords);
    refuse_rest(keywords, kind);
    return set_up<Amg<T>>(plan, options);
  }
  if (kind == "fsai") {
    FsaiOptions options;
    take(keywords, "power", options.power);
    take(keywords, "filter", options.filter);
    take(keywords, "max_row_entries", options.max_row_entries);
    take(keywords, "post_filter", options.post_filter);
    refuse_rest(keywords, kind);
    return set_up<FsaiPreconditioner<T>>(plan, options);
  }
  if (kind == "spai") {
    SpaiOptions options;
    take(keywords, "level", options.level);
    take(keywords, "max_row_entries", options.max_row_entries);
    refuse_rest(keywords, kind);
    return set_up<SpaiPreconditioner<T>>(plan, options);
  }
  if (kind == "poly" || kind == "neumann") {
    const PolynomialOptions options = polynomial_options(kind, keywords);
    refuse_rest(keywords, kind);
    return set_up<PolynomialPreconditioner<T>>(plan, options);
  }
  if (kind == "direct") {
    refuse_rest(keywords, kind);
    if (!plan.device().is_host()) throw NotSupported("preconditioner \"direct\" works on the host alone");
    return interruptible(plan.matrix().nnz(), [&plan, keep = kept(plan)] {
      return std::shared_ptr<Preconditioner<T>>(std::make_shared<DirectFactors<T>>(plan.matrix()));
    });
  }
  const IncompleteFactorOptions options = factor_options(named("preconditioner", kind, factor_kinds), keywords);
  refuse_rest(keywords, kind);
  return set_up<IncompleteFactors<T>>(plan, options);
}

template <class T>
void bind_type(nb::module_& module, const std::string& suffix) {
  nb::class_<Preconditioner<T>, LinearOperator<T>>(module, ("Preconditioner" + suffix).c_str(), "z = M r")
      .def_prop_ro("facts",
                   [](const Preconditioner<T>& self) {
                     nb::dict facts;
                     facts["name"] = text(self.info().name);
                     facts["setup_ms"] = self.info().setup_ms;
                     facts["bytes"] = self.info().bytes;
                     facts["is_symmetric"] = self.info().is_symmetric;
                     return facts;
                   })
      .def("refresh",
           [](Preconditioner<T>& self, const SpmvPlan<T>& plan) { unlocked([&] { self.refresh(plan.matrix()); }); });
  module.def("make_preconditioner", [](const SpmvPlan<T>& plan, const std::string& kind, const nb::dict& keywords) {
    nb::dict own;
    own.update(keywords);
    return make_preconditioner<T>(plan, kind, own);
  });
}

}  // namespace

void bind_preconditioners(nb::module_& module) {
  bind_type<double>(module, "64");
  bind_type<float>(module, "32");
}

}  // namespace tessera::python
