#include "bench/preconditioner_problems.hpp"

#include "bench/stencil_problems.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

namespace tessera::bench {

namespace {

const GeneratorFamily& family_of(const GeneratorSpec& spec) {
  const auto families = generator_families();
  return *std::find_if(families.begin(), families.end(),
                       [&](const auto& family) { return family.name == spec.family; });
}

/// A parameter of the spec, given or standard.
double parameter(const GeneratorSpec& spec, std::string_view name) {
  if (const auto given = spec.parameters.find(name); given != spec.parameters.end()) return given->second;
  for (const GeneratorParameter& each : family_of(spec).parameters) {
    if (each.name == name) return each.standard;
  }
  return 0.0;
}

std::int64_t size_of(const GeneratorSpec& spec) { return spec.size.value_or(family_of(spec).default_size); }

/// Values of a star, by direction.
std::vector<io::StencilPoint> star(int dimensions, const std::function<double(const io::StencilPoint&)>& value) {
  std::vector<io::StencilPoint> points = io::star_stencil(dimensions);
  for (io::StencilPoint& p : points) p.value = value(p);
  return points;
}

/// Upwind: the neighbour against the flow weighs more.
std::vector<io::StencilPoint> convection_star(const GeneratorSpec& spec) {
  const std::array<double, 3> flow{parameter(spec, "px"), parameter(spec, "py"), parameter(spec, "pz")};
  return star(3, [&](const io::StencilPoint& p) {
    const std::array<int, 3> step{p.dx, p.dy, p.dz};
    double diagonal = 6.0 + (std::abs(flow[0]) + std::abs(flow[1]) + std::abs(flow[2]));
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (step[axis] != 0) return flow[axis] * step[axis] < 0.0 ? -1.0 - std::abs(flow[axis]) : -1.0;
    }
    return diagonal;
  });
}

/// The stencil of a spec that a GPU can make; nothing for others.
std::optional<StencilProblem> stencil_of(const GeneratorSpec& spec) {
  if (parameter(spec, "shuffle") != 0.0) return std::nullopt;
  const std::int64_t n = size_of(spec);
  const Boundary boundary = parameter(spec, "neumann") != 0.0 ? Boundary::neumann : Boundary::dirichlet;
  const io::GridSize square{n, n, 1};
  const io::GridSize cube{n, n, n};
  if (spec.family == "poisson2d") {
    return StencilProblem{square, parameter(spec, "points") == 9 ? io::box_stencil(2) : io::star_stencil(2), boundary};
  }
  if (spec.family == "poisson3d") {
    return StencilProblem{cube, parameter(spec, "points") == 27 ? io::box_stencil(3) : io::star_stencil(3), boundary};
  }
  if (spec.family == "anisotropic2d") {
    const double epsilon = parameter(spec, "epsilon");
    return StencilProblem{square, star(2, [&](const io::StencilPoint& p) {
                            return p.dy != 0 ? -epsilon : p.dx != 0 ? -1.0 : 2.0 + 2.0 * epsilon;
                          })};
  }
  if (spec.family == "anisotropic3d") {
    const double ey = parameter(spec, "ey");
    const double ez = parameter(spec, "ez");
    return StencilProblem{cube, star(3, [&](const io::StencilPoint& p) {
                            return p.dz != 0 ? -ez : p.dy != 0 ? -ey : p.dx != 0 ? -1.0 : 2.0 * (1.0 + ey + ez);
                          })};
  }
  if (spec.family == "convdiff") return StencilProblem{cube, convection_star(spec)};
  if (spec.family == "jump3d") {
    const JumpOptions options{.block = static_cast<std::int64_t>(parameter(spec, "block")),
                              .contrast = parameter(spec, "contrast"),
                              .seed = spec.seed};
    return StencilProblem{cube, io::star_stencil(3), Boundary::dirichlet, io::jump_coefficients(cube, options)};
  }
  return std::nullopt;
}

Csr<double> make_on(const Device& device, const GeneratorSpec& spec) {
  if (device.is_host()) return generate<double>(spec);
  if (const auto stencil = stencil_of(spec)) return stencil_matrix_on(device, *stencil);
  return generate<double>(spec).to(device);
}

template <class T>
bool same_bytes(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

PreconditionerProblem generated_problem(const std::string& text) {
  const GeneratorSpec spec = parse_generator(text);
  const GeneratorFamily& family = family_of(spec);
  PreconditionerProblem problem;
  problem.name = text;
  problem.symmetric = family.symmetric;
  problem.singular = parameter(spec, "neumann") != 0.0;
  problem.make = [spec](const Device& device) { return make_on(device, spec); };
  problem.describe = [spec, block = family.block_size](AmgOptions& options) {
    options.block_size = block;
    if (block > 1) options.coordinates = generator_coordinates(spec);
  };
  return problem;
}

PreconditionerProblem file_problem(const std::string& path) {
  PreconditionerProblem problem;
  problem.name = std::filesystem::path(path).stem().stem().string();
  problem.make = [path](const Device& device) { return read_matrix_market<double>(path).matrix.to(device); };
  problem.describe = [](AmgOptions&) {};
  return problem;
}

std::vector<std::string> problem_set(const std::string& name) {
  static const std::map<std::string, std::vector<std::string>, std::less<>> sets{
      {"quick", {"poisson2d:300", "poisson3d:40", "anisotropic2d:300", "jump3d:40", "elasticity3d:12", "convdiff:30"}},
      {"main",
       {"poisson2d:1000", "poisson2d:5000", "poisson3d:100", "poisson3d:200", "poisson3d:300",
        "poisson3d:140,points=27", "anisotropic2d:1000", "poisson2d:10000", "jump3d:100", "jump3d:200",
        "poisson3d:100,shuffle=1", "poisson3d:100,neumann=1", "convdiff:128", "elasticity3d:40", "elasticity3d:80"}},
      {"weak2d",
       {"poisson2d:1000", "poisson2d:2000", "poisson2d:3000", "poisson2d:5000", "poisson2d:7000", "poisson2d:10000"}},
      {"weak3d", {"poisson3d:100", "poisson3d:150", "poisson3d:200", "poisson3d:300"}}};
  const auto found = sets.find(name);
  if (found == sets.end()) {
    throw InvalidArgument(fmt::format("unknown set '{}' of problems: known are main, quick, weak2d, weak3d", name));
  }
  return found->second;
}

void check_device_generators(const Device& device) {
  for (const char* text : {"poisson2d:19", "poisson2d:13,points=9,neumann=1", "poisson3d:11", "poisson3d:9,points=27",
                           "poisson3d:8,neumann=1", "anisotropic2d:17", "anisotropic3d:9", "convdiff:10,py=-2",
                           "jump3d:19", "jump3d:12,block=5,seed=3"}) {
    const GeneratorSpec spec = parse_generator(text);
    const Csr<double> expected = generate<double>(spec);
    const Csr<double> made = make_on(device, spec).to(Device{});
    if (!same_bytes(made.row_offsets().span(), expected.row_offsets().span()) ||
        !same_bytes(made.columns().span(), expected.columns().span()) ||
        !same_bytes(made.values().span(), expected.values().span())) {
      throw Error(fmt::format("{} on {} differs from the matrix that the host makes", text, device.name()));
    }
  }
}

namespace {

/// hypre: BoomerAMG 3.1 with a caching allocator, the best total of 5 to 14 settings per problem. AMGX: 2.5.0, the best
/// of 7. Prototype: the throw-away code that Amg follows.
constexpr RecordedPeer recorded[] = {
    {"poisson2d:1000", "hypre 3.1, best total of its settings", 19.6, 8.2, 12},
    {"poisson2d:1000", "AMGX 2.5.0, best total", 26.1, 15.5},
    {"poisson2d:1000", "prototype", 4.9, 2.63, 17},
    {"poisson2d:5000", "hypre 3.1, best total of its settings", 229, 133, 14},
    {"poisson2d:5000", "prototype", 42.4, 60.3, 20},
    {"poisson2d:10000", "prototype", 161, 237, 20},
    {"poisson3d:100", "hypre 3.1, best total of its settings", 20.3, 8.8, 11},
    {"poisson3d:100", "AMGX 2.5.0, best total", 10.9, 28.9},
    {"poisson3d:100", "prototype", 5.6, 2.63, 14},
    {"poisson3d:200", "hypre 3.1, best total of its settings", 78, 55, 20},
    {"poisson3d:200", "AMGX 2.5.0, best total", 170, 47.5},
    {"poisson3d:200", "prototype", 25.0, 17.5, 15},
    {"poisson3d:300", "hypre 3.1, best total of its settings", 232, 174, 21},
    {"poisson3d:300", "prototype", 76.6, 79.8, 21},
    {"poisson3d:140,points=27", "hypre 3.1, best total of its settings", 42.5, 20.5, 10},
    {"poisson3d:140,points=27", "AMGX 2.5.0, best total", 32.3, 79.6},
    {"poisson3d:140,points=27", "prototype", 25.9, 10.4, 14},
    {"anisotropic2d:1000", "hypre 3.1, best total of its settings", 20.7, 7.9, 10},
    {"anisotropic2d:1000", "AMGX 2.5.0, best total", 36.1, 8.8},
    {"anisotropic2d:1000", "prototype", 6.0, 2.86, 17},
    {"jump3d:100", "prototype, other coefficients", 5.9, 4.93, 26},
    {"jump3d:200", "prototype, other coefficients", 25.5, 50.0, 43},
    {"convdiff:128", "amgcl CUDA, set-up on 16 CPU threads", 591, 34.6, 14},
};

}  // namespace

std::vector<RecordedPeer> recorded_peers(std::string_view problem) {
  std::vector<RecordedPeer> result;
  for (const RecordedPeer& peer : recorded) {
    if (peer.problem == problem) result.push_back(peer);
  }
  return result;
}

}  // namespace tessera::bench
