// Threads that stay for many short pieces of work: starting them anew for each would take longer than the work.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace tagwright {

// Between two pieces of work, helpers look for the next one all the time, so that it begins within a microsecond.
class ThreadPool {
 public:
  // threads: this one among them; fewer where the system has no more.
  explicit ThreadPool(size_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Calls work(0) .. work(count - 1), each once. When all have ended, rethrows an exception, if there was one.
  void each(size_t count, const std::function<void(size_t)>& work);

 private:
  void help();
  void take_part();

  std::vector<std::thread> helpers_;
  const std::function<void(size_t)>* work_ = nullptr;
  size_t count_ = 0;
  std::atomic<size_t> round_{0}, next_{0}, done_{0};
  std::atomic<bool> ended_{false}, failed_{false};
  std::exception_ptr error_;
};

}  // namespace tagwright
