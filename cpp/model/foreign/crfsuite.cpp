// Models of CRFsuite: a table of features (attribute or label, label, weight) and two string tables. Attributes are
// ready-made features; there are no templates.
#include <algorithm>
#include <bit>

#include "model/attributes.h"
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
  StringTable(Bytes file, size_t chunk) : file_(file), chunk_(chunk) {
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
  // The id of a string, or kNoId: the chunk has 256 hash tables with open addressing, (offset, slots) each, of slots
  // (hash, offset); the offset 0 is empty.
  int32_t find(std::string_view text) const {
    const uint32_t hash = hash_with_nul(text);
    const size_t table = chunk_ + kTables + size_t{8} * (hash % 256);
    const uint32_t slots = file_.u32(table + 4);
    if (slots == 0) return kNoId;
    const std::string_view bytes = file_.piece(chunk_ + file_.u32(table), size_t{8} * slots);
    uint32_t slot = (hash >> 8) % slots;
    for (uint32_t n = 0; n < slots; ++n, slot = slot + 1 == slots ? 0 : slot + 1) {
      uint32_t own[2];  // hash, offset
      std::memcpy(own, bytes.data() + size_t{8} * slot, sizeof own);
      if (own[1] == 0) return kNoId;
      if (own[0] != hash) continue;
      const size_t at = chunk_ + own[1];
      const uint32_t length = file_.u32(at + 4);
      if (length == text.size() + 1 && file_.piece(at + 8, text.size()) == text)
        return static_cast<int32_t>(std::min(file_.u32(at), size_));
    }
    return kNoId;
  }

 private:
  static constexpr size_t kTables = 24;

  // lookup3 (Bob Jenkins, 2006) of a string and the NUL behind it, which is what the tables are made of.
  static uint32_t hash_with_nul(std::string_view text) {
    const auto turn = [](uint32_t x, int by) { return std::rotl(x, by); };
    const char* at = text.data();
    size_t left = text.size() + 1;
    uint32_t a = 0xdeadbeef + static_cast<uint32_t>(left), b = a, c = a, words[3];
    for (; left > 12; left -= 12, at += 12) {
      std::memcpy(words, at, sizeof words);
      a += words[0], b += words[1], c += words[2];
      a -= c, a ^= turn(c, 4), c += b;
      b -= a, b ^= turn(a, 6), a += c;
      c -= b, c ^= turn(b, 8), b += a;
      a -= c, a ^= turn(c, 16), c += b;
      b -= a, b ^= turn(a, 19), a += c;
      c -= b, c ^= turn(b, 4), b += a;
    }
    // The rest is padded with zeros, of which the NUL is one.
    std::memset(words, 0, sizeof words);
    std::memcpy(words, at, left - 1);
    a += words[0], b += words[1], c += words[2];
    c ^= b, c -= turn(b, 14);
    a ^= c, a -= turn(c, 11);
    b ^= a, b -= turn(a, 25);
    c ^= b, c -= turn(b, 16);
    a ^= c, a -= turn(c, 4);
    b ^= a, b -= turn(a, 14);
    c ^= b, c -= turn(b, 24);
    return c;
  }

  Bytes file_;
  size_t chunk_, offsets_ = 0;
  uint32_t size_ = 0;
};

// The chunks of a file, after a check of its header.
struct Chunks {
  explicit Chunks(std::string_view bytes)
      : file(checked(bytes)), labels(file, file.u32(32)), attributes(file, file.u32(36)) {
    need_at(labels.size() == file.u32(20), 20, "the number of labels does not match their table");
    need_at(labels.size() <= kMostLabels, 20, "too many labels");
    const size_t chunk = file.u32(28);
    file.need_tag(chunk, "FEAT");
    count = file.u32(chunk + 8);
    first = chunk + 12;
    records = file.piece(first, count * kFeatureBytes);
  }

  Bytes file;
  StringTable labels, attributes;
  size_t first = 0, count = 0;  // of the features: the offset of the first, and their number
  std::string_view records;

  std::vector<std::string> label_names() const {
    std::vector<std::string> made;
    for (size_t y = 0; y < labels.size(); ++y) made.emplace_back(labels[y]);
    foreign::check_labels(made);
    return made;
  }

  // Calls visit(n, transition, source, label, weight) for the n-th feature.
  template <class Visit>
  void for_each_feature(Visit&& visit) const {
    const size_t L = labels.size(), A = attributes.size();
    for (size_t n = 0; n < count; ++n) {
      const char* const record = records.data() + n * kFeatureBytes;
      uint32_t head[3];  // type, source, label
      double weight;
      std::memcpy(head, record, sizeof head);
      std::memcpy(&weight, record + sizeof head, sizeof weight);
      if (head[0] > 1 || head[1] >= (head[0] ? L : A) || head[2] >= L || !std::isfinite(weight)) refuse(n, head);
      visit(n, head[0] == 1, head[1], head[2], weight);
    }
  }

 private:
  static Bytes checked(std::string_view bytes) {
    const Bytes file(bytes);
    file.piece(0, kHeaderBytes);
    file.need_tag(0, "lCRF");
    need_at(file.u32(4) == bytes.size(), 4, "the file is truncated or longer than its header says");
    file.need_tag(8, "FOMC");
    need_at(file.u32(12) == 100, 12, "this version of the format is not supported");
    return file;
  }
  [[noreturn]] void refuse(size_t n, const uint32_t* head) const {
    const size_t at = first + n * kFeatureBytes;
    need_at(head[0] <= 1, at, "an unknown type of feature; models of CRFsuite before 0.12 are not supported");
    need_at(head[1] < (head[0] ? labels.size() : attributes.size()) && head[2] < labels.size(), at,
            "a feature of an unknown attribute or label");
    foreign::fail_at(at + 12, "a weight is not finite");
  }
};

// A file that is used where it is: attributes are found by its own hash tables, and their features by its lists of
// references. Only labels and transitions are read at once; a damaged attribute is an error where it is first used.
class CrfsuiteAttributes : public AttributeModel {
 public:
  CrfsuiteAttributes(std::string_view bytes, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)), chunks_(bytes) {
    make_labels(chunks_.label_names());
    transitions_ = references(40, "LFRF", L());
    states_ = references(44, "AFRF", attributes());
    for (size_t i = 0; i < L(); ++i)
      for_each_feature(transitions_, i, 1, [&](uint32_t label, double weight) { matrix_[i * L() + label] += weight; });
  }

  void add(std::string_view attribute, double value, double* nodes) const override {
    const int32_t id = chunks_.attributes.find(attribute);
    if (id >= 0 && static_cast<size_t>(id) < attributes()) add_row(static_cast<size_t>(id), value, nodes);
  }
  size_t attributes() const override { return chunks_.attributes.size(); }
  std::string_view attribute(size_t id) const override { return chunks_.attributes[id]; }
  void row(size_t id, double* row) const override { add_row(id, 1.0, row); }

 private:
  // Returns where the offsets of the lists begin: a chunk is its tag, size and number of lists, and then their offsets.
  size_t references(size_t header, std::string_view tag, size_t least) const {
    const size_t chunk = chunks_.file.u32(header);
    chunks_.file.need_tag(chunk, tag);
    need_at(chunks_.file.u32(chunk + 8) >= least, chunk + 8, "too few lists of features");
    chunks_.file.piece(chunk + 12, 4 * least);
    return chunk + 12;
  }

  // Calls visit(label, weight) for the features of a list: a count, and numbers of records.
  template <class Visit>
  void for_each_feature(size_t lists, size_t source, uint32_t type, Visit&& visit) const {
    const size_t at = chunks_.file.u32(lists + 4 * source);
    const std::string_view numbers = chunks_.file.piece(at + 4, size_t{4} * chunks_.file.u32(at));
    for (size_t n = 0; n < numbers.size(); n += 4) {
      uint32_t number, head[3];  // type, source, label
      double weight;
      std::memcpy(&number, numbers.data() + n, sizeof number);
      need_at(number < chunks_.count, at + 4 + n, "an unknown feature");
      const char* const record = chunks_.records.data() + kFeatureBytes * number;
      std::memcpy(head, record, sizeof head);
      std::memcpy(&weight, record + sizeof head, sizeof weight);
      if (head[0] != type || head[1] != source || head[2] >= L() || !std::isfinite(weight))
        foreign::fail_at(chunks_.first + kFeatureBytes * number, "a damaged feature");
      visit(head[2], weight);
    }
  }
  void add_row(size_t id, double value, double* nodes) const {
    for_each_feature(states_, id, 0, [&](uint32_t label, double weight) { nodes[label] += weight * value; });
  }

  std::shared_ptr<const void> owner_;
  Chunks chunks_;
  size_t transitions_ = 0, states_ = 0;  // where the lists of labels and of attributes begin
};

}  // namespace

std::unique_ptr<AttributeModel> open_crfsuite(std::string_view bytes, std::shared_ptr<const void> owner) {
  return std::make_unique<CrfsuiteAttributes>(bytes, std::move(owner));
}

ForeignModel read_crfsuite(std::string_view bytes) {
  const Chunks chunks(bytes);
  ForeignModel model;
  model.tool = "crfsuite";
  model.labels = chunks.label_names();
  foreign::WeightBuilder weights(model.labels.size());
  for (size_t a = 0; a < chunks.attributes.size(); ++a)
    need_at(weights.features.add(chunks.attributes[a]) == static_cast<int32_t>(a), chunks.file.u32(36),
            "an attribute occurs twice");
  chunks.for_each_feature([&](size_t, bool transition, uint32_t source, uint32_t label, double weight) {
    if (transition)
      weights.edge(source, label, weight);
    else
      weights.node(static_cast<int32_t>(source), label, weight);
  });
  model.weights = std::move(weights).finish();
  return model;
}

}  // namespace tagwright
