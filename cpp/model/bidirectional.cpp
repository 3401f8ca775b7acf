#include "model/bidirectional.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/need.h"
#include "base/stop.h"
#include "base/thread_pool.h"
#include "decode/batch.h"
#include "lattice/no_path.h"

namespace tagwright {
namespace {

// A search whose labels have other numbers.
class Renumbered : public PricedSearch {
 public:
  Renumbered(SentenceSearch& inner, std::span<const int32_t> out) : inner_(inner), out_(out), in_(out.size()) {
    for (size_t y = 0; y < out.size(); ++y) in_[static_cast<size_t>(out[y])] = static_cast<int32_t>(y);
  }
  size_t length() const override { return inner_.length(); }
  void change(size_t t, int32_t label, double by) override { inner_.change(t, in(label), by); }
  const std::vector<int32_t>& find() override { return renumbered(inner_.find()); }
  const std::vector<int32_t>& confirm() override { return renumbered(inner_.confirm()); }
  bool exact() const override { return inner_.exact(); }
  double score(std::span<const int32_t> labels) {
    std::vector<int32_t> own;
    for (const int32_t label : labels) own.push_back(in(label));
    return inner_.score(own);
  }

 private:
  const std::vector<int32_t>& renumbered(const std::vector<int32_t>& labels) {
    labels_ = labels;
    for (int32_t& label : labels_) label = out_[static_cast<size_t>(label)];
    return labels_;
  }
  int32_t in(int32_t label) const { return in_[static_cast<size_t>(label)]; }

  SentenceSearch& inner_;
  std::span<const int32_t> out_;
  std::vector<int32_t> in_, labels_;
};

// The search of a LatticeModel. Scores of a very long sentence are computed anew, window by window, whenever they are
// needed.
class LatticeSearch : public SentenceSearch {
 public:
  LatticeSearch(const Scorer& scorer, const Edges& edges, const Plan& plan)
      : scorer_(scorer), edges_(edges), plan_(plan) {}

  void start(const Text& text, size_t sentence, const SearchLimits& limits = {}) override {
    allowed_ = limits.allowed;
    text_ = &text;
    sentence_ = sentence;
    T_ = text.length(sentence);
    window_ = window_to_decode(T_, edges_, plan_, false);
    prices_.clear();
    nodes_.clear();
    priced_.clear();
    if (window_) return;
    nodes_.resize(times(T_, scorer_.L()));
    scorer_.score(text, sentence, nodes_.data(), on_);
    if (allowed_) {
      arena_.reset();
      std::copy_n(masked({nodes_.data(), nullptr}, T_, scorer_.L(), allowed_, arena_).f, nodes_.size(), nodes_.data());
    }
    priced_.assign(nodes_.begin(), nodes_.end());
  }
  size_t length() const override { return T_; }
  void change(size_t t, int32_t label, double by) override {
    const size_t at = t * scorer_.L() + static_cast<size_t>(label);
    (window_ ? prices_[at] : priced_[at]) += by;
  }
  const std::vector<int32_t>& find() override {
    labels_.clear();
    if (T_ == 0) return labels_;
    arena_.reset();
    Answer answer = window_ ? viterbi_in_windows(T_, edges_, window_, columns(true), arena_)
                            : plan_.decoder->run(lattice({nullptr, priced_.data()}), plan_.options, arena_);
    if (answer.paths.empty())
      throw std::invalid_argument(
          why_no_path(lattice({nullptr, priced_.data()})).value_or("no path: -inf scores forbid every labelling"));
    labels_ = std::move(answer.paths[0].labels);
    return labels_;
  }
  const std::vector<int32_t>& confirm() override { return labels_; }
  bool exact() const override { return plan_.decoder->exact; }
  double score(std::span<const int32_t> labels) override {
    if (T_ == 0) return 0;
    if (window_) return score_in_windows(edges_, window_, columns(false), labels, arena_);
    return path_score(lattice({nodes_.data(), nullptr}), labels);
  }

 private:
  Lattice lattice(const Scores& nodes) const { return {edges_, T_, nodes, on_.empty() ? nullptr : &on_}; }

  Columns columns(bool priced) {
    return [this, priced](size_t begin, size_t end, Arena& arena) {
      const size_t L = scorer_.L(), n = (end - begin) * L;
      Supplied made;
      float* scores = arena.array<float>(n);
      if (begin == 0) scorer_.templates().start(*text_, sentence_, scratch_);
      scorer_.score(*text_, sentence_, begin, end, scratch_, scores, made.on);
      made.allowed = allowed_.from(begin);
      made.nodes = {scores, nullptr};
      if (!priced) return made;
      double* nodes = arena.array<double>(n);
      std::copy_n(scores, n, nodes);
      for (auto at = prices_.lower_bound(begin * L); at != prices_.end() && at->first < end * L; ++at)
        nodes[at->first - begin * L] += at->second;
      made.nodes = {nullptr, nodes};
      return made;
    };
  }

  const Scorer& scorer_;
  const Edges& edges_;
  const Plan& plan_;
  const Text* text_ = nullptr;
  size_t sentence_ = 0, T_ = 0, window_ = 0;  // window_: its columns, 0: all are held
  std::vector<float> nodes_;                  // [t * L + y]
  std::vector<double> priced_;                // the same with prices
  std::map<size_t, double> prices_;           // [t * L + y], where they are not held
  std::vector<std::vector<int32_t>> on_;
  Allowed allowed_;
  FeatureScratch scratch_;
  Arena arena_;
  std::vector<int32_t> labels_;
};

// Calls work(first, last) for pieces of the sentences, over several threads: the caches of a search serve all sentences
// of a piece.
void in_pieces(size_t sentences, size_t threads, const std::function<void(size_t, size_t)>& work) {
  constexpr size_t kLongest = 512, kEach = 4;
  const size_t piece = std::clamp<size_t>(sentences / (kEach * threads), 1, kLongest);
  in_parallel((sentences + piece - 1) / piece, threads,
              [&](size_t n) { work(n * piece, std::min(sentences, (n + 1) * piece)); });
}

}  // namespace

LatticeModel::LatticeModel(const Scorer& scorer, const Edges& edges, Plan plan)
    : scorer_(scorer), edges_(edges), plan_(std::move(plan)) {
  need(scorer.L() == edges.L(), "the edges are for another number of labels");
  plan_.decoder->variant(edges);  // throws where the edges have label n-grams that it cannot handle
}

std::unique_ptr<SentenceSearch> LatticeModel::search() const {
  return std::make_unique<LatticeSearch>(scorer_, edges_, plan_);
}

double LatticeModel::bytes(size_t tokens) const {
  constexpr double kPrices = 256;  // of a token in dispute
  if (window_to_decode(tokens, edges_, plan_, false)) return kPrices * static_cast<double>(tokens);
  return bytes_to_decode(tokens, edges_, plan_, sizeof(float) + sizeof(double));
}

std::vector<Answer> decode_all(const Memm& model, const Text& text, size_t width, size_t k, size_t threads,
                               const TextLimits& limits) {
  need(threads >= 1, "threads must be at least 1");
  limits.check(text, model.L());
  model.scorer().templates().check_text(text);
  std::vector<Answer> answers(text.sentences());
  in_pieces(answers.size(), threads, [&](size_t first, size_t last) {
    MemmSearch search(model, width, k);
    for (size_t s = first; s < last; ++s) {
      check_stop();
      try {
        search.start(text, s, limits.of(text, s));
        answers[s].paths = search.best();
      } catch (const std::invalid_argument& error) {
        fail_in(s, error);
      }
      answers[s].work.rounds = 1;
      answers[s].exact = search.exact();
    }
  });
  return answers;
}

void Side::check() const {
  model.scorer().templates().check_text(text);
  limits.check(text, model.scorer().L());
}

std::vector<Joint> agree_all(const Side& left, const Side& right, std::span<const int32_t> to_left,
                             const AgreeOptions& options, size_t threads) {
  options.check();
  need(threads >= 1, "threads must be at least 1");
  left.check();
  right.check();
  const size_t L = left.model.scorer().L();
  need(right.model.scorer().L() == L && to_left.size() == L, "the models have different labels");
  std::vector<bool> used(L, false);
  for (const int32_t y : to_left) {
    need(y >= 0 && static_cast<size_t>(y) < L && !used[static_cast<size_t>(y)], "labels must be renumbered");
    used[static_cast<size_t>(y)] = true;
  }
  need(left.text.sentence_end == right.text.sentence_end, "the texts differ");
  std::vector<Joint> made(left.text.sentences());
  in_pieces(made.size(), threads, [&](size_t first, size_t last) {
    const std::unique_ptr<SentenceSearch> mine = left.model.search(), its = right.model.search();
    Renumbered other(*its, to_left);
    for (size_t s = first; s < last; ++s) {
      check_stop();
      try {
        const size_t T = left.text.length(s);
        if (const double bytes = left.model.bytes(T) + right.model.bytes(T); bytes > kMostBytes)
          fail_for_room(bytes, T, " with two models that are made to agree");
        mine->start(left.text, s, left.limits.of(left.text, s));
        its->start(right.text, s, right.limits.of(right.text, s));
        Agreement& found = made[s].found = agree(*mine, other, options);
        made[s].labels = found.left;
        made[s].score = mine->score(found.left) + other.score(found.left);
        if (found.agreed) continue;
        const double score = mine->score(found.right) + other.score(found.right);
        if (score > made[s].score) {
          made[s].labels = found.right;
          made[s].score = score;
        }
      } catch (const std::invalid_argument& error) {
        fail_in(s, error);
      }
    }
  });
  return made;
}

std::vector<double> scores_of_labels(const PricedModel& model, const Text& text, std::span<const int32_t> labels,
                                     const std::vector<size_t>& paths, size_t threads) {
  need(threads >= 1, "threads must be at least 1");
  model.scorer().templates().check_text(text);
  need(paths.size() == text.sentences(), "there must be a number of labellings for each sentence");
  for (const int32_t y : labels) need(y >= 0 && static_cast<size_t>(y) < model.scorer().L(), "no such label");
  std::vector<size_t> at(text.sentences() + 1, 0), path(at);
  for (size_t s = 0; s < text.sentences(); ++s) {
    at[s + 1] = at[s] + times(paths[s], text.length(s));
    path[s + 1] = path[s] + paths[s];
  }
  need(at.back() == labels.size(), "there must be one label per token of every labelling");
  std::vector<double> scores(path.back());
  in_pieces(text.sentences(), threads, [&](size_t first, size_t last) {
    const std::unique_ptr<SentenceSearch> search = model.search();
    for (size_t s = first; s < last; ++s) {
      check_stop();
      const size_t T = text.length(s);
      if (paths[s] == 0) continue;
      try {
        search->start(text, s);
        for (size_t q = 0; q < paths[s]; ++q) scores[path[s] + q] = search->score(labels.subspan(at[s] + q * T, T));
      } catch (const std::invalid_argument& error) {
        fail_in(s, error);
      }
    }
  });
  return scores;
}

}  // namespace tagwright
