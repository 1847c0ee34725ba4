/// Planned options and values: refused by name, never ignored.

#include "solve_process.hpp"

namespace tessera::testing {

namespace {

class UnavailableTest : public SolveTest {
 protected:
  void expect_refused(const std::string& line, const std::string& text) const {
    const auto result = run(line);
    EXPECT_EQ(result.exit_code, 2) << line << "\n" << result.out << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << line << "\n" << result.err;
    EXPECT_TRUE(result.out.empty()) << line << "\n" << result.out;
  }
};

TEST_F(UnavailableTest, ACommandNameWithAPathIsAFile) {
  file("compare", laplace4);
  EXPECT_EQ(run("./compare").exit_code, 0);
}

TEST_F(UnavailableTest, Options) {
  for (const std::string option : {"--reorder rcm", "--scale diag", "--index 64", "--graph on", "--events e.jsonl",
                                   "--events=e.jsonl", "--debug"}) {
    const std::string name = option.substr(0, option.find_first_of(" ="));
    expect_refused("--poisson3d 4 " + option, "option " + name + " is planned and not implemented in Tessera 0.1");
  }
  const auto result = run({"--poisson3d", "4", "--from-petsc", "-ksp_type bcgs"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("--from-petsc is planned"), std::string::npos) << result.err;
}

TEST_F(UnavailableTest, Values) {
  const std::string preconds =
      "available: auto, none, jacobi, spai:LEVEL, fsai:K:TAU, amg, poly:DEG, neumann:K, ilu0, iluk:K";
  for (const std::string precond : {"ainv", "ainv:1"}) {
    expect_refused("--poisson3d 4 -p " + precond,
                   "--precond " + precond + " is planned and not implemented in Tessera 0.1; " + preconds);
  }
  for (const std::string kernel : {"csr-vector", "vendor-csr", "vendor-coo"}) {
    expect_refused(
        "--poisson3d 4 --device host --spmv " + kernel,
        "kernel " + kernel + " does not run on host: known there are auto, measured, csr, merge, merbit, csr5, tiles");
  }
  expect_refused("--poisson3d 4 --replace-residual never",
                 "--replace-residual never is planned and not implemented in Tessera 0.1");
  expect_refused("--poisson3d 4 -o x.bin", "--output x.bin: files of that suffix are not written");
}

TEST_F(UnavailableTest, OptionsOfTheOtherCommandNameTheOneToUse) {
  expect_refused("--poisson3d 4 --damping 0.5", "solve pagerank");
  expect_refused("--poisson3d 4 --tol 1e-6", "use --rtol");
  expect_refused("pagerank --powerlaw 16 --rtol 1e-6", "use --tol");
  expect_refused("pagerank --powerlaw 16 --precond jacobi", "solve run");
  expect_refused("--method pagerank --powerlaw 16 --rtol 1e-6", "option --rtol does not apply to pagerank");
  expect_refused("doctor --rtol 1e-6", "does not apply to doctor");
  expect_refused("--poisson3d 4 -m cg --shadow random", "--shadow does not apply to cg");
}

TEST_F(UnavailableTest, UnknownOptionsNameTheNearest) {
  expect_refused("--poisson3d 4 --rtoll 1e-8", "did you mean --rtol?");
  expect_refused("--poisson3d 4 --max-iter 5", "did you mean --max-iters?");
  expect_refused("--poisson3d 4 -m bicgstb", "did you mean bicgstab?");
  expect_refused("--poisson3d 4 -k merbti", "did you mean merbit?");
  expect_refused("pagernk a.mtx", "did you mean pagerank?");
  expect_refused("--poisson3d 4 -z", "unknown option -z");
}

TEST_F(UnavailableTest, SpellingsOfOtherToolsNameTheOption) {
  expect_refused("--poisson3d 4 --tolerance 1e-8", "did you mean --rtol?");
  expect_refused("pagerank --powerlaw 16 --tolerance 1e-8", "did you mean --tol?");
  expect_refused("--poisson3d 4 --maxiter 5", "did you mean --max-iters?");
  expect_refused("--poisson3d 4 --solver cg", "did you mean --method?");
  expect_refused("--poisson3d 4 --preconditioner amg", "did you mean --precond?");
  expect_refused("--poisson3d 4 --kernel csr", "did you mean --spmv?");
  expect_refused("--poisson3d 4 --out x.mtx", "did you mean --output?");
  expect_refused("--poisson3d 4 -t 2", "did you mean --threads?");
}

TEST_F(UnavailableTest, AShadowVectorForAMethodWithoutOneIsSaid) {
  EXPECT_NE(run("--poisson3d 4 --shadow random").err.find("--shadow belongs to bicgstab"), std::string::npos);
  EXPECT_EQ(run("--poisson3d 4 -m cg --shadow random").exit_code, 2);
  EXPECT_TRUE(run("--convdiff 4 --shadow random").err.empty());
}

TEST_F(UnavailableTest, SinglePrecisionAsksForWhatItCanReach) {
  const auto result = run("--poisson3d 12 --precision fp32 --json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto document = nlohmann::json::parse(result.out);
  const auto& residual = document["result"]["residual"];
  EXPECT_NEAR(residual["target"].get<double>() / residual["b_norm"].get<double>(), 1e-5, 1e-15);
  EXPECT_EQ(run("pagerank --powerlaw 500 --precision fp32").exit_code, 0);
}

}  // namespace

}  // namespace tessera::testing
