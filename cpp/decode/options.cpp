#include "decode/options.h"

#include <algorithm>

namespace tagwright {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

}  // namespace

std::string Option::takes() const {
  const std::string from = std::to_string(low);
  const std::string number = high == kMost ? "a whole number of at least " + from + " and below 2**31"
                                           : "a whole number from " + from + " to " + std::to_string(high);
  std::string words;
  for (const std::string_view word : choices) words += (words.empty() ? "'" : " or '") + std::string(word) + "'";
  return std::visit(
      Overloaded{
          [&](size_t Options::*) { return number; },
          [&](std::optional<size_t> Options::*) { return "None or " + number; },
          [&](std::string_view Options::*) { return words; },
          [](bool Options::*) { return std::string("True or False"); },
          [](Keep Options::*) -> std::string { return "None, KeepDivergence(...), KeepSize(...) or KeepRatio(...)"; },
      },
      field);
}

bool Option::set(Options& options, const Value& value) const {
  const bool none = std::holds_alternative<std::monostate>(value);
  const bool* flag = std::get_if<bool>(&value);
  const int64_t* number = std::get_if<int64_t>(&value);
  const std::string* word = std::get_if<std::string>(&value);
  const Keep* rule = std::get_if<Keep>(&value);
  const auto choice = word ? std::find(choices.begin(), choices.end(), *word) : choices.end();
  const bool in_range = number && *number >= static_cast<int64_t>(low) && *number <= static_cast<int64_t>(high);
  return std::visit(Overloaded{
                        [&](size_t Options::* own) {
                          if (in_range) options.*own = static_cast<size_t>(*number);
                          return in_range;
                        },
                        [&](std::optional<size_t> Options::* own) {
                          if (in_range) options.*own = static_cast<size_t>(*number);
                          if (none) options.*own = std::nullopt;
                          return in_range || none;
                        },
                        [&](std::string_view Options::* own) {
                          if (choice != choices.end()) options.*own = *choice;
                          return choice != choices.end();
                        },
                        [&](bool Options::* own) {
                          if (flag) options.*own = *flag;
                          return flag != nullptr;
                        },
                        [&](Keep Options::* own) {
                          if (rule || none) options.*own = rule ? *rule : Keep{};
                          return rule || none;
                        },
                    },
                    field);
}

}  // namespace tagwright
