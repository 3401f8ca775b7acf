#include <map>
#include <stdexcept>

#include "check.h"
#include "features/encode.h"
#include "features/index.h"

using namespace tagwright;

TEST(an_index_numbers_strings_in_their_order) {
  test::Draw draw(1);
  Index index;
  std::map<std::string, int32_t> expected;
  for (size_t n = 0; n < 5000; ++n) {
    const std::string text(draw.below(20), static_cast<char>('a' + draw.below(3)));
    const std::string name = text + std::to_string(draw.below(800));
    const auto [found, added] = expected.try_emplace(name, static_cast<int32_t>(expected.size()));
    CHECK(index.add(name) == found->second);
  }
  CHECK(index.size() == expected.size());
  for (const auto& [name, id] : expected) CHECK(index.find(name) == id && index.text(static_cast<size_t>(id)) == name);
  CHECK(index.find("absent") == kNoId && Index().find("") == kNoId);
  check_index(index.view());
}

TEST(a_damaged_index_is_refused) {
  const Index index({"a", "bc", "def"});
  const NameArrays<Owned> whole = index.arrays();
  auto [slots, ends, bytes] = whole;
  const auto check = [&] { check_index({{slots, ends, bytes}}); };
  check();
  std::swap(ends[0], ends[1]);
  CHECK_THROWS(std::invalid_argument, check());
  ends = whole.ends;
  ends[2] = 7;
  CHECK_THROWS(std::invalid_argument, check());
  ends = whole.ends;
  for (uint64_t& slot : slots) slot = slot ? slot : 9;
  CHECK_THROWS(std::invalid_argument, check());
  slots.assign(slots.size(), 1);
  CHECK_THROWS(std::invalid_argument, check());
}

TEST(a_selection_keeps_the_order) {
  const Index index({"a", "b", "c", "d"});
  const Index some = select(index.view(), {true, false, false, true});
  CHECK(some.size() == 2 && some.find("a") == 0 && some.find("d") == 1 && some.find("b") == kNoId);
}
