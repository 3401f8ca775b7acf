// Options of decoders, and how an option is described and set by its name.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sums/pruning.h"

namespace tagwright {

// What a caller may set; each decoder reads its own. An option has its type and default here, and its name and range
// in the row of its decoder.
struct Options {
  size_t k = 1;
  double deadline = std::numeric_limits<double>::infinity();  // seconds until the best path found so far is returned
  bool proven = false;  // whether it is an error that rules about whole labellings take more searches than they may
  size_t window = 0;    // viterbi: columns of a window; 0: by what memory allows
  size_t width = 8;     // beam: partial paths per column
  PruningRule keep;     // beam: the rule that chooses a column's labels, in place of a width
  std::string_view expand = "column";  // staggered: split the blocks on the best path, or "all": one per column
  bool prune = true;                   // staggered: drop nodes whose bound is below a score already reached
  std::optional<size_t> bound = 6;     // astar: level of the coarse lattice that looks ahead; none: Huang's equation 9
  size_t extra = 2;                    // iterative_viterbi_astar: k' = extra * k
};

inline constexpr size_t kMost = (size_t{1} << 31) - 1;  // of any count

struct Option {
  using Field = std::variant<size_t Options::*, std::optional<size_t> Options::*, std::string_view Options::*,
                             bool Options::*, PruningRule Options::*>;
  using Value = std::variant<std::monostate, bool, int64_t, std::string, PruningRule>;

  std::string_view name;
  Field field;
  size_t low = 0, high = kMost;                // of a whole number
  std::vector<std::string_view> choices = {};  // of a word
  bool only_to_compare = false;                // left out of what users see

  // What it may be, in words: "a whole number of at least 1".
  std::string takes() const;
  // Sets it; false where it may not be this.
  bool set(Options& options, const Value& value) const;
};

}  // namespace tagwright
