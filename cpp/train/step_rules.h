// Step rules: how a weight changes by its gradient. Each is a function of single weights, so that a step costs what it
// touches; the trainer calls it for all that a sparse gradient names.
#pragma once

#include <cmath>
#include <limits>
#include <variant>

#include "train/weight_store.h"

namespace tagwright {

// The perceptron's: the weight less the gradient, divided by the size of the batch (Zhao and Huang 2013).
struct PerceptronStep {
  size_t batch = 1;
  bool grow = true;  // whether a gradient gives weights to what has none

  static constexpr float kMostEdge = std::numeric_limits<float>::infinity();
  double scale(double sentence_weight) const {
    return static_cast<float>(sentence_weight / static_cast<double>(batch));
  }
  bool makes(double) const { return grow; }
  void step(double visited, double gradient, float& weight, Moments& moments) const {
    weight += static_cast<float>(-gradient);
    moments.set_precise_sum(moments.precise_sum() + visited * -gradient);
  }
};

// AdaGrad (Duchi, Hazan and Singer 2011): rate * g / sqrt(1 + sum of g^2). The 1 keeps the first steps of small
// gradients small.
struct AdaGradStep {
  double rate = 0.5, l2 = 0;
  bool grow = true;

  // Edge weights stay within this, so that sums of their factors neither overflow nor lose what matters.
  static constexpr float kMostEdge = 40;
  double scale(double sentence_weight) const { return sentence_weight; }
  // Of the gradient before it is scaled: smaller ones give no weight to what has none.
  bool makes(double gradient) const { return grow && std::fabs(gradient) >= 0.05; }
  void step(double visited, double gradient, float& weight, Moments& moments) const {
    moments.squares += static_cast<float>(gradient * gradient);
    change(visited, static_cast<float>(-rate * gradient / std::sqrt(1.0 + moments.squares)), weight, moments);
  }
  // The step of a squared penalty: minimises l2 * w^2 and the distance from the weight, measured by the length of its
  // steps.
  void shrink(double visited, float& weight, Moments& moments) const {
    const double by = 1 + 2 * l2 * rate / std::sqrt(1.0 + moments.squares);
    change(visited, static_cast<float>(weight / by) - weight, weight, moments);
  }

 private:
  static void change(double visited, float by, float& weight, Moments& moments) {
    weight += by;
    moments.sum += static_cast<float>(visited) * by;
  }
};

using StepRule = std::variant<PerceptronStep, AdaGradStep>;

}  // namespace tagwright
