#include "decode/options.h"

#include <algorithm>

namespace tagwright {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace

std::string Option::takes() const {
  const std::string from = std::to_string(low);
  const std::string number = high == kMost ? "a whole number of at least " + from + " and below 2**31"
                                           : "a whole number from " + from + " to " + std::to_string(high);
  std::string words;
  for (const std::string_view word : choices) words += (words.empty() ? "'" : " or '") + std::string(word) + "'";
  return std::visit(Overloaded{
                        [&](size_t Options::*) { return number; },
                        [&](std::optional<size_t> Options::*) { return "None or " + number; },
                        [&](std::string_view Options::*) { return words; },
                        [](bool Options::*) { return std::string("True or False"); },
                        [](PruningRule Options::*) -> std::string {
                          return "None, KeepDivergence(...), KeepSize(...) or KeepRatio(...)";
                        },
                    },
                    field);
}

bool Option::set(Options& options, const Value& value) const {
  const auto in_range = [&](int64_t number) {
    return number >= static_cast<int64_t>(low) && number <= static_cast<int64_t>(high);
  };
  const auto put = [&](auto field, auto given) {
    options.*field = given;
    return true;
  };
  return std::visit(
      Overloaded{
          [&](size_t Options::* own, int64_t number) { return in_range(number) && put(own, number); },
          [&](std::optional<size_t> Options::* own, int64_t number) { return in_range(number) && put(own, number); },
          [&](std::optional<size_t> Options::* own, std::monostate) { return put(own, std::nullopt); },
          [&](std::string_view Options::* own, const std::string& word) {
            const auto choice = std::find(choices.begin(), choices.end(), word);
            return choice != choices.end() && put(own, *choice);
          },
          [&](bool Options::* own, bool flag) { return put(own, flag); },
          [&](PruningRule Options::* own, const PruningRule& rule) { return put(own, rule); },
          [&](PruningRule Options::* own, std::monostate) { return put(own, PruningRule{}); },
          [](const auto&, const auto&) { return false; },
      },
      field, value);
}

}  // namespace tagwright
