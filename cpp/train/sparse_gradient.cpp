#include "train/sparse_gradient.h"

#include <cmath>
#include <cstring>

#include "base/need.h"

namespace tagwright {
namespace {

class Writer {
 public:
  template <class V>
  void put(V value) {
    append(&value, sizeof(V));
  }
  template <class V>
  void put_list(const std::vector<V>& values) {
    put<uint64_t>(values.size());
    if (!values.empty()) append(values.data(), values.size() * sizeof(V));
  }
  std::vector<uint8_t> bytes;

 private:
  void append(const void* from, size_t n) {
    const size_t at = bytes.size();
    bytes.resize(at + n);
    std::memcpy(bytes.data() + at, from, n);
  }
};

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool at_end() const { return bytes_.empty(); }
  template <class V>
  V get() {
    V value;
    read(&value, sizeof(V));
    return value;
  }
  template <class V>
  std::vector<V> list() {
    const auto size = get<uint64_t>();
    need(size <= bytes_.size() / sizeof(V), "gradient: cut short");
    std::vector<V> values(size);
    read(values.data(), size * sizeof(V));
    return values;
  }
  // Of whole numbers below a limit.
  template <class V>
  std::vector<V> ids(size_t limit) {
    std::vector<V> values = list<V>();
    for (const V value : values) need(static_cast<size_t>(value) < limit, "gradient: an id out of range");
    return values;
  }
  // For that many finite numbers.
  std::vector<float> reals(size_t count) {
    std::vector<float> values = list<float>();
    need(values.size() == count, "gradient: lists of unequal length");
    for (const float value : values) need(std::isfinite(value), "gradient: a value that is not finite");
    return values;
  }

 private:
  void read(void* to, size_t n) {
    need(n <= bytes_.size(), "gradient: cut short");
    if (n) std::memcpy(to, bytes_.data(), n);
    bytes_ = bytes_.subspan(n);
  }
  std::span<const uint8_t> bytes_;
};

// The numbers of a sentence.
struct Counts {
  uint64_t tokens, errors, kept, exact;
  Work work;
  double weight, loss, missing;
};

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
  Writer to;
  std::vector<int32_t> features, sets;
  std::vector<uint16_t> keys;
  std::vector<float> values, gradient;
  std::vector<uint64_t> packed;
  for (size_t n = 0; n < sentences.size(); ++n) {
    const SparseGradient& own = gradients[n];
    const EpochStats& stats = own.stats;
    const size_t first = corpus.first_token(static_cast<size_t>(sentences[n]));
    to.put(
        Counts{stats.tokens, stats.errors, stats.kept, stats.exact, stats.work, own.weight, stats.loss, stats.missing});
    std::vector<bool> has_pairs(stats.tokens, false);  // whether a pair of labels that ends in the token is named
    for (const SparseGradient::Edge& e : own.edges) has_pairs[e.t] = true;
    for (size_t t = 0, q = 0; t < stats.tokens; ++t) {
      for (std::vector<float>* list : {&values, &gradient}) list->clear();
      for (std::vector<int32_t>* list : {&features, &sets}) list->clear();
      keys.clear();
      for (; t < own.node_end.size() && q < own.node_end[t]; ++q) {
        keys.push_back(own.nodes[q].first);
        gradient.push_back(own.nodes[q].second);
      }
      corpus.for_each_feature(first + t, [&](size_t f, float value) {
        if (keys.empty()) return;
        features.push_back(static_cast<int32_t>(f));
        if (!corpus.node.value.empty()) values.push_back(value);
      });
      if (has_pairs[t]) sets.assign(corpus.sets_of(first + t).begin(), corpus.sets_of(first + t).end());
      to.put_list(features);
      to.put_list(values);
      to.put_list(sets);
      to.put_list(keys);
      to.put_list(gradient);
    }
    to.put_list(own.edges);
    packed.clear();
    gradient.clear();
    for (const auto& [q, g] : own.ngrams) {
      packed.push_back(ngrams[q]);
      gradient.push_back(g);
    }
    to.put_list(packed);
    to.put_list(gradient);
  }
  return std::move(to.bytes);
}

std::vector<ReceivedGradient> from_bytes(std::span<const uint8_t> bytes, const Corpus& corpus, size_t keys,
                                         const NgramIndex& ngrams) {
  std::vector<ReceivedGradient> made;
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (Reader from(bytes); !from.at_end();) {
    auto& [features, sets, gradient] = made.emplace_back();
    const auto counts = from.get<Counts>();
    need(std::isfinite(counts.weight), "gradient: a value that is not finite");
    gradient.weight = counts.weight;
    gradient.stats = {counts.tokens, counts.errors,  counts.errors > 0, counts.work,
                      counts.loss,   counts.missing, counts.kept,       counts.exact};
    for (size_t t = 0; t < counts.tokens; ++t) {
      const auto ids = from.ids<int32_t>(corpus.features());
      append(features.id, ids);
      append(features.value, from.reals(corpus.node.value.empty() ? 0 : ids.size()));
      features.end.push_back(features.id.size());
      append(sets.id, from.ids<int32_t>(corpus.sets()));
      sets.end.push_back(sets.id.size());
      const auto key = from.ids<uint16_t>(keys);
      const auto own = from.reals(key.size());
      for (size_t q = 0; q < key.size(); ++q) gradient.nodes.emplace_back(key[q], own[q]);
      gradient.node_end.push_back(gradient.nodes.size());
    }
    gradient.edges = from.list<SparseGradient::Edge>();
    for (const SparseGradient::Edge& e : gradient.edges)
      need(e.t < counts.tokens && e.i < corpus.L && e.j < corpus.L && std::isfinite(e.gradient),
           "gradient: an edge out of range");
    const auto packed = from.list<uint64_t>();
    const auto own = from.reals(packed.size());
    for (size_t q = 0; q < packed.size(); ++q) {
      const size_t number = ngrams.find(packed[q]);
      need(number != kNoPlace, "gradient: an n-gram that has no weight");
      gradient.ngrams.emplace_back(static_cast<uint32_t>(number), own[q]);
    }
  }
  return made;
}

}  // namespace tagwright
