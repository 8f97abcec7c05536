#include "huddle/transport/ucx/ucx_reference.h"

#include <ucp/api/ucp.h>

#include <algorithm>
#include <thread>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

void require_ok(ucs_status_t status) {
  if (status != UCS_OK) throw TransportError(concat("UCX: ", ucs_status_string(status)));
}

}  // namespace

class UcxReference::Connections {
 public:
  explicit Connections(
      const std::function<std::vector<std::string>(const std::string&)>& exchange) {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_TAG;
    require_ok(ucp_init(&params, nullptr, &context_));
    ucp_worker_params_t worker{};
    require_ok(ucp_worker_create(context_, &worker, &worker_));
    ucp_address_t* address = nullptr;
    std::size_t size = 0;
    require_ok(ucp_worker_get_address(worker_, &address, &size));
    const std::string own(reinterpret_cast<const char*>(address), size);
    ucp_worker_release_address(worker_, address);
    for (const std::string& other : exchange(own)) {
      ucp_ep_params_t peer{};
      peer.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
      peer.address = reinterpret_cast<const ucp_address_t*>(other.data());
      peer.err_mode = UCP_ERR_HANDLING_MODE_PEER;
      peer.err_handler = {[](void*, ucp_ep_h, ucs_status_t) {}, nullptr};
      require_ok(ucp_ep_create(worker_, &peer, &peers_.emplace_back()));
    }
  }

  ~Connections() {
    for (const ucp_ep_h peer : peers_) {
      ucp_request_param_t how{};
      how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
      how.flags = UCP_EP_CLOSE_FLAG_FORCE;
      wait(ucp_ep_close_nbx(peer, &how));
    }
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
  }

  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  struct Part {
    int peer = 0;
    void* place = nullptr;
    std::size_t bytes = 0;
  };

  // The tag is the sender: messages between two workers come in their order.
  void exchange(int self, const Part& out, const Part& in) {
    const ucp_request_param_t how{};
    const auto to = static_cast<std::size_t>(out.peer);
    void* const receiving =
        ucp_tag_recv_nbx(worker_, in.place, in.bytes, static_cast<ucp_tag_t>(in.peer), ~0ULL, &how);
    void* const sending =
        ucp_tag_send_nbx(peers_[to], out.place, out.bytes, static_cast<ucp_tag_t>(self), &how);
    wait(sending);
    wait(receiving);
  }

 private:
  // Whoever spins on a machine with fewer cores than workers keeps the other from answering.
  void wait(void* request) {
    if (request == nullptr) return;
    check(!UCS_PTR_IS_ERR(request), "an exchange of UCX failed");
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
      if (ucp_worker_progress(worker_) == 0) std::this_thread::yield();
    const ucs_status_t status = ucp_request_check_status(request);
    ucp_request_free(request);
    require_ok(status);
  }

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::vector<ucp_ep_h> peers_;  // By worker; one's own among them, unused.
};

UcxReference::UcxReference(
    int self, const std::function<std::vector<std::string>(const std::string&)>& exchange)
    : connections_(std::make_unique<Connections>(exchange)), self_(self) {}

UcxReference::~UcxReference() = default;

void UcxReference::pass_around(const std::vector<int>& members, void* values, std::size_t bytes) {
  const std::size_t count = members.size();
  const auto place = static_cast<std::size_t>(std::ranges::find(members, self_) - members.begin());
  const std::size_t messages = count == 2 ? 1 : 2 * (count - 1);
  const std::size_t part = count == 2 ? bytes : (bytes + count - 1) / count;
  scratch_.resize(std::max(scratch_.size(), part));
  for (std::size_t i = 0; i < messages; ++i)
    connections_->exchange(self_, {members[(place + 1) % count], values, part},
                           {members[(place + count - 1) % count], scratch_.data(), part});
}

}  // namespace huddle
