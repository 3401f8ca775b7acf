#include "lattice/contexts.h"

#include <numeric>

namespace tagwright {
Contexts::Contexts(const LabelNgrams& ngrams) {
  using Node = LabelNgrams::Node;
  const size_t L = ngrams.L();
  const LabelNgrams::Range pairs = ngrams.at_depth(2);
  const auto first = pairs.first, end = static_cast<Node>(ngrams.nodes());
  std::vector<int32_t> of_node(static_cast<size_t>(end), -1);  // its number, -1 where it is no context
  const auto list = [&](auto&& self, Node node) -> void {
    const size_t c = size();
    of_node[static_cast<size_t>(node)] = static_cast<int32_t>(c);
    label_.push_back(ngrams.label(node));
    shorter_.push_back(ngrams.is_label(node) ? -1 : of_node[static_cast<size_t>(ngrams.suffix(node))]);
    end_.push_back(0);
    for (const Node longer : ngrams.longer(node))
      if (ngrams.context(longer) == longer) self(self, longer);
    end_[c] = size();
  };
  for (size_t y = 0; y < L; ++y) {
    of_label_.push_back(size());
    list(list, static_cast<Node>(y));
  }

  pairs_ = static_cast<size_t>(pairs.end - pairs.first);
  into_begin_.assign(L + 1, 0);
  for (Node node = first; node < end; ++node) {
    const auto exceptions = static_cast<int32_t>(exceptions_.size());
    for (const Node longer : ngrams.longer(node)) exceptions_.push_back(longer - first);
    Node pair = node;
    while (pair >= pairs.end) pair = ngrams.suffix(pair);
    const auto context = [&](Node of) { return of_node[static_cast<size_t>(of)]; };
    arcs_.push_back({context(ngrams.parent(node)), context(ngrams.context(node)), pair - first, exceptions,
                     static_cast<int32_t>(exceptions_.size())});
    last_.push_back(ngrams.label(node));
    ++into_begin_[static_cast<size_t>(ngrams.label(node)) + 1];
  }
  std::partial_sum(into_begin_.begin(), into_begin_.end(), into_begin_.begin());
  into_.resize(arcs_.size());
  std::vector<size_t> at(into_begin_.begin(), into_begin_.end() - 1);
  for (size_t a = 0; a < arcs_.size(); ++a) into_[at[static_cast<size_t>(last_[a])]++] = static_cast<int32_t>(a);
}

}  // namespace tagwright
