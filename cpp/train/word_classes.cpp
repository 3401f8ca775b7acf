#include "train/word_classes.h"

#include <algorithm>

#include "base/need.h"
#include "base/stop.h"
#include "train/n_log_n.h"

namespace tagwright {
namespace {

constexpr size_t kMostThreads = 64;
constexpr double kLeastGain = 1e-6;  // beyond what rounding makes of no gain

// Numbers that follow from a seed (Steele, Lea and Flood 2014).
uint64_t split_mix(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

std::vector<uint32_t> first_classes(const WordBigrams& text, size_t classes, uint64_t seed) {
  std::vector<uint32_t> made(text.symbols());
  for (size_t word = 0; word < text.words.size(); ++word)
    made[word] = static_cast<uint32_t>(word < classes ? word : split_mix(seed) % classes);
  made[text.rare()] = static_cast<uint32_t>(classes);
  made[text.boundary()] = static_cast<uint32_t>(classes + 1);
  return made;
}

// gain[c] += f(count[c] + n) - f(count[c]); most: no less than any count.
void add_gains(const uint32_t* count, uint32_t n, uint64_t most, const NLogN& f, std::vector<double>& gain) {
  if (most + n < NLogN::kTable) {
    for (size_t c = 0; c < gain.size(); ++c) gain[c] += f.small(count[c] + n) - f.small(count[c]);
  } else {
    for (size_t c = 0; c < gain.size(); ++c) gain[c] += f(uint64_t{count[c]} + n) - f(count[c]);
  }
}

}  // namespace

ClassCounts::ClassCounts(const WordBigrams& text, const std::vector<uint32_t>& class_of, size_t classes)
    : size_(classes + 2), after_(size_ * size_, 0), before_(size_ * size_, 0), total_(size_, 0) {
  const Csr& words = text.next.words;
  for (size_t v = 0; v < words.rows(); ++v) {
    add_total(class_of[v], static_cast<int64_t>(text.count[v]));
    for (size_t at = words.begin[v]; at < words.begin[v + 1]; ++at)
      add(class_of[v], class_of[static_cast<size_t>(words.index[at])], text.next.count[at]);
  }
}

double ClassCounts::objective() const {
  const NLogN f;
  double sum = 0;
  for (const uint32_t n : after_) sum += f(n);
  for (const uint64_t n : total_) sum -= 2 * f(n);
  return sum;
}

// What stands beside a word, by class.
struct WordClasses::Contexts {
  size_t from = 0;                         // the class of the word
  int64_t count = 0, self = 0;             // of the word; of the word beside itself, which is in no class here
  std::vector<uint32_t> next, previous;    // [class]: how often the class follows or precedes the word
  std::vector<uint32_t> nexts, previouss;  // the classes that do
  std::vector<double> gain;                // [class]

  void start(size_t classes) {
    for (const uint32_t c : nexts) next[c] = 0;
    for (const uint32_t c : previouss) previous[c] = 0;
    nexts.clear();
    previouss.clear();
    next.resize(classes, 0);
    previous.resize(classes, 0);
  }
};

WordClasses::WordClasses(std::shared_ptr<const WordBigrams> text, size_t classes, uint64_t seed)
    : text_(std::move(text)),
      classes_(classes),
      class_of_(first_classes(*text_, classes, seed)),
      counts_(*text_, class_of_, classes) {}

void WordClasses::find_contexts(size_t word, Contexts& found) const {
  found.start(counts_.size());
  found.from = class_of_[word];
  found.count = static_cast<int64_t>(text_->count[word]);
  found.self = 0;
  const auto add = [&](const WordCounts& beside, std::vector<uint32_t>& count, std::vector<uint32_t>& classes) {
    for (size_t at = beside.words.begin[word]; at < beside.words.begin[word + 1]; ++at) {
      const auto other = static_cast<size_t>(beside.words.index[at]);
      if (other == word) {
        found.self = beside.count[at];
        continue;
      }
      const uint32_t c = class_of_[other];
      if (count[c] == 0) classes.push_back(c);
      count[c] += beside.count[at];
    }
  };
  add(text_->next, found.next, found.nexts);
  add(text_->previous, found.previous, found.previouss);
}

double WordClasses::removed(const Contexts& word) const {
  const NLogN f;
  const size_t a = word.from;
  const uint32_t *const after = counts_.after(a), *const before = counts_.before(a);
  double gain = 0;
  for (const uint32_t d : word.nexts)
    if (d != a) gain += f(after[d] - word.next[d]) - f(after[d]);
  for (const uint32_t d : word.previouss)
    if (d != a) gain += f(before[d] - word.previous[d]) - f(before[d]);
  const auto self = static_cast<uint32_t>(word.self);
  gain += f(after[a] - word.next[a] - word.previous[a] - self) - f(after[a]);
  const uint64_t total = counts_.total(a);
  return gain - 2 * (f(total - static_cast<uint64_t>(word.count)) - f(total));
}

// Of the cells of both classes, those of the old one lack the word.
double WordClasses::added(const Contexts& word, size_t to) const {
  const NLogN f;
  const size_t a = word.from;
  const uint32_t *const after = counts_.after(to), *const before = counts_.before(to);
  double gain = 0;
  for (const uint32_t d : word.nexts)
    if (d != to && d != a) gain += f(after[d] + word.next[d]) - f(after[d]);
  for (const uint32_t d : word.previouss)
    if (d != to && d != a) gain += f(before[d] + word.previous[d]) - f(before[d]);
  const uint32_t left = after[a] - word.previous[to], right = before[a] - word.next[to];
  gain += f(left + word.next[a]) - f(left) + f(right + word.previous[a]) - f(right);
  const auto self = static_cast<uint32_t>(word.self);
  gain += f(after[to] + word.next[to] + word.previous[to] + self) - f(after[to]);
  const uint64_t total = counts_.total(to);
  return gain - 2 * (f(total + static_cast<uint64_t>(word.count)) - f(total));
}

// gain[c] = added(word, c) for all classes but its own.
void WordClasses::add_to_all(const Contexts& word, std::vector<double>& gain) const {
  const NLogN f;
  const size_t a = word.from;
  const auto count = static_cast<uint64_t>(word.count);
  const auto self = static_cast<uint32_t>(word.self);
  for (size_t c = 0; c < gain.size(); ++c) gain[c] = -2 * (f(counts_.total(c) + count) - f(counts_.total(c)));
  // Bigrams of c and d are as many as tokens of d, at most.
  for (const uint32_t d : word.nexts)
    if (d != a) add_gains(counts_.before(d), word.next[d], counts_.total(d), f, gain);
  for (const uint32_t d : word.previouss)
    if (d != a) add_gains(counts_.after(d), word.previous[d], counts_.total(d), f, gain);
  for (size_t c = 0; c < gain.size(); ++c) {
    const uint32_t next = word.next[c], previous = word.previous[c], own = counts_.after(c)[c];
    if (next | previous | self) {
      if (next) gain[c] -= f(own + next) - f(own);
      if (previous) gain[c] -= f(own + previous) - f(own);
      gain[c] += f(own + next + previous + self) - f(own);
    }
    if (word.next[a]) {
      const uint32_t left = counts_.before(a)[c] - previous;
      gain[c] += f(left + word.next[a]) - f(left);
    }
    if (word.previous[a]) {
      const uint32_t right = counts_.after(a)[c] - next;
      gain[c] += f(right + word.previous[a]) - f(right);
    }
  }
}

WordClasses::Move WordClasses::best_move(size_t word, Contexts& own) const {
  find_contexts(word, own);
  own.gain.resize(classes_);
  add_to_all(own, own.gain);
  size_t best = own.from == 0 ? 1 : 0;
  for (size_t c = best + 1; c < classes_; ++c)
    if (c != own.from && own.gain[c] > own.gain[best]) best = c;
  return {static_cast<uint32_t>(best), removed(own) + own.gain[best] > kLeastGain};
}

void WordClasses::move(const Contexts& word, size_t to) {
  const auto add = [&](size_t c, int64_t sign) {
    for (const uint32_t d : word.nexts) counts_.add(c, d, sign * word.next[d]);
    for (const uint32_t d : word.previouss) counts_.add(d, c, sign * word.previous[d]);
    counts_.add(c, c, sign * word.self);
    counts_.add_total(c, sign * word.count);
  };
  add(word.from, -1);
  add(to, 1);
}

size_t WordClasses::sweep(size_t threads) {
  if (classes_ < 2) return 0;
  constexpr size_t kMost = 256, kPiece = 8;  // words
  ThreadPool pool(std::min(threads, kMostThreads));
  std::vector<Move> found(kMost);
  Contexts own;
  size_t moved = 0;
  const size_t words = text_->words.size();
  for (size_t begin = 0, end = 0; begin < words; begin = end) {
    // Frequent words change the counts most.
    end = std::min(words, begin + std::clamp<size_t>(begin / 16, 1, kMost));
    pool.for_each((end - begin + kPiece - 1) / kPiece, [&](size_t piece) {
      thread_local Contexts mine;
      for (size_t n = piece * kPiece; n < std::min(end - begin, (piece + 1) * kPiece); ++n)
        found[n] = best_move(begin + n, mine);
    });
    for (size_t n = 0; n < end - begin; ++n) {
      if (!found[n].better) continue;
      find_contexts(begin + n, own);
      if (removed(own) + added(own, found[n].to) <= kLeastGain) continue;
      move(own, found[n].to);
      class_of_[begin + n] = found[n].to;
      ++moved;
    }
    check_stop();
  }
  return moved;
}

std::vector<std::string> WordClasses::paths(const std::vector<size_t>& sizes, size_t threads) const {
  need(!sizes.empty(), "no number of classes");
  ThreadPool pool(std::min(threads, kMostThreads));
  std::vector<std::vector<uint32_t>> levels = merged_classes(counts_, classes_, sizes, pool);
  std::reverse(levels.begin(), levels.end());  // the coarsest first
  std::vector<std::string> path(classes_);
  for (size_t level = 0; level < levels.size(); ++level) {
    const std::vector<uint32_t>& group = levels[level];
    std::vector<uint64_t> total(classes_, 0);
    for (size_t c = 0; c < classes_; ++c) total[group[c]] += counts_.total(c);
    // The groups within each coarser one, the most frequent first.
    std::vector<uint32_t> order;
    for (uint32_t c = 0; c < classes_; ++c)
      if (group[c] == c && total[c] > 0) order.push_back(c);
    const auto parent = [&](uint32_t c) { return level ? levels[level - 1][c] : 0; };
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      if (parent(a) != parent(b)) return parent(a) < parent(b);
      return total[a] != total[b] ? total[a] > total[b] : a < b;
    });
    std::vector<std::string> own(classes_);
    for (size_t n = 0, first = 0; n < order.size(); ++n) {
      if (parent(order[n]) != parent(order[first])) first = n;
      own[order[n]].append(level ? "." : "").append(std::to_string(n - first));
    }
    for (size_t c = 0; c < classes_; ++c) path[c].append(own[group[c]]);
  }
  std::vector<std::string> made;
  for (size_t word = 0; word < text_->words.size(); ++word) made.push_back(path[class_of_[word]]);
  return made;
}

}  // namespace tagwright
