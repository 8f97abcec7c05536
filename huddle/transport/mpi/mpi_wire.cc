#include "huddle/transport/mpi/mpi_wire.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <utility>
#include <vector>

#include "huddle/base/error.h"
#include "huddle/base/text.h"

namespace huddle {
namespace {

// What arrives with its header: more costs a copy, less a second message.
constexpr std::size_t kSmall = 16 << 10;
constexpr std::size_t kLongestHeader = 64;

// In front of our header: how long it and the data are, and under which number the data follows.
struct Front {
  std::uint64_t header = 0;
  std::uint64_t bytes = 0;
  std::uint64_t number = 0;
};
constexpr std::size_t kLongestMessage = sizeof(Front) + kLongestHeader + kSmall;

// Tags: all headers have one, and data has one of many, so that what is fetched out of order finds
// its place. MPI promises 32,767.
constexpr int kHeaderTag = 1;
constexpr int kFirstDataTag = 2;
constexpr std::uint64_t kDataTags = 32'000;

// MPI counts in int.
constexpr std::size_t kLongestPiece = std::size_t{1} << 30;

// How many headers may arrive while nobody looks.
constexpr std::size_t kPosted = 8;

std::string message_of(int error) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(error, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

void require_ok(int error, const char* what) {
  if (error != MPI_SUCCESS)
    throw TransportError(concat("MPI: ", what, " failed: ", message_of(error)));
}

class MpiWire final : public Wire {
 public:
  explicit MpiWire(MPI_Comm processes);
  ~MpiWire() override;

  void send(WorkerId to, std::span<const std::byte> header, std::span<const std::byte> data,
            Done done) override;
  void fetch(Handle waiting, std::span<std::byte> into, Done done) override;
  void let_go(Handle waiting) override { announced_.erase(announced_of(waiting)); }
  void hang_up(WorkerId) override {}  // There is no way to.
  bool progress(Listener& listener) override;
  Sleep prepare_sleep() override { return Sleep::blind; }
  int descriptor() const override { return -1; }

 private:
  // Requests that end together.
  struct Operation {
    std::vector<MPI_Request> requests;
    std::vector<std::byte> message;  // Header and small data, as they travel.
    Done done;
  };

  struct Announced {
    int from = 0;
    int tag = 0;
  };

  struct Posted {
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<std::byte> message = std::vector<std::byte>(kLongestMessage);
  };

  std::list<Announced>::iterator announced_of(Handle waiting) {
    return std::ranges::find_if(announced_, [&](const Announced& each) {
      return reinterpret_cast<Handle>(&each) == waiting;
    });
  }
  void post(Posted& posted);
  bool take_message(Listener& listener);
  bool end_operations();
  void add_pieces(Operation& operation, std::byte* data, std::size_t bytes, int peer, int tag,
                  bool sends);

  MPI_Comm processes_;
  std::deque<Posted> posted_;  // In the order in which messages fill them.
  std::list<Operation> operations_;
  std::list<Announced> announced_;
  std::uint64_t data_sent_ = 0;
};

MpiWire::MpiWire(MPI_Comm processes) : processes_(processes) {
  MPI_Comm_set_errhandler(processes_, MPI_ERRORS_RETURN);
  for (std::size_t i = 0; i < kPosted; ++i) post(posted_.emplace_back());
}

// What nobody will receive any more is taken back where MPI can; a send cannot be.
MpiWire::~MpiWire() {
  for (Posted& posted : posted_) {
    MPI_Cancel(&posted.request);
    MPI_Wait(&posted.request, MPI_STATUS_IGNORE);
  }
  for (Operation& operation : operations_)
    for (MPI_Request& request : operation.requests)
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  // Its memory may still be read: it is left to the process.
  new std::list<Operation>(std::move(operations_));
  MPI_Comm_free(&processes_);
}

void MpiWire::post(Posted& posted) {
  require_ok(MPI_Irecv(posted.message.data(), static_cast<int>(posted.message.size()), MPI_BYTE,
                       MPI_ANY_SOURCE, kHeaderTag, processes_, &posted.request),
             "listening");
}

void MpiWire::add_pieces(Operation& operation, std::byte* data, std::size_t bytes, int peer,
                         int tag, bool sends) {
  for (std::size_t begin = 0; begin < bytes; begin += kLongestPiece) {
    const int size = static_cast<int>(std::min(kLongestPiece, bytes - begin));
    MPI_Request& request = operation.requests.emplace_back();
    require_ok(sends ? MPI_Isend(data + begin, size, MPI_BYTE, peer, tag, processes_, &request)
                     : MPI_Irecv(data + begin, size, MPI_BYTE, peer, tag, processes_, &request),
               sends ? "sending" : "receiving");
  }
}

void MpiWire::send(WorkerId to, std::span<const std::byte> header, std::span<const std::byte> data,
                   Done done) {
  check(header.size() <= kLongestHeader, "a header is too long for this wire");
  const bool is_small = data.size() <= kSmall;
  const Front front{header.size(), data.size(), is_small ? 0 : ++data_sent_};
  Operation& operation = operations_.emplace_back();
  operation.done = std::move(done);
  operation.message.resize(sizeof front + header.size() + (is_small ? data.size() : 0));
  std::memcpy(operation.message.data(), &front, sizeof front);
  std::memcpy(operation.message.data() + sizeof front, header.data(), header.size());
  if (is_small && !data.empty())
    std::memcpy(operation.message.data() + sizeof front + header.size(), data.data(), data.size());
  add_pieces(operation, operation.message.data(), operation.message.size(), to.value, kHeaderTag,
             true);
  if (!is_small)
    add_pieces(operation, const_cast<std::byte*>(data.data()), data.size(), to.value,
               kFirstDataTag + static_cast<int>(front.number % kDataTags), true);
}

void MpiWire::fetch(Handle waiting, std::span<std::byte> into, Done done) {
  const auto announced = announced_of(waiting);
  check(announced != announced_.end(), "data is fetched that nobody has announced");
  Operation& operation = operations_.emplace_back();
  operation.done = std::move(done);
  add_pieces(operation, into.data(), into.size(), announced->from, announced->tag, false);
  announced_.erase(announced);
}

bool MpiWire::take_message(Listener& listener) {
  int is_there = 0;
  MPI_Status status{};
  Posted& first = posted_.front();
  require_ok(MPI_Test(&first.request, &is_there, &status), "receiving");
  if (is_there == 0) return false;
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  const std::span<const std::byte> message(first.message.data(), static_cast<std::size_t>(count));
  Front front;
  check(message.size() >= sizeof front, "a message is shorter than its front");
  std::memcpy(&front, message.data(), sizeof front);
  const std::span<const std::byte> rest = message.subspan(sizeof front);
  check(front.header <= rest.size(), "a message is shorter than its header");
  Arrival arrival{.header = rest.first(front.header), .bytes = front.bytes};
  if (front.number == 0) {
    arrival.data = rest.subspan(front.header);
  } else {
    const Announced& announced = announced_.emplace_back(
        Announced{status.MPI_SOURCE, kFirstDataTag + static_cast<int>(front.number % kDataTags)});
    arrival.waiting = reinterpret_cast<Handle>(&announced);
  }
  listener.arrived(arrival);
  posted_.push_back(std::move(posted_.front()));
  posted_.pop_front();
  post(posted_.back());
  return true;
}

bool MpiWire::end_operations() {
  bool any = false;
  for (auto each = operations_.begin(); each != operations_.end();) {
    int have_ended = 0;
    const int error = MPI_Testall(static_cast<int>(each->requests.size()), each->requests.data(),
                                  &have_ended, MPI_STATUSES_IGNORE);
    if (error == MPI_SUCCESS && have_ended == 0) {
      ++each;
      continue;
    }
    // Taken out first: whoever is told may begin another one.
    std::list<Operation> ended;
    const auto next = std::next(each);
    ended.splice(ended.begin(), operations_, each);
    each = next;
    ended.front().done(error == MPI_SUCCESS ? std::string() : message_of(error));
    any = true;
  }
  return any;
}

bool MpiWire::progress(Listener& listener) {
  bool any = false;
  while (take_message(listener)) any = true;
  return end_operations() || any;
}

}  // namespace

MpiPlace mpi_place() {
  int has_begun = 0;
  MPI_Initialized(&has_begun);
  if (has_begun == 0) {
    int offered = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &offered);
    if (offered < MPI_THREAD_SERIALIZED)
      throw UsageError(
          "this MPI lets only one thread of a process call it, and Huddle has several that take "
          "turns (MPI_THREAD_SERIALIZED): use another MPI, or --engine ucx.");
    std::atexit([] {
      int has_ended = 0;
      MPI_Finalized(&has_ended);
      if (has_ended == 0) MPI_Finalize();
    });
  }
  MpiPlace place;
  MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &place.size);
  return place;
}

std::unique_ptr<Wire> make_mpi_wire(int workers) {
  const MpiPlace place = mpi_place();
  MPI_Comm processes = MPI_COMM_NULL;
  require_ok(MPI_Comm_split(MPI_COMM_WORLD, place.rank < workers ? 0 : MPI_UNDEFINED, place.rank,
                            &processes),
             "connecting");
  if (processes == MPI_COMM_NULL) return nullptr;
  return std::make_unique<MpiWire>(processes);
}

}  // namespace huddle
