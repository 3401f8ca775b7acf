#include "model/dual.h"

#include <cmath>

#include "base/need.h"

namespace tagwright {

void AgreeOptions::check() const {
  need(rounds >= 1, "rounds must be at least 1");
  need(std::isfinite(step) && step > 0, "step must be above 0");
}

Agreement agree(PricedSearch& left, PricedSearch& right, const AgreeOptions& options) {
  options.check();
  Agreement made;
  std::vector<double> disputes(left.length(), 0.0);  // [t]: rounds in which the token was in dispute
  while (made.rounds < options.rounds) {
    ++made.rounds;
    // Lines 3 and 4 of the algorithm.
    made.left = left.find();
    made.right = right.find();
    if (made.left == made.right || made.rounds == options.rounds) {
      made.left = left.confirm();
      made.right = right.confirm();
    }
    made.disputed.clear();
    for (size_t t = 0; t < made.left.size(); ++t)
      if (made.left[t] != made.right[t]) made.disputed.push_back(static_cast<int32_t>(t));
    made.agreed = made.disputed.empty();
    if (made.agreed) break;
    // Line 8. Prices change at the labels in dispute only; the left model adds mu, the right one takes it away.
    for (const int32_t token : made.disputed) {
      const auto t = static_cast<size_t>(token);
      const double times = ++disputes[t];
      const double step = options.schedule == Schedule::constant ? options.step : options.step / times;
      left.change(t, made.left[t], -step);
      left.change(t, made.right[t], step);
      right.change(t, made.left[t], step);
      right.change(t, made.right[t], -step);
    }
  }
  made.certain = made.agreed && left.exact() && right.exact();
  return made;
}

}  // namespace tagwright
