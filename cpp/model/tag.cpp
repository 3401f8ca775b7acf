#include "model/tag.h"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>

#include "base/need.h"
#include "base/thread_pool.h"
#include "decode/windows.h"
#include "kernels/elementary.h"
#include "lattice/no_path.h"
#include "sums/forward_backward.h"
#include "sums/marginals.h"
#include "sums/ngram_sums.h"

namespace tagwright {
namespace {

// What exact sums take for each label of each column.
constexpr size_t kSumBytes = 6 * sizeof(double);

// Is called with the probabilities of a column's labels, [y]; from the last window to the first.
using VisitColumn = std::function<void(size_t t, const double* probability)>;

// The sums of one window are those of a lattice of its own. What is before it is added to the scores of its first
// column, and what is behind it to those of its last: logarithms of alpha and beta, up to a constant.
class Window {
 public:
  Window(size_t T, const Edges& edges, const Columns& columns, Arena& arena)
      : T_(T), edges_(edges), inner_(edges.without_ends()), columns_(columns), arena_(arena) {}

  // alpha: of its first column with its nodes, nullptr for the first window; beta: of its last, or nullptr.
  template <class Use>
  void sum(size_t begin, size_t end, const double* alpha, const double* beta, Use&& use) {
    const size_t L = edges_.L(), n = end - begin;
    arena_.reset();
    const Supplied supplied = columns_(begin, end, arena_);
    double* nodes = arena_.array<double>(times(n, L));
    const Scores scores = masked(supplied.nodes, n, L, supplied.allowed, arena_);
    for (size_t at = 0; at < n * L; ++at) nodes[at] = scores[at];
    for (size_t y = 0; y < L; ++y) nodes[y] = alpha ? alpha[y] : edges_.start(y) + nodes[y];
    double* last = nodes + (n - 1) * L;
    for (size_t y = 0; y < L; ++y) last[y] += beta ? beta[y] : end == T_ ? edges_.stop(y) : 0;
    const Lattice lattice(inner_, n, {nullptr, nodes}, supplied.on.empty() ? nullptr : &supplied.on, begin);
    const Sums sums = forward_backward(lattice, {}, arena_);
    need(sums.log_z != kForbidden, "no path");
    use(sums);
  }

 private:
  const size_t T_;
  const Edges& edges_;
  const Edges inner_;  // without start and stop scores
  const Columns& columns_;
  Arena& arena_;
};

// Sums over a sentence too long for memory, a window of columns at a time (decode/windows.h). Returns log Z; throws
// std::invalid_argument if there is no path.
double sums_in_windows(size_t T, const Edges& edges, size_t window, const Columns& columns, const VisitColumn& visit,
                       Arena& arena) {
  const size_t L = edges.L();
  Window one(T, edges, columns, arena);
  std::vector<double> alphas;  // [w * L + y]: of the last column of window w, less what was summed up before
  double log_z = 0;
  const auto alpha = [&](size_t w) { return w ? alphas.data() + (w - 1) * L : nullptr; };
  for_each_window(T, window, false, [&](size_t w, size_t begin, size_t end) {
    one.sum(begin, end, alpha(w), nullptr, [&](const Sums& sums) {
      log_z += sums.log_z;
      const double* from = sums.columns.back().from;
      for (size_t y = 0; y < L; ++y) alphas.push_back(sums.logs ? from[y] : portable_log(from[y]));
    });
  });
  std::vector<double> beta;
  for_each_window(T, window, true, [&](size_t w, size_t begin, size_t end) {
    one.sum(begin, end, alpha(w), beta.empty() ? nullptr : beta.data(), [&](const Sums& sums) {
      for (size_t t = end; t-- > begin + (w > 0);) visit(t, sums.columns[t - begin].node);
      if (w == 0) return;
      // A label whose probability is below what a double holds is left out of what comes before.
      beta.assign(L, kForbidden);
      for (size_t y = 0; y < L; ++y)
        if (const double p = sums.columns[0].node[y]; p > 0) beta[y] = portable_log(p) - alpha(w)[y];
    });
  });
  return log_z;
}

void check(const Scorer& scorer, const Text& text, const Edges& edges, const AllowedLists* allowed, size_t threads) {
  need(threads >= 1, "threads must be at least 1");
  need(edges.L() == scorer.L(), "the edges are for another number of labels");
  need(!allowed || allowed->columns() == text.tokens(), "allowed: one list per token");
  scorer.templates().check_text(text);
}

// Node scores of tokens begin .. end - 1 of a sentence, in the arena, and the correction sets that are active.
Supplied scored(const Scorer& scorer, const Text& text, const AllowedLists* allowed, size_t s, size_t begin, size_t end,
                Arena& arena) {
  thread_local FeatureScratch scratch;
  if (begin == 0) scorer.templates().start(text, s, scratch);
  Supplied made;
  float* nodes = arena.array<float>(times(end - begin, scorer.L()));
  if (allowed) made.allowed = allowed->view(text.first_token(s) + begin);
  scorer.score(text, s, begin, end, scratch, nodes, made.on, made.allowed);
  made.nodes = {nodes, nullptr};
  return made;
}

// The probabilities of all labels of a column, [y]; room: for as many.
const double* of_all_labels(const Sums::Column& column, size_t L, double* room) {
  if (column.labels.size() == L) return column.node;
  std::fill(room, room + L, 0.0);
  for (size_t q = 0; q < column.labels.size(); ++q) room[column.labels[q]] = column.node[q];
  return room;
}

// Those of the labels of some paths.
void add_labels(size_t t, const double* probability, const Answer& answer, Posteriors& posteriors) {
  for (size_t p = 0; p < answer.paths.size(); ++p) {
    const std::vector<int32_t>& labels = answer.paths[p].labels;
    posteriors.label[p * labels.size() + t] = probability[labels[t]];
  }
}

Posteriors posteriors_of(const Lattice& lattice, const Answer& answer, const SpanQuery* spans) {
  thread_local Arena arena;  // the thread's own holds the node scores
  arena.reset();
  const Trimmed trimmed(arena, kHeldBytes);
  thread_local NgramSums ngrams;
  const Sums sums = forward_backward(lattice, {}, arena, ngrams);
  need(sums.log_z != kForbidden, "no path");
  Posteriors made{sums.log_z, std::vector<double>(answer.paths.size() * lattice.T), {}};
  double* const room = arena.array<double>(lattice.L);
  for (size_t t = 0; t < lattice.T; ++t) add_labels(t, of_all_labels(sums.columns[t], lattice.L, room), answer, made);
  if (spans) made.spans = spans->answer(lattice, sums, answer.paths[0].labels, arena);
  return made;
}

Posteriors posteriors_in_windows(size_t T, const Edges& edges, size_t window, const Columns& columns,
                                 const Answer& answer) {
  thread_local Arena arena;
  arena.reset();
  const Trimmed trimmed(arena, kHeldBytes);
  Posteriors made{0, std::vector<double>(answer.paths.size() * T), {}};
  const auto visit = [&](size_t t, const double* probability) { add_labels(t, probability, answer, made); };
  made.log_z = sums_in_windows(T, edges, window, columns, visit, arena);
  return made;
}

}  // namespace

std::vector<Answer> tag_all(const Scorer& scorer, const Text& text, const Edges& edges, const Plan& plan,
                            size_t threads, const AllowedLists* allowed, std::vector<Posteriors>* posteriors,
                            const SpanQuery* spans) {
  check(scorer, text, edges, allowed, threads);
  std::vector<Sentence> sentences(text.sentences());
  for (size_t s = 0; s < sentences.size(); ++s) sentences[s] = {text.length(s), {}, &edges, nullptr};
  const Supply supply = [&](size_t s, size_t begin, size_t end, Arena& arena) {
    return scored(scorer, text, allowed, s, begin, end, arena);
  };
  Finish finish;
  if (posteriors) {
    posteriors->assign(sentences.size(), {});
    finish = [&](size_t s, const Lattice* lattice, const Answer& answer) {
      const size_t T = text.length(s), given = lattice ? 0 : plan.options.window;
      const size_t window = given ? given : window_of(T, edges, kSumBytes);
      if (!window) return void((*posteriors)[s] = posteriors_of(*lattice, answer, spans));
      if (spans) fail_for_room(static_cast<double>(times(T, edges.L()) * kSumBytes), T, " with probabilities of spans");
      const auto columns = [&](size_t begin, size_t end, Arena& arena) { return supply(s, begin, end, arena); };
      (*posteriors)[s] = posteriors_in_windows(T, edges, window, columns, answer);
    };
  }
  return decode_all(sentences, *plan.decoder, plan.options, threads, supply, finish);
}

std::vector<std::vector<float>> label_marginals(const Scorer& scorer, const Text& text, const Edges& edges,
                                                const PruningRule& keep, size_t threads, const AllowedLists* allowed,
                                                size_t window) {
  check(scorer, text, edges, allowed, threads);
  const size_t L = scorer.L();
  std::vector<std::vector<float>> made(text.sentences());
  in_parallel(text.sentences(), threads, [&](size_t s) {
    const size_t T = text.length(s);
    made[s].assign(times(T, L), 0.0F);
    if (T == 0) return;
    Arena& arena = thread_arena();
    arena.reset();
    const Trimmed trimmed(arena, kHeldBytes);
    if (const size_t columns = window ? window : keep.all() ? window_of(T, edges, kSumBytes) : 0) {
      const auto supply = [&](size_t begin, size_t end, Arena& room) {
        return scored(scorer, text, allowed, s, begin, end, room);
      };
      const auto visit = [&](size_t t, const double* probability) {
        std::copy_n(probability, L, made[s].data() + t * L);
      };
      sums_in_windows(T, edges, columns, supply, visit, arena);
      return;
    }
    if (const double bytes = static_cast<double>(T * L) * (sizeof(float) + kSumBytes); bytes > kMostBytes)
      fail_for_room(bytes, T, " in sentence " + std::to_string(s) + " with a rule for what to keep");
    const Supplied scores = scored(scorer, text, allowed, s, 0, T, arena);
    const Lattice lattice(edges, T, scores.nodes, scores.on.empty() ? nullptr : &scores.on, 0, scores.allowed);
    thread_local NgramSums ngrams;
    const Sums sums = forward_backward(lattice, {keep}, arena, ngrams);
    if (sums.log_z == kForbidden)
      throw std::invalid_argument("sentence " + std::to_string(s) + ": " +
                                  (keep.all() ? why_no_path(lattice).value_or(kUnderflow)
                                              : "no path among the labels that keep chose; keep more"));
    for (size_t t = 0; t < T; ++t)
      for (size_t q = 0; q < sums.columns[t].labels.size(); ++q)
        made[s][t * L + static_cast<size_t>(sums.columns[t].labels[q])] = static_cast<float>(sums.columns[t].node[q]);
  });
  return made;
}

std::optional<std::string> tag_lines(const Scorer& scorer, std::string_view block, const LineFormat& format,
                                     const Edges& edges, const Plan& plan, size_t threads,
                                     std::span<const std::string_view> names, const TagDictionary* dictionary) {
  need(names.size() == scorer.L(), "there must be one name per label");
  if (format.labelled || format.picks.size() != static_cast<size_t>(format.conllu)) return std::nullopt;
  need(threads >= 1, "threads must be at least 1");
  // Several pieces per thread, since some take longer; large enough that sentences of like length are decoded together.
  constexpr size_t kLeast = size_t{8} << 10;
  const size_t bytes = threads == 1 ? block.size() : std::max(kLeast, block.size() / 4 / threads);
  const std::vector<std::string_view> pieces = cut_between_sentences(block, bytes);
  std::vector<std::optional<std::string>> written(pieces.size());
  in_parallel(pieces.size(), threads, [&](size_t p) {
    const std::optional<Lines> lines = read_lines(pieces[p], format);
    if (!lines) return;
    std::vector<Answer> answers;
    try {
      std::optional<AllowedLists> allowed;
      if (dictionary) allowed = dictionary->allowed(lines->text);
      answers = tag_all(scorer, lines->text, edges, plan, 1, allowed ? &*allowed : nullptr);
    } catch (const std::invalid_argument&) {
      return;
    }
    std::string& out = written[p].emplace();
    out.reserve(pieces[p].size() + 8 * lines->text.tokens());
    for (size_t s = 0; s < answers.size(); ++s)
      append_tagged(out, *lines, s, format, answers[s].paths[0].labels, names);
  });
  std::string all;
  for (const std::optional<std::string>& one : written) {
    if (!one) return std::nullopt;
    all += *one;
  }
  return all;
}

}  // namespace tagwright
