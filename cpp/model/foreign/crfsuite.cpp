// Models of CRFsuite: a table of features (attribute or label, label, weight) and two string tables. Attributes are
// ready-made features; there are no templates.
#include "model/foreign/parts.h"

namespace tagwright {

namespace {

using foreign::Bytes;
using foreign::need_at;

constexpr size_t kHeaderBytes = 48;
constexpr size_t kFeatureBytes = 20;
constexpr uint32_t kByteOrderMark = 0x62445371;

// The strings of a CQDB chunk, by id. A chunk: tag, size, flag, byte-order mark, number of strings and the offset of an
// array with the offset of each, relative to the chunk. A string: id, length with its NUL, bytes, NUL.
class StringTable {
 public:
  StringTable(const Bytes& file, size_t chunk) : file_(file), chunk_(chunk) {
    file.need_tag(chunk, "CQDB");
    need_at(file.u32(chunk + 12) == kByteOrderMark, chunk + 12, "the byte order is not little-endian");
    size_ = file.u32(chunk + 16);
    offsets_ = chunk + file.u32(chunk + 20);
    file.piece(offsets_, size_t{4} * size_);
  }
  size_t size() const { return size_; }
  std::string_view operator[](size_t id) const {
    const size_t own = file_.u32(offsets_ + 4 * id);
    need_at(own != 0, offsets_ + 4 * id, "a string is missing");
    const size_t at = chunk_ + own;
    const uint32_t length = file_.u32(at + 4);
    const std::string_view text = file_.piece(at + 8, length);
    need_at(file_.u32(at) == id && length > 0 && text.back() == '\0', at, "a damaged string");
    return text.substr(0, length - 1);
  }

 private:
  const Bytes& file_;
  size_t chunk_, offsets_ = 0;
  uint32_t size_ = 0;
};

}  // namespace

ForeignModel read_crfsuite(std::string_view bytes) {
  const Bytes file(bytes);
  file.piece(0, kHeaderBytes);
  file.need_tag(0, "lCRF");
  need_at(file.u32(4) == bytes.size(), 4, "the file is truncated or longer than its header says");
  file.need_tag(8, "FOMC");
  need_at(file.u32(12) == 100, 12, "this version of the format is not supported");

  ForeignModel model;
  model.tool = "crfsuite";
  const StringTable labels(file, file.u32(32)), attributes(file, file.u32(36));
  need_at(labels.size() == file.u32(20), 20, "the number of labels does not match their table");
  need_at(labels.size() <= kMostLabels, 20, "too many labels");
  for (size_t y = 0; y < labels.size(); ++y) model.labels.emplace_back(labels[y]);
  foreign::check_labels(model.labels);
  const size_t L = model.labels.size();

  foreign::WeightBuilder weights(L);
  for (size_t a = 0; a < attributes.size(); ++a)
    need_at(weights.features.add(attributes[a]) == static_cast<int32_t>(a), file.u32(36), "an attribute occurs twice");
  const size_t chunk = file.u32(28);
  file.need_tag(chunk, "FEAT");
  const size_t count = file.u32(chunk + 8), first = chunk + 12;
  file.piece(first, count * kFeatureBytes);
  for (size_t at = first; at < first + count * kFeatureBytes; at += kFeatureBytes) {
    const uint32_t type = file.u32(at), source = file.u32(at + 4), label = file.u32(at + 8);
    const double weight = file.number<double>(at + 12);
    need_at(type <= 1, at, "an unknown type of feature; models of CRFsuite before 0.12 are not supported");
    need_at(source < (type ? L : attributes.size()) && label < L, at, "a feature of an unknown attribute or label");
    need_at(std::isfinite(weight), at + 12, "a weight is not finite");
    if (type)
      weights.edge(source, label, weight);
    else
      weights.node(static_cast<int32_t>(source), label, weight);
  }
  model.weights = std::move(weights).finish();
  return model;
}

}  // namespace tagwright
