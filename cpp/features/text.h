// Sentences as cells of text. A token is a row of columns or a list of ready-made features.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/need.h"

namespace tagwright {

struct Text {
  std::string bytes;
  std::vector<size_t> cell_end;      // [cell], in bytes
  std::vector<float> value;          // [cell]: of a ready-made feature; empty where all are 1
  std::vector<size_t> token_end;     // [token], in cells
  std::vector<size_t> sentence_end;  // [sentence], in tokens
  bool ready = false;                // cells are features, not columns
  size_t columns = 0;                // of every token, where they are columns

  size_t sentences() const { return sentence_end.size(); }
  size_t tokens() const { return token_end.size(); }
  size_t first_token(size_t s) const { return s ? sentence_end[s - 1] : 0; }
  size_t length(size_t s) const { return sentence_end[s] - first_token(s); }
  size_t first_cell(size_t token) const { return token ? token_end[token - 1] : 0; }
  std::string_view cell(size_t at) const {
    const size_t begin = at ? cell_end[at - 1] : 0;
    return {bytes.data() + begin, cell_end[at] - begin};
  }
  float value_of(size_t at) const { return value.empty() ? 1.0F : value[at]; }

  void add_cell(std::string_view text) {
    bytes.append(text);
    cell_end.push_back(bytes.size());
  }
  void end_token() { token_end.push_back(cell_end.size()); }
  void end_sentence() { sentence_end.push_back(token_end.size()); }

  // The cells of each token of a sentence.
  std::vector<std::vector<std::string>> rows(size_t s) const {
    need(s < sentences(), "no such sentence");
    std::vector<std::vector<std::string>> made;
    for (size_t token = first_token(s); token < sentence_end[s]; ++token) {
      auto& row = made.emplace_back();
      for (size_t at = first_cell(token); at < token_end[token]; ++at) row.emplace_back(cell(at));
    }
    return made;
  }

  // Appends the sentences of another text of the same kind.
  void append(const Text& other) {
    if (sentences() == 0) {
      ready = other.ready;
      columns = other.columns;
    }
    if (!other.value.empty() || !value.empty()) {
      value.resize(cell_end.size(), 1.0F);
      value.insert(value.end(), other.value.begin(), other.value.end());
      value.resize(cell_end.size() + other.cell_end.size(), 1.0F);
    }
    const auto shifted = [](std::vector<size_t>& to, const std::vector<size_t>& from, size_t shift) {
      for (const size_t end : from) to.push_back(shift + end);
    };
    shifted(sentence_end, other.sentence_end, tokens());
    shifted(token_end, other.token_end, cell_end.size());
    shifted(cell_end, other.cell_end, bytes.size());
    bytes.append(other.bytes);
  }

  // Returns the same sentences, each with its last token first.
  Text reversed() const {
    Text made;
    made.ready = ready;
    made.columns = columns;
    made.bytes.reserve(bytes.size());
    for (size_t s = 0; s < sentences(); ++s) {
      for (size_t token = sentence_end[s]; token-- > first_token(s);) {
        for (size_t at = first_cell(token); at < token_end[token]; ++at) {
          made.add_cell(cell(at));
          if (!value.empty()) made.value.push_back(value[at]);
        }
        made.end_token();
      }
      made.end_sentence();
    }
    return made;
  }
};

}  // namespace tagwright
