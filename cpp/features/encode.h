// An encoded corpus: every token's features, indexed once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/arrays.h"
#include "features/index.h"
#include "features/sketch.h"
#include "features/templates.h"
#include "features/text.h"

namespace tagwright {

// The features of tokens one behind the other, and where each token's end.
template <template <class> class Array>
struct IdArrays {
  Array<int32_t> id;
  Array<float> value;   // beside id; empty where all are 1
  Array<uint64_t> end;  // [token]

  size_t begin(size_t token) const { return token ? end[token - 1] : 0; }
  float value_of(size_t at) const { return value.empty() ? 1.0F : value[at]; }
};

template <template <class> class Array>
struct EncodedArrays {
  Array<uint64_t> sentence_end;  // in tokens
  IdArrays<Array> node, edge;    // edge: of the step into the token

  size_t sentences() const { return sentence_end.size(); }
  size_t first_token(size_t s) const { return s ? sentence_end[s - 1] : 0; }
};
// Calls visit(name, array) for all, by the names they have in files.
template <class Arrays, class Visit>
void for_each_encoded_array(Arrays& a, Visit&& visit) {
  const auto ids = [&](const std::string& prefix, auto& own) {
    visit(prefix + ".id", own.id);
    visit(prefix + ".value", own.value);
    visit(prefix + ".end", own.end);
  };
  visit("sentence_end", a.sentence_end);
  ids("node", a.node);
  ids("edge", a.edge);
}
using Ids = IdArrays<Owned>;
using Encoded = EncodedArrays<Owned>;

// The names of features: of nodes and of edges.
struct Names {
  Index node, edge;
};

// The labels of a corpus, for templates that look at them.
struct Labelled {
  std::span<const std::string> names;
  std::span<const int32_t> labels;  // of every token
};

// Features that may be frequent enough, among them all known ones; others are left out.
struct Likely {
  const Sketch *node, *edge;
  size_t min_count;
};

// Numbers the features of a text, new ones in the order in which they come, whatever the number of threads. Templates
// that look at earlier labels see the right ones.
Encoded encode(const Text& text, const Templates& templates, const Labelled& labelled, Names& names, size_t threads,
               const Likely* likely = nullptr);

// On how many tokens each feature is.
class FeatureCounts {
 public:
  // names: how many there are by now.
  void add(const Ids& ids, size_t names);
  size_t tokens(size_t id) const { return id < tokens_.size() ? tokens_[id] : 0; }

 private:
  std::vector<uint32_t> tokens_;
  std::vector<uint64_t> last_;  // [id]: the last token that has it, from 1
  uint64_t seen_ = 0;           // tokens
};

// Forgets features that occur on fewer than min_count tokens, but for the first `kept`. Returns their new numbers,
// kNoId for those that are forgotten; nothing where none is.
std::vector<int32_t> drop_rare(const FeatureCounts& counts, Index& index, size_t min_count, size_t kept);
// Gives features their new numbers, and leaves out those that are forgotten. renamed: may be empty.
void rename(Ids& ids, std::span<const int32_t> renamed);

// Adds all names of one index to another.
void add_all(const IndexView& from, Index& to);
// The features that are chosen, in their order, as a new index.
Index select(const IndexView& from, const std::vector<bool>& chosen);

}  // namespace tagwright
