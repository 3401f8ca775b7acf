#include "model/tag_lines.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/need.h"
#include "base/thread_pool.h"

namespace tagwright {

std::optional<std::string> tag_lines(const Scorer& scorer, std::string_view block, const LineFormat& format,
                                     const Edges& edges, const Plan& plan, size_t threads,
                                     std::span<const std::string_view> names, const TagDictionary* dictionary) {
  need(names.size() == scorer.L(), "there must be one name per label");
  if (format.labelled || format.picks.size() != static_cast<size_t>(format.conllu)) return std::nullopt;
  need(threads >= 1, "threads must be at least 1");
  // Several pieces per thread, since some take longer; large enough that sentences of like length are decoded together.
  constexpr size_t kLeast = size_t{8} << 10;
  const size_t bytes = threads == 1 ? block.size() : std::max(kLeast, block.size() / 4 / threads);
  const std::vector<std::string_view> pieces = cut_between_sentences(block, bytes);
  std::vector<std::optional<std::string>> written(pieces.size());
  in_parallel(pieces.size(), threads, [&](size_t p) {
    const std::optional<Lines> lines = read_lines(pieces[p], format);
    if (!lines) return;
    std::vector<Answer> answers;
    try {
      std::optional<AllowedLists> allowed;
      if (dictionary) allowed = dictionary->allowed(lines->text);
      answers = tag_all(scorer, lines->text, edges, plan, 1, allowed ? &*allowed : nullptr);
    } catch (const std::invalid_argument&) {
      return;
    }
    std::string& out = written[p].emplace();
    out.reserve(pieces[p].size() + 8 * lines->text.tokens());
    for (size_t s = 0; s < answers.size(); ++s)
      append_tagged(out, *lines, s, format, answers[s].paths[0].labels, names);
  });
  std::string all;
  for (const std::optional<std::string>& one : written) {
    if (!one) return std::nullopt;
    all += *one;
  }
  return all;
}

}  // namespace tagwright
