// What the handles of the C API hold.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "features/descriptions.h"
#include "features/tokenizers.h"
#include "model/trained_model.h"

struct tw_model {
  std::shared_ptr<const tagwright::TrainedModel> model;

  explicit tw_model(std::shared_ptr<const tagwright::TrainedModel> own) : model(std::move(own)) {}
  // A model whose templates read no column is given words nevertheless.
  size_t columns() const { return model->ready_made() ? 0 : model->columns() ? model->columns() : 1; }
};

struct tw_result {
  struct Sentence {
    size_t tokens = 0;
    std::vector<tagwright::TokenSpan> offsets;     // [token], in bytes; empty where there is no text
    std::vector<tagwright::Labelling> labellings;  // best first
    std::vector<float> marginals;                  // [token * labels + label], where requested
  };

  std::shared_ptr<const tagwright::TrainedModel> model;  // whose labels have names; nullptr: scores were given
  std::vector<Sentence> sentences;
  bool probabilities = false;  // whether labellings have some
};

struct tw_explanation {
  std::vector<tagwright::Contribution> contributions;
  std::vector<std::string> unknown;
  std::vector<tagwright::DescribedFeature> described;
};
