// Tagging of sentences whose tokens are ready-made attributes with values: one sentence at a time, without a Text and
// without copies of the model. This is the route of tagwright.compat, where sentences are short and labels few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/lazy.h"
#include "lattice/edges.h"

namespace tagwright {

// Writes the best labels of T columns of node scores, [t * L + y], over edges [previous * L + current]: Viterbi in
// double precision, for few labels. Of paths with equal scores, the one with the lower labels from the last token on,
// as CRFsuite chooses it. labels: [T]; room: any, reused.
void best_path(std::span<const double> edges, size_t L, std::span<const double> nodes, int32_t* labels,
               std::vector<double>& room);

// The weights of a linear model over attributes, as its file holds them. May be used by several threads.
class AttributeModel {
 public:
  AttributeModel() = default;
  AttributeModel(const AttributeModel&) = delete;
  AttributeModel& operator=(const AttributeModel&) = delete;
  virtual ~AttributeModel() = default;

  // Opens a model file of our own or of CRFsuite; `owner` holds the bytes, which are not copied. Throws ModelFileError
  // for a damaged file, and for models that have more than attributes, edges, start and stop scores.
  static std::unique_ptr<AttributeModel> open(std::string_view bytes, std::shared_ptr<const void> owner);

  size_t L() const { return labels_.size(); }
  const std::vector<std::string>& labels() const { return labels_; }
  // Adds value times the weights of an attribute to nodes, [label]; an unknown attribute adds nothing.
  virtual void add(std::string_view attribute, double value, double* nodes) const = 0;
  virtual size_t attributes() const = 0;
  virtual std::string_view attribute(size_t id) const = 0;
  // Adds the weights of attribute `id` to row, [label].
  virtual void row(size_t id, double* row) const = 0;

  // Adds start and stop scores to node scores, [t * L + y].
  void add_ends(std::span<double> nodes) const;
  // As best_path does; an exact decoder for large label sets where there are many.
  void best_labels(std::span<const double> nodes, int32_t* labels, std::vector<double>& room) const;
  // Returns log Z and fills the probability of every label, [t * L + y].
  double sums(std::span<const double> nodes, std::vector<double>& probability) const;
  // The score of a labelling.
  double score(std::span<const double> nodes, std::span<const int32_t> labels) const;
  double edge(size_t previous, size_t current) const { return matrix_[previous * L() + current]; }
  bool has_edge(size_t previous, size_t current) const { return edge(previous, current) != 0; }

 protected:
  // Throws ModelFileError unless there is a label.
  void make_labels(std::vector<std::string> labels);

  std::vector<std::string> labels_;
  std::vector<double> matrix_;        // [previous * L + current]
  std::vector<double> start_, stop_;  // [label], or empty

 private:
  const Edges& edges() const;

  Lazy<Edges> edges_;  // for sums and for many labels
};

std::unique_ptr<AttributeModel> open_crfsuite(std::string_view bytes, std::shared_ptr<const void> owner);

}  // namespace tagwright
