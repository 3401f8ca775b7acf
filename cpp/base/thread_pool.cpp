#include "base/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/stop.h"

namespace tagwright {
namespace {

thread_local const ThreadPool* serving = nullptr;  // the pool whose work this thread does

// Waits until ready() is true: spins, then yields, then sleeps. idle(): called between sleeps.
template <class Ready, class Idle>
void wait_until(Ready&& ready, Idle&& idle) {
  constexpr int kSpins = 2000, kYields = 4000;
  for (int n = 0; !ready(); ++n) {
    if (n < kSpins) continue;
    if (n < kYields) {
      std::this_thread::yield();
      continue;
    }
    n = kYields;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    idle();
  }
}

}  // namespace

ThreadPool::ThreadPool(size_t threads) {
  Stopper* const stopper = Stopper::current();
  try {
    for (size_t n = 1; n < threads; ++n) helpers_.emplace_back([this, stopper] { serve(stopper); });
  } catch (...) {
    // The system has no more threads, or no memory for one: those that were started do the work.
  }
}

ThreadPool::~ThreadPool() {
  ended_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadPool::serve(Stopper* stopper) {
  const StopScope scope(stopper);
  for (size_t served = 0;;) {
    wait_until([&] { return round_.load(std::memory_order_acquire) != served; }, [] {});
    ++served;
    if (ended_.load(std::memory_order_relaxed)) return;
    run_pieces();
    done_.fetch_add(1, std::memory_order_release);
  }
}

void ThreadPool::run_pieces() {
  const ThreadPool* const outer = std::exchange(serving, this);
  for (size_t n; !(stopper_ && stopper_->stopped()) && (n = next_.fetch_add(1, std::memory_order_relaxed)) < count_;) {
    try {
      check_stop();
      (*work_)(n);
    } catch (...) {
      errors_[n] = std::current_exception();
    }
  }
  serving = outer;
}

// The stopper polls on the calling thread only, which must keep polling while the others work.
void ThreadPool::wait_for_helpers() {
  const auto ask = [&] {
    try {
      if (stopper_ && !stopper_->stopped()) stopper_->check();
    } catch (...) {
      // Rethrown when the helpers have stopped.
    }
  };
  wait_until([&] { return done_.load(std::memory_order_acquire) == helpers_.size(); }, ask);
}

void ThreadPool::for_each(size_t count, const std::function<void(size_t)>& work) {
  if (serving == this) {
    for (size_t n = 0; n < count; ++n) work(n);
    return;
  }
  work_ = &work;
  count_ = count;
  stopper_ = Stopper::current();
  errors_.assign(count, nullptr);
  next_.store(0, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  run_pieces();
  wait_for_helpers();
  if (stopper_) stopper_->rethrow();
  for (const std::exception_ptr& error : errors_)
    if (error) std::rethrow_exception(std::exception_ptr(error));
}

void in_parallel(size_t count, size_t threads, const std::function<void(size_t)>& work) {
  ThreadPool(std::min(threads, count)).for_each(count, work);
}

}  // namespace tagwright
