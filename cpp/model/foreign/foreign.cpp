#include "model/foreign/foreign.h"

#include <algorithm>
#include <set>

#include "model/foreign/parts.h"

namespace tagwright {

namespace foreign {

void WeightBuilder::merge(std::vector<Entry>& entries) {
  if (!std::ranges::is_sorted(entries, {}, &Entry::key)) std::ranges::stable_sort(entries, {}, &Entry::key);
  size_t kept = 0;
  for (size_t n = 0; n < entries.size();) {
    Entry sum = entries[n++];
    while (n < entries.size() && entries[n].key == sum.key) sum.weight += entries[n++].weight;
    if (!std::isfinite(static_cast<float>(sum.weight))) throw ModelFileError("a weight is not finite");
    if (static_cast<float>(sum.weight) != 0) entries[kept++] = sum;
  }
  entries.resize(kept);
}

WeightArrays<Owned> WeightBuilder::finish() && {
  merge(nodes_);
  merge(edges_);
  merge(sets_);
  WeightArrays<Owned> out;
  out.names = features.arrays();
  out.row_end.assign(features.size(), 0);
  for (const Entry& one : nodes_) {
    out.row_end[one.key / L_] = out.row_label.size() + 1;
    out.row_label.push_back(static_cast<uint16_t>(one.key % L_));
    out.row_weight.push_back(static_cast<float>(one.weight));
  }
  for (size_t f = 1; f < out.row_end.size(); ++f) out.row_end[f] = std::max(out.row_end[f], out.row_end[f - 1]);
  for (const Entry& one : edges_) {
    out.previous.push_back(static_cast<uint16_t>(one.key / L_));
    out.current.push_back(static_cast<uint16_t>(one.key % L_));
    out.edge_score.push_back(static_cast<float>(one.weight));
  }
  if (!edge_features.size()) return out;
  out.edge_names = edge_features.arrays();
  for (const Entry& one : sets_) {
    out.set.push_back(static_cast<int32_t>(one.key / L_ / L_));
    out.set_previous.push_back(static_cast<uint16_t>(one.key / L_ % L_));
    out.set_current.push_back(static_cast<uint16_t>(one.key % L_));
    out.correction_score.push_back(static_cast<float>(one.weight));
  }
  return out;
}

void check_labels(const std::vector<std::string>& labels) {
  if (labels.empty()) throw ModelFileError("the model has no labels");
  if (labels.size() > kMostLabels)
    throw ModelFileError("the model has " + std::to_string(labels.size()) + " labels; at most " +
                         std::to_string(kMostLabels) + " are supported");
  if (std::set<std::string_view>(labels.begin(), labels.end()).size() < labels.size())
    throw ModelFileError("two labels have the same name");
}

}  // namespace foreign

std::string_view foreign_tool(std::string_view bytes) {
  if (bytes.starts_with("lCRF")) return "crfsuite";
  if (bytes.starts_with("#mdl#")) return "wapiti";
  if (bytes.starts_with("version: ")) return "crf++ text";
  // CRF++ has no magic number: its version, and the type 0.
  if (bytes.size() >= 28) {
    const foreign::Bytes file(bytes);
    if (file.u32(0) >= 100 && file.u32(0) < 200 && file.u32(4) == 0) return "crf++";
  }
  return {};
}

ForeignModel read_foreign(std::string_view bytes) {
  const std::string_view tool = foreign_tool(bytes);
  if (tool == "crfsuite") return read_crfsuite(bytes);
  if (tool == "crf++") return read_crfpp(bytes);
  if (tool == "crf++ text") return read_crfpp_text(bytes);
  if (tool == "wapiti") return read_wapiti(bytes);
  throw ModelFileError("not a model of tagwright, CRFsuite, CRF++ or Wapiti");
}

}  // namespace tagwright
