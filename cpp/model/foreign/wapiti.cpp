// Models of Wapiti: a text with the patterns, the labels, the observations that the patterns made in training, and
// the weights that are not 0.
//
//   #mdl#type#weights     type: 0 maxent, 1 MEMM, 2 CRF; older files have none
//   #rdr#patterns/columns/autouni, then the patterns; older files have no autouni
//   #qrk#labels, then the labels
//   #qrk#observations, then the observations
//   index=weight ...      in hexadecimal
//
// Strings are written as length:bytes, and a newline. The weights of an observation have consecutive indices: first
// one per label, unless it begins with b, then one per pair of labels, [previous][current], unless it begins with u.
#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "features/template_parser.h"
#include "features/unicode.h"
#include "model/foreign/parts.h"

namespace tagwright {

namespace {

using foreign::fail_at;
using foreign::need_at;

constexpr std::string_view kSpace = " \t\n\v\f\r";

std::string concatenated(std::initializer_list<std::string_view> pieces) {
  std::string made;
  for (const std::string_view piece : pieces) made.append(piece);
  return made;
}

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  size_t at() const { return at_; }
  bool done() const { return at_ == text_.size(); }
  void skip_space() { at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size()); }
  // Whether a token is next, which is then skipped.
  bool skip(std::string_view token) {
    const bool next = text_.substr(at_).starts_with(token);
    if (next) at_ += token.size();
    return next;
  }
  void need(std::string_view token) {
    need_at(at_ < text_.size(), at_, "the file is truncated");
    if (!skip(token)) fail_at(at_, std::string("'").append(token).append("' expected"));
  }
  uint64_t integer() {
    uint64_t value = 0;
    take(std::from_chars(begin(), end(), value));
    return value;
  }
  double weight() {
    const size_t first = at_;
    const bool negative = skip("-");
    double value = 0;
    if (skip("0x") || skip("0X"))
      take(std::from_chars(begin(), end(), value, std::chars_format::hex));
    else
      take(std::from_chars(begin(), end(), value));
    need_at(std::isfinite(value), first, "a weight is not finite");
    need_at(!done(), at_, "the file is truncated");
    need_at(kSpace.find(text_[at_]) != kSpace.npos, at_, "a line break expected");
    return negative ? -value : value;
  }
  std::string_view string() {
    skip_space();
    const uint64_t length = integer();
    need(":");
    need_at(length < text_.size() - at_, at_, "the file is truncated");
    const std::string_view found = text_.substr(at_, length);
    at_ += length;
    need(",");
    return found;
  }

 private:
  const char* begin() const { return text_.data() + at_; }
  const char* end() const { return text_.data() + text_.size(); }
  void take(std::from_chars_result result) {
    need_at(at_ < text_.size(), at_, "the file is truncated");
    need_at(result.ec == std::errc(), at_, "a number expected");
    at_ = static_cast<size_t>(result.ptr - text_.data());
  }

  std::string_view text_;
  size_t at_ = 0;
};

// A pattern; those for edges that contain no macro are weights of pairs of labels.
struct Pattern {
  std::string text;
  std::string_view literal() const { return std::string_view(text).substr(0, text.find('%')); }
  bool has_macro() const { return text.find('%') != text.npos; }
  bool nodes() const { return text.front() != 'b'; }
  bool edges() const { return text.front() != 'u'; }
  // Whether it may have made an observation.
  bool fits(std::string_view observation) const {
    return has_macro() ? observation.starts_with(literal()) : observation == text;
  }
};

Pattern read_pattern(Cursor& file) {
  file.skip_space();
  const size_t at = file.at();
  const std::string_view text = file.string();
  need_at(text.starts_with('u') || text.starts_with('b') || text.starts_with('*'), at,
          "a pattern that begins with neither u, b nor *");
  need_at(text.find_first_of(std::string_view("#\n\r\0", 4)) == text.npos && kSpace.find(text.back()) == kSpace.npos,
          at, "a pattern with a comment, a line break or trailing white space");
  need_at(is_utf8(text), at, "a pattern is not UTF-8");
  return {std::string(text)};
}

// A pattern of a model in which every token is a sequence of its own (autouni, wapiti train --me): macros of other rows
// give what they show outside of a sequence.
std::string of_single_tokens(const std::string& pattern) {
  std::string made;
  for (size_t at = 0;;) {
    const size_t percent = pattern.find('%', at);
    made.append(pattern, at, percent - at);
    if (percent == pattern.npos) return made;
    size_t close = percent;  // of the macro's bracket
    for (bool quoted = false; close < pattern.size() && (quoted || pattern[close] != ']'); ++close) {
      if (pattern[close] == '"') quoted = !quoted;
      if (quoted && pattern[close] == '\\') ++close;
    }
    at = std::min(close + 1, pattern.size());
    const std::string macro = pattern.substr(percent, at - percent);
    const ParsedTemplates parsed = parse_templates(concatenated({"u", macro, "\n"}), "pattern", {}, true);
    const Part& part = parsed.templates.templates.at(0).parts.at(0);
    const View& view = parsed.templates.views.at(0);
    const int32_t fixed = view.fixed_row.value_or(0);
    const int32_t row = !view.fixed_row ? part.row : fixed < 0 ? 1 + fixed : fixed - 1;
    if (row == 0) {
      made.append(macro.substr(0, macro.find('[') + 1)).append("0").append(macro.substr(macro.find(',')));
      continue;
    }
    view.append_outside(made, static_cast<size_t>(row < 0 ? -row : row), row < 0);
    if (made.find('#') != made.npos)
      throw ModelFileError("pattern '" + pattern + "': rows beyond 4 are not supported in a model of --me");
    if (const size_t end = made.find(kEndsFeature); end != made.npos) {
      made.resize(end);
      return made;
    }
  }
}

// The patterns as templates, and the names of the features that they make of the observations.
//
// Names are the observations themselves, except where that does not express the same:
//   * An observation that two patterns make at one token counts twice, but a set of edge weights is active only once.
//     Then each pattern has features of its own: b, its number, :, and the observation; those of nodes are u and the
//     observation.
//   * A MEMM has no edges. The weights of pairs of labels are those of features u, blank, the previous label, blank,
//   and
//     the observation.
class Names {
 public:
  Names(std::vector<Pattern> patterns, const std::vector<std::string>& labels, bool memm, bool single_tokens)
      : patterns_(std::move(patterns)), labels_(labels), memm_(memm), single_tokens_(single_tokens) {
    renamed_ = !single_tokens && (memm || ambiguous());
  }

  std::string templates() const {
    std::string text;
    for (size_t n = 0; n < patterns_.size(); ++n) {
      const Pattern& one = patterns_[n];
      if (single_tokens_) {
        if (one.nodes()) text += concatenated({"u", of_single_tokens(one.text), "\n"});
      } else if (!renamed_) {
        text += concatenated({one.text, "\n"});
      } else {
        if (one.nodes()) text += concatenated({"u", one.text, "\n"});
        if (one.edges()) text += concatenated({memm_ ? "u %y[-1] " : edge_prefix(n), one.text, "\n"});
      }
    }
    return text;
  }

  std::string of_node(std::string_view observation) const {
    if (patterns_.empty() && single_tokens_) observation.remove_prefix(1);
    return concatenated({renamed_ ? "u" : "", observation});
  }
  std::string of_node(std::string_view observation, size_t previous) const {
    return concatenated({"u ", labels_[previous], " ", observation});
  }
  // Calls plain() for each pattern without a macro that makes an observation, and name(text) for each other one.
  template <class Plain, class Name>
  void for_each_edge(std::string_view observation, Plain&& plain, Name&& name) const {
    for (size_t n = 0; n < patterns_.size(); ++n) {
      if (!patterns_[n].edges() || !patterns_[n].fits(observation)) continue;
      if (patterns_[n].has_macro())
        name(concatenated({renamed_ ? edge_prefix(n) : "", observation}));
      else
        plain();
    }
  }

 private:
  static std::string edge_prefix(size_t n) { return concatenated({"b", std::to_string(n), ":"}); }

  // Whether two patterns, at least one of which has a macro, may make the same observation for edges.
  bool ambiguous() const {
    for (const Pattern& a : patterns_)
      for (const Pattern& b : patterns_)
        if (&a != &b && a.edges() && b.edges() && a.has_macro() && b.literal().starts_with(a.literal())) return true;
    return false;
  }

  std::vector<Pattern> patterns_;
  const std::vector<std::string>& labels_;
  bool memm_, single_tokens_;
  bool renamed_ = false;
};

// The observations: where their weights begin.
class Observations {
 public:
  explicit Observations(size_t L) : L_(L) {}

  void add(std::string_view text, size_t at) {
    const bool u = text.starts_with('u'), b = text.starts_with('b'), both = text.starts_with('*');
    need_at(u || b || both, at, "an observation that begins with neither u, b nor *");
    text_.push_back(text);
    end_.push_back((end_.empty() ? 0 : end_.back()) + (b ? 0 : L_) + (u ? 0 : L_ * L_));
  }
  size_t size() const { return text_.size(); }
  std::string_view operator[](size_t n) const { return text_[n]; }
  // The observation of a weight, and the place of the weight among its own; size() if there is none.
  std::pair<size_t, uint64_t> find(uint64_t index, size_t likely) const {
    const auto has = [&](size_t n) { return n < size() && index < end_[n] && index >= first(n); };
    size_t n = likely;
    if (!has(n) && !has(++n)) n = static_cast<size_t>(std::ranges::upper_bound(end_, index) - end_.begin());
    return {n, n < size() ? index - first(n) : 0};
  }

 private:
  uint64_t first(size_t n) const { return n ? end_[n - 1] : 0; }

  size_t L_;
  std::vector<std::string_view> text_;
  std::vector<uint64_t> end_;
};

// Takes weights in the order of observations; features without one are left out.
class Weighing {
 public:
  Weighing(const Names& names, size_t L, bool memm) : names_(names), L_(L), memm_(memm), builder_(L) {}

  // The observation of the following weights.
  void start(std::string_view observation) {
    observation_ = observation;
    node_ = kNoId;
    pairs_ = false;
  }
  void add(uint64_t place, double weight) {
    const bool node = !observation_.starts_with('b') && place < L_;
    if (node) {
      if (node_ == kNoId) node_ = builder_.features.add(names_.of_node(observation_));
      return builder_.node(node_, static_cast<uint32_t>(place), weight);
    }
    if (observation_.starts_with('*')) place -= L_;
    const auto i = static_cast<uint32_t>(place / L_), j = static_cast<uint32_t>(place % L_);
    if (memm_) return builder_.node(builder_.features.add(names_.of_node(observation_, i)), j, weight);
    if (!std::exchange(pairs_, true)) {
      plain_ = 0;
      edge_.clear();
      names_.for_each_edge(
          observation_, [&] { ++plain_; },
          [&](const std::string& name) { edge_.push_back(builder_.edge_features.add(name)); });
    }
    builder_.edge(i, j, plain_ * weight);
    for (const int32_t id : edge_) builder_.edge(id, i, j, weight);
  }
  WeightArrays<Owned> finish() && { return std::move(builder_).finish(); }

 private:
  const Names& names_;
  size_t L_;
  bool memm_;
  foreign::WeightBuilder builder_;
  std::string_view observation_;
  int32_t node_ = kNoId;
  bool pairs_ = false;         // plain_ and edge_ are those of the observation
  double plain_ = 0;           // patterns
  std::vector<int32_t> edge_;  // features
};

struct Header {
  uint64_t type = 0, weights = 0;
  std::vector<Pattern> patterns;
  bool autouni = false;
};

Header read_header(Cursor& file) {
  Header made;
  file.need("#mdl#");
  made.weights = file.integer();
  if (file.skip("#")) made.type = std::exchange(made.weights, file.integer());
  need_at(made.type <= 2, 0, "only the types 0 (maxent), 1 (MEMM) and 2 (CRF) are supported");
  file.skip_space();
  file.need("#rdr#");
  const uint64_t count = file.integer();
  file.need("/");
  file.integer();
  made.autouni = file.skip("/") && file.integer() != 0;
  for (uint64_t n = 0; n < count; ++n) made.patterns.push_back(read_pattern(file));
  return made;
}

// Calls visit(text, offset) for each string of a list.
template <class Visit>
void read_strings(Cursor& file, Visit&& visit) {
  file.skip_space();
  file.need("#qrk#");
  const uint64_t count = file.integer();
  for (uint64_t n = 0; n < count; ++n) {
    file.skip_space();
    const size_t at = file.at();
    visit(file.string(), at);
  }
}

}  // namespace

ForeignModel read_wapiti(std::string_view bytes) {
  Cursor file(bytes);
  Header header = read_header(file);
  ForeignModel model;
  model.tool = "wapiti";
  model.memm = header.type == 1;
  const bool ready = header.patterns.empty();
  read_strings(file, [&](std::string_view label, size_t at) {
    need_at(is_utf8(label), at, "a label is not UTF-8");
    model.labels.emplace_back(label);
  });
  foreign::check_labels(model.labels);
  const size_t L = model.labels.size();
  Observations observations(L);
  read_strings(file, [&](std::string_view text, size_t at) { observations.add(text, at); });
  const Names names(std::move(header.patterns), model.labels, model.memm, header.autouni);
  if (!ready) model.templates = names.templates();
  need_at(!ready || !model.memm, 0, "a MEMM without patterns is not supported");

  Weighing weighing(names, L, model.memm);
  size_t current = observations.size();
  for (uint64_t n = 0; n < header.weights; ++n) {
    file.skip_space();
    const size_t at = file.at();
    const uint64_t index = file.integer();
    file.need("=");
    const double weight = file.weight();
    const auto [found, place] = observations.find(index, current);
    need_at(found < observations.size(), at, "a weight of no observation");
    need_at(!ready || observations[found].starts_with('u'), at,
            "a model without patterns whose features begin with b or * is not supported");
    if (found != current) weighing.start(observations[current = found]);
    weighing.add(place, weight);
  }
  file.skip_space();
  need_at(file.done(), file.at(), "more weights than the header says");
  model.weights = std::move(weighing).finish();
  return model;
}

}  // namespace tagwright
