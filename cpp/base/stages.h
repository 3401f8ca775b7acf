// Where the time of tagging goes, for benchmarks: the stages that a sentence passes through, timed on one thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tagwright {

// features: text to rows of weights; rows: their sums; bounds: of labels, before edges are examined individually; sums:
// over edges; other: all that is none of these.
enum class Stage : uint8_t { other, features, rows, bounds, sums };
inline constexpr std::array kStageNames{"other", "features", "rows", "bounds", "sums"};

// Counts while it lives, on the thread that made it.
class StageClock {
 public:
  StageClock() : before_(current()), last_(Clock::now()) { current() = this; }
  ~StageClock() { current() = before_; }
  StageClock(const StageClock&) = delete;
  StageClock& operator=(const StageClock&) = delete;

  static StageClock*& current() {
    thread_local StageClock* own = nullptr;
    return own;
  }

  // Begins a stage, and returns the one before it.
  Stage begin(Stage stage) {
    const Clock::time_point now = Clock::now();
    seconds_[static_cast<size_t>(stage_)] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
    const Stage before = stage_;
    stage_ = stage;
    return before;
  }
  double seconds(size_t stage) const { return seconds_[stage]; }

 private:
  using Clock = std::chrono::steady_clock;
  StageClock* const before_;
  Clock::time_point last_;
  Stage stage_ = Stage::other;
  std::array<double, kStageNames.size()> seconds_{};
};

// While it lives, time counts for a stage. Costs next to nothing where nobody counts.
class InStage {
 public:
  explicit InStage(Stage stage) : clock_(StageClock::current()), before_(clock_ ? clock_->begin(stage) : stage) {}
  ~InStage() {
    if (clock_) clock_->begin(before_);
  }
  InStage(const InStage&) = delete;
  InStage& operator=(const InStage&) = delete;

 private:
  StageClock* const clock_;
  const Stage before_;
};

}  // namespace tagwright
