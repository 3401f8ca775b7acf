// Arrays that hold their numbers, or look at numbers that lie elsewhere.
#pragma once

#include <span>
#include <vector>

namespace tagwright {

template <class V>
using Owned = std::vector<V>;
template <class V>
using Borrowed = std::span<const V>;

}  // namespace tagwright
