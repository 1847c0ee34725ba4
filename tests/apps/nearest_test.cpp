/// Unknown names of every kind name the nearest one.

#include "solve_process.hpp"

#include <ostream>

namespace tessera::testing {

namespace {

struct Mistake {
  std::string line;
  std::string meant;
};

void PrintTo(const Mistake& mistake, std::ostream* stream) { *stream << mistake.line; }

class NearestNameTest : public SolveTest, public ::testing::WithParamInterface<Mistake> {};

TEST_P(NearestNameTest, IsNamed) {
  const auto result = run(GetParam().line);
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  EXPECT_NE(result.err.find("  hint: did you mean " + GetParam().meant + "?\n"), std::string::npos) << result.err;
  EXPECT_TRUE(result.out.empty());
}

INSTANTIATE_TEST_SUITE_P(
    OfEveryKind, NearestNameTest,
    ::testing::Values(
        // options
        Mistake{"--poisson3d 4 --rtoll 1", "--rtol"}, Mistake{"--poisson3d 4 --RTOL 1", "--rtol"},
        Mistake{"--poisson3d 4 --max_iters 5", "--max-iters"}, Mistake{"--poison3d 4", "--poisson3d"},
        Mistake{"--poisson3d 4 --max-iter=5", "--max-iters"},
        Mistake{"--poisson3d 4 --replace-residue 5", "--replace-residual"},
        Mistake{"--poisson3d 4 --outptu x", "--output"},
        // commands
        Mistake{"pagernk", "pagerank"}, Mistake{"pagernk web.mtx", "pagerank"}, Mistake{"docter", "doctor"},
        Mistake{"lsit", "list"}, Mistake{"insepct A.mtx", "inspect"}, Mistake{"completon bash", "completion"},
        // methods, kernels, preconditioners and other enumerations
        Mistake{"--poisson3d 4 -m bicgstb", "bicgstab"}, Mistake{"--poisson3d 4 -m CG", "cg"},
        Mistake{"--poisson3d 4 -m gc", "cg"}, Mistake{"--poisson3d 4 -k merbti", "merbit"},
        Mistake{"--poisson3d 4 -k mrege", "merge"}, Mistake{"--poisson3d 4 -p jacoby", "jacobi"},
        Mistake{"--poisson3d 4 --precision fp46", "fp64"}, Mistake{"--poisson3d 4 --determinism rnu", "run"},
        Mistake{"--poisson3d 4 --progress plian", "plain"}, Mistake{"--poisson3d 4 --shadow rand", "random"},
        Mistake{"--poisson3d 4 --norm-base r1", "r0"}, Mistake{"--poisson3d 4 --device hots", "host"},
        Mistake{"--poisson3d 4 -b aones", "Aones"}, Mistake{"--poisson3d 4 -b randm", "random"},
        Mistake{"--poisson3d 4 --x0 zreo", "zero"}, Mistake{"pagerank --powerlaw 9 --dangling unifrom", "uniform"},
        Mistake{"pagerank --powerlaw 9 --norm linv", "linf"}, Mistake{"A.mtx --duplicates sun", "sum"},
        // topics and shells
        Mistake{"list kernel", "kernels"}, Mistake{"list precons", "preconds"}, Mistake{"completion zhs", "zsh"},
        // keys
        Mistake{"--poisson3d 4 --set rtoll=1", "rtol"}, Mistake{"--poisson3d 4 -s maxiters=1", "max-iters"},
        Mistake{"--poisson3d 4 -s max_time=1", "max-time"}, Mistake{"-s comand=run", "command"},
        Mistake{"-s matirx=A.mtx", "matrix"}, Mistake{"-s command=pagernk", "pagerank"}));

}  // namespace

}  // namespace tessera::testing
