// Work in numbered pieces, on several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace tagwright {

class Stopper;

// Threads that serve many rounds of work: starting threads for each would take longer than a short round. Between two
// rounds they spin for a while, so that the next one begins within a microsecond, and then sleep.
class ThreadPool {
 public:
  // threads: the calling one included; fewer where the system has no more.
  explicit ThreadPool(size_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Calls work(0) .. work(count - 1), each once, and returns when all have ended; then rethrows the exception of the
  // lowest number, if any. Where the calling thread's work is stopped (stop.h), no further piece is begun and its
  // exception is rethrown. Within a piece of this pool's work, the calls are made one after the other.
  void for_each(size_t count, const std::function<void(size_t)>& work);

 private:
  void serve(Stopper* stopper);
  void run_pieces();
  void wait_for_helpers();

  std::vector<std::thread> helpers_;
  const std::function<void(size_t)>* work_ = nullptr;
  size_t count_ = 0;
  Stopper* stopper_ = nullptr;
  std::atomic<size_t> round_{0}, next_{0}, done_{0};
  std::atomic<bool> ended_{false};
  std::vector<std::exception_ptr> errors_;  // [piece]
};

// The same for one round on up to `threads` threads.
void in_parallel(size_t count, size_t threads, const std::function<void(size_t)>& work);

}  // namespace tagwright
