#include "huddle/collective/compiled_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace huddle {
namespace {

// Messages are not cut smaller than this for the sake of overlap: each costs something by itself.
constexpr std::int64_t kSmallestPiece = 16 << 10;

using Verb = Action::Verb;

bool is_same_stretch(const Message& one, const Message& other) {
  return one.begin == other.begin && one.end == other.end;
}

// Tells which earlier messages on the same elements must have ended before a later one may: one
// that sends waits for the last that wrote them, one that writes for all that have read them since.
// Sends of one and the same stretch go together; one of more or less than an earlier one belongs to
// a later step of the algorithm (doubling), and would take bandwidth from what everybody waits for.
class Dependencies {
 public:
  Dependencies(const std::vector<Message>& messages, std::int64_t elements) : messages_(messages) {
    std::set<std::int64_t> cuts{0, elements};
    for (const Message& message : messages) {
      cuts.insert(message.begin);
      cuts.insert(message.end);
    }
    for (const std::int64_t cut : cuts) stretches_[cut];
  }

  // Those that `message`, number `index`, waits for.
  std::set<int> note(const Message& message, int index) {
    std::set<int> earlier;
    for (auto entry = stretches_.find(message.begin); entry->first < message.end; ++entry) {
      Touched& touched = entry->second;
      const bool writes = message.verb != Verb::send;
      for (const int reader : touched.readers)
        if (writes || !is_same_stretch(messages_[static_cast<std::size_t>(reader)], message))
          earlier.insert(reader);
      // Readers have waited for the writer themselves.
      if (touched.writer >= 0 && (!writes || touched.readers.empty()))
        earlier.insert(touched.writer);
      if (writes)
        touched = {index, {}};
      else
        touched.readers.push_back(index);
    }
    return earlier;
  }

 private:
  struct Touched {
    int writer = -1;           // The last one; -1: nobody yet.
    std::vector<int> readers;  // Since then.
  };
  const std::vector<Message>& messages_;
  std::map<std::int64_t, Touched> stretches_;  // By first element, from one cut to the next.
};

// What is only to be added is put aside when it comes before its turn. But what follows an addition
// to more or fewer elements belongs to a later step of the algorithm (halving), as above.
bool comes_early(const std::vector<Message>& messages, const std::set<int>& earlier,
                 const Message& message) {
  return message.verb == Verb::add && std::ranges::none_of(earlier, [&](int index) {
           const Message& other = messages[static_cast<std::size_t>(index)];
           return other.verb != Verb::send && !is_same_stretch(other, message);
         });
}

// Which message waits for which.
struct Wait {
  int earlier = 0;
  int later = 0;
};

// Every message of a phase waits for all messages of the phase before it.
void separate_phases(const std::vector<int>& phase_of, std::vector<Wait>& waits) {
  std::map<int, std::vector<int>> by_phase;
  for (std::size_t i = 0; i < phase_of.size(); ++i)
    by_phase[phase_of[i]].push_back(static_cast<int>(i));
  for (auto later = by_phase.begin(); later != by_phase.end(); ++later) {
    if (later == by_phase.begin()) continue;
    for (const int earlier : std::prev(later)->second)
      for (const int message : later->second) waits.push_back({earlier, message});
  }
}

void enter(const std::vector<Wait>& waits, CompiledPlan& compiled) {
  compiled.first_woken.assign(compiled.messages.size() + 1, 0);
  for (const Wait& wait : waits) {
    ++compiled.first_woken[static_cast<std::size_t>(wait.earlier) + 1];
    ++compiled.messages[static_cast<std::size_t>(wait.later)].waits_for;
  }
  for (std::size_t i = 1; i < compiled.first_woken.size(); ++i)
    compiled.first_woken[i] += compiled.first_woken[i - 1];
  std::vector<int> next = compiled.first_woken;
  compiled.woken.resize(waits.size());
  for (const Wait& wait : waits) {
    int& place = next[static_cast<std::size_t>(wait.earlier)];
    compiled.woken[static_cast<std::size_t>(place++)] = wait.later;
  }
}

void queue_up(CompiledPlan& compiled) {
  std::map<std::pair<bool, int>, std::vector<int>> by_peer;  // By (sends, peer).
  for (std::size_t i = 0; i < compiled.messages.size(); ++i) {
    const Message& message = compiled.messages[i];
    by_peer[{message.verb == Verb::send, message.peer}].push_back(static_cast<int>(i));
  }
  for (auto& [key, messages] : by_peer) {
    for (const int index : messages)
      compiled.messages[static_cast<std::size_t>(index)].queue =
          static_cast<int>(compiled.queues.size());
    compiled.queues.push_back(std::move(messages));
  }
}

// Where the first `part` of `parts` like parts of the elements end.
std::int64_t cut_at(std::int64_t part, std::int64_t parts, std::int64_t elements,
                    std::int64_t unit) {
  const std::int64_t units = (elements + unit - 1) / unit;
  return std::min(elements, units * part / parts * unit);
}

}  // namespace

CompiledPlan compile(const Plan& plan, std::int64_t elements, const Cuts& cuts, Overlap overlap) {
  CompiledPlan compiled;
  compiled.is_cut_to_travel = plan.pieces > 1;
  std::vector<int> phase_of;
  compiled.messages.reserve(plan.actions.size());
  for (const Action& action : plan.actions) {
    const std::int64_t begin = cut_at(action.first, plan.segments, elements, cuts.unit);
    const std::int64_t size = cut_at(action.last, plan.segments, elements, cuts.unit) - begin;
    const auto counts_for =
        static_cast<std::int64_t>(static_cast<double>(size) * cuts.payload_scale);
    const std::int64_t wanted =
        std::clamp<std::int64_t>(counts_for / kSmallestPiece, 1, plan.pieces);
    const std::int64_t pieces =
        std::max<std::int64_t>(wanted, (size + cuts.message_elements - 1) / cuts.message_elements);
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const Message message{.verb = action.verb,
                            .peer = action.peer,
                            .begin = begin + cut_at(piece, pieces, size, cuts.unit),
                            .end = begin + cut_at(piece + 1, pieces, size, cuts.unit)};
      if (message.size() == 0) continue;
      compiled.messages.push_back(message);
      phase_of.push_back(action.phase);
    }
  }
  std::vector<Wait> waits;
  Dependencies dependencies(compiled.messages, elements);
  for (std::size_t i = 0; i < compiled.messages.size(); ++i) {
    const Message& message = compiled.messages[i];
    compiled.largest_message = std::max(compiled.largest_message, message.size());
    if (message.verb == Verb::send) {
      compiled.elements_sent += message.size();
      ++compiled.messages_sent;
    }
    const std::set<int> earlier = dependencies.note(message, static_cast<int>(i));
    compiled.messages[i].comes_early = comes_early(compiled.messages, earlier, message);
    for (const int each : earlier) waits.push_back({each, static_cast<int>(i)});
  }
  if (overlap == Overlap::none) separate_phases(phase_of, waits);
  enter(waits, compiled);
  queue_up(compiled);
  return compiled;
}

}  // namespace huddle
