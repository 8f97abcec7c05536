// Reports of workers in other processes, seen to on a thread of their own: writing files takes its
// time and may fail, and whoever sees to the wire must do neither.

#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "huddle/base/ids.h"
#include "huddle/transport/launcher.h"
#include "huddle/transport/local/steady_condition.h"

namespace huddle {

class ReportReader {
 public:
  // `failed` is called, once, when `heard` has thrown; nothing is read any more then.
  ReportReader(Launcher::Heard heard, std::function<void(const std::string& why)> failed);
  ~ReportReader() { close(); }

  // Any thread may call it.
  void push(WorkerId from, std::string_view report);

  // Returns when all that was pushed has been read. Once.
  void close();

  // What `heard` threw, if it did. REQUIRES: closed.
  std::exception_ptr error() const { return error_; }

 private:
  void read();

  const Launcher::Heard heard_;
  const std::function<void(const std::string&)> failed_;
  std::mutex mutex_;  // Guards, until it is closed:
  std::deque<std::pair<WorkerId, std::string>> waiting_;
  bool is_closed_ = false;
  std::exception_ptr error_;
  SteadyCondition changed_;
  std::thread thread_;  // Last: it uses all of this.
};

}  // namespace huddle
