// Encodes a corpus that arrives in pieces: the same numbers as if it came whole (features/encode.h), while only the
// names of features and one piece are in memory.
#pragma once

#include <memory>
#include <vector>

#include "features/encode.h"
#include "features/sketch.h"

namespace tagwright {

class PiecewiseEncoder {
 public:
  // names: of features that are known already, and never rare; min_count: others on fewer tokens are left out.
  PiecewiseEncoder(std::shared_ptr<const Templates> templates, Names names, size_t min_count);

  // Whether all pieces are to be surveyed before the first is encoded: then rare features need no place among the
  // names, or only few of them.
  bool surveys() const { return min_count_ > 1; }
  void survey(const Text& text);

  // Encodes a piece. Features that turn out to be rare are dropped at the end: see finish().
  Encoded encode(const Text& text, size_t threads);

  // New numbers of features, kNoId for those that are left out; of nodes and of edges. Empty where none is.
  struct Renamed {
    std::vector<int32_t> node, edge;
  };
  // To be called once, after the last piece; the names are then those of the features that are kept.
  Renamed finish();
  const Names& names() const { return names_; }

 private:
  std::shared_ptr<const Templates> templates_;
  Names names_;
  size_t min_count_, known_, known_edges_;
  std::unique_ptr<Sketch> node_sketch_, edge_sketch_;
  FeatureCounts node_counts_, edge_counts_;
};

}  // namespace tagwright
