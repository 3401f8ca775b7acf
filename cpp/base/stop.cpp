#include "base/stop.h"

namespace tagwright {
namespace {

thread_local Stopper* current_stopper = nullptr;

constexpr size_t kChecks = 16;  // between two looks at the clock

// Thrown by other threads; the calling thread knows the reason.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

}  // namespace

Stopper::Stopper(Ask ask, Clock::duration interval) : ask_(ask), interval_(interval), next_(Clock::now() + interval) {
  current_stopper = this;
}

Stopper::~Stopper() { current_stopper = nullptr; }

Stopper* Stopper::current() { return current_stopper; }

void Stopper::check() {
  if (stopped()) throw Stopped();
  if (std::this_thread::get_id() != owner_) return;
  if (interval_ > interval_.zero() && ++checks_ < kChecks) return;
  checks_ = 0;
  if (Clock::now() < next_) return;
  try {
    ask_();
  } catch (...) {
    why_ = std::current_exception();
    stopped_.store(true, std::memory_order_release);
    throw;
  }
  next_ = Clock::now() + interval_;
}

void Stopper::rethrow() const {
  if (why_) std::rethrow_exception(why_);
}

StopScope::StopScope(Stopper* stopper) { current_stopper = stopper; }

StopScope::~StopScope() { current_stopper = nullptr; }

}  // namespace tagwright
