// A value computed on first use, by the first thread that needs it; other threads wait for it.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#ifndef _WIN32
#include <unistd.h>
#endif

namespace tagwright {

// Safe across fork(): a child does not wait for a thread that only its parent has. It computes the value itself; what
// the parent's thread had not yet published does not exist in the child.
template <class T>
class Lazy {
 public:
  // Returns the value; make() computes it, once, unless it throws.
  template <class Make>
  const T& get(Make&& make) const {
    const T* made = held_->value.load(std::memory_order_acquire);
    return made ? *made : compute(make);
  }

  // For a sole owner, while no other thread reads: what was computed, or nullptr; and discarding it.
  T* made() { return held_->value.load(std::memory_order_acquire); }
  void forget() {
    if (made()) held_ = std::make_unique<Held>();
  }

 private:
  struct Held {
    std::atomic<T*> value{nullptr};
    std::atomic<long> maker{0};  // the process whose thread computes the value; 0: none

    Held() = default;
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { delete value.load(std::memory_order_acquire); }
  };

  static long this_process() {
#ifdef _WIN32
    return 1;
#else
    return static_cast<long>(getpid());
#endif
  }

  template <class Make>
  const T& compute(Make&& make) const {
    const long own = this_process();
    for (;;) {
      if (const T* made = held_->value.load(std::memory_order_acquire)) return *made;
      long maker = held_->maker.load(std::memory_order_acquire);
      if (maker != own && held_->maker.compare_exchange_strong(maker, own)) break;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    // Another thread may have published between the two loads above.
    if (const T* made = held_->value.load(std::memory_order_acquire)) {
      held_->maker.store(0, std::memory_order_release);
      return *made;
    }
    try {
      T* const made = new T(make());
      held_->value.store(made, std::memory_order_release);
      held_->maker.store(0, std::memory_order_release);
      return *made;
    } catch (...) {
      held_->maker.store(0, std::memory_order_release);
      throw;
    }
  }

  std::unique_ptr<Held> held_ = std::make_unique<Held>();
};

}  // namespace tagwright
