#include "model/memm.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/need.h"
#include "kernels/elementary.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

// Sums in different orders may differ by this much: less, and one score is not known to be above another.
constexpr double kRounding = 1e-9;

// Limit of the cache of scores of label features, which is kept from sentence to sentence: 16 MB.
constexpr size_t kHeldScores = size_t{4} << 20;

// Limits of the caches of a sentence: node scores of tokens, and rows of probabilities. For longer sentences they are
// computed again in each pass.
constexpr size_t kHeldNodes = size_t{16} << 20, kHeldRows = size_t{64} << 20;  // bytes

// Initial width of a beam, and the factor by which it is widened while its answer is not proven exact.
constexpr size_t kNarrow = 2, kWiden = 3;
// Up to this number, all histories are held from the start.
constexpr size_t kFew = 4;

// Memory of a beam over a sentence.
double beam_bytes(size_t tokens, size_t width) {
  constexpr size_t kToken = 128;  // beside the beam
  return static_cast<double>(tokens) * static_cast<double>(kToken + width * sizeof(Partial));
}

// Better first; of equals the one that Algorithm 1 visits first.
bool better(const Partial& a, const Partial& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.parent != b.parent ? a.parent < b.parent : a.label < b.label;
}

}  // namespace

Memm::Memm(std::shared_ptr<const Scorer> own, std::vector<std::string> labels, bool from_end, size_t beam,
           MemmRules given)
    : names(std::move(labels)), leftward(from_end), width(beam), rules(std::move(given)), scorer_(std::move(own)) {
  const Weights& weights = scorer_->weights();
  need(names.size() == scorer_->L(), "there must be one name per label");
  need(width >= 1, "beam must be at least 1");
  need(!weights.first_only() && weights.parts().each == 0 && weights.edge_names().size() == 0,
       "a maxent Markov model has weights for labels only");
  need(!rules.pairs || rules.pairs->L() == L(), "rules: one per label is needed");
  need(!rules.dictionary || rules.dictionary->L() == L(), "the tag dictionary is for another number of labels");
}

std::unique_ptr<SentenceSearch> Memm::search() const { return std::make_unique<MemmSearch>(*this, width); }

double Memm::bytes(size_t tokens) const {
  return beam_bytes(tokens, width) + static_cast<double>(tokens) * static_cast<double>(L() * sizeof(double));
}

MemmSearch::MemmSearch(const Memm& model, size_t width, size_t k)
    : model_(model), history_(model.history()), width_(std::max(width, k)), k_(k) {
  need(k >= 1 && width >= 1, "k and the beam must be at least 1");
}

void MemmSearch::start(const Text& text, size_t sentence, const SearchLimits& limits) {
  const size_t L = model_.L();
  limits_ = limits;
  viable_.clear();
  all_ = k_;
  for (size_t back = 0; back < std::max<size_t>(history_, model_.rules.pairs || limits.rules); ++back)
    all_ = times_up_to(all_, L, SIZE_MAX / 2);
  text_ = &text;
  sentence_ = sentence;
  T_ = text.length(sentence);
  if (const double bytes = beam_bytes(T_, width_); bytes > kMostBytes)
    fail_for_room(bytes, T_, " with a beam of " + std::to_string(width_));
  nodes_.clear();
  rows_.trim(kHeldRows);
  rows_held_ = 0;
  scores_.resize(L);
  reached_.resize(L);
  chosen_.resize(L);
  for (std::vector<Known>& rows : known_) rows.clear();
  if (known_.size() < T_) known_.resize(T_);
  prices_.assign(L, 0.0);
  price_of_.assign(T_, 0);
  most_.assign(T_, 0.0);
  held_.assign(T_, 0);
  dropped_.assign(T_, kForbidden);
  words_.assign(T_, std::nullopt);
  model_.scorer().templates().start(text, sentence, scratch_);
  for (size_t t = 0; t < T_ && model_.rules.dictionary && text.columns > 0; ++t)
    words_[t] = model_.rules.dictionary->labels_of(text.cell(text.first_cell(text.first_token(sentence) + t)));
  widen(std::min(width_, all_ <= kFew ? all_ : kNarrow * k_));
}

void MemmSearch::widen(size_t width) {
  now_ = width;
  changed_ = 0;
  const size_t all = times(T_, width);
  if (all > partials_.capacity()) partials_ = std::vector<Partial>();  // Nothing that it holds is needed any more.
  partials_.resize(all);
}

void MemmSearch::change(size_t t, int32_t label, double by) {
  const size_t L = model_.L(), own = place(t);
  if (price_of_[own] == 0) {
    price_of_[own] = prices_.size();
    prices_.resize(prices_.size() + L, 0.0);
  }
  double* column = prices_.data() + price_of_[own];
  column[label] += by;
  most_[own] = kernels().max_d(column, L);
  changed_ = std::min(changed_, own);
}

const float* MemmSearch::node(size_t t) {
  const size_t L = model_.L(), some = std::max<size_t>(1, kHeldNodes / (L * sizeof(float)));
  if (nodes_.empty() || t < first_node_ || t >= first_node_ + nodes_.size() / L) {
    first_node_ = t / some * some;
    nodes_.assign(std::min(some, T_ - first_node_) * L, 0.0F);
    for (size_t at = 0; at < nodes_.size(); at += L) {
      model_.scorer().templates().expand(*text_, sentence_, first_node_ + at / L, scratch_);
      model_.scorer().add_features(scratch_.node, scratch_, ids_, nodes_.data() + at);
    }
  }
  return nodes_.data() + (t - first_node_) * L;
}

// Adds to scores_ the features of the labels before, with and without words.
void MemmSearch::add_history(size_t t, LabelHistory history) {
  const size_t L = model_.L();
  std::array<int32_t, kLongestHistory> labels{};
  for (size_t back = 1; back <= history_; ++back)
    labels[kLongestHistory - back] = static_cast<int32_t>((history >> (16 * (back - 1))) & 0xffffU);
  const Before before{model_.names, labels.data() + kLongestHistory};
  const auto add = [&](Templates::Which which, float* out) {
    scratch_.node.clear();
    scratch_.bytes.clear();
    model_.scorer().templates().expand_history(which, *text_, sentence_, t, before, scratch_);
    model_.scorer().add_features(scratch_.node, scratch_, ids_, out);
  };
  // Features of labels alone do not depend on the position.
  if (alone_.size() * L > kHeldScores) alone_.clear();
  std::vector<float>& alone = alone_[history];
  if (alone.empty()) {
    alone.assign(L, 0.0F);
    add(Templates::Which::pure, alone.data());
  }
  kernels().add_scaled_f(alone.data(), 1.0F, L, scores_.data());
  add(Templates::Which::mixed, scores_.data());
}

const double* MemmSearch::log_probabilities(size_t t, LabelHistory history) {
  const size_t L = model_.L();
  history = relevant(history);
  for (const Known& known : known_[t])
    if (known.history == history) return known.row;
  if (rows_held_ * L * sizeof(double) > kHeldRows) {
    known_ = std::vector<std::vector<Known>>(T_);
    rows_.reset();
    rows_held_ = 0;
  }
  double* row = rows_.array<double>(L);
  ++rows_held_;
  std::copy_n(node(t), L, scores_.data());
  if (history_) add_history(t, history);
  // Equation 3.
  const double highest = kernels().max_f(scores_.data(), L);
  kernels().exp_f(scores_.data(), highest, L, row);
  const double log_z = highest + portable_log(kernels().sum_d(row, L));
  for (size_t y = 0; y < L; ++y) row[y] = std::min(0.0, static_cast<double>(scores_[y]) - log_z);
  known_[t].push_back({history, row});
  return row;
}

// Whether rules let label y stand at token t behind a history; rules are in the order of reading.
bool MemmSearch::follows(const PairRules& rules, size_t t, LabelHistory history, size_t y) const {
  const auto before = static_cast<uint16_t>(history);
  const bool left = model_.leftward;
  if (before == kNoLabel ? !(left ? rules.may_stop(y) : rules.may_start(y))
                         : !(left ? rules.may_follow(y, before) : rules.may_follow(before, y)))
    return false;
  return t + 1 < T_ || (left ? rules.may_start(y) : rules.may_stop(y));
}

// Whether the lists of the call allow label y at token t.
bool MemmSearch::allows(size_t t, size_t y) const {
  const std::span<const int32_t> list = limits_.allowed[place(t)];
  return list.empty() || std::binary_search(list.begin(), list.end(), static_cast<int32_t>(y));
}

bool MemmSearch::compatible(size_t t, LabelHistory history, size_t y, Own own) const {
  if (limits_.rules && !follows(*limits_.rules, t, history, y)) return false;
  if (!allows(t, y) || (!viable_.empty() && !viable_[t * model_.L() + y])) return false;
  if (own == Own::none) return true;
  if (model_.rules.pairs && !follows(*model_.rules.pairs, t, history, y)) return false;
  return own == Own::pairs || !words_[t] ||
         std::binary_search(words_[t]->begin(), words_[t]->end(), static_cast<int32_t>(y));
}

void MemmSearch::find_viable() {
  const size_t L = model_.L();
  std::vector<bool> viable(times(T_, L), false);
  const LabelHistory first = none();
  for (size_t t = T_; t-- > 0;) {
    bool any = false;
    for (size_t y = 0; y < L; ++y) {
      meter_.count(8 * L);
      if (!allows(t, y)) continue;
      const auto label = static_cast<int32_t>(y);
      // Behind any label, a label of the last token must be allowed to be the last: the rules say so of the first too.
      bool leads = t + 1 == T_ &&
                   (!limits_.rules || (model_.leftward ? limits_.rules->may_start(y) : limits_.rules->may_stop(y)));
      for (size_t next = 0; next < L && t + 1 < T_ && !leads; ++next)
        leads =
            viable[(t + 1) * L + next] && (!limits_.rules || follows(*limits_.rules, t + 1, after(first, label), next));
      if (leads && t == 0 && limits_.rules) leads = follows(*limits_.rules, 0, first, y);
      viable[t * L + y] = leads;
      any |= leads;
    }
    if (!any)
      throw std::invalid_argument(
          "no path: the constraints and the allowed labels leave no labelling; no label that token " +
          std::to_string(place(t)) + " may have is part of one");
  }
  viable_ = std::move(viable);
  changed_ = 0;
}

LabelHistory MemmSearch::state(LabelHistory history) const {
  // Rules depend on the label before even where no feature does.
  return history_ || (!model_.rules.pairs && !limits_.rules) ? relevant(history) : history & 0xffffU;
}

// Keeps the best candidates: at most now_ of them, and at most k of a history.
void MemmSearch::cut(std::vector<Partial>& found) {
  size_t slots = 16;
  while (slots < 4 * now_ && slots < 4 * found.size()) slots *= 2;
  for (size_t some = 2 * now_;; some *= 2) {
    some = std::min(some, found.size());
    const auto end = found.begin() + static_cast<ptrdiff_t>(some);
    if (some < found.size()) std::nth_element(found.begin(), end, found.end(), better);
    std::sort(found.begin(), end, better);
    counts_.assign(slots, {0, 0});
    size_t held = 0, at = 0;
    for (; at < some && held < now_; ++at) {
      const LabelHistory own = state(found[at].history);
      size_t slot = (own * 0x9e3779b97f4a7c15U >> 32) & (slots - 1);
      while (counts_[slot].second && counts_[slot].first != own) slot = (slot + 1) & (slots - 1);
      if (counts_[slot].second == k_) continue;
      counts_[slot] = {own, counts_[slot].second + 1};
      std::swap(found[held++], found[at]);
    }
    if (held < now_ && some < found.size()) continue;
    for (; at < found.size(); ++at) lost_ = std::max(lost_, found[at].score);
    found.resize(held);
    break;
  }
  full_ = found.size() == now_;
  if (full_) least_ = found.back().score;
}

// Extends partial sequences by labels that are compatible. Returns whether there are any.
bool MemmSearch::extend_from(size_t t, std::span<const Partial> before, Own own) {
  const size_t L = model_.L();
  const bool any = limited() || (own != Own::none && (model_.rules.pairs || words_[t]));
  const auto fits = [&](LabelHistory history, size_t y) { return compatible(t, history, y, own); };
  std::vector<Partial>& found = found_;
  found.clear();
  full_ = false;
  lost_ = kForbidden;
  const size_t many = 2 * now_;
  const double* prices = prices_.data() + price_of_[t];
  for (size_t p = 0; p < before.size(); ++p) {
    // No probability is above 1, and the sequences that follow are worse.
    if (full_ && before[p].score + most_[t] < least_) {
      lost_ = std::max(lost_, before[p].score + most_[t]);
      break;
    }
    meter_.count(1000 + 8 * L);
    const double* row = log_probabilities(t, before[p].history);
    kernels().extend_dd(before[p].score, row, prices, L, reached_.data());
    size_t n = L;
    if (full_) {
      n = kernels().at_least_d(reached_.data(), L, least_, chosen_.data());
      for (size_t y = 0; y < L; ++y)
        if (reached_[y] < least_ && reached_[y] > lost_ && (!any || fits(before[p].history, y))) lost_ = reached_[y];
    }
    for (size_t q = 0; q < n; ++q) {
      const size_t y = full_ ? static_cast<size_t>(chosen_[q]) : q;
      if (any && !fits(before[p].history, y)) continue;
      const auto label = static_cast<int32_t>(y);
      found.push_back({reached_[y], after(before[p].history, label), static_cast<int32_t>(p), label});
    }
    if (found.size() >= many) cut(found);
  }
  if (found.empty()) return false;
  cut(found);
  std::copy(found.begin(), found.end(), partials_.data() + t * now_);
  held_[t] = static_cast<uint32_t>(found.size());
  return true;
}

bool MemmSearch::extend(size_t t) {
  const Partial root{0.0, none(), 0, -1};
  const std::span<const Partial> before = t ? column(t - 1) : std::span(&root, 1);
  // Where the model's own rules leave nothing, first the labels of known words are ignored, then all of them.
  const bool any =
      extend_from(t, before, Own::all) || extend_from(t, before, Own::pairs) || extend_from(t, before, Own::none);
  dropped_[t] = all_fit() ? kForbidden : lost_;
  return any;
}

bool MemmSearch::pass(size_t from) {
  for (size_t t = from; t < T_; ++t)
    if (!extend(t)) return false;
  changed_ = T_;
  exact_ = true;
  if (T_ == 0) return true;
  const std::span<const Partial> last = column(T_ - 1);
  // Where there are fewer than k, anything that was dropped would be one more.
  const double reached = last.size() < k_ ? kForbidden : last[k_ - 1].score;
  double ahead = 0;
  for (size_t t = T_; t-- > 0;) {
    if (dropped_[t] > kForbidden && dropped_[t] + ahead > reached - kRounding) exact_ = false;
    ahead += most_[t];
  }
  return true;
}

// Labels in the order of reading.
std::vector<int32_t> MemmSearch::path(size_t at) const {
  std::vector<int32_t> labels(T_);
  for (size_t t = T_; t-- > 0;) {
    const Partial& partial = column(t)[at];
    labels[place(t)] = partial.label;
    at = static_cast<size_t>(partial.parent);
  }
  return labels;
}

const std::vector<int32_t>& MemmSearch::find() {
  // Columns before the first changed one stay valid: they do not depend on later prices.
  // A column is empty where the beam holds only sequences that the limits of the call do not let continue. With viable
  // labels alone, every sequence can continue.
  if (!pass(changed_)) {
    find_viable();
    need(pass(0), "a viable label has no successor");
  }
  labels_ = T_ ? path(0) : std::vector<int32_t>();
  return labels_;
}

const std::vector<int32_t>& MemmSearch::confirm() {
  while (!exact_ && now_ < width_) {
    widen(all_ <= width_ ? width_ : std::min(width_, now_ * kWiden));
    find();
  }
  return labels_;
}

double MemmSearch::score(std::span<const int32_t> labels) {
  std::vector<double> terms(T_);
  LabelHistory history = none();
  for (size_t t = 0; t < T_; ++t) {
    const int32_t label = labels[place(t)];
    terms[place(t)] = log_probabilities(t, history)[label];
    history = after(history, label);
  }
  double sum = 0;
  for (const double term : terms) sum += term;
  return sum;
}

std::vector<Path> MemmSearch::best() {
  find();
  confirm();
  std::vector<Path> paths;
  if (T_ == 0) return {{}};
  for (size_t at = 0; at < std::min(k_, column(T_ - 1).size()); ++at) {
    std::vector<int32_t> labels = path(at);
    const double sum = score(labels);
    paths.push_back({std::move(labels), sum});
  }
  std::stable_sort(paths.begin(), paths.end(), [](const Path& a, const Path& b) { return a.score > b.score; });
  return paths;
}

std::vector<double> memm_steps(const Memm& model, const Text& text, size_t sentence, const SearchLimits& limits) {
  need(sentence < text.sentences(), "no such sentence");
  need(model.history() <= 1, "the model looks back at more than one label");
  model.scorer().templates().check_text(text);
  const size_t T = text.length(sentence), L = model.L();
  if (const double bytes = static_cast<double>(T) * static_cast<double>((L + 1) * L * sizeof(double));
      bytes > kMostBytes)
    fail_for_room(bytes, T, " as a lattice of a MEMM");
  std::vector<double> out(times(T, times(L + 1, L)), kForbidden);
  MemmSearch search(model, 1);
  search.start(text, sentence, limits);
  if (search.limited()) search.find_viable();
  std::vector<size_t> before{L}, here;  // labels that some labelling reaches; L: none, before the first token
  for (size_t t = 0; t < T; ++t) {
    here.clear();
    for (const MemmSearch::Own own : {MemmSearch::Own::all, MemmSearch::Own::pairs, MemmSearch::Own::none}) {
      std::vector<bool> reached(L, false);
      for (const size_t i : before) {
        const LabelHistory history = i == L ? search.none() : search.after(search.none(), static_cast<int32_t>(i));
        const double* row = search.log_probabilities(t, history);
        for (size_t j = 0; j < L; ++j) {
          if (!search.compatible(t, history, j, own)) continue;
          out[(t * (L + 1) + i) * L + j] = row[j];
          reached[j] = true;
        }
      }
      for (size_t j = 0; j < L; ++j)
        if (reached[j]) here.push_back(j);
      if (!here.empty()) break;
    }
    before.swap(here);
  }
  return out;
}

}  // namespace tagwright
