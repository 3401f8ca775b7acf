// The Python face of CRF training.
#include "train/crf/crf.h"

#include <cmath>

#include "python/train.h"

namespace tagwright {
namespace {

using Writable = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct CrfTrainer {
  std::shared_ptr<Names> names;
  std::unique_ptr<Crf> crf;
  Digest corpus;
};

std::unique_ptr<CrfTrainer> make_crf(const Text& text, const Templates& templates, IntArray labels, size_t L,
                                     const std::vector<std::string_view>& known_node,
                                     const std::vector<std::string_view>& known_edge, size_t min_count, bool edges,
                                     bool all_pairs, bool dense_edges, bool lanes, size_t threads,
                                     const std::vector<std::string>& label_names) {
  need(L > 0 && L <= std::numeric_limits<uint16_t>::max(), "a model has between 1 and 65,535 labels");
  TrainingCorpus read =
      read_corpus(text, templates, labels, L, known_node, known_edge, min_count, threads, label_names);
  nb::gil_scoped_release release;
  auto made = std::make_unique<CrfTrainer>();
  made->names = read.names;
  made->corpus = read.digest;
  CrfPairs pairs =
      pairs_of(read.corpus, read.labels, L, read.names->node.size(), read.names->edge.size(), edges, all_pairs);
  made->crf = std::make_unique<Crf>(std::move(read.corpus), std::move(read.labels), std::move(pairs),
                                    CrfOptions{.L = L, .dense_edges = dense_edges, .lanes = lanes});
  return made;
}

// For hidden Markov models: nobody knows the labels; a token's first feature says which it may have.
std::unique_ptr<CrfTrainer> make_closed(const Text& text, size_t L, const std::vector<std::string_view>& names,
                                        Vector<uint64_t> node_end, Vector<uint16_t> node_label, IntArray previous,
                                        IntArray current) {
  need(L > 0 && L <= std::numeric_limits<uint16_t>::max(), "a model has between 1 and 65,535 labels");
  need(text.ready, "features must be ready-made");
  need(node_end.shape(0) == names.size(), "there must be one row a feature");
  need(previous.shape(0) == current.shape(0), "previous and current must have the same length");
  auto made = std::make_unique<CrfTrainer>();
  made->names = std::make_shared<Names>();
  for (const std::string_view name : names) made->names->node.add(name);
  need(made->names->node.size() == names.size(), "names must differ");
  CrfPairs pairs;
  uint64_t before = 0;
  for (const uint64_t end : span_of(node_end)) {
    need(end >= before && end <= node_label.shape(0), "rows must follow each other");
    for (uint64_t q = before; q < end; ++q)
      need(node_label(q) < L && (q == before || node_label(q - 1) < node_label(q)), "labels of a row must be in order");
    pairs.node_end.push_back(end);
    before = end;
  }
  need(before == node_label.shape(0), "rows must follow each other");
  pairs.node_label.assign(node_label.data(), node_label.data() + node_label.shape(0));
  for (size_t q = 0; q < previous.shape(0); ++q) {
    need(previous(q) >= 0 && static_cast<size_t>(previous(q)) < L && current(q) >= 0 &&
             static_cast<size_t>(current(q)) < L,
         "an edge between labels that are not there");
    need(q == 0 || Corrections::pair(previous(q - 1), current(q - 1)) < Corrections::pair(previous(q), current(q)),
         "edges must be in order");
    pairs.previous.push_back(previous(q));
    pairs.current.push_back(current(q));
  }
  nb::gil_scoped_release release;
  Encoded corpus = encode(text, Templates({}, {}, {}), {}, *made->names, 1);
  need(made->names->node.size() == names.size(), "a feature that has no row");
  made->crf = std::make_unique<Crf>(std::move(corpus), std::vector<int32_t>(), std::move(pairs),
                                    CrfOptions{.L = L, .closed = true});
  return made;
}

void check(const CrfTrainer& trainer, IntArray sentences, std::initializer_list<size_t> sizes) {
  for (const int32_t s : span_of(sentences))
    need(s >= 0 && static_cast<size_t>(s) < trainer.crf->sentences(), "no such sentence");
  for (const size_t size : sizes) need(size == trainer.crf->pairs().size(), "there must be one number a weight");
}

// Sums of weights that are no numbers would be none either, and not say so.
void check_weights(const CrfTrainer& trainer, const double* weights, size_t n) {
  for (size_t q = 0; q < n; ++q)
    need(std::isfinite(weights[q]) || (weights[q] == kForbidden && trainer.crf->closed()),
         "a weight that is not finite");
}

nb::tuple packed(const Crf::Seen& seen) { return nb::make_tuple(seen.log_z - seen.right, seen.tokens, seen.kept); }

nb::tuple crf_expect(const CrfTrainer& trainer, RealArray weights, const KeepTuple& rule, IntArray sentences,
                     size_t threads, Writable counts) {
  check(trainer, sentences, {weights.shape(0), counts.shape(0)});
  need(threads >= 1, "threads must be at least 1");
  const Keep keep = std::apply(keep_of, rule);
  check_weights(trainer, weights.data(), weights.shape(0));
  Crf::Seen seen;
  {
    nb::gil_scoped_release release;
    seen = trainer.crf->expect(span_of(weights), keep, span_of(sentences), threads, counts.data());
  }
  return packed(seen);
}

void crf_observe(const CrfTrainer& trainer, IntArray sentences, Writable counts) {
  check(trainer, sentences, {counts.shape(0)});
  need(trainer.crf->labelled(), "the right labels are not known");
  nb::gil_scoped_release release;
  trainer.crf->observe(span_of(sentences), counts.data());
}

nb::tuple crf_adagrad(const CrfTrainer& trainer, Writable weights, Writable squares, const KeepTuple& rule,
                      IntArray sentences, size_t batch, double rate, double l2) {
  check(trainer, sentences, {weights.shape(0), squares.shape(0)});
  need(batch >= 1, "batch must be at least 1");
  need(trainer.crf->labelled(), "the right labels are not known");
  check_weights(trainer, weights.data(), weights.shape(0));
  for (const double sum : std::span(squares.data(), squares.shape(0)))
    need(sum >= 0 && std::isfinite(sum), "a sum of squares that is none");
  const Keep keep = std::apply(keep_of, rule);
  Crf::Seen seen;
  {
    nb::gil_scoped_release release;
    seen = trainer.crf->adagrad({weights.data(), weights.shape(0)}, {squares.data(), squares.shape(0)}, keep,
                                span_of(sentences), batch, rate, l2);
  }
  return packed(seen);
}

std::unique_ptr<TrainedWeights> crf_trained(const CrfTrainer& trainer, RealArray weights) {
  const CrfPairs& pairs = trainer.crf->pairs();
  need(weights.shape(0) == pairs.size(), "there must be one number a weight");
  auto out = std::make_unique<TrainedWeights>();
  out->names = trainer.names;
  for (size_t f = 0, q = 0; f < pairs.node_end.size(); ++f) {
    for (; q < pairs.node_end[f]; ++q) {
      const float w = static_cast<float>(weights(q));
      if (w == 0) continue;
      out->node_label.push_back(pairs.node_label[q]);
      out->node_weight.push_back(w);
    }
    out->node_end.push_back(out->node_label.size());
  }
  for (size_t q = 0; q < pairs.edges(); ++q) {
    const double w = weights(pairs.nodes() + q);
    if (static_cast<float>(w) == 0) continue;
    out->previous.push_back(pairs.previous[q]);
    out->current.push_back(pairs.current[q]);
    out->edge.push_back(w);
  }
  for (size_t set = 0, q = 0; set < pairs.set_end.size(); ++set) {
    for (; q < pairs.set_end[set]; ++q) {
      const double w = weights(pairs.nodes() + pairs.edges() + q);
      if (static_cast<float>(w) == 0) continue;
      out->set.push_back(static_cast<int32_t>(set));
      out->set_previous.push_back(Corrections::previous(pairs.set_pair[q]));
      out->set_current.push_back(Corrections::current(pairs.set_pair[q]));
      out->correction.push_back(w);
    }
  }
  return out;
}

// Which weights there are: for nodes the feature and label, for edges two labels, for sets a set and two labels.
nb::tuple crf_pairs(const CrfTrainer& trainer) {
  const CrfPairs& pairs = trainer.crf->pairs();
  return nb::make_tuple(array_of(pairs.node_end), array_of(pairs.node_label), array_of(pairs.previous),
                        array_of(pairs.current), array_of(pairs.set_end), array_of(pairs.set_pair));
}

}  // namespace

void bind_crf(nb::module_& m) {
  nb::class_<CrfTrainer>(m, "CrfTrainer")
      .def_static("make", &make_crf, "text"_a, "templates"_a, "labels"_a, "L"_a, "known_node"_a, "known_edge"_a,
                  "min_count"_a, "edges"_a, "all_pairs"_a, "dense_edges"_a, "lanes"_a, "threads"_a, "label_names"_a)
      .def_static("closed", &make_closed, "text"_a, "L"_a, "names"_a, "node_end"_a, "node_label"_a, "previous"_a,
                  "current"_a)
      .def("expect", &crf_expect, "weights"_a, "keep"_a, "sentences"_a, "threads"_a, "counts"_a.noconvert(),
           "Fills the expected counts; log Z, tokens and labels kept come back.")
      .def("observe", &crf_observe, "sentences"_a, "counts"_a.noconvert(), "Fills what the right labels count.")
      .def("adagrad", &crf_adagrad, "weights"_a.noconvert(), "squares"_a.noconvert(), "keep"_a, "sentences"_a,
           "batch"_a, "rate"_a, "l2"_a,
           "Goes over the sentences once and changes weights and squares; the loss, tokens, labels kept come back.")
      .def("trained", &crf_trained, "weights"_a)
      .def("pairs", &crf_pairs)
      .def_prop_ro("size", [](const CrfTrainer& t) { return t.crf->pairs().size(); })
      .def_prop_ro("nodes", [](const CrfTrainer& t) { return t.crf->pairs().nodes(); })
      .def_prop_ro("edges", [](const CrfTrainer& t) { return t.crf->pairs().edges(); })
      .def_prop_ro("sentences", [](const CrfTrainer& t) { return t.crf->sentences(); })
      .def_prop_ro("corpus", [](const CrfTrainer& t) { return hex(t.corpus); });
}

}  // namespace tagwright
