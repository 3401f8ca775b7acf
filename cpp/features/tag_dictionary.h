// A tag dictionary: the labels that words may have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/csr.h"
#include "features/index.h"
#include "features/text.h"
#include "lattice/allowed.h"

namespace tagwright {

class TagDictionary {
 public:
  // The arrays of a model file.
  struct Arrays {
    std::string_view bytes;              // of all words
    std::span<const uint64_t> word_end;  // [word], in bytes
    std::span<const uint64_t> list_end;  // [word], in `list`
    std::span<const int32_t> list;       // labels, rising within a word
    std::span<const int32_t> unknown;    // labels of words that are not in the dictionary; empty: any label
  };

  // Throws std::invalid_argument if the arrays do not fit together or name a label that is not below L.
  TagDictionary(size_t L, const Arrays& arrays);

  size_t L() const { return L_; }
  // Returns the labels of a word, which may be none at all; std::nullopt if every label is allowed.
  std::optional<std::span<const int32_t>> labels_of(std::string_view word) const;
  // Returns the lists of all tokens of a text, whose first column is the word. A list of `given` replaces that of the
  // dictionary. Throws std::invalid_argument for a token without a word, or with a word for which no label is left.
  AllowedLists allowed(const Text& text, const AllowedLists* given = nullptr) const;

 private:
  size_t L_;
  Index words_;
  Csr lists_;  // [word]
  std::vector<int32_t> unknown_;
};

}  // namespace tagwright
