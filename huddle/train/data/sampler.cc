#include "huddle/train/data/sampler.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr std::uint64_t kPurposeOfSampling =
    0x73616D706C65;  // "sample": keeps these random streams apart from all others of the seed.

void refuse_short_shard(const SamplerOptions& options, std::size_t worker,
                        std::int64_t shard_size) {
  if (options.batch <= shard_size) return;
  const std::string way_out =
      shard_size > 0
          ? concat("use a batch of ", shard_size, " or less, or fewer workers than ",
                   options.workers)
          : concat("use fewer workers than ", options.workers, " or another split or seed");
  throw UsageError(concat("split ", to_string(options.split), ": worker ", worker,
                          " has a shard of ", shard_size, " samples, too few for a batch of ",
                          options.batch, "; ", way_out, "."));
}

// The smallest shard is the one to name: a batch that suits it suits every worker.
void refuse_short_shards(const SamplerOptions& options, const Shards& shards) {
  const auto smaller = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  const auto smallest = std::min_element(shards.begin(), shards.end(), smaller);
  refuse_short_shard(options, static_cast<std::size_t>(smallest - shards.begin()),
                     static_cast<std::int64_t>(smallest->size()));
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options, std::span<const int> labels, WorkerId worker)
    : options_(options), worker_(worker) {
  check(options.workers > 0 && options.batch > 0, "a sampler needs workers and a batch");
  check(worker.value >= 0 && worker.value < options.workers, "a sampler is for one of the workers");
  const auto samples = static_cast<std::int64_t>(labels.size());
  if (options.split.kind == SplitSpec::Kind::iid) {
    refuse_short_shard(options, 0, samples / options.workers);
    samples_.resize(labels.size());
    std::iota(samples_.begin(), samples_.end(), std::int64_t{0});
  } else {
    Shards shards = deal_out(options.split, labels, options.workers, options.seed);
    refuse_short_shards(options, shards);
    samples_ = std::move(shards[static_cast<std::size_t>(worker.value)]);
  }
  // At least 1, since every shard holds a batch.
  steps_per_epoch_ = samples / (options.workers * options.batch);
}

std::vector<std::int64_t> Sampler::batch(Step step) {
  check(step.value >= 0, "steps are counted from 0");
  const bool shared = options_.split.kind == SplitSpec::Kind::iid;
  const std::int64_t number = shared ? step.value * options_.workers + worker_.value : step.value;
  const auto pass_size = static_cast<std::int64_t>(samples_.size());
  std::vector<std::int64_t> chosen;
  chosen.reserve(static_cast<std::size_t>(options_.batch));
  std::int64_t position = number * options_.batch;
  const std::int64_t end = position + options_.batch;
  while (position < end) {
    enter_pass(position / pass_size);
    const std::int64_t first = position % pass_size;
    const std::int64_t count = std::min(end - position, pass_size - first);
    chosen.insert(chosen.end(), order_.begin() + first, order_.begin() + first + count);
    position += count;
  }
  return chosen;
}

void Sampler::enter_pass(std::int64_t pass) {
  if (pass == pass_) return;
  const bool shared = options_.split.kind == SplitSpec::Kind::iid;
  const bool reshuffled = options_.split.kind != SplitSpec::Kind::fixed;
  const auto owner = static_cast<std::uint64_t>(shared ? 0 : worker_.value);
  if (reshuffled || pass_ < 0) order_ = samples_;
  if (reshuffled)
    Random(options_.seed, {kPurposeOfSampling, owner, static_cast<std::uint64_t>(pass)})
        .shuffle(order_);
  pass_ = pass;
}

}  // namespace huddle
