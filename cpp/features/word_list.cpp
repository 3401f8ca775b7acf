#include "features/word_list.h"

#include <algorithm>
#include <cstring>

#include "features/macros.h"

namespace tagwright {
namespace {

// A step of the automaton as Index holds it.
struct Step {
  uint32_t node, word;

  std::string_view bytes() const { return {reinterpret_cast<const char*>(this), sizeof(Step)}; }
  static Step from(std::string_view bytes) {
    Step step{};
    std::memcpy(&step, bytes.data(), sizeof(Step));
    return step;
  }
};

}  // namespace

WordList::WordList(const std::vector<std::string>& entries) : nodes_{{0, 0, 0}} {
  for (const std::string& entry : entries) add(entry);
  link();
}

void WordList::add(std::string_view entry) {
  std::string lowered;
  append_lower(lowered, entry);
  uint32_t node = 0;
  for (size_t end = lowered.find_last_not_of(" \t"); end != std::string::npos;) {
    const size_t before = lowered.find_last_of(" \t", end), begin = before == std::string::npos ? 0 : before + 1;
    const auto word = static_cast<uint32_t>(words_.add(std::string_view(lowered).substr(begin, end + 1 - begin)));
    const uint32_t length = nodes_[node].length + 1;
    node = static_cast<uint32_t>(steps_.add(Step{node, word}.bytes())) + 1;
    if (node == nodes_.size()) nodes_.push_back({length, 0, 0});
    end = before == std::string::npos ? before : lowered.find_last_not_of(" \t", before);
  }
  nodes_[node].longest = node;
}

// Shorter nodes first: a node's fail is shorter than the node.
void WordList::link() {
  first_.resize(words_.size());
  std::vector<std::vector<uint32_t>> of_length;
  for (uint32_t at = 1; at < nodes_.size(); ++at) {
    of_length.resize(std::max<size_t>(of_length.size(), nodes_[at].length));
    of_length[nodes_[at].length - 1].push_back(at);
    if (const Step step = Step::from(steps_.text(at - 1)); step.node == 0) first_[step.word] = at;
  }
  for (const std::vector<uint32_t>& same : of_length) {
    for (const uint32_t at : same) {
      Node& node = nodes_[at];
      const Step step = Step::from(steps_.text(at - 1));
      if (node.length > 1) node.fail = next(nodes_[step.node].fail, static_cast<int32_t>(step.word));
      if (!node.longest) node.longest = nodes_[node.fail].longest;
    }
  }
}

uint32_t WordList::next(uint32_t node, int32_t word) const {
  if (word == kNoId) return 0;
  const auto number = static_cast<uint32_t>(word);
  for (; node; node = nodes_[node].fail)
    if (const int32_t found = steps_.find(Step{node, number}.bytes()); found != kNoId)
      return static_cast<uint32_t>(found) + 1;
  return first_[number];
}

void WordList::mark(const std::vector<std::string_view>& lowered, std::vector<std::string_view>& marks) const {
  const size_t T = lowered.size();
  marks.assign(T, kOutside);
  std::vector<int32_t> word, token;  // [word]: its number; the token that begins with it, or -1
  for (size_t t = 0; t < T; ++t) {
    token.push_back(static_cast<int32_t>(t));
    for (size_t begin = 0;;) {
      const size_t end = std::min(lowered[t].find(' ', begin), lowered[t].size());
      word.push_back(words_.find(lowered[t].substr(begin, end - begin)));
      if (end == lowered[t].size()) break;
      token.push_back(-1);
      begin = end + 1;
    }
  }
  const size_t n = word.size();
  token.push_back(static_cast<int32_t>(T));
  std::vector<int32_t> tokens(T, 0);  // [t]: how many tokens the longest entry has that begins with t
  uint32_t node = 0;
  for (size_t at = n; at-- > 0;) {
    node = next(node, word[at]);
    if (token[at] < 0) continue;
    uint32_t entry = nodes_[node].longest;
    // Within a token of several words, no entry ends.
    while (entry && token[at + nodes_[entry].length] < 0) entry = nodes_[nodes_[entry].fail].longest;
    if (entry) tokens[static_cast<size_t>(token[at])] = token[at + nodes_[entry].length] - token[at];
  }
  for (size_t t = 0; t < T; t += static_cast<size_t>(std::max(tokens[t], 1)))
    for (size_t q = 0; q < static_cast<size_t>(tokens[t]); ++q) marks[t + q] = q ? "I" : "B";
}

}  // namespace tagwright
