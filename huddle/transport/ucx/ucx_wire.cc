#include "huddle/transport/ucx/ucx_wire.h"

#include <ucp/api/ucp.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <unordered_map>
#include <utility>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

constexpr unsigned kMessageId = 1;
constexpr std::size_t kLongestHeader = 64;
constexpr std::size_t kSmall = 16 << 10;

// How often in a row, with nothing to see to, UCX may be too busy to be slept on before it is
// looked at less often: while something waits for room at a peer, it is for as long as that peer
// sleeps.
constexpr int kBusyLooks = 100;

// How often UCX asks whether peers that say nothing are still there.
constexpr const char* kKeepAlive = "500ms";

void require_ok(ucs_status_t status, const char* what) {
  if (status != UCS_OK)
    throw UsageError(concat("UCX: ", what, " failed: ", ucs_status_string(status),
                            "; `ucx_info -d` shows what this machine offers, and UCX_TLS what is "
                            "to be used of it."));
}

std::string trouble_of(ucs_status_t status) {
  return status == UCS_OK ? std::string() : ucs_status_string(status);
}

// What UCX is to use, as it has understood it. It warns of settings for what it is not to use.
bool may_share_memory(const ucp_config_t* config) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const stream = ::open_memstream(&text, &size);
  if (stream == nullptr) return true;
  ucp_config_print(config, stream, nullptr, UCS_CONFIG_PRINT_CONFIG);
  std::fclose(stream);
  const std::string all(text, size);
  std::free(text);
  const std::size_t begin = all.find("UCX_TLS=");
  const std::string kinds = all.substr(begin, all.find('\n', begin) - begin) + ",";
  return begin == std::string::npos ||
         std::ranges::any_of(
             std::array{"all,", "sm,", "shm,", "mm,", "posix,", "sysv,"},
             [&](const char* kind) { return kinds.find(kind) != std::string::npos; });
}

class UcxWire final : public Wire {
 public:
  UcxWire(WorkerId self, int workers, const ExchangeAddresses& exchange);
  ~UcxWire() override;

  void send(WorkerId to, std::span<const std::byte> header, std::span<const std::byte> data,
            Done done) override;
  void fetch(WorkerId from, Handle waiting, std::span<std::byte> into, Done done) override;
  void let_go(Handle waiting) override;
  void hang_up(WorkerId peer, const std::string& why) override;
  bool progress(Listener& listener) override;
  Sleep prepare_sleep() override;
  int descriptor() const override { return descriptor_; }

 private:
  // Something under way: what UCX may read of ours until it has ended, and whom to tell then.
  struct Operation {
    UcxWire* wire = nullptr;
    WorkerId peer;
    char header[kLongestHeader];
    Done done;
    bool is_orphan = false;  // Its end was told, but UCX still has it, and what `done` holds.
  };

  // One for the large data of each direction: UCX sends in order, so on a common one over TCP the
  // word that lets the peer send would wait until all data that is under way to it has left. What
  // is small takes the way of those words: it overtakes large data, and a goodbye arrives before
  // the end of what was not fetched.
  struct Connection {
    UcxWire* wire = nullptr;
    WorkerId peer;
    ucp_ep_h out = nullptr;
    ucp_ep_h in = nullptr;

    bool is_open() const { return out != nullptr; }
  };

  Operation* take(WorkerId peer, Done done);
  void end(Operation* operation, ucs_status_t status);
  void follow(ucs_status_ptr_t request, Operation* operation);
  void connect(Connection& connection, const std::string& address, WorkerId self);
  void close(Connection& connection, const std::string& why);

  static void on_sent(void* request, ucs_status_t status, void* operation);
  static void on_fetched(void* request, ucs_status_t status, std::size_t bytes, void* operation);
  static ucs_status_t on_message(void* wire, const void* header, std::size_t header_size,
                                 void* data, std::size_t size, const ucp_am_recv_param_t* how);
  static void on_error(void* connection, ucp_ep_h endpoint, ucs_status_t status);

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int descriptor_ = -1;
  std::vector<std::unique_ptr<Connection>> connections_;  // By worker.
  std::vector<std::unique_ptr<Operation>> operations_;    // All that there ever were,
  std::vector<Operation*> free_;                          // and those of no use right now.
  std::deque<std::pair<WorkerId, std::string>> gone_;     // To be told, the first cause first.
  std::vector<void*> closing_;
  Listener* listener_ = nullptr;  // While progress is made.
  Handle arriving_ = 0;           // The data of the message whose callback runs, if it waits,
  bool is_let_go_ = false;        // and whether nobody wants it.
  int busy_looks_ = 0;            // Since something was told.
};

UcxWire::UcxWire(WorkerId self, int workers, const ExchangeAddresses& exchange) {
  ucp_config_t* config = nullptr;
  require_ok(ucp_config_read(nullptr, nullptr, &config), "reading its settings");
  // Shared memory reports failures, too, if it is asked to; else it would not be used. UCX takes
  // this from its variables alone; those that are set stay.
  if (may_share_memory(config))
    for (const char* name : {"UCX_POSIX_ERROR_HANDLING", "UCX_SYSV_ERROR_HANDLING"})
      ::setenv(name, "y", 0);
  ucp_config_modify(config, "KEEPALIVE_INTERVAL", kKeepAlive);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.estimated_num_eps = static_cast<std::size_t>(workers);
  const ucs_status_t initialised = ucp_init(&params, config, &context_);
  ucp_config_release(config);
  require_ok(initialised, "starting");
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  require_ok(ucp_worker_create(context_, &worker, &worker_), "opening the network");
  require_ok(ucp_worker_get_efd(worker_, &descriptor_), "getting a descriptor to sleep on");
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kMessageId;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.cb = on_message;
  handler.arg = this;
  require_ok(ucp_worker_set_am_recv_handler(worker_, &handler), "listening");

  ucp_address_t* address = nullptr;
  std::size_t size = 0;
  require_ok(ucp_worker_get_address(worker_, &address, &size), "telling its address");
  const std::string own(reinterpret_cast<const char*>(address), size);
  ucp_worker_release_address(worker_, address);
  const std::vector<std::string> addresses = exchange(own);
  check(std::ssize(addresses) == workers, "there is not an address for each worker");
  for (int peer = 0; peer < workers; ++peer) {
    connections_.push_back(std::make_unique<Connection>(Connection{this, {peer}}));
    if (WorkerId{peer} != self)
      connect(*connections_.back(), addresses[static_cast<std::size_t>(peer)], self);
  }
}

// Both sides make both in the same order, and that is how they are matched.
void UcxWire::connect(Connection& connection, const std::string& address, WorkerId self) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {on_error, &connection};
  ucp_ep_h* const first = self < connection.peer ? &connection.out : &connection.in;
  ucp_ep_h* const second = self < connection.peer ? &connection.in : &connection.out;
  for (ucp_ep_h* const endpoint : {first, second})
    require_ok(ucp_ep_create(worker_, &params, endpoint), "connecting to a worker");
}

// What peers had under way with this process they learn of by the connection's end.
UcxWire::~UcxWire() {
  for (const auto& connection : connections_) close(*connection, "the run is over");
  constexpr int kLooks = 10'000;
  for (int i = 0; i < kLooks && !closing_.empty(); ++i) {
    ucp_worker_progress(worker_);
    std::erase_if(closing_, [](void* request) {
      if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
      ucp_request_free(request);
      return true;
    });
  }
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

// UCX leaves some of what was under way with a peer that died without an end: it is told here.
void UcxWire::close(Connection& connection, const std::string& why) {
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = UCP_EP_CLOSE_FLAG_FORCE;
  for (ucp_ep_h* const endpoint : {&connection.out, &connection.in}) {
    if (*endpoint == nullptr) continue;
    const ucs_status_ptr_t closing = ucp_ep_close_nbx(std::exchange(*endpoint, nullptr), &how);
    if (UCS_PTR_IS_PTR(closing)) closing_.push_back(closing);
  }
  std::vector<Done> told;
  for (const auto& operation : operations_) {
    if (!operation->done || operation->peer != connection.peer || operation->is_orphan) continue;
    told.push_back(operation->done);  // A copy: what it holds is what UCX may write to.
    operation->is_orphan = true;
  }
  for (const Done& done : told) done(why);
}

UcxWire::Operation* UcxWire::take(WorkerId peer, Done done) {
  if (free_.empty()) free_.push_back(operations_.emplace_back(std::make_unique<Operation>()).get());
  Operation* const operation = free_.back();
  free_.pop_back();
  operation->wire = this;
  operation->peer = peer;
  operation->done = std::move(done);
  return operation;
}

void UcxWire::end(Operation* operation, ucs_status_t status) {
  busy_looks_ = 0;
  const Done done = std::exchange(operation->done, nullptr);
  free_.push_back(operation);
  if (!std::exchange(operation->is_orphan, false)) done(trouble_of(status));
}

// Once UCX has taken or refused an operation: it ends now, or its callback will say when.
void UcxWire::follow(ucs_status_ptr_t request, Operation* operation) {
  if (!UCS_PTR_IS_PTR(request)) end(operation, UCS_PTR_STATUS(request));
}

void UcxWire::on_sent(void* request, ucs_status_t status, void* operation) {
  auto* const ended = static_cast<Operation*>(operation);
  ucp_request_free(request);
  ended->wire->end(ended, status);
}

void UcxWire::on_fetched(void* request, ucs_status_t status, std::size_t, void* operation) {
  on_sent(request, status, operation);
}

void UcxWire::send(WorkerId to, std::span<const std::byte> header, std::span<const std::byte> data,
                   Done done) {
  check(header.size() <= kLongestHeader, "a header is too long for this wire");
  const Connection& connection = *connections_[static_cast<std::size_t>(to.value)];
  const ucp_ep_h endpoint = data.size() > kSmall ? connection.out : connection.in;
  if (endpoint == nullptr) return done("the connection has ended");
  Operation* const operation = take(to, std::move(done));
  std::memcpy(operation->header, header.data(), header.size());
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  how.cb.send = on_sent;
  how.user_data = operation;
  follow(ucp_am_send_nbx(endpoint, kMessageId, operation->header, header.size(), data.data(),
                         data.size(), &how),
         operation);
}

void UcxWire::fetch(WorkerId from, Handle waiting, std::span<std::byte> into, Done done) {
  if (!connections_[static_cast<std::size_t>(from.value)]->is_open())
    return done("the connection has ended");
  Operation* const operation = take(from, std::move(done));
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  how.cb.recv_am = on_fetched;
  how.user_data = operation;
  follow(ucp_am_recv_data_nbx(worker_, reinterpret_cast<void*>(waiting), into.data(), into.size(),
                              &how),
         operation);
}

// Data may not be released while its callback runs: what that returns says so instead.
void UcxWire::let_go(Handle waiting) {
  if (waiting == arriving_)
    is_let_go_ = true;
  else
    ucp_am_data_release(worker_, reinterpret_cast<void*>(waiting));
}

ucs_status_t UcxWire::on_message(void* self, const void* header, std::size_t header_size,
                                 void* data, std::size_t size, const ucp_am_recv_param_t* how) {
  auto* const wire = static_cast<UcxWire*>(self);
  if (wire->listener_ == nullptr) return UCS_OK;  // The wire is being closed.
  Arrival arrival{.header = {static_cast<const std::byte*>(header), header_size}, .bytes = size};
  const bool waits = (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  if (waits)
    arrival.waiting = reinterpret_cast<Handle>(data);
  else
    arrival.data = {static_cast<const std::byte*>(data), size};
  wire->busy_looks_ = 0;
  wire->arriving_ = arrival.waiting.value_or(0);
  wire->is_let_go_ = false;
  wire->listener_->arrived(arrival);
  wire->arriving_ = 0;
  return waits && !wire->is_let_go_ ? UCS_INPROGRESS : UCS_OK;
}

// Told later: an end may be noticed in the middle of a send, where nobody expects to hear of it.
void UcxWire::on_error(void* self, ucp_ep_h, ucs_status_t status) {
  auto* const connection = static_cast<Connection*>(self);
  connection->wire->gone_.emplace_back(
      connection->peer, concat("its connection ended (", ucs_status_string(status), ")"));
}

void UcxWire::hang_up(WorkerId peer, const std::string& why) {
  Connection& connection = *connections_[static_cast<std::size_t>(peer.value)];
  if (connection.is_open()) gone_.emplace_back(peer, why);
}

bool UcxWire::progress(Listener& listener) {
  listener_ = &listener;
  bool any = false;
  // Some at a time: whoever shares the lock wants to go on, too.
  for (int i = 0; i < 16 && ucp_worker_progress(worker_) != 0; ++i) any = true;
  while (!gone_.empty()) {
    const auto [peer, why] = gone_.front();
    gone_.pop_front();
    Connection& connection = *connections_[static_cast<std::size_t>(peer.value)];
    if (!connection.is_open()) continue;
    close(connection, why);
    listener.gone(peer, why);
    any = true;
  }
  listener_ = nullptr;
  return any;
}

Wire::Sleep UcxWire::prepare_sleep() {
  if (!gone_.empty()) return Sleep::busy;
  if (ucp_worker_arm(worker_) == UCS_OK) return Sleep::armed;
  return ++busy_looks_ <= kBusyLooks ? Sleep::busy : Sleep::blind;
}

}  // namespace

std::unique_ptr<Wire> make_ucx_wire(WorkerId self, int workers, const ExchangeAddresses& exchange) {
  return std::make_unique<UcxWire>(self, workers, exchange);
}

}  // namespace huddle
