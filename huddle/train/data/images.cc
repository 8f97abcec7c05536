#include "huddle/train/data/images.h"

#include <torch/nn/functional/loss.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "huddle/train/data/dataset.h"
#include "huddle/train/data/sampler.h"
#include "huddle/train/models/models.h"

namespace huddle {
namespace {

// Samples evaluated at once: large enough for speed, small enough that the activations of a worker
// stay in cache.
constexpr std::int64_t kEvaluationBatch = 256;

class ImageWorkload final : public Workload {
 public:
  ImageWorkload(const ImageData& data, std::unique_ptr<Model> model, Sampler sampler)
      : data_(data), model_(std::move(model)), sampler_(std::move(sampler)) {}

  torch::nn::Module& module() override { return model_->module(); }

  at::Tensor loss(std::int64_t batch) override {
    const at::Tensor index = samples_of(batch);
    const at::Tensor scores = model_->forward(data_.train.images.index_select(0, index));
    return torch::nn::functional::cross_entropy(scores, data_.train.labels.index_select(0, index));
  }

  void recompute_statistics(std::int64_t batches, const std::function<void()>& between) override {
    // Without a momentum BatchNorm takes the plain mean over all batches since its count was 0.
    struct Norm {
      torch::nn::BatchNorm2dImpl* layer;
      std::optional<double> momentum;
      at::Tensor count;
    };
    std::vector<Norm> norms;
    for (const auto& layer : module().modules())
      if (auto* norm = layer->as<torch::nn::BatchNorm2dImpl>())
        norms.push_back({norm, norm->options.momentum(), norm->num_batches_tracked.clone()});
    for (const Norm& norm : norms) {
      norm.layer->reset_running_stats();
      norm.layer->options.momentum(std::nullopt);
    }
    const torch::NoGradGuard no_grad;
    for (std::int64_t batch = 0; batch < batches && !norms.empty(); ++batch) {
      between();
      model_->forward(data_.train.images.index_select(0, samples_of(batch)));
    }
    for (const Norm& norm : norms) {
      norm.layer->options.momentum(norm.momentum);
      norm.layer->num_batches_tracked.copy_(norm.count);
    }
  }

  Quality evaluate(const std::function<void()>& between) override {
    const torch::NoGradGuard no_grad;
    const bool was_training = module().is_training();
    module().eval();
    double loss = 0;
    at::Tensor samples = at::zeros({data_.classes}, at::kLong);  // Of each class.
    at::Tensor correct = at::zeros_like(samples);
    for (std::int64_t begin = 0; begin < data_.test.size(); begin += kEvaluationBatch) {
      between();
      const std::int64_t count = std::min(kEvaluationBatch, data_.test.size() - begin);
      const at::Tensor labels = data_.test.labels.narrow(0, begin, count);
      const at::Tensor scores = model_->forward(data_.test.images.narrow(0, begin, count));
      loss += torch::nn::functional::cross_entropy(scores, labels).item<double>() *
              static_cast<double>(count);
      samples += at::bincount(labels, {}, data_.classes);
      correct += at::bincount(labels.masked_select(scores.argmax(1).eq(labels)), {}, data_.classes);
    }
    module().train(was_training);
    const auto total = static_cast<double>(data_.test.size());
    Quality quality{.loss = loss / total,
                    .accuracy = static_cast<double>(correct.sum().item<std::int64_t>()) / total};
    const at::Tensor shares = correct.to(at::kDouble) / samples.clamp_min(1);
    quality.by_class.assign(shares.const_data_ptr<double>(),
                            shares.const_data_ptr<double>() + data_.classes);
    return quality;
  }

 private:
  at::Tensor samples_of(std::int64_t batch) {
    return torch::tensor(sampler_.batch(Step{batch}), at::kLong);
  }

  const ImageData& data_;
  const std::unique_ptr<Model> model_;
  Sampler sampler_;
};

ImageData data_of(const ProblemOptions& options) {
  ImageData data = load_data(options.data, options.data_directory);
  return options.holdout > 0 ? held_out(data, options.holdout) : data;
}

class ImageProblem final : public Problem {
 public:
  explicit ImageProblem(const ProblemOptions& options)
      : options_(options), data_(data_of(options)), labels_(label_values(data_.train)) {
    workload(WorkerId{0});  // Throws now what would otherwise be thrown inside the run.
    steps_per_epoch_ = sampler(WorkerId{0}).steps_per_epoch();
  }

  std::unique_ptr<Workload> workload(WorkerId worker) const override {
    const at::Tensor& images = data_.train.images;
    const InputShape shape{images.size(1), images.size(2), images.size(3)};
    return std::make_unique<ImageWorkload>(
        data_, make_model(options_.model, shape, data_.classes, options_.seed), sampler(worker));
  }
  std::int64_t steps_per_epoch() const override { return steps_per_epoch_; }

 private:
  Sampler sampler(WorkerId worker) const {
    const SamplerOptions options{.split = parse_split(options_.split),
                                 .workers = options_.workers,
                                 .batch = options_.batch,
                                 .seed = options_.seed};
    return Sampler(options, labels_, worker);
  }

  const ProblemOptions options_;
  const ImageData data_;
  const std::vector<int> labels_;
  std::int64_t steps_per_epoch_ = 1;
};

}  // namespace

std::unique_ptr<Problem> load_images(const ProblemOptions& options) {
  return std::make_unique<ImageProblem>(options);
}

}  // namespace huddle
