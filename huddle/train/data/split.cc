#include "huddle/train/data/split.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

using Samples = std::vector<std::int64_t>;

constexpr std::uint64_t kPurposeOfSplits =
    0x73706C6974;  // "split": keeps these random streams apart from all others of the seed.
constexpr double kSmallestConcentration = 0.01;
constexpr double kLargestConcentration = 1000;

struct KindInfo {
  std::string name;
  bool (*allows)(double value) = nullptr;  // Absent: it takes no value.
  std::string rule = "";                   // For whoever gave a wrong one.
};

// In the order of SplitSpec::Kind.
const std::vector<KindInfo>& known_kinds() {
  static const std::vector<KindInfo> known{
      {"iid"},
      {"fixed"},
      {"dirichlet",
       [](double value) {
         return value >= kSmallestConcentration && value <= kLargestConcentration;
       },
       concat("dirichlet needs its concentration, from ", kSmallestConcentration, " to ",
              kLargestConcentration, ", for example dirichlet:0.5.")},
      {"skew", [](double value) { return value > 0 && value <= 1; },
       "skew needs the share of one class, above 0 and at most 1, for example skew:0.64."},
      {"rare", [](double value) { return value >= 0 && value == std::floor(value) && value < 1e6; },
       "rare needs the class that the last worker alone holds, for example rare:3."}};
  return known;
}

const KindInfo& info_of(SplitSpec::Kind kind) {
  return known_kinds().at(static_cast<std::size_t>(kind));
}

Random stream(Random::Seed seed, const SplitSpec& split, std::uint64_t number) {
  return Random(seed, {kPurposeOfSplits, static_cast<std::uint64_t>(split.kind), number});
}

// The samples of each class, in random order.
std::vector<Samples> shuffled_classes(const SplitSpec& split, std::span<const int> labels,
                                      Random::Seed seed) {
  const int classes = labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end()) + 1;
  std::vector<Samples> of_class(static_cast<std::size_t>(classes));
  for (std::size_t sample = 0; sample < labels.size(); ++sample) {
    check(labels[sample] >= 0, "a label is negative");
    of_class[static_cast<std::size_t>(labels[sample])].push_back(static_cast<std::int64_t>(sample));
  }
  for (std::size_t label = 0; label < of_class.size(); ++label)
    stream(seed, split, label).shuffle(of_class[label]);
  return of_class;
}

// Moves the last `count` items of `from` to the end of `to`.
void move_last(Samples& from, std::size_t count, Samples& to) {
  const auto first = from.end() - static_cast<std::ptrdiff_t>(count);
  to.insert(to.end(), first, from.end());
  from.erase(first, from.end());
}

// Shares that sum to 1, drawn from the symmetric Dirichlet distribution.
std::vector<double> dirichlet_shares(Random& random, double concentration, std::size_t workers) {
  std::vector<double> shares(workers);
  double sum = 0;
  while (
      sum ==
      0) {  // At small concentrations all draws can underflow at once; then they are drawn again.
    for (double& share : shares) share = random.gamma(concentration);
    sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  }
  for (double& share : shares) share /= sum;
  return shares;
}

// Fills every shard up to `each` samples.
void deal_equally(Samples samples, std::size_t each, Random random, Shards& shards) {
  random.shuffle(samples);
  for (Samples& shard : shards) move_last(samples, each - shard.size(), shard);
}

void deal_dirichlet(const SplitSpec& split, std::vector<Samples> of_class, Random::Seed seed,
                    Shards& shards) {
  for (std::size_t label = 0; label < of_class.size(); ++label) {
    Samples& samples = of_class[label];
    Random random = stream(seed, split, of_class.size() + label);
    const std::vector<double> shares = dirichlet_shares(random, split.value, shards.size());
    const double count = static_cast<double>(samples.size());
    double share_left = 1;
    // Cuts lie at the rounded ends of the shares, so rounding neither loses a sample nor gives one
    // twice.
    for (std::size_t worker = 0; worker < shards.size(); ++worker) {
      share_left = worker + 1 == shards.size() ? 0 : std::max(0.0, share_left - shares[worker]);
      const auto samples_left = static_cast<std::size_t>(std::lround(share_left * count));
      move_last(samples, samples.size() - samples_left, shards[worker]);
    }
  }
}

void deal_skew(const SplitSpec& split, std::vector<Samples> of_class, Random random,
               Shards& shards) {
  const auto add = [](std::size_t sum, const Samples& samples) { return sum + samples.size(); };
  const std::size_t each =
      std::accumulate(of_class.begin(), of_class.end(), std::size_t{0}, add) / shards.size();
  if (each == 0) return;
  const auto quota = static_cast<std::size_t>(std::lround(split.value * static_cast<double>(each)));

  const int classes = static_cast<int>(of_class.size());
  std::vector<std::vector<std::size_t>> takers(of_class.size());
  for (std::size_t worker = 0; worker < shards.size(); ++worker)
    takers[static_cast<std::size_t>(main_class(WorkerId{static_cast<int>(worker)}, classes))]
        .push_back(worker);

  Samples rest;
  for (std::size_t label = 0; label < of_class.size(); ++label) {
    // Where more workers want a class than it can serve, they share it equally.
    const std::size_t wanting = std::max<std::size_t>(1, takers[label].size());
    const std::size_t take = std::min(quota, of_class[label].size() / wanting);
    for (const std::size_t worker : takers[label]) move_last(of_class[label], take, shards[worker]);
    move_last(of_class[label], of_class[label].size(), rest);
  }
  deal_equally(std::move(rest), each, random, shards);
}

void deal_rare(const SplitSpec& split, std::vector<Samples> of_class, Random random,
               Shards& shards) {
  const auto label = static_cast<std::size_t>(split.value);
  if (label >= of_class.size())
    throw UsageError(concat("split 'rare:", label, "': the data has the classes 0 to ",
                            of_class.size() - 1, "; for example rare:0."));
  Samples& rare = of_class[label];
  Samples rest;
  for (Samples& samples : of_class)
    if (&samples != &rare) move_last(samples, samples.size(), rest);
  // Not more than a shard of the size that all others can have, too.
  const std::size_t others = shards.size() - 1;
  const std::size_t take = others == 0 ? rare.size() : std::min(rare.size(), rest.size() / others);
  move_last(rare, take, shards.back());
  const std::size_t each = (rest.size() + take) / shards.size();
  deal_equally(std::move(rest), each, random, shards);
}

}  // namespace

SplitSpec parse_split(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  std::vector<std::string> names;
  for (const KindInfo& known : known_kinds()) names.push_back(known.name);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw UsageError(unknown_value("split", name, names));
  SplitSpec split{.kind = static_cast<SplitSpec::Kind>(found - names.begin())};
  const KindInfo& info = info_of(split.kind);
  if (!info.allows && colon == std::string_view::npos) return split;
  if (!info.allows)
    throw UsageError(
        concat("split '", text, "': ", name, " takes no value; write just ", name, "."));
  const std::string_view number = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), split.value);
  if (error == std::errc() && end == number.data() + number.size() && info.allows(split.value))
    return split;
  throw UsageError(concat("split '", text, "': ", info.rule));
}

std::string to_string(const SplitSpec& split) {
  const KindInfo& info = info_of(split.kind);
  return info.allows ? concat(info.name, ":", split.value) : info.name;
}

Shards deal_out(const SplitSpec& split, std::span<const int> labels, int workers,
                Random::Seed seed) {
  check(workers > 0, "samples are dealt out to at least one worker");
  check(split.kind != SplitSpec::Kind::iid, "iid has no shards");
  const KindInfo& info = info_of(split.kind);
  check(!info.allows || info.allows(split.value), "the split's value is out of range");
  Shards shards(static_cast<std::size_t>(workers));
  if (split.kind == SplitSpec::Kind::fixed) {
    Samples samples(labels.size());
    std::iota(samples.begin(), samples.end(), std::int64_t{0});
    deal_equally(std::move(samples), labels.size() / shards.size(), stream(seed, split, 0), shards);
    return shards;
  }
  std::vector<Samples> of_class = shuffled_classes(split, labels, seed);
  const std::uint64_t next_stream = of_class.size();
  if (split.kind == SplitSpec::Kind::dirichlet) {
    deal_dirichlet(split, std::move(of_class), seed, shards);
  } else if (split.kind == SplitSpec::Kind::skew) {
    deal_skew(split, std::move(of_class), stream(seed, split, next_stream), shards);
  } else {
    deal_rare(split, std::move(of_class), stream(seed, split, next_stream), shards);
  }
  return shards;
}

int main_class(WorkerId worker, int classes) {
  check(classes > 0 && worker.value >= 0, "a worker's main class is one of at least one");
  if (worker.value < classes) return worker.value;
  const int place = worker.value % classes;
  const int odd_classes = classes / 2;
  if (place < odd_classes) return 2 * place + 1;
  const int even = 2 * (place - odd_classes + 1);
  return even < classes ? even : 0;
}

}  // namespace huddle
