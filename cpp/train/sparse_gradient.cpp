#include "train/sparse_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/need.h"

namespace tagwright {
namespace {

template <class Arrays, class Visit>
void visit_arrays(Arrays& a, Visit&& visit) {
  visit(a.sentence_end);
  visit(a.feature_end);
  visit(a.feature);
  visit(a.value);
  visit(a.set_end);
  visit(a.set);
  visit(a.node_end);
  visit(a.node);
  visit(a.node_gradient);
  visit(a.edge_end);
  visit(a.edge_token);
  visit(a.edge_previous);
  visit(a.edge_current);
  visit(a.edge_gradient);
  visit(a.ngram_end);
  visit(a.ngram);
  visit(a.ngram_gradient);
  visit(a.weight);
  visit(a.loss);
  visit(a.missing);
  visit(a.errors);
  visit(a.kept);
  visit(a.exact);
  visit(a.rounds);
  visit(a.nodes);
  visit(a.edge_work);
}

void check_ends(const std::vector<uint64_t>& ends, size_t count, size_t last) {
  need(ends.size() == count && std::is_sorted(ends.begin(), ends.end()) && (ends.empty() ? 0 : ends.back()) == last,
       "gradient: the ends of lists do not rise");
}

template <class V>
void check_below(const std::vector<V>& values, size_t limit) {
  for (const V value : values) need(static_cast<size_t>(value) < limit, "gradient: an id out of range");
}

template <class V>
void check_finite(const std::vector<V>& values) {
  for (const V value : values) need(std::isfinite(value), "gradient: a value that is not finite");
}

size_t begin_of(const std::vector<uint64_t>& ends, size_t at) { return at ? ends[at - 1] : 0; }

}  // namespace

EpochStats& EpochStats::operator+=(const EpochStats& other) {
  tokens += other.tokens;
  errors += other.errors;
  wrong_sentences += other.wrong_sentences;
  work += other.work;
  loss += other.loss;
  missing += other.missing;
  kept += other.kept;
  exact += other.exact;
  return *this;
}

void SparseGradient::reset(const Corpus& corpus, size_t s) {
  weight = corpus.weight_of(s);
  node_end.clear();
  nodes.clear();
  edges.clear();
  ngrams.clear();
  stats = {};
  stats.tokens = corpus.length(s);
  log_z = 0;
}

std::vector<uint8_t> to_bytes(const Corpus& corpus, std::span<const int32_t> sentences,
                              std::span<const SparseGradient> gradients, const NgramIndex& ngrams) {
  ReceivedGradients::Arrays<Owned> a;
  std::vector<char> has_pairs;  // [t]: whether there is a gradient of a pair of labels that ends in token t
  for (size_t n = 0; n < sentences.size(); ++n) {
    const SparseGradient& own = gradients[n];
    const size_t first = corpus.first_token(static_cast<size_t>(sentences[n])), T = own.stats.tokens;
    has_pairs.assign(T, false);
    for (const SparseGradient::Edge& e : own.edges) {
      has_pairs[e.t] = true;
      a.edge_token.push_back(e.t);
      a.edge_previous.push_back(e.i);
      a.edge_current.push_back(e.j);
      a.edge_gradient.push_back(e.gradient);
    }
    a.edge_end.push_back(a.edge_token.size());
    for (const auto& [q, gradient] : own.ngrams) {
      a.ngram.push_back(ngrams.packed(q));
      a.ngram_gradient.push_back(gradient);
    }
    a.ngram_end.push_back(a.ngram.size());
    for (size_t t = 0, begin = 0; t < T; ++t) {
      const size_t end = t < own.node_end.size() ? own.node_end[t] : begin;
      if (begin < end) {
        corpus.for_each_feature(first + t, [&](size_t f, float value) {
          a.feature.push_back(static_cast<int32_t>(f));
          if (!corpus.node.value.empty()) a.value.push_back(value);
        });
      }
      for (const int32_t set : corpus.sets_of(first + t))
        if (has_pairs[t]) a.set.push_back(set);
      for (; begin < end; ++begin) {
        a.node.push_back(own.nodes[begin].first);
        a.node_gradient.push_back(own.nodes[begin].second);
      }
      a.feature_end.push_back(a.feature.size());
      a.set_end.push_back(a.set.size());
      a.node_end.push_back(a.node.size());
    }
    a.sentence_end.push_back(a.node_end.size());
    a.weight.push_back(own.weight);
    a.loss.push_back(own.stats.loss);
    a.missing.push_back(own.stats.missing);
    a.errors.push_back(own.stats.errors);
    a.kept.push_back(own.stats.kept);
    a.exact.push_back(own.stats.exact);
    a.rounds.push_back(own.stats.work.rounds);
    a.nodes.push_back(own.stats.work.nodes);
    a.edge_work.push_back(own.stats.work.edges);
  }
  size_t size = 0;
  visit_arrays(a, [&](const auto& array) { size += sizeof(uint64_t) + array.size() * sizeof(array[0]); });
  std::vector<uint8_t> bytes(size);
  uint8_t* to = bytes.data();
  const auto put = [&](const void* from, size_t n) {
    if (n) std::memcpy(to, from, n);
    to += n;
  };
  visit_arrays(a, [&](const auto& array) {
    const uint64_t count = array.size();
    put(&count, sizeof(count));
    put(array.data(), count * sizeof(array[0]));
  });
  return bytes;
}

ReceivedGradients::ReceivedGradients(std::span<const uint8_t> bytes, const Corpus& corpus, size_t keys,
                                     const NgramIndex& ngrams) {
  const auto read = [&](void* to, size_t n) {
    need(n <= bytes.size(), "gradient: cut short");
    if (n) std::memcpy(to, bytes.data(), n);
    bytes = bytes.subspan(n);
  };
  visit_arrays(arrays_, [&](auto& array) {
    uint64_t size = 0;
    read(&size, sizeof(size));
    need(size <= bytes.size() / sizeof(array[0]), "gradient: cut short");
    array.resize(size);
    read(array.data(), size * sizeof(array[0]));
  });
  need(bytes.empty(), "gradient: more bytes than expected");
  check(corpus, keys);
  for (const uint64_t packed : arrays_.ngram) {
    const size_t q = ngrams.find_packed(packed);
    need(q != kNoPlace, "gradient: an n-gram that has no weight");
    ngram_.push_back(static_cast<uint32_t>(q));
  }
}

void ReceivedGradients::check(const Corpus& corpus, size_t keys) const {
  const auto& a = arrays_;
  const size_t sentences = a.sentence_end.size(), tokens = sentences ? a.sentence_end.back() : 0;
  check_ends(a.sentence_end, sentences, tokens);
  check_ends(a.feature_end, tokens, a.feature.size());
  check_ends(a.set_end, tokens, a.set.size());
  check_ends(a.node_end, tokens, a.node.size());
  check_ends(a.edge_end, sentences, a.edge_token.size());
  check_ends(a.ngram_end, sentences, a.ngram.size());
  bool equal = (a.value.empty() || a.value.size() == a.feature.size()) && a.node_gradient.size() == a.node.size() &&
               a.ngram_gradient.size() == a.ngram.size();
  for (const size_t size : {a.edge_previous.size(), a.edge_current.size(), a.edge_gradient.size()})
    equal &= size == a.edge_token.size();
  for (const size_t size : {a.weight.size(), a.loss.size(), a.missing.size(), a.errors.size(), a.kept.size(),
                            a.exact.size(), a.rounds.size(), a.nodes.size(), a.edge_work.size()})
    equal &= size == sentences;
  need(equal, "gradient: arrays of unequal length");
  check_below(a.feature, corpus.features());
  check_below(a.set, corpus.sets());
  check_below(a.node, keys);
  check_below(a.edge_previous, corpus.L);
  check_below(a.edge_current, corpus.L);
  for (size_t s = 0, e = 0; s < sentences; ++s)
    for (; e < a.edge_end[s]; ++e)
      need(a.edge_token[e] < a.sentence_end[s] - begin_of(a.sentence_end, s), "gradient: a token out of range");
  check_finite(a.value);
  check_finite(a.node_gradient);
  check_finite(a.edge_gradient);
  check_finite(a.ngram_gradient);
  check_finite(a.weight);
}

void ReceivedGradients::append(size_t s, CorpusArrays<Owned>& corpus, SparseGradient& gradient) const {
  const auto& a = arrays_;
  const auto add = [](const std::vector<int32_t>& id, const std::vector<uint64_t>& ends, size_t token, Ids& to) {
    to.id.insert(to.id.end(), id.begin() + static_cast<ptrdiff_t>(begin_of(ends, token)),
                 id.begin() + static_cast<ptrdiff_t>(ends[token]));
    to.end.push_back(to.id.size());
  };
  gradient = {};
  gradient.weight = a.weight[s];
  for (size_t token = begin_of(a.sentence_end, s); token < a.sentence_end[s]; ++token) {
    for (size_t at = begin_of(a.feature_end, token); at < a.feature_end[token] && !a.value.empty(); ++at)
      corpus.node.value.push_back(a.value[at]);
    add(a.feature, a.feature_end, token, corpus.node);
    add(a.set, a.set_end, token, corpus.edge);
    for (size_t q = begin_of(a.node_end, token); q < a.node_end[token]; ++q)
      gradient.nodes.emplace_back(a.node[q], a.node_gradient[q]);
    gradient.node_end.push_back(gradient.nodes.size());
  }
  corpus.sentence_end.push_back(corpus.node.end.size());
  for (size_t e = begin_of(a.edge_end, s); e < a.edge_end[s]; ++e)
    gradient.edges.push_back({a.edge_token[e], a.edge_previous[e], a.edge_current[e], a.edge_gradient[e]});
  for (size_t q = begin_of(a.ngram_end, s); q < a.ngram_end[s]; ++q)
    gradient.ngrams.emplace_back(ngram_[q], a.ngram_gradient[q]);
  EpochStats& stats = gradient.stats;
  stats.tokens = gradient.node_end.size();
  stats.errors = a.errors[s];
  stats.wrong_sentences = a.errors[s] > 0;
  stats.loss = a.loss[s];
  stats.missing = a.missing[s];
  stats.kept = a.kept[s];
  stats.exact = a.exact[s];
  stats.work = {a.rounds[s], a.nodes[s], a.edge_work[s]};
}

}  // namespace tagwright
