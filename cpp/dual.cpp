#include "dual.h"

#include <cmath>

namespace tagwright {

Agreement agree(PricedSearch& left, PricedSearch& right, const AgreeOptions& options) {
  Agreement made;
  while (made.rounds < options.rounds) {
    ++made.rounds;
    // Lines 3 and 4 of the algorithm.
    made.left = left.find();
    made.right = right.find();
    made.disputed.clear();
    for (size_t t = 0; t < made.left.size(); ++t)
      if (made.left[t] != made.right[t]) made.disputed.push_back(static_cast<int32_t>(t));
    made.agreed = made.disputed.empty();
    if (made.agreed) break;
    // Line 8. Prices change at the labels in dispute only; the left model adds mu, the right one takes it away.
    const double round = static_cast<double>(made.rounds);
    const double step = options.schedule == Schedule::constant ? options.step : options.step / std::sqrt(round);
    for (const int32_t token : made.disputed) {
      const auto t = static_cast<size_t>(token);
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
