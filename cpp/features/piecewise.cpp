#include "features/piecewise.h"

#include <algorithm>

#include "base/need.h"
#include "base/stop.h"

namespace tagwright {

PiecewiseEncoder::PiecewiseEncoder(std::shared_ptr<const Templates> templates, Names names, size_t min_count)
    : templates_(std::move(templates)),
      names_(std::move(names)),
      min_count_(min_count),
      known_(names_.node.size()),
      known_edges_(names_.edge.size()) {
  need(templates_->history() == 0, "templates that look at earlier labels need the whole corpus at once");
  if (!surveys()) return;
  node_sketch_ = std::make_unique<Sketch>();
  edge_sketch_ = std::make_unique<Sketch>(20);
  const auto keep_all = [&](const IndexView& known, Sketch& sketch) {
    for (size_t id = 0; id < known.size(); ++id)
      for (size_t n = 0; n < std::min<size_t>(min_count_, Sketch::kMost); ++n) sketch.add(hash_of(known.text(id)));
  };
  keep_all(names_.node.view(), *node_sketch_);
  keep_all(names_.edge.view(), *edge_sketch_);
}

void PiecewiseEncoder::survey(const Text& text) {
  templates_->check_text(text);
  FeatureScratch scratch;
  for (size_t s = 0; s < text.sentences() && surveys(); ++s) {
    check_stop();
    templates_->start(text, s, scratch);
    for (size_t t = 0; t < text.length(s); ++t) {
      templates_->expand(text, s, t, scratch);
      for (const Feature& f : scratch.node) node_sketch_->add(f.hash);
      for (const Feature& f : scratch.edge) edge_sketch_->add(f.hash);
    }
  }
}

Encoded PiecewiseEncoder::encode(const Text& text, size_t threads) {
  templates_->check_text(text);
  const Likely likely{node_sketch_.get(), edge_sketch_.get(), min_count_};
  Encoded made = tagwright::encode(text, *templates_, {}, names_, threads, surveys() ? &likely : nullptr);
  if (surveys()) {
    node_counts_.add(made.node, names_.node.size());
    edge_counts_.add(made.edge, names_.edge.size());
  }
  return made;
}

PiecewiseEncoder::Renamed PiecewiseEncoder::finish() {
  if (!surveys()) return {};
  node_sketch_.reset();
  edge_sketch_.reset();
  return {drop_rare(node_counts_, names_.node, min_count_, known_),
          drop_rare(edge_counts_, names_.edge, min_count_, known_edges_)};
}

}  // namespace tagwright
