#include "huddle/transport/process/report_reader.h"

namespace huddle {

ReportReader::ReportReader(Launcher::Heard heard,
                           std::function<void(const std::string& why)> failed)
    : heard_(std::move(heard)), failed_(std::move(failed)), thread_([this] { read(); }) {}

void ReportReader::push(WorkerId from, std::string_view report) {
  const std::lock_guard lock(mutex_);
  waiting_.emplace_back(from, report);
  changed_.notify_all();
}

void ReportReader::close() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void ReportReader::read() {
  std::unique_lock lock(mutex_);
  while (true) {
    while (waiting_.empty() && !is_closed_) changed_.wait_for(mutex_, kForever);
    if (waiting_.empty()) return;
    const auto [from, report] = std::move(waiting_.front());
    waiting_.pop_front();
    if (error_) continue;
    lock.unlock();
    std::string why;
    try {
      heard_(from, report);
    } catch (const std::exception& error) {
      error_ = std::current_exception();
      why = error.what();
    }
    if (!why.empty()) failed_(why);
    lock.lock();
  }
}

}  // namespace huddle
