// Strings and their ids: 0, 1, 2, ... in the order in which they were added.
//
// A hash table with open addressing over 64-bit slots: the upper half of a slot holds the upper half of the hash, the
// lower half the id plus one; 0 is empty. So a string that is not there is usually recognised with one cache line, and
// the same arrays work in memory and mapped from a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/arrays.h"

namespace tagwright {

inline constexpr int32_t kNoId = -1;

uint64_t hash_of(std::string_view text);

// The arrays of an index, as files hold them.
template <template <class> class Array>
struct NameArrays {
  Array<uint64_t> slots;
  Array<uint32_t> ends;  // [id]: where its bytes end, which is where those of the next id begin
  Array<uint8_t> bytes;
};
// Calls visit(name, array) for all, by the names they have in files.
template <class Arrays, class Visit>
void for_each_name_array(const std::string& prefix, Arrays&& a, Visit&& visit) {
  visit(prefix + ".slots", a.slots);
  visit(prefix + ".ends", a.ends);
  visit(prefix + ".bytes", a.bytes);
}

// Searches the arrays of an index, in memory or mapped from a file.
struct IndexView : NameArrays<Borrowed> {
  size_t size() const { return ends.size(); }
  std::string_view text(size_t id) const {
    const size_t begin = id ? ends[id - 1] : 0;
    return {reinterpret_cast<const char*>(bytes.data()) + begin, ends[id] - begin};
  }
  size_t slot(uint64_t hash) const { return ((hash & 0xffffffffU) * slots.size()) >> 32; }
  void prefetch(uint64_t hash) const {
    if (!slots.empty()) __builtin_prefetch(slots.data() + slot(hash));
  }
  int32_t find(uint64_t hash, std::string_view text) const;

  // ids[n] = find(hash(n), name(n)) for many names, whose cache misses overlap.
  template <class Hash, class Name>
  void find_all(size_t count, Hash&& hash, Name&& name, int32_t* ids) const {
    for (size_t n = 0; n < count; ++n) prefetch(hash(n));
    for (size_t n = 0; n < count && !slots.empty(); ++n) {
      const uint64_t found = slots[slot(hash(n))];
      ids[n] = found && found >> 32 == hash(n) >> 32 ? static_cast<int32_t>((found & 0xffffffffU) - 1) : kNoId;
      if (ids[n] != kNoId) __builtin_prefetch(ends.data() + ids[n]);
    }
    for (size_t n = 0; n < count && !slots.empty(); ++n)
      if (ids[n] != kNoId) __builtin_prefetch(bytes.data() + ends[static_cast<size_t>(ids[n])]);
    for (size_t n = 0; n < count; ++n) ids[n] = find(hash(n), name(n));
  }
};

class Index {
 public:
  Index() = default;
  // An index of these strings, which must differ; its table is as small as that of a saved one.
  explicit Index(std::vector<std::string_view> texts);

  size_t size() const { return ends_.size(); }
  IndexView view() const { return {{slots_, ends_, bytes_}}; }
  int32_t find(std::string_view text) const { return view().find(hash_of(text), text); }
  // Returns the id of a string, which is added if it is not there.
  int32_t add(uint64_t hash, std::string_view text);
  int32_t add(std::string_view text) { return add(hash_of(text), text); }
  std::string_view text(size_t id) const { return view().text(id); }

  std::vector<std::string> texts() const {
    std::vector<std::string> made;
    for (size_t id = 0; id < size(); ++id) made.emplace_back(text(id));
    return made;
  }
  // As files hold it.
  NameArrays<Owned> arrays() const { return {slots_, ends_, bytes_}; }

 private:
  void rebuild(size_t slots);
  void place(uint64_t hash, uint32_t id);

  std::vector<uint64_t> slots_;
  std::vector<uint32_t> ends_;
  std::vector<uint8_t> bytes_;
};

// Throws std::invalid_argument unless an Index could have made the arrays: then every search stays inside them.
void check_index(const IndexView& index);

}  // namespace tagwright
