#include "features/byte_regex.h"

#include <cctype>
#include <stdexcept>

namespace tagwright {
namespace {

// Whether a byte of ASCII is in a class, named by its lower-case letter; none: there is no such class.
std::optional<bool> in_class(char name, int byte) {
  const bool upper = byte >= 'A' && byte <= 'Z', lower = byte >= 'a' && byte <= 'z', digit = byte >= '0' && byte <= '9';
  switch (name) {
    case 'a':
      return upper || lower;
    case 'd':
      return digit;
    case 'l':
      return lower;
    case 'p':
      return byte > ' ' && byte < 0x7F && !upper && !lower && !digit;
    case 's':
      return byte == ' ' || (byte >= '\t' && byte <= '\r');
    case 'u':
      return upper;
    case 'w':
      return upper || lower || digit;
    default:
      return std::nullopt;
  }
}

std::bitset<256> bytes_of_class(char name) {
  const bool complement = name >= 'A' && name <= 'Z';
  const char lower = complement ? static_cast<char>(name - 'A' + 'a') : name;
  std::bitset<256> bytes;
  if (!in_class(lower, 0)) return bytes.set(static_cast<unsigned char>(name));
  // Texts contain no NUL in Wapiti; not even a complement matches one.
  for (int byte = 1; byte < 256; ++byte) bytes[static_cast<size_t>(byte)] = *in_class(lower, byte) != complement;
  return bytes;
}

}  // namespace

ByteRegex::ByteRegex(std::string_view source) : source_(source) {
  at_start_ = source.starts_with('^');
  source.remove_prefix(at_start_);
  while (!source.empty()) {
    if (source == "$") {
      at_end_ = true;
      return;
    }
    const char c = source.front();
    if (c == '*' || c == '?')
      throw std::invalid_argument(std::string(1, c) + " follows no character in the regular expression; write \\" +
                                  std::string(1, c) + " for the character itself");
    if (c == '\\' && source.size() == 1) throw std::invalid_argument("the regular expression ends with \\");
    Item item{{}, Times::once};
    if (c == '\\')
      item.bytes = bytes_of_class(source[1]);
    else if (c == '.')
      item.bytes.set().reset(0);
    else
      item.bytes.set(static_cast<unsigned char>(c));
    source.remove_prefix(c == '\\' ? 2 : 1);
    if (source.starts_with('*')) item.times = Times::any;
    if (source.starts_with('?')) item.times = Times::maybe;
    source.remove_prefix(item.times != Times::once);
    items_.push_back(item);
  }
}

// Wapiti's recursion over the items, as a table: state[i] is what the items from some item on make of the text from
// byte i on. It begins behind the last item and is updated in place, item by item.
std::optional<ByteRegex::Match> ByteRegex::find(std::string_view text) const {
  thread_local std::vector<State> state;
  const size_t n = text.size();
  state.assign(n + 1, {!at_end_, 0});
  state[n].matches = true;
  for (size_t q = items_.size(); q-- > 0;) {
    const Item& item = items_[q];
    const auto fits = [&](size_t i) { return i < n && item.bytes[static_cast<unsigned char>(text[i])]; };
    if (item.times == Times::any) {
      for (size_t i = n + 1; i-- > 0;)
        if (!state[i].matches)
          state[i] = fits(i) ? State{state[i + 1].matches, state[i + 1].length + 1} : State{false, 1};
      continue;
    }
    for (size_t i = 0; i <= n; ++i) {
      if (item.times == Times::once) {
        state[i] = fits(i) ? State{state[i + 1].matches, state[i + 1].length + 1} : State{false, 1};
      } else if (fits(i)) {
        const State taken = state[i + 1];
        state[i] =
            taken.matches ? State{true, taken.length + 1} : State{state[i].matches, state[i].length + taken.length};
      }
    }
  }
  for (size_t i = 0; i <= (at_start_ ? 0 : n); ++i)
    if (state[i].matches) return Match{i, state[i].length};
  return std::nullopt;
}

}  // namespace tagwright
