#include "base/thread_pool.h"

#include <utility>

#include "base/stop.h"

namespace tagwright {
namespace {

// Waits until something is so: at first without giving up the processor.
template <class Ready>
void wait_until(Ready&& ready) {
  constexpr int kSpins = 2000;
  for (int n = 0; !ready(); ++n) {
    if (n < kSpins) continue;
    std::this_thread::yield();
  }
}

}  // namespace

ThreadPool::ThreadPool(size_t threads) {
  Stopper* const stopper = Stopper::current();
  const auto helper = [this, stopper] {
    const StopScope takes_part(stopper);
    help();
  };
  try {
    for (size_t n = 1; n < threads; ++n) helpers_.emplace_back(helper);
  } catch (...) {
    // The system has no more threads: those that were started do the work.
  }
}

ThreadPool::~ThreadPool() {
  ended_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadPool::help() {
  for (size_t seen = 0;;) {
    wait_until([&] { return round_.load(std::memory_order_acquire) != seen; });
    ++seen;
    if (ended_.load(std::memory_order_relaxed)) return;
    take_part();
    done_.fetch_add(1, std::memory_order_release);
  }
}

void ThreadPool::take_part() {
  for (size_t n = next_.fetch_add(1, std::memory_order_relaxed); n < count_;
       n = next_.fetch_add(1, std::memory_order_relaxed)) {
    try {
      (*work_)(n);
    } catch (...) {
      if (!failed_.exchange(true)) error_ = std::current_exception();
    }
  }
}

void ThreadPool::each(size_t count, const std::function<void(size_t)>& work) {
  if (helpers_.empty()) {
    for (size_t n = 0; n < count; ++n) work(n);
    return;
  }
  work_ = &work;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  failed_.store(false, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  take_part();
  wait_until([&] { return done_.load(std::memory_order_acquire) == helpers_.size(); });
  if (failed_.load(std::memory_order_relaxed)) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace tagwright
