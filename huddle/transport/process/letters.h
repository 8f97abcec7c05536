// Messages that have come from other processes, and what of them waits for its turn: the messages
// of a sender are seen to in the order in which it sent them, in whatever order they come.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "huddle/transport/local/outside.h"
#include "huddle/transport/process/envelope.h"
#include "huddle/transport/process/wire.h"

namespace huddle {

// A message: its data, kept here or waiting at its sender.
class Letter final : public Cargo {
 public:
  struct Coming {
    std::uint64_t number = 0;  // Of all that have come.
    Time at = 0;
  };

  // The wire outlives it.
  Letter(Wire& wire, const Envelope& front, const Wire::Arrival& arrival, Coming coming)
      : envelope(front),
        number(coming.number),
        at(coming.at),
        bytes_here(sizeof(Letter) + arrival.data.size()),
        wire_(wire),
        data_(arrival.data),
        waiting_(arrival.waiting) {}
  ~Letter() override {
    if (waiting_) wire_.let_go(*waiting_);
  }
  Letter(const Letter&) = delete;
  Letter& operator=(const Letter&) = delete;

  std::size_t bytes() const override { return envelope.bytes; }
  int type() const override { return envelope.type; }
  Time arrived_at() const override { return at; }

  // The wire's own memory is about to be gone.
  void keep();

  // Where data that waits can be fetched to.
  std::span<std::byte> room();

  std::span<const std::byte> data() const { return data_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(data_.data()), data_.size()};
  }
  std::optional<Wire::Handle> take_waiting() { return std::exchange(waiting_, std::nullopt); }
  bool waits() const { return waiting_.has_value(); }
  bool is_words() const { return envelope.kind != Envelope::Kind::message; }

  const Envelope envelope;
  const std::uint64_t number;
  const Time at;
  const std::size_t bytes_here;  // What it takes while it waits for its turn.

 private:
  Wire& wire_;
  std::span<const std::byte> data_;
  std::vector<std::byte> kept_;
  std::optional<Wire::Handle> waiting_;
};

// Those of one sender that wait for their turn, by it. Several may claim one turn, of which one is
// the sender's: they stand in the order of their coming.
class EarlyLetters {
 public:
  bool empty() const { return letters_.empty(); }
  const std::shared_ptr<Letter>& first() const { return *letters_.begin(); }
  std::size_t bytes() const { return bytes_; }
  bool hold(const std::shared_ptr<Letter>& letter) const { return letters_.contains(letter); }

  void add(const std::shared_ptr<Letter>& letter);
  void remove(const std::shared_ptr<Letter>& letter);  // Unless it waits no longer.
  void clear();

 private:
  struct ByTurn {
    bool operator()(const std::shared_ptr<Letter>& a, const std::shared_ptr<Letter>& b) const {
      return std::pair(a->envelope.sequence, a->number) <
             std::pair(b->envelope.sequence, b->number);
    }
  };

  std::set<std::shared_ptr<Letter>, ByTurn> letters_;
  std::size_t bytes_ = 0;
};

}  // namespace huddle
