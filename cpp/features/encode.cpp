#include "features/encode.h"

#include <algorithm>
#include <stdexcept>

#include "base/stop.h"
#include "base/thread_pool.h"

namespace tagwright {
namespace {

// likely: which new features may be frequent enough; nullptr: all.
void encode_token(const std::vector<Feature>& features, const FeatureScratch& scratch, Index& index,
                  const Sketch* likely, size_t min_count, bool distinct, Ids& out) {
  const size_t begin = out.id.size();
  for (const Feature& f : features) index.view().prefetch(f.hash);
  for (const Feature& f : features) {
    if (likely && !likely->may_be(f.hash, min_count)) continue;
    const int32_t id = index.add(f.hash, scratch.text(f));
    // A set of corrections is active or it is not: naming it twice means nothing.
    if (distinct && std::find(out.id.begin() + static_cast<ptrdiff_t>(begin), out.id.end(), id) != out.id.end())
      continue;
    if (f.value != 1.0F && out.value.empty()) out.value.assign(out.id.size(), 1.0F);
    if (f.value != 1.0F || !out.value.empty()) out.value.push_back(f.value);
    out.id.push_back(id);
  }
  out.end.push_back(out.id.size());
}

void encode_part(const Text& text, const Templates& templates, const Labelled& labelled, size_t first, size_t last,
                 Names& names, const Likely* likely, Encoded& out) {
  FeatureScratch scratch;
  const bool history = templates.history() > 0;
  for (size_t s = first; s < last; ++s) {
    check_stop();
    templates.start(text, s, scratch);
    for (size_t t = 0; t < text.length(s); ++t) {
      templates.expand(text, s, t, scratch);
      if (history) {
        const Before before{labelled.names, labelled.labels.data() + text.first_token(s) + t};
        for (const Templates::Which which : {Templates::Which::pure, Templates::Which::mixed})
          templates.expand_history(which, text, s, t, before, scratch);
      }
      const size_t least = likely ? likely->min_count : 0;
      encode_token(scratch.node, scratch, names.node, likely ? likely->node : nullptr, least, false, out.node);
      encode_token(scratch.edge, scratch, names.edge, likely ? likely->edge : nullptr, least, true, out.edge);
    }
    out.sentence_end.push_back(out.node.end.size());
  }
}

// Joins a part to what is there, its ids through `renamed`.
void append(Ids& to, const Ids& part, const std::vector<int32_t>& renamed) {
  const size_t shift = to.id.size();
  if (!part.value.empty() || !to.value.empty()) {
    to.value.resize(shift, 1.0F);
    to.value.insert(to.value.end(), part.value.begin(), part.value.end());
    to.value.resize(shift + part.id.size(), 1.0F);
  }
  for (const int32_t id : part.id) to.id.push_back(renamed[static_cast<size_t>(id)]);
  for (const size_t end : part.end) to.end.push_back(shift + end);
}

std::vector<int32_t> merge(Index& to, const Index& part) {
  std::vector<int32_t> renamed(part.size());
  for (size_t id = 0; id < part.size(); ++id) renamed[id] = to.add(part.text(id));
  return renamed;
}

}  // namespace

Encoded encode(const Text& text, const Templates& templates, const Labelled& labelled, Names& names, size_t threads,
               const Likely* likely) {
  if (templates.history() && (labelled.labels.size() != text.tokens() || labelled.names.empty()))
    throw std::invalid_argument("templates look at earlier labels, but none are known");
  Encoded out;
  const size_t parts = std::max<size_t>(1, std::min(threads, text.sentences()));
  if (parts == 1) {
    encode_part(text, templates, labelled, 0, text.sentences(), names, likely, out);
    return out;
  }
  std::vector<Names> own(parts);
  std::vector<Encoded> encoded(parts);
  in_parallel(parts, parts, [&](size_t p) {
    encode_part(text, templates, labelled, text.sentences() * p / parts, text.sentences() * (p + 1) / parts, own[p],
                likely, encoded[p]);
  });
  for (size_t p = 0; p < parts; ++p) {
    const size_t shift = out.node.end.size();
    append(out.node, encoded[p].node, merge(names.node, own[p].node));
    append(out.edge, encoded[p].edge, merge(names.edge, own[p].edge));
    for (const size_t end : encoded[p].sentence_end) out.sentence_end.push_back(shift + end);
    own[p] = {};
    encoded[p] = {};
  }
  return out;
}

void FeatureCounts::add(const Ids& ids, size_t names) {
  tokens_.resize(names, 0);
  last_.resize(names, 0);
  for (size_t token = 0; token < ids.end.size(); ++token) {
    ++seen_;
    for (size_t at = ids.begin(token); at < ids.end[token]; ++at) {
      const auto id = static_cast<size_t>(ids.id[at]);
      tokens_[id] += last_[id] != seen_;
      last_[id] = seen_;
    }
  }
}

std::vector<int32_t> drop_rare(const FeatureCounts& counts, Index& index, size_t min_count, size_t kept) {
  std::vector<bool> chosen(index.size());
  std::vector<int32_t> renamed(index.size(), kNoId);
  int32_t next = 0;
  for (size_t id = 0; id < index.size(); ++id) {
    chosen[id] = id < kept || counts.tokens(id) >= min_count;
    if (chosen[id]) renamed[id] = next++;
  }
  if (static_cast<size_t>(next) == index.size()) return {};
  index = select(index.view(), chosen);
  return renamed;
}

void rename(Ids& ids, std::span<const int32_t> renamed) {
  if (renamed.empty()) return;
  size_t left = 0, at = 0;
  for (uint64_t& end : ids.end) {
    for (; at < end; ++at) {
      const int32_t id = renamed[static_cast<size_t>(ids.id[at])];
      if (id == kNoId) continue;
      if (!ids.value.empty()) ids.value[left] = ids.value[at];
      ids.id[left++] = id;
    }
    end = left;
  }
  ids.id.resize(left);
  if (ids.value.empty()) return;
  ids.value.resize(left);
  if (std::all_of(ids.value.begin(), ids.value.end(), [](float value) { return value == 1; })) ids.value.clear();
}

void add_all(const IndexView& from, Index& to) {
  for (size_t id = 0; id < from.size(); ++id) to.add(from.text(id));
}

Index select(const IndexView& from, const std::vector<bool>& chosen) {
  std::vector<std::string_view> texts;
  for (size_t id = 0; id < from.size(); ++id)
    if (chosen[id]) texts.push_back(from.text(id));
  return Index(std::move(texts));
}

}  // namespace tagwright
