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

// How often in a row, with nothing to see to, one looks for what is under way before one looks less
// often: some seconds, after which the peer must be asleep.
constexpr int kBusyLooks = 10'000;

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
  void fetch(WorkerId from, Handle waiting, std::span<std::byte> into, Done done) override;
  void let_go(Handle waiting) override;
  void hang_up(WorkerId peer, const std::string& why) override;
  void leave_others_behind() override;
  bool progress(Listener& listener) override;
  Sleep prepare_sleep() override;
  int descriptor() const override { return -1; }

 private:
  // Requests that end together.
  struct Operation {
    int peer = 0;
    std::vector<MPI_Request> requests;
    std::vector<std::byte> message;  // Header and small data, as they travel.
    std::string trouble;             // What went wrong when it began.
    Done done;
  };

  struct Announced {
    int from = 0;
    int tag = 0;
    std::size_t bytes = 0;
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
  bool post(Posted& posted);
  void lose(int peer, const std::string& why);
  bool take_message(Listener& listener);
  bool end_operations();
  Operation& begin(int peer, Done done);
  void add_pieces(Operation& operation, std::byte* data, std::size_t bytes, int tag, bool sends);

  MPI_Comm processes_;
  std::deque<Posted> posted_;  // In the order in which messages fill them.
  std::list<Operation> operations_;
  std::list<Announced> announced_;
  std::list<Operation> orphans_;  // Given up, yet MPI may still read and write what they hold.
  std::vector<std::pair<int, std::string>> gone_;  // To be told.
  std::uint64_t data_sent_ = 0;
  int busy_looks_ = 0;    // Since there was something to see to.
  bool is_left_ = false;  // Somebody will not end.
};

// With which status all processes of the job end with this one; 0: MPI ends in good order.
int& status_at_exit() {
  static int status = 0;
  return status;
}

MpiWire::MpiWire(MPI_Comm processes) : processes_(processes) {
  MPI_Comm_set_errhandler(processes_, MPI_ERRORS_RETURN);
  for (std::size_t i = 0; i < kPosted; ++i)
    if (!post(posted_.emplace_back())) throw TransportError("MPI: listening failed");
}

// What nobody will receive any more is taken back where MPI can; a send cannot be. Of what it may
// still touch the memory is left to the process.
MpiWire::~MpiWire() {
  operations_.splice(operations_.end(), orphans_);
  for (Operation& operation : operations_)
    for (MPI_Request& request : operation.requests)
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  if (is_left_) {
    new std::deque<Posted>(std::move(posted_));
  } else {
    for (Posted& posted : posted_) {
      if (posted.request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&posted.request);
      MPI_Wait(&posted.request, MPI_STATUS_IGNORE);
    }
  }
  new std::list<Operation>(std::move(operations_));
  if (!is_left_) MPI_Comm_free(&processes_);
}

void MpiWire::leave_others_behind() {
  is_left_ = true;
  end_job_at_exit(1);
}

bool MpiWire::post(Posted& posted) {
  return MPI_Irecv(posted.message.data(), static_cast<int>(posted.message.size()), MPI_BYTE,
                   MPI_ANY_SOURCE, kHeaderTag, processes_, &posted.request) == MPI_SUCCESS;
}

void MpiWire::lose(int peer, const std::string& why) { gone_.emplace_back(peer, why); }

MpiWire::Operation& MpiWire::begin(int peer, Done done) {
  Operation& operation = operations_.emplace_back();
  operation.peer = peer;
  operation.done = std::move(done);
  return operation;
}

void MpiWire::add_pieces(Operation& operation, std::byte* data, std::size_t bytes, int tag,
                         bool sends) {
  for (std::size_t at = 0; at < bytes; at += kLongestPiece) {
    const int size = static_cast<int>(std::min(kLongestPiece, bytes - at));
    MPI_Request& request = operation.requests.emplace_back(MPI_REQUEST_NULL);
    const int error =
        sends ? MPI_Isend(data + at, size, MPI_BYTE, operation.peer, tag, processes_, &request)
              : MPI_Irecv(data + at, size, MPI_BYTE, operation.peer, tag, processes_, &request);
    if (error == MPI_SUCCESS) continue;
    operation.trouble = message_of(error);
    return lose(operation.peer, operation.trouble);
  }
}

void MpiWire::send(WorkerId to, std::span<const std::byte> header, std::span<const std::byte> data,
                   Done done) {
  check(header.size() <= kLongestHeader, "a header is too long for this wire");
  const bool is_small = data.size() <= kSmall;
  const Front front{header.size(), data.size(), is_small ? 0 : ++data_sent_};
  Operation& operation = begin(to.value, std::move(done));
  operation.message.resize(sizeof front + header.size() + (is_small ? data.size() : 0));
  std::memcpy(operation.message.data(), &front, sizeof front);
  std::memcpy(operation.message.data() + sizeof front, header.data(), header.size());
  if (is_small && !data.empty())
    std::memcpy(operation.message.data() + sizeof front + header.size(), data.data(), data.size());
  add_pieces(operation, operation.message.data(), operation.message.size(), kHeaderTag, true);
  if (!is_small)
    add_pieces(operation, const_cast<std::byte*>(data.data()), data.size(),
               kFirstDataTag + static_cast<int>(front.number % kDataTags), true);
}

void MpiWire::fetch(WorkerId, Handle waiting, std::span<std::byte> into, Done done) {
  const auto announced = announced_of(waiting);
  check(announced != announced_.end(), "data is fetched that nobody has announced");
  const Announced data = *announced;
  announced_.erase(announced);
  add_pieces(begin(data.from, std::move(done)), into.data(), into.size(), data.tag, false);
}

// Received all the same: its number comes again, and its sender waits.
void MpiWire::let_go(Handle waiting) {
  const auto announced = announced_of(waiting);
  if (announced == announced_.end()) return;
  const Announced data = *announced;
  announced_.erase(announced);
  Operation& operation = begin(data.from, [](const std::string&) {});
  operation.message.resize(data.bytes);
  add_pieces(operation, operation.message.data(), data.bytes, data.tag, false);
}

// MPI cannot end a connection: what is under way is left alone from now on, memory and all.
void MpiWire::hang_up(WorkerId peer, const std::string& why) {
  lose(peer.value, why);
  std::vector<Done> told;
  for (auto each = operations_.begin(); each != operations_.end();) {
    const auto next = std::next(each);
    if (each->peer == peer.value) {
      told.push_back(each->done);  // A copy: what it holds is what MPI may write to.
      orphans_.splice(orphans_.end(), operations_, each);
    }
    each = next;
  }
  for (const Done& done : told) done(why);
}

bool MpiWire::take_message(Listener& listener) {
  int is_there = 0;
  MPI_Status status{};
  Posted& first = posted_.front();
  if (first.request == MPI_REQUEST_NULL ||
      MPI_Test(&first.request, &is_there, &status) != MPI_SUCCESS || is_there == 0)
    return false;
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  const std::span<const std::byte> message(first.message.data(), static_cast<std::size_t>(count));
  Front front;
  std::memcpy(&front, message.data(), std::min(sizeof front, message.size()));
  const std::span<const std::byte> rest = message.subspan(std::min(sizeof front, message.size()));
  Arrival arrival{.header = rest.first(std::min<std::size_t>(front.header, rest.size())),
                  .bytes = front.bytes};
  if (front.number == 0) {
    arrival.data = rest.subspan(arrival.header.size());
  } else {
    const Announced& announced = announced_.emplace_back(
        Announced{status.MPI_SOURCE, kFirstDataTag + static_cast<int>(front.number % kDataTags),
                  static_cast<std::size_t>(front.bytes)});
    arrival.waiting = reinterpret_cast<Handle>(&announced);
  }
  listener.arrived(arrival);
  posted_.push_back(std::move(posted_.front()));
  posted_.pop_front();
  post(posted_.back());
  return true;
}

bool MpiWire::end_operations() {
  std::list<Operation> ended;
  std::list<Operation> failed;
  for (auto each = operations_.begin(); each != operations_.end();) {
    const auto next = std::next(each);
    if (each->trouble.empty()) {
      int have_ended = 0;
      const int error = MPI_Testall(static_cast<int>(each->requests.size()), each->requests.data(),
                                    &have_ended, MPI_STATUSES_IGNORE);
      if (error != MPI_SUCCESS)
        each->trouble = message_of(error);
      else if (have_ended != 0)
        ended.splice(ended.end(), operations_, each);
    }
    if (!each->trouble.empty()) failed.splice(failed.end(), operations_, each);
    each = next;
  }
  // Nothing of the lists is looked at any more: whoever is told may begin another one, or hang up.
  for (const Operation& one : ended) one.done("");
  for (const Operation& one : failed) {
    lose(one.peer, one.trouble);
    one.done(one.trouble);
  }
  const bool any = !ended.empty() || !failed.empty();
  orphans_.splice(orphans_.end(), failed);
  return any;
}

bool MpiWire::progress(Listener& listener) {
  bool any = false;
  for (std::size_t i = 0; i < kPosted && take_message(listener); ++i) any = true;
  any = end_operations() || any;
  for (const auto& [peer, why] : std::exchange(gone_, {})) {
    listener.gone({peer}, why);
    any = true;
  }
  if (any) busy_looks_ = 0;
  return any;
}

// MPI moves large messages only while it is looked at.
Wire::Sleep MpiWire::prepare_sleep() {
  return !operations_.empty() && ++busy_looks_ <= kBusyLooks ? Sleep::busy : Sleep::blind;
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
      if (has_ended != 0) return;
      if (status_at_exit() == 0)
        MPI_Finalize();
      else
        MPI_Abort(MPI_COMM_WORLD, status_at_exit());
    });
  }
  MpiPlace place;
  MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &place.size);
  return place;
}

void end_job_at_exit(int status) { status_at_exit() = status; }

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
