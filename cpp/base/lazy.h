// A value made on first use, by whichever thread asks first; the others wait for it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

namespace tagwright {

template <class T>
class Lazy {
 public:
  // make(): the value; called once.
  template <class Make>
  const T& get(Make&& make) const {
    std::call_once(held_->once, [&] { held_->value.emplace(make()); });
    return *held_->value;
  }

  // For a sole owner, while no other thread looks: what was made, or nullptr; and making it anew when next asked for.
  T* made() { return held_->value ? &*held_->value : nullptr; }
  void forget() {
    if (held_->value) held_ = std::make_unique<Held>();
  }

 private:
  struct Held {
    std::once_flag once;
    std::optional<T> value;
  };
  std::unique_ptr<Held> held_ = std::make_unique<Held>();
};

}  // namespace tagwright
