#include "huddle/transport/process/letters.h"

namespace huddle {

void Letter::keep() {
  if (!kept_.empty()) return;
  kept_.assign(data_.begin(), data_.end());
  data_ = kept_;
}

std::span<std::byte> Letter::room() {
  kept_.resize(envelope.bytes);
  data_ = kept_;
  return kept_;
}

void EarlyLetters::add(const std::shared_ptr<Letter>& letter) {
  letters_.insert(letter);
  bytes_ += letter->bytes_here;
}

void EarlyLetters::remove(const std::shared_ptr<Letter>& letter) {
  if (letters_.erase(letter) > 0) bytes_ -= letter->bytes_here;
}

void EarlyLetters::clear() {
  letters_.clear();
  bytes_ = 0;
}

}  // namespace huddle
