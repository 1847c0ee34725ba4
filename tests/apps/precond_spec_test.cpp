/// Preconditioners with parameters as --precond, --preconds and --precond-opt name them.

#include "precond_spec.hpp"
#include "errors.hpp"
#include "option_values.hpp"
#include "precond_keys.hpp"
#include "precond_settings.hpp"

#include "support/factor_precond.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera::cli {

namespace {

[[nodiscard]] PrecondSettings settings_of(const std::vector<std::string>& words) {
  std::vector<std::string> line{"--poisson2d", "4"};
  line.insert(line.end(), words.begin(), words.end());
  return precond_settings(resolve_options(line));
}

[[nodiscard]] IncompleteFactorOptions factors_of(const std::string& spec) {
  PrecondSettings settings;
  read_precond("precond", spec, settings);
  EXPECT_EQ(settings.precond, Precond::factors) << spec;
  return settings.factors;
}

/// What reading refuses, with the hint after a semicolon; empty if it does not.
template <class Read>
[[nodiscard]] std::string refusal(const Read& read) {
  try {
    static_cast<void>(read());
  } catch (const UsageError& error) {
    return std::string(error.what()) + "; " + error.hint();
  }
  return {};
}

TEST(PrecondSpec, NamesAloneHaveTheDefaultsOfTheLibrary) {
  const IncompleteFactorOptions own;
  for (const auto& [name, kind] :
       {std::pair{"ilu0", FactorKind::ilu0}, std::pair{"iluk", FactorKind::iluk}, std::pair{"ilut", FactorKind::ilut},
        std::pair{"ilutp", FactorKind::ilutp}, std::pair{"ic0", FactorKind::ic0}}) {
    const IncompleteFactorOptions read = factors_of(name);
    EXPECT_EQ(read.kind, kind);
    EXPECT_EQ(read.level, own.level);
    EXPECT_EQ(read.drop_tolerance, own.drop_tolerance);
    EXPECT_EQ(read.max_row_entries, own.max_row_entries);
    EXPECT_EQ(read.blocks, 1);
  }
  const IncompleteFactorOptions ict = factors_of("ict");
  EXPECT_EQ(ict.kind, FactorKind::ict);
  EXPECT_EQ(ict.drop_tolerance, 1e-2);
  EXPECT_EQ(ict.max_row_entries, 10);
}

TEST(PrecondSpec, ParametersFollowAColon) {
  EXPECT_EQ(factors_of("iluk:0").level, 0);
  EXPECT_EQ(factors_of("iluk:3").level, 3);
  for (const char* spec : {"ilut:1e-3,20", "ilut:1e-3:20", "ilut:0.001,20", "ilut:0.1%:2e1"}) {
    const IncompleteFactorOptions read = factors_of(spec);
    EXPECT_EQ(read.kind, FactorKind::ilut) << spec;
    EXPECT_DOUBLE_EQ(read.drop_tolerance, 1e-3) << spec;
    EXPECT_EQ(read.max_row_entries, 20) << spec;
  }
  EXPECT_EQ(factors_of("ilutp:0").drop_tolerance, 0.0);
  EXPECT_EQ(factors_of("ilutp:0").max_row_entries, IncompleteFactorOptions{}.max_row_entries);
  EXPECT_EQ(factors_of("ict:1e-4,300").max_row_entries, 300);
}

TEST(PrecondSpec, BlockJacobiHoldsAnotherSpec) {
  const IncompleteFactorOptions plain = factors_of("bjacobi:8");
  EXPECT_EQ(plain.kind, FactorKind::ilu0);
  EXPECT_EQ(plain.blocks, 8);
  const IncompleteFactorOptions nested = factors_of("bjacobi:3:ilutp:1e-2:7");
  EXPECT_EQ(nested.kind, FactorKind::ilutp);
  EXPECT_EQ(nested.blocks, 3);
  EXPECT_EQ(nested.drop_tolerance, 1e-2);
  EXPECT_EQ(nested.max_row_entries, 7);
}

TEST(PrecondSpec, PolynomialsTakeADegreeAndExplicit) {
  const auto polynomial_of = [](const std::string& spec) {
    PrecondSettings settings;
    read_precond("precond", spec, settings);
    EXPECT_EQ(settings.precond, Precond::polynomial) << spec;
    return settings.polynomial;
  };
  EXPECT_EQ(polynomial_name(polynomial_of("poly")), polynomial_name({}));
  EXPECT_EQ(polynomial_name(polynomial_of("neumann")), "neumann:3");
  EXPECT_EQ(polynomial_name(polynomial_of("poly:4,explicit")), "poly:4:explicit:1e-3");
  EXPECT_EQ(polynomial_of("poly:64").degree, 64);
  EXPECT_FALSE(polynomial_of("neumann:5").explicit_matrix);
  for (const std::string spec : {"poly:7", "neumann:1", "neumann:3:explicit:1e-2", "poly:2:explicit:0:20"}) {
    EXPECT_EQ(polynomial_name(polynomial_of(spec)), spec) << "names read back";
  }
}

TEST(PrecondSpec, AnythingElseIsRefusedWithTheForm) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"ilu0:1", "expected ilu0, which takes no parameters, got \"ilu0:1\""},
      {"ilu0:", "expected ilu0, which takes no parameters"},
      {"ic0:3", "expected ic0, which takes no parameters"},
      {"jacobi:2", "expected jacobi, which takes no parameters"},
      {"auto:1", "expected auto, which takes no parameters"},
      {"iluk:", "expected iluk:K with K a whole number in [0, 100], got \"iluk:\""},
      {"iluk:-1", "expected iluk:K"},
      {"iluk:1.5", "expected iluk:K"},
      {"iluk:101", "expected iluk:K"},
      {"iluk:1:2", "expected iluk:K"},
      {"ilut:x", "expected ilut:TAU,P with TAU a number >= 0, P a whole number >= 1"},
      {"ilut:-1e-3", "expected ilut:TAU,P"},
      {"ilut:nan", "expected ilut:TAU,P"},
      {"ilut:1e-3,0", "expected ilut:TAU,P"},
      {"ilut:1e-3,", "expected ilut:TAU,P"},
      {"ilut:,20", "expected ilut:TAU,P"},
      {"ilut:1e-3,20,3", "expected ilut:TAU,P"},
      {"ilut:1e-3,3e9", "expected ilut:TAU,P"},
      {"ict:1e-3;10", "expected ict:TAU,P"},
      {"bjacobi", "expected bjacobi:BLOCKS:SPEC"},
      {"bjacobi:", "expected bjacobi:BLOCKS:SPEC"},
      {"bjacobi:0", "expected bjacobi:BLOCKS:SPEC"},
      {"bjacobi:x:ilu0", "expected bjacobi:BLOCKS:SPEC"},
      {"bjacobi:8:jacobi", "expected bjacobi:BLOCKS:SPEC"},
      {"bjacobi:8:", "expected bjacobi:BLOCKS:SPEC"},
      {"bjacobi:8:bjacobi:2", "expected bjacobi:BLOCKS:SPEC"},
      {"bjacobi:8:iluk:x", "expected iluk:K"},
      {"bjacobi:2:ict,", "expected bjacobi:BLOCKS:SPEC"},
      {"ilu", "did you mean ilu0?"},
      {"ilutpp:1e-3", "did you mean ilutp?"},
      {"fsai:", "expected fsai:K:TAU with K a whole number in [1, 3], TAU a number in [0, 1], got \"fsai:\""},
      {"fsai:4", "expected fsai:K:TAU"},
      {"fsai:2:1.5", "expected fsai:K:TAU"},
      {"fsai:2:0.1:3", "expected fsai:K:TAU"},
      {"spai:2", "expected spai:LEVEL with LEVEL 0 or 1, got \"spai:2\""},
      {"spai:1:1", "expected spai:LEVEL"},
      {"fsa", "did you mean fsai?"},
      {"poly:0", "expected poly:DEG with a whole number in [1, 64]; then explicit, a drop tolerance >= 0"},
      {"poly:65", "expected poly:DEG"},
      {"poly:", "expected poly:DEG"},
      {"poly:4,dense", "expected poly:DEG"},
      {"neumann:x", "expected neumann:K"},
      {"neumann:2,explicit,-1", "expected neumann:K"},
      {"neumann:2,explicit,1e-3,0", "expected neumann:K"},
      {"neumann:2,explicit,1e-3,9,9", "expected neumann:K"},
      {"ainv:4",
       "--precond ainv:4 is planned and not implemented in Tessera 0.1; available: auto, none, jacobi, spai:LEVEL, "
       "fsai:K:TAU, amg, poly:DEG, neumann:K, ilu0, iluk:K"},
      {"", "expected one of auto, none"}};
  for (const auto& [spec, expected] : cases) {
    PrecondSettings settings;
    const std::string said = refusal([&] {
      read_precond("precond", spec, settings);
      return 0;
    });
    EXPECT_NE(said.find(expected), std::string::npos) << spec << ": " << said;
  }
}

TEST(PrecondSpec, NamesReadBackAsTheSameSettings) {
  for (const std::string spec : {"ilu0", "iluk:2", "ilut:1e-3:20", "ilutp:2.5e-5:7", "ilutp:0:3", "ilut:0.25:9", "ic0",
                                 "ict:1e-2:10", "bjacobi:8:ilu0", "bjacobi:4:ilut:1e-10:1"}) {
    EXPECT_EQ(factor_name(factors_of(spec)), spec);
  }
  EXPECT_EQ(factor_name(factors_of("ilut:5%,3")), "ilut:5e-2:3");
  EXPECT_EQ(factor_name(factors_of("bjacobi:1:ic0")), "ic0");
}

TEST(PrecondSpec, ApproximateInverses) {
  const auto name = [](const std::string& spec) {
    PrecondSettings settings;
    read_precond("precond", spec, settings);
    support::PrecondRequest request;
    request.precond = settings.precond;
    request.fsai = settings.fsai;
    request.spai = settings.spai;
    return support::name_of(request);
  };
  EXPECT_EQ(name("fsai"), "fsai:2");
  EXPECT_EQ(name("fsai:1"), "fsai:1");
  EXPECT_EQ(name("fsai:3,5%"), "fsai:3:0.05");
  EXPECT_EQ(name("fsai:2:0.1"), "fsai:2");
  EXPECT_EQ(name("spai"), "spai:1");
  EXPECT_EQ(name("spai:0"), "spai:0");
  const auto list = read_precond_list("fsai:1,fsai:2,spai:0,spai:1");
  ASSERT_EQ(list.size(), 4U);
  EXPECT_EQ(list[0].fsai.power, 1);
  EXPECT_EQ(list[3].spai.level, 1);
}

TEST(PrecondList, EntriesAreSeparatedByCommas) {
  const auto list = read_precond_list("none,ilut:1e-3:20,bjacobi:4:ic0,ilut:1e-4:20");
  ASSERT_EQ(list.size(), 4U);
  EXPECT_EQ(list[0].precond, Precond::none);
  EXPECT_EQ(list[1].factors.max_row_entries, 20);
  EXPECT_EQ(list[2].factors.blocks, 4);
  EXPECT_EQ(list[3].factors.drop_tolerance, 1e-4);
  EXPECT_EQ(list[3].factors.blocks, 1) << "entries do not share parameters";
}

TEST(PrecondList, RefusesWhatIsNoList) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"jacobi,amgg", "did you mean amg?"},
      {"ilut:1e-3,20", "parameters follow colons here: ilut:1e-3:20"},
      {"poly:4,explicit", "parameters follow colons here"},
      {"poly,poly:4", "option --preconds: poly:4 is given twice"},
      {"jacobi,,amg", "option --preconds: expected one of"},
      {"jacobi,", "option --preconds: expected one of"},
      {"auto,amg", "option --preconds: auto is not compared"},
      {"ilu0,jacobi,ilu0", "option --preconds: ilu0 is given twice"},
      {"ilut,ilut:1e-4:50", "option --preconds: ilut:1e-4:50 is given twice"}};
  for (const auto& [text, expected] : cases) {
    const std::string said = refusal([&] { return read_precond_list(text); });
    EXPECT_NE(said.find(expected), std::string::npos) << text << ": " << said;
  }
}

/// The defaults that help and lists show are those of IncompleteFactorOptions.
TEST(FactorKeys, DefaultsAreThoseOfTheLibrary) {
  IncompleteFactorOptions typed;
  for (const PrecondKey& key : factor_keys()) {
    if (!key.fallback.empty()) set_factor_key({std::string(key.name), std::string(key.fallback)}, typed);
  }
  const IncompleteFactorOptions own;
  EXPECT_EQ(typed.scaling, own.scaling);
  EXPECT_EQ(typed.matching, own.matching);
  EXPECT_EQ(typed.ordering, own.ordering);
  EXPECT_EQ(typed.pivot_tolerance, own.pivot_tolerance);
  EXPECT_EQ(typed.smallest_shift, own.smallest_shift);
  EXPECT_EQ(typed.fill_limit, own.fill_limit);
  EXPECT_EQ(typed.solve, own.solve);
}

TEST(FactorKeys, ReachTheOptions) {
  const IncompleteFactorOptions options =
      settings_of({"-p", "ilutp", "--precond-opt", "scaling=none,matching=permute,ordering=rcm", "--precond-opt",
                   "pivot=0.5,fill-limit=3.5,solve=sync-free"})
          .factors;
  EXPECT_EQ(options.scaling, FactorScaling::none);
  EXPECT_EQ(options.matching, FactorMatching::permute);
  EXPECT_EQ(options.ordering, Ordering::rcm);
  EXPECT_EQ(options.pivot_tolerance, 0.5);
  EXPECT_EQ(options.fill_limit, 3.5);
  EXPECT_EQ(options.solve, TriangularSolve::sync_free);
  EXPECT_EQ(settings_of({"-p", "ict", "--precond-opt", "shift=0.01"}).factors.smallest_shift, 0.01);
}

TEST(FactorKeys, OutOfRangeOrOutOfPlaceAreRefused) {
  struct Case {
    std::string precond;
    std::string keys;
    std::string expected;
  };
  const std::vector<Case> cases{
      {"ilu0", "scaling=big", "option --precond-opt scaling: expected one of auto, none, ruiz, symmetric, got \"big\""},
      {"ilu0", "matching=permut", "did you mean permute?"},
      {"ilu0", "ordering=auto", "expected one of natural, rcm, amd"},
      {"ilutp", "pivot=1.5", "option --precond-opt pivot: expected a number in [0, 1], got \"1.5\""},
      {"ict", "shift=0", "option --precond-opt shift: expected a number in (0, 1], got \"0\""},
      {"ilut", "fill-limit=0", "option --precond-opt fill-limit: expected a number > 0, got \"0\""},
      {"ilut", "solve=fast", "expected one of auto, levels, sync-free"},
      {"ilut", "scalling=none",
       "unknown key \"scalling\" of ilut: known are scaling, matching, ordering, fill-limit, "
       "solve; did you mean scaling?"},
      {"ilut", "pivot=0.1", "option --precond-opt pivot belongs to --precond ilutp, not to --precond ilut"},
      {"ilutp", "shift=0.1", "belongs to --precond ic0 or ict, not to --precond ilutp; add --precond ic0"},
      {"ict", "matching=none", "belongs to --precond ilu0, iluk, ilut or ilutp, not to --precond ict"},
      {"ilut", "cycle=w", "option --precond-opt cycle belongs to --precond amg, not to --precond ilut; add"},
      {"amg", "ordering=rcm", "belongs to --precond ilu0, iluk, ilut, ilutp, ic0 or ict, not to --precond amg"},
      {"auto", "ordering=rcm", "not to --precond auto"},
      {"ilut", "ordering=rcm,ordering=amd", "ordering is given twice"}};
  for (const auto& [precond, keys, expected] : cases) {
    const std::string said = refusal([&, p = precond, k = keys] { return settings_of({"-p", p, "--precond-opt", k}); });
    EXPECT_NE(said.find(expected), std::string::npos) << precond << " " << keys << ": " << said;
  }
}

/// Of a list each preconditioner takes the keys that it knows, and the others none.
TEST(FactorKeys, OfAListGoToThoseThatUseThem) {
  const auto list =
      precond_list(resolve_options({"compare", "--poisson2d", "4", "--solvers", "bicgstab", "--preconds",
                                    "amg,ilutp,ic0", "--precond-opt", "cycle=w,pivot=0.3,shift=0.02,ordering=amd"}));
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].amg.cycle, AmgCycle::w);
  EXPECT_EQ(list[1].factors.pivot_tolerance, 0.3);
  EXPECT_EQ(list[1].factors.smallest_shift, IncompleteFactorOptions{}.smallest_shift);
  EXPECT_EQ(list[1].factors.ordering, Ordering::amd);
  EXPECT_EQ(list[2].factors.smallest_shift, 0.02);
  EXPECT_EQ(list[2].factors.pivot_tolerance, IncompleteFactorOptions{}.pivot_tolerance);
}

}  // namespace

}  // namespace tessera::cli
