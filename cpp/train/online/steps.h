// The steps that some sentences ask for, as bytes: they are summed where the sentences are, and taken wherever the
// weights are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/corpus.h"

namespace tagwright {

template <template <class> class Array>
struct StepArrays {
  // The sentences, with features and sets where a step needs them.
  Array<uint64_t> sentence_end;  // in tokens
  Array<uint64_t> feature_end;   // [token]
  Array<int32_t> feature;        //
  Array<float> value;            // beside feature; empty where all are 1
  Array<uint64_t> set_end;       // [token]
  Array<int32_t> set;            //
  Array<uint64_t> node_end;      // [token]
  Array<uint16_t> node;          // label or part
  Array<float> node_gradient;    //
  Array<uint64_t> edge_end;      // [sentence]
  Array<uint32_t> edge_token;    // within the sentence
  Array<uint16_t> edge_previous, edge_current;
  Array<float> edge_gradient;
  Array<double> loss, missing;  // [sentence], as of OnlineCrf::Seen
  Array<uint64_t> kept, exact;
};
template <class Arrays, class Take>
void for_each_step_array(Arrays& a, Take&& take) {
  take(a.sentence_end);
  take(a.feature_end);
  take(a.feature);
  take(a.value);
  take(a.set_end);
  take(a.set);
  take(a.node_end);
  take(a.node);
  take(a.node_gradient);
  take(a.edge_end);
  take(a.edge_token);
  take(a.edge_previous);
  take(a.edge_current);
  take(a.edge_gradient);
  take(a.loss);
  take(a.missing);
  take(a.kept);
  take(a.exact);
}
using Steps = StepArrays<Owned>;

std::vector<uint8_t> packed(const Steps& steps);
// Throws std::invalid_argument unless packed() could have made the bytes. keys: labels and parts.
Steps unpacked(std::span<const uint8_t> bytes, const Corpus& corpus, size_t keys);

}  // namespace tagwright
