// Long work that can be stopped in the middle, by Ctrl-C or whatever else its caller listens to.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <thread>

namespace tagwright {

// Made by a caller that may want its work stopped, on the thread that does it. There the work asks now and then, at
// most once per interval, and ask() throws if it is to stop. Other threads that take part (thread_pool.h) stop when
// this one does.
class Stopper {
 public:
  using Ask = void (*)();
  using Clock = std::chrono::steady_clock;

  explicit Stopper(Ask ask, Clock::duration interval = std::chrono::milliseconds(100));
  ~Stopper();
  Stopper(const Stopper&) = delete;
  Stopper& operator=(const Stopper&) = delete;

  // That of the work that this thread belongs to, or nullptr.
  static Stopper* current();

  void check();
  // Rethrows what ask() threw, if it did.
  void rethrow() const;
  bool stopped() const { return stopped_.load(std::memory_order_acquire); }

 private:
  const Ask ask_;
  const Clock::duration interval_;
  const std::thread::id owner_ = std::this_thread::get_id();
  Clock::time_point next_;
  size_t checks_ = 0;  // since the clock was read, which takes as long as a few tokens of a small lattice
  std::exception_ptr why_;
  std::atomic<bool> stopped_{false};
};

// While it lives, this thread works under another one's Stopper, which may be nullptr.
class StopScope {
 public:
  explicit StopScope(Stopper* stopper);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;
};

// Throws if this thread's work is to stop: once per sentence. Nowhere is what others share left half done by that; what
// is made once (lazy.h) is made to its end.
inline void check_stop() {
  if (Stopper* const stopper = Stopper::current()) stopper->check();
}

// The same within a sentence, about once per millisecond.
class Meter {
 public:
  // work: edges examined, or other operations of similar cost.
  void count(size_t work) {
    done_ += work;
    if (done_ < kOften) return;
    done_ = 0;
    check_stop();
  }

 private:
  static constexpr size_t kOften = size_t{1} << 20;
  size_t done_ = 0;
};

}  // namespace tagwright
