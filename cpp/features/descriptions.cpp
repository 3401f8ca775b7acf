#include "features/descriptions.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>

#include "base/need.h"

namespace tagwright {
namespace {

std::string ordinal(int64_t n) {
  const int64_t tens = n % 100, ones = n % 10;
  const bool teens = tens >= 11 && tens <= 13;
  return std::to_string(n) + (!teens && ones == 1   ? "st"
                              : !teens && ones == 2 ? "nd"
                              : !teens && ones == 3 ? "rd"
                                                    : "th");
}

// Which word a part looks at: "previous", "2nd next"; nothing for the token itself.
std::string place_of(const Part& part, const View& view) {
  const int64_t row = view.fixed_row.value_or(part.row);
  const int64_t n = std::abs(row);
  if (view.fixed_row) {
    if (n == 1) return row > 0 ? "first" : "last";
    return ordinal(n) + (row > 0 ? "" : " last");
  }
  if (row == 0) return "";
  return (n == 1 ? "" : ordinal(n) + " ") + (row < 0 ? "previous" : "next");
}

// What a macro reads of a cell, in words.
std::string noun_of(std::string_view name) {
  if (name == "lower") return "lower case";
  if (name == "Prefix") return "lower-case prefix";
  if (name == "Suffix") return "lower-case suffix";
  return std::string(name);
}

// What a macro shows of a cell, in words, without the place: {what it is, its value}.
std::string shown_in_words(const View& view, std::span<const std::string> lists, const std::string& value) {
  const std::string_view name = view.macro->name;
  const auto about = [&](std::string_view noun) { return (value == "none" ? "no" : value) + " " + std::string(noun); };
  if (name == "digit") return about("digits");
  if (name == "punct") return about("punctuation");
  if (name == "capital") return value == "first" ? "first letter capital" : about("capitals");
  if (name == "in") {
    const std::string list = view.n < lists.size() ? lists[view.n] : "list";
    return value == "B" ? "begins an entry of " + list : value == "I" ? "inside an entry of " + list : "not in " + list;
  }
  if (name == "t" || name == "T") return (value == "true" ? "matches " : "does not match ") + view.regex->source();
  if (name == "m" || name == "M") return view.regex->source() + " matches " + (value.empty() ? "nothing" : value);
  return noun_of(name) + " " + value;
}

struct Outside {
  size_t distance;
  bool before;
};

// Where a part looks beyond the sentence.
std::optional<Outside> outside_of(const Part& part, const View& view, size_t T, size_t t) {
  const auto length = static_cast<ptrdiff_t>(T);
  ptrdiff_t at = static_cast<ptrdiff_t>(t) + part.row;
  if (view.fixed_row) at = *view.fixed_row < 0 ? length + *view.fixed_row : *view.fixed_row - 1;
  if (at < 0) return Outside{static_cast<size_t>(-at), true};
  if (at >= length) return Outside{static_cast<size_t>(at - length) + 1, false};
  return std::nullopt;
}

std::string in_words(const Part& part, const View& view, std::span<const std::string> lists,
                     const std::optional<Outside>& outside, const std::string& value) {
  const std::string_view name = view.macro->name;
  const bool whole = name == "x" || name == "X";
  const std::string column = view.column ? "column " + std::to_string(view.column + 1) : "";
  if (outside) {
    std::string made = whole || name == "in" ? column : view.regex ? view.regex->source() : noun_of(name);
    if (!whole && name != "in" && !column.empty()) made += " of " + column;
    if (!made.empty()) made += " ";
    if (outside->distance > 1) made += std::to_string(outside->distance) + " ";
    return made + (outside->before ? "before the sentence" : "after the sentence");
  }
  const std::string place = place_of(part, view);
  if (whole && column.empty()) return (place.empty() ? "" : place + " ") + "word " + value;
  std::string made = whole ? column + " " + value : shown_in_words(view, lists, value);
  if (!whole && !column.empty()) made += " of " + column;
  return made + (place.empty() ? "" : " of the " + place + " word");
}

}  // namespace

std::vector<DescribedFeature> described_features(const Templates& templates, const Text& text, size_t sentence,
                                                 size_t t) {
  need(sentence < text.sentences(), "no such sentence");
  const size_t T = text.length(sentence);
  need(t < T, "no such token");
  templates.check_text(text);
  std::vector<DescribedFeature> made;
  if (text.ready) return made;
  FeatureScratch scratch;
  templates.start(text, sentence, scratch);
  templates.expand(text, sentence, t, scratch);  // computes what the views show
  for (const Template& one : templates.templates) {
    if (one.history) continue;
    scratch.bytes.clear();
    scratch.node.clear();
    scratch.edge.clear();
    if (!templates.expand_one(one, T, t, nullptr, scratch)) continue;
    std::string words;
    for (const Part& part : one.parts) {
      if (part.view < 0) continue;
      const auto v = static_cast<size_t>(part.view);
      const View& view = templates.views[v];
      const std::optional<Outside> outside = outside_of(part, view, T, t);
      std::string value;
      if (!outside) {
        const size_t at = view.fixed_row ? t : t + static_cast<size_t>(static_cast<ptrdiff_t>(part.row));
        if (one.dimensions) {
          value = text.cell(text.first_cell(text.first_token(sentence) + at) + view.column);
        } else {
          value = scratch.views[v][at - scratch.first];
          value.resize(std::min(value.find(kEndsFeature), value.size()));
        }
      }
      words.append(words.empty() ? "" : " + ").append(in_words(part, view, templates.list_names, outside, value));
    }
    const Feature& feature = one.edge ? scratch.edge.front() : scratch.node.front();
    std::string name = one.dimensions ? one.vector_name() : std::string(scratch.text(feature));
    made.push_back({std::move(name), words.empty() ? "every word" : std::move(words)});
  }
  return made;
}

}  // namespace tagwright
