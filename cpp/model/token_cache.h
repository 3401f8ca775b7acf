// A scorer's cache of tokens: the sum of the rows that depend on the token alone, and the rows of features that its
// neighbours have because of it. Text is Zipfian: most tokens occurred before.
//
// The memory is bounded: tokens lie in sets of four, and a new one takes the place of the one that was used least
// recently. A token is found by all its bytes, never by a hash alone, so that an answer is what would be computed
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "model/row_forms.h"

namespace tagwright {

// A token's cells, as one text that includes their lengths; and its hash.
struct TokenKey {
  static constexpr size_t kMost = 50;  // bytes; longer tokens are rare, and are not remembered
  uint64_t hash = 0;
  std::string_view text;
};

class TokenCache {
 public:
  // rows: of each token; sums: numbers of its sum, which may be none; shared: numbers of a sum that many tokens share.
  TokenCache(size_t rows, size_t sums, size_t shared);

  // What is known of a token.
  struct Entry {
    RowAt* row;  // [row]
    float* sum;  // [key]
  };

  void prefetch(const TokenKey& key) const { __builtin_prefetch(set_of(key)); }
  // Whether the token is there; the entry is valid until the next call of add.
  bool find(const TokenKey& key, Entry& entry);
  // An entry to be filled, in the place of another; for tokens that are too long, one that is forgotten again.
  Entry add(const TokenKey& key);

  // A sum over rows that many tokens share, [key], or nullptr where there is no room for another. add(sum): makes it,
  // where it is not there.
  template <class Add>
  const float* shared(std::span<const RowAt> rows, Add&& add) {
    Shared* const own = shared_of(rows);
    if (!own) return nullptr;
    if (own->sum.empty()) {
      own->sum.assign(shared_, 0.0F);
      add(own->sum.data());
    }
    return own->sum.data();
  }

 private:
  static constexpr size_t kWays = 4;
  struct Slot {
    uint64_t hash;
    uint32_t entry;
    uint16_t used;  // bytes, and one more; 0 where the slot is empty
    char text[TokenKey::kMost];
  };

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  struct Shared {
    std::vector<const float*> rows;  // the weights of each
    std::vector<float> sum;
  };
  Shared* shared_of(std::span<const RowAt> rows);

  Slot* set_of(const TokenKey& key) const { return slots_.get() + (key.hash >> shift_) * kWays; }
  Entry entry(size_t n) const;

  size_t rows_, stride_, shared_;  // stride: bytes of an entry
  unsigned shift_;
  size_t made_ = 0;  // entries; the first is that of tokens that are too long
  // The system gives pages of zeros when they are first used.
  std::unique_ptr<Slot[], Free> slots_;
  std::unique_ptr<char[], Free> entries_;
  std::vector<Shared> sums_;  // by a hash of the rows
  size_t sums_made_ = 0;
};

}  // namespace tagwright
