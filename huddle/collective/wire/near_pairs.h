// The average of two who are near to one another already, at one byte a number: only the low bits
// of their numbers travel, and each takes for the others those that bring the partner nearest.
// Published as Moniqua (modulo quantisation). Block by block, with a bound B on |x_i - x_j|:
//
//   d = 2B / 255,  k = round(x / d);      k mod 256 travels
//   D = k_j - k_i, of which only D mod 256 is known: the one from -127 to 127
//   x_i <- x_i + D d / 2                  x_i + (mean of q(x) - q(x_i)) with q(x) = k d
//
// So the sum of both stays what it was. B is twice the largest difference that the pair saw in this
// block at its last meeting, which both know. A checksum of the true k tells whether the bound
// held: both see the same, and where it did not, both keep their own values this time and send the
// block as bfloat16 the next time, as they do when they first meet or have seen no difference.
//
// Cost: one message each way, of 1 byte a number (2 in bfloat16) and 4 a block.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "huddle/base/group.h"
#include "huddle/record/meter.h"
#include "huddle/transport/endpoint.h"

namespace huddle {

// Averages in one lane of one worker, one at a time.
class NearPairs {
 public:
  NearPairs(Deadline deadline, Lane lane) : deadline_(deadline), lane_(lane) {}

  // Both members call this with tensors of one size and type, the same sequence number, the same
  // name `part` for what they average and the same weights (by position; none: the plain mean; they
  // add up to 1). `tensor` is 1-D and contiguous and changes in place. Alone: nothing happens.
  // Throws PeerLost or Timeout with the tensor as it was.
  Exchange average(Endpoint& endpoint, const Group& pair, const at::Tensor& tensor,
                   Sequence sequence, int part, std::span<const double> weights = {});

  // The bounds, which a resumed run needs.
  std::map<std::string, at::Tensor> tensors() const;
  void load(const std::map<std::string, at::Tensor>& tensors);

 private:
  // Of each block with a partner, by (partner, part); 0: it travels as bfloat16.
  using Bounds = std::vector<double>;

  Exchange swap(Endpoint& endpoint, const Group& pair, Sequence sequence,
                const at::Tensor& outgoing, const at::Tensor& incoming);

  const Deadline deadline_;
  const Lane lane_;
  std::map<std::pair<int, int>, Bounds> bounds_;
  at::Tensor outgoing_;
  at::Tensor incoming_;
};

}  // namespace huddle
