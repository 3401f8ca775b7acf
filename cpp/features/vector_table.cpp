#include "features/vector_table.h"

#include <cmath>
#include <string>

#include "base/need.h"
#include "features/macros.h"

namespace tagwright {

VectorTable::VectorTable(NameArrays<Borrowed> words, Borrowed<float> values, std::shared_ptr<const void> owner)
    : words_{words},
      values_(values),
      dimensions_(words.ends.empty() ? 0 : values.size() / words.ends.size()),
      owner_(std::move(owner)) {
  check_index(words_);
  need(size() > 0, "vectors: there are no words");
  need(dimensions_ >= 1 && dimensions_ <= kMostDimensions, "vectors: a vector has between 1 and 10,000 components");
  need(values_.size() == size() * dimensions_, "vectors: there must be one vector per word");
  bool finite = true;
  for (const float value : values_) finite &= std::fabs(value) <= kLargest;
  need(finite, "vectors: a component is NaN or beyond 1e30");
}

int32_t VectorTable::find(std::string_view word) const {
  const auto known = [&](std::string_view form) { return words_.find(hash_of(form), form); };
  if (const int32_t row = known(word); row != kNoId) return row;
  thread_local std::string form;
  form.clear();
  append_folded(form, word);
  if (const int32_t row = known(form); row != kNoId) return row;
  form.clear();
  append_lower(form, word);
  if (const int32_t row = known(form); row != kNoId) return row;
  thread_local std::string both;
  both.clear();
  append_folded(both, form);
  return known(both);
}

}  // namespace tagwright
