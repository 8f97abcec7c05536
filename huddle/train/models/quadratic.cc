#include "huddle/train/models/quadratic.h"

#include <torch/nn/module.h>

#include "huddle/base/error.h"
#include "huddle/base/spec.h"
#include "huddle/train/data/dataset.h"

namespace huddle {
namespace {

constexpr std::uint64_t kCurvatureStream = 11;
constexpr std::uint64_t kOptimumStream = 12;
constexpr std::uint64_t kNoiseStream = 13;

struct Shape {
  std::int64_t dimension = 0;
  double noise = 0;
  double spread = 0;
};

// One worker's A_i and c_i.
struct Bowl {
  at::Tensor curvature;
  at::Tensor optimum;
  at::Tensor loss(const at::Tensor& x) const {
    return 0.5 * (curvature * (x - optimum).square()).sum();
  }
};

struct Point : torch::nn::Module {
  explicit Point(std::int64_t dimension) : x(register_parameter("x", torch::zeros({dimension}))) {}
  at::Tensor x;
};

template <typename Draw>
at::Tensor drawn(std::int64_t dimension, Draw&& draw) {
  std::vector<float> values(static_cast<std::size_t>(dimension));
  for (float& value : values) value = static_cast<float>(draw());
  return torch::tensor(values);
}

Bowl bowl_of(const Shape& shape, Random::Seed seed, int worker) {
  Random curvature(seed, {kCurvatureStream, static_cast<std::uint64_t>(worker)});
  Random common(seed, {kOptimumStream});
  Random own(seed, {kOptimumStream, 1 + static_cast<std::uint64_t>(worker)});
  return {drawn(shape.dimension, [&] { return 0.5 + curvature.uniform(); }),
          drawn(shape.dimension, [&] { return common.normal() + shape.spread * own.normal(); })};
}

class QuadraticWorkload final : public Workload {
 public:
  QuadraticWorkload(const Shape& shape, Random::Seed seed, WorkerId worker,
                    const std::vector<Bowl>& bowls)
      : shape_(shape), seed_(seed), worker_(worker), bowls_(bowls), point_(shape.dimension) {}

  torch::nn::Module& module() override { return point_; }

  at::Tensor loss(std::int64_t batch) override {
    const at::Tensor clean = bowls_[static_cast<std::size_t>(worker_.value)].loss(point_.x);
    if (shape_.noise == 0) return clean;
    Random random(seed_, {kNoiseStream, static_cast<std::uint64_t>(worker_.value),
                          static_cast<std::uint64_t>(batch)});
    // A random linear term: its gradient is the noise, and it has mean 0.
    const at::Tensor noise =
        drawn(shape_.dimension, [&] { return shape_.noise * random.normal(); });
    return clean + (noise * (point_.x - point_.x.detach())).sum();
  }

  void recompute_statistics(std::int64_t, const std::function<void()>&) override {}

  Quality evaluate(const std::function<void()>& between) override {
    between();
    const torch::NoGradGuard no_grad;
    double loss = 0;
    for (const Bowl& bowl : bowls_) loss += bowl.loss(point_.x).item<double>();
    return {.loss = loss / static_cast<double>(bowls_.size()), .accuracy = {}};
  }

 private:
  const Shape shape_;
  const Random::Seed seed_;
  const WorkerId worker_;
  const std::vector<Bowl>& bowls_;
  Point point_;
};

class QuadraticProblem final : public Problem {
 public:
  QuadraticProblem(const Shape& shape, const ProblemOptions& options)
      : shape_(shape), seed_(options.seed) {
    for (int worker = 0; worker < options.workers; ++worker)
      bowls_.push_back(bowl_of(shape, seed_, worker));
  }

  std::unique_ptr<Workload> workload(WorkerId worker) const override {
    return std::make_unique<QuadraticWorkload>(shape_, seed_, worker, bowls_);
  }
  std::int64_t steps_per_epoch() const override {
    return 100;
  }  // There is no data to go through; a round number.

 private:
  const Shape shape_;
  const Random::Seed seed_;
  std::vector<Bowl> bowls_;
};

}  // namespace

std::unique_ptr<Problem> make_quadratic(const ProblemOptions& options) {
  const Spec spec = parse_spec(options.data);
  const Options keys("data set", find_info("data set", known_data(), spec.name), spec);
  const Shape shape{keys.integer("dimension"), keys.number("noise"), keys.number("spread")};
  return std::make_unique<QuadraticProblem>(shape, options);
}

}  // namespace huddle
