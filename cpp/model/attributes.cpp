#include "model/attributes.h"

#include <algorithm>
#include <cmath>

#include "base/arena.h"
#include "decode/table.h"
#include "kernels/kernels.h"
#include "model/model_file.h"
#include "model/weights.h"
#include "sums/forward_backward.h"

namespace tagwright {
namespace {

// Up to this many labels, plain Viterbi in double precision is the fastest decoder.
constexpr size_t kFewLabels = 64;

// A model file of our own: attributes are found in its index, and rows read where they are.
class OwnAttributes : public AttributeModel {
 public:
  explicit OwnAttributes(const ModelFile& file) {
    const Json* const templates = file.meta.find("templates");
    const Json* const facts = file.meta.find("facts");
    const Json* const names = file.meta.find("labels");
    if (!templates || !facts || !names || !names->array()) throw ModelFileError("damaged (its metadata is incomplete)");
    const Json* const first = facts->find("first_only");
    const bool first_only = first && first->boolean() && *first->boolean();
    if (!templates->is_null() || first_only || file.has("corrections.set") || file.has("ngrams.labels") ||
        file.has("parts") || file.has("constraints.names"))
      throw ModelFileError(
          "a model with templates, constraints or more than pairs of labels, which python-crfsuite's interface does "
          "not have; use tagwright.load");
    std::vector<std::string> labels;
    for (const Json& name : *names->array()) {
      if (!name.string()) throw ModelFileError("damaged (labels are not strings)");
      labels.push_back(*name.string());
    }
    make_labels(std::move(labels));
    try {
      weights_ = read_weights(L(), file, false);
    } catch (const ModelFileError&) {
      throw;
    } catch (const std::invalid_argument& error) {
      throw ModelFileError("damaged (" + std::string(error.what()) + "); get or train it again");
    }
    const WeightArrays<Borrowed>& a = weights_.arrays();
    for (size_t q = 0; q < a.edges(); ++q) matrix_[size_t{a.previous[q]} * L() + a.current[q]] = a.edge_score[q];
    const auto ends = [&](const char* name) {
      std::vector<double> made;
      if (!file.has(name)) return made;
      for (const double score : file.array<double>(name)) made.push_back(score);
      if (made.size() != L() || !std::all_of(made.begin(), made.end(), [](double s) { return std::isfinite(s); }))
        throw ModelFileError(std::string("damaged (") + name + " must hold a finite score for each label)");
      return made;
    };
    start_ = ends("start");
    stop_ = ends("stop");
  }

  void add(std::string_view attribute, double value, double* nodes) const override {
    const int32_t id = weights_.names().find(hash_of(attribute), attribute);
    if (id != kNoId) add_row(static_cast<size_t>(id), value, nodes);
  }
  size_t attributes() const override { return weights_.names().size(); }
  std::string_view attribute(size_t id) const override { return weights_.names().text(id); }
  void row(size_t id, double* row) const override { add_row(id, 1.0, row); }

 private:
  void add_row(size_t id, double value, double* nodes) const {
    const WeightArrays<Borrowed>& a = weights_.arrays();
    for (size_t q = id ? a.row_end[id - 1] : 0; q < a.row_end[id]; ++q)
      nodes[a.row_label[q]] += double{a.row_weight[q]} * value;
  }

  Weights weights_;
};

}  // namespace

void best_path(std::span<const double> edges, size_t L, std::span<const double> nodes, int32_t* labels,
               std::vector<double>& room) {
  if (nodes.empty()) return;
  const size_t T = nodes.size() / L;
  room.resize(nodes.size());
  double* alpha = room.data();
  std::copy(nodes.begin(), nodes.begin() + static_cast<ptrdiff_t>(L), alpha);
  for (size_t t = 1; t < T; ++t, alpha += L) {
    StepOf<double> step{alpha, alpha + L};
    kernels().dense_step_dd(edges.data(), L, L, &step, 1);
    for (size_t y = 0; y < L; ++y) alpha[L + y] += nodes[t * L + y];
  }
  size_t best = kernels().argmax_d(alpha, L);
  labels[T - 1] = static_cast<int32_t>(best);
  for (size_t t = T - 1; t-- > 0;) {
    alpha -= L;
    const double* const into = edges.data() + best;
    double most = alpha[0] + into[0];
    size_t from = 0;
    for (size_t i = 1; i < L; ++i)
      if (const double score = alpha[i] + into[i * L]; score > most) most = score, from = i;
    best = from;
    labels[t] = static_cast<int32_t>(best);
  }
}

std::unique_ptr<AttributeModel> AttributeModel::open(std::string_view bytes, std::shared_ptr<const void> owner) {
  if (bytes.starts_with("lCRF")) return open_crfsuite(bytes, std::move(owner));
  return std::make_unique<OwnAttributes>(ModelFile::parse(bytes, std::move(owner)));
}

void AttributeModel::make_labels(std::vector<std::string> labels) {
  if (labels.size() > kMostLabels) throw ModelFileError("too many labels");
  labels_ = std::move(labels);
  matrix_.assign(times(L(), L()), 0.0);
}

const Edges& AttributeModel::edges() const {
  return edges_.get([&] { return Edges(EdgeScores::from_matrix(L(), {nullptr, matrix_.data()}, std::nullopt)); });
}

void AttributeModel::add_ends(std::span<double> nodes) const {
  if (nodes.empty()) return;
  for (size_t y = 0; y < start_.size(); ++y) nodes[y] += start_[y];
  for (size_t y = 0; y < stop_.size(); ++y) nodes[nodes.size() - L() + y] += stop_[y];
}

void AttributeModel::best_labels(std::span<const double> nodes, int32_t* labels, std::vector<double>& room) const {
  if (L() <= kFewLabels) return best_path(matrix_, L(), nodes, labels, room);
  if (nodes.empty()) return;
  Arena& arena = thread_arena();
  arena.reset();
  const Lattice lattice(edges(), nodes.size() / L(), {nullptr, nodes.data()}, nullptr);
  const Answer answer = decoder_named("auto")->run(lattice, {}, arena);
  std::copy(answer.paths.at(0).labels.begin(), answer.paths[0].labels.end(), labels);
}

double AttributeModel::sums(std::span<const double> nodes, std::vector<double>& probability) const {
  const size_t L = this->L();
  probability.assign(nodes.size(), 0.0);
  if (nodes.empty()) return 0;
  Arena& arena = thread_arena();
  arena.reset();
  const Lattice lattice(edges(), nodes.size() / L, {nullptr, nodes.data()}, nullptr);
  const Sums sums = forward_backward(lattice, {}, arena);
  for (size_t t = 0; t < sums.columns.size(); ++t) {
    const Sums::Column& column = sums.columns[t];
    for (size_t q = 0; q < column.labels.size(); ++q)
      probability[t * L + static_cast<size_t>(column.labels[q])] = column.node[q];
  }
  return sums.log_z;
}

double AttributeModel::score(std::span<const double> nodes, std::span<const int32_t> labels) const {
  const size_t L = this->L();
  double score = 0;
  for (size_t t = 0; t < labels.size(); ++t) {
    const auto y = static_cast<size_t>(labels[t]);
    if (t > 0) score += edge(static_cast<size_t>(labels[t - 1]), y);
    score += nodes[t * L + y];
  }
  return score;
}

}  // namespace tagwright
