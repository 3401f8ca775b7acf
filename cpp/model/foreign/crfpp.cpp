// Models of CRF++: templates, and a key per expanded template with a weight for each label (U) or pair of labels (B).
// The binary form keeps the keys in a double-array trie, the text form (crf_learn -t) as lines.
#include <charconv>
#include <set>

#include "model/foreign/parts.h"

namespace tagwright {

namespace {

using foreign::Bytes;
using foreign::need_at;

// Weights by key.
class Keys {
 public:
  // lines: the templates. A B template without a macro has one key, itself, whose weights are those of plain edges.
  Keys(size_t L, double factor, const std::vector<std::string>& lines) : L_(L), factor_(factor), builder_(L) {
    for (const std::string& line : lines)
      if (line.starts_with('B') && line.find('%') == line.npos) plain_.insert(line);
  }

  // How many weights a key has.
  size_t width(std::string_view key) const { return key.starts_with('B') ? L_ * L_ : L_; }
  // weight(n): the n-th weight of the key.
  template <class Weight>
  void add(std::string_view key, Weight&& weight) {
    const bool of_nodes = key.starts_with('U'), plain = plain_.contains(key);
    const int32_t id = of_nodes ? builder_.features.add(key) : plain ? 0 : builder_.edge_features.add(key);
    for (size_t n = 0; n < width(key); ++n) {
      const double w = factor_ * weight(n);
      const auto i = static_cast<uint32_t>(n / L_), j = static_cast<uint32_t>(n % L_);
      if (of_nodes)
        builder_.node(id, j, w);
      else if (plain)
        builder_.edge(i, j, w);
      else
        builder_.edge(id, i, j, w);
    }
  }
  WeightArrays<Owned> finish() && { return std::move(builder_).finish(); }

 private:
  size_t L_;
  double factor_;
  std::set<std::string, std::less<>> plain_;
  foreign::WeightBuilder builder_;
};

// Strings that end with NUL; empty ones are padding.
std::vector<std::string> strings_in(std::string_view block) {
  std::vector<std::string> found;
  while (!block.empty()) {
    const size_t end = block.find('\0');
    if (end) found.emplace_back(block.substr(0, end));
    block.remove_prefix(end == block.npos ? block.size() : end + 1);
  }
  return found;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

// A double-array trie: units of base and check. The children of base b are the units p = b + byte + 1 with check b; a
// key ends at unit b if that has check b and a negative base, -id - 1.
class Trie {
 public:
  Trie(const Bytes& file, size_t offset, size_t bytes) : file_(file), offset_(offset), units_(bytes / 8) {
    file.piece(offset, bytes);
  }

  // Calls visit(key, id) for every key.
  template <class Visit>
  void for_each(Visit&& visit) const {
    struct Frame {
      uint32_t base;
      uint32_t next;  // byte
    };
    if (!units_) return;
    std::string key;
    std::vector<Frame> stack{{base(0), 0}};
    size_t visited = 0;
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == 0 && top.base < units_ && check(top.base) == top.base)
        if (const auto id = static_cast<int32_t>(base(top.base)); id < 0)
          visit(std::string_view(key), static_cast<size_t>(-(int64_t{id} + 1)));
      size_t child = units_;  // none
      for (; top.next < 256 && child == units_; ++top.next)
        if (const size_t p = size_t{top.base} + top.next + 1; p < units_ && check(p) == top.base) child = p;
      if (child < units_) {
        need_at(++visited <= units_, offset_ + 8 * child, "the trie has a cycle");
        key.push_back(static_cast<char>(top.next - 1));
        stack.push_back({base(child), 0});
        continue;
      }
      stack.pop_back();
      if (!key.empty()) key.pop_back();
    }
  }

 private:
  uint32_t base(size_t unit) const { return file_.u32(offset_ + 8 * unit); }
  uint32_t check(size_t unit) const { return file_.u32(offset_ + 8 * unit + 4); }

  const Bytes& file_;
  size_t offset_, units_;
};

// Lines of a text, with their numbers for messages.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  std::string_view next() {
    if (rest_.empty()) fail("the file is truncated");
    ++number_;
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }
  // The lines up to the next empty one.
  std::vector<std::string> block() {
    std::vector<std::string> found;
    for (std::string_view line = next(); !line.empty(); line = next()) found.emplace_back(line);
    return found;
  }
  template <class V>
  V number(std::string_view text) const {
    V value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) fail("a number expected");
    return value;
  }
  // The value of a header line "name: value".
  std::string_view value(std::string_view name) {
    const std::string_view line = next();
    if (!line.starts_with(name) || !line.substr(name.size()).starts_with(": "))
      fail("'" + std::string(name) + ": ' expected");
    return line.substr(name.size() + 2);
  }
  [[noreturn]] void fail(const std::string& message) const {
    throw ModelFileError("line " + std::to_string(number_) + ": " + message);
  }

 private:
  std::string_view rest_;
  size_t number_ = 0;
};

}  // namespace

ForeignModel read_crfpp(std::string_view bytes) {
  const Bytes file(bytes);
  need_at(file.u32(0) >= 100 && file.u32(0) < 200, 0, "this version is not supported");
  need_at(file.u32(4) == 0, 4, "only CRFs are supported");
  const auto factor = file.number<double>(8);
  need_at(std::isfinite(factor), 8, "the cost factor is not finite");
  const size_t weights = file.u32(16), trie_bytes = file.u32(24);
  size_t at = 28;
  const auto block = [&] {
    const size_t length = file.u32(at), begin = at + 4;
    at = begin + length;
    return file.piece(begin, length);
  };
  ForeignModel model;
  model.tool = "crf++";
  model.labels = strings_in(block());
  foreign::check_labels(model.labels);
  const std::vector<std::string> templates = strings_in(block());
  model.templates = joined(templates);
  const Trie trie(file, at, trie_bytes);
  const size_t first = at + trie_bytes;
  file.piece(first, weights * sizeof(float));
  Keys keys(model.labels.size(), factor, templates);
  trie.for_each([&](std::string_view key, size_t id) {
    need_at(key.starts_with('U') || key.starts_with('B'), at, "a key that begins with neither U nor B");
    need_at(id <= weights && keys.width(key) <= weights - id, first, "a key has weights behind the last");
    keys.add(key, [&](size_t n) {
      const auto weight = file.number<float>(first + (id + n) * sizeof(float));
      need_at(std::isfinite(weight), first + (id + n) * sizeof(float), "a weight is not finite");
      return double{weight};
    });
  });
  model.weights = std::move(keys).finish();
  return model;
}

ForeignModel read_crfpp_text(std::string_view bytes) {
  LineReader lines(bytes);
  if (const auto version = lines.number<uint32_t>(lines.value("version")); version < 100 || version >= 200)
    lines.fail("version " + std::to_string(version) + " is not supported");
  const auto factor = lines.number<double>(lines.value("cost-factor"));
  const auto count = lines.number<size_t>(lines.value("maxid"));
  lines.value("xsize");
  if (!lines.next().empty()) lines.fail("an empty line expected");
  ForeignModel model;
  model.tool = "crf++";
  model.labels = lines.block();
  foreign::check_labels(model.labels);
  const std::vector<std::string> templates = lines.block();
  model.templates = joined(templates);
  const std::vector<std::string> entries = lines.block();
  std::vector<double> weight;
  while (!lines.done())
    if (const std::string_view line = lines.next(); !line.empty()) {
      weight.push_back(lines.number<double>(line));
      if (!std::isfinite(weight.back())) lines.fail("a weight is not finite");
    }
  if (weight.size() != count) lines.fail("the number of weights is not that of the header");
  Keys keys(model.labels.size(), factor, templates);
  for (const std::string& entry : entries) {
    const size_t blank = entry.find(' ');
    const std::string_view key = std::string_view(entry).substr(std::min(blank + 1, entry.size()));
    if (blank == entry.npos || !(key.starts_with('U') || key.starts_with('B')))
      throw ModelFileError("'" + entry + "': an index and a key expected");
    const auto id = lines.number<size_t>(std::string_view(entry).substr(0, blank));
    if (id > count || keys.width(key) > count - id) throw ModelFileError("'" + entry + "': no such weights");
    keys.add(key, [&](size_t n) { return weight[id + n]; });
  }
  model.weights = std::move(keys).finish();
  return model;
}

}  // namespace tagwright
