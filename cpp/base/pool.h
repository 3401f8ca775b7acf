// Objects that are costly to make, as many as threads use at the same time.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tagwright {

template <class T>
class Pool {
 public:
  // One of them, for as long as it is held: the one that this thread had last, since some of it may still be in its
  // processor's cache, another, or a new one.
  class Taken {
   public:
    template <class Make>
    Taken(Pool& from, Make&& make) : from_(from) {
      {
        const std::scoped_lock lock(from.mutex_);
        auto& idle = from.idle_;
        const auto own = std::find_if(idle.begin(), idle.end(),
                                      [](const auto& one) { return one.first == std::this_thread::get_id(); });
        if (own != idle.end()) std::iter_swap(own, idle.end() - 1);
        if (!idle.empty()) {
          held_ = std::move(idle.back().second);
          idle.pop_back();
        }
      }
      if (!held_) held_ = make();
    }
    ~Taken() {
      const std::scoped_lock lock(from_.mutex_);
      from_.idle_.emplace_back(std::this_thread::get_id(), std::move(held_));
    }
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    T& operator*() const { return *held_; }

   private:
    Pool& from_;
    std::unique_ptr<T> held_;
  };

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::thread::id, std::unique_ptr<T>>> idle_;  // with the thread that had it last
};

}  // namespace tagwright
