#include "model/stored_parts.h"

#include <algorithm>

#include "base/need.h"
#include "features/template_parser.h"

namespace tagwright {
namespace {

std::vector<bool> flags(const ModelFile& file, std::string_view name) {
  std::vector<bool> made;
  if (file.find(name))
    for (const uint8_t flag : file.array<uint8_t>(name)) made.push_back(flag != 0);
  return made;
}

std::shared_ptr<const LabellingRules> labelling_rules(const ModelFile& file, size_t L, const std::string& prefix) {
  const auto names = file.array<uint8_t>(prefix + "count_names"), flags = file.array<uint8_t>(prefix + "count_flags");
  const auto least = file.array<int32_t>(prefix + "count_least"), most = file.array<int32_t>(prefix + "count_most"),
             label = file.array<int32_t>(prefix + "count_label"), limit = file.array<int32_t>(prefix + "limit");
  const auto ends = file.array<uint64_t>(prefix + "count_end");
  need(least.size() == ends.size() && most.size() == ends.size() && limit.size() == 1 && limit[0] >= 1 &&
           flags.size() == label.size() && (ends.empty() ? label.empty() : ends.back() == label.size()),
       "constraints: rules about whole labellings do not fit together");
  std::vector<CountRule> counts;
  auto begin = names.begin();
  for (size_t n = 0, from = 0; n < ends.size(); from = ends[n++]) {
    need(least[n] >= 0 && from <= ends[n] && ends[n] <= label.size(), "constraints: a rule about whole labellings");
    const auto end = std::find(begin, names.end(), '\n');
    const auto part = [&](auto all) {
      const auto own = all.subspan(from, ends[n] - from);
      return std::vector(own.begin(), own.end());
    };
    counts.push_back({std::string(begin, end), static_cast<size_t>(least[n]),
                      most[n] < 0 ? SIZE_MAX : static_cast<size_t>(most[n]), part(label), part(flags)});
    begin = end == names.end() ? end : end + 1;
  }
  return std::make_shared<const LabellingRules>(L, std::move(counts), std::vector<LabellingRules::Accept>(),
                                                static_cast<size_t>(limit[0]));
}

// The vectors of words, as src/tagwright/features/vectors.py names their arrays.
std::vector<NamedList> stored_vectors(const ModelFile& file) {
  constexpr std::string_view kPrefix = "vectors.", kSuffix = ".values";
  std::vector<NamedList> made;
  for (const auto& [name, tensor] : file.arrays) {
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix) || name.size() <= kPrefix.size() + kSuffix.size())
      continue;
    const std::string own = name.substr(0, name.size() - kSuffix.size());
    NameArrays<Borrowed> words;
    for_each_name_array(own, words, [&](const std::string& part, auto& array) { file.read(part, array); });
    made.push_back({own.substr(kPrefix.size()),
                    {},
                    std::make_shared<const VectorTable>(words, file.array<float>(name), file.held)});
  }
  return made;
}

}  // namespace

const Json& member(const Json& object, std::string_view name) {
  const Json* const found = object.find(name);
  if (!found) throw ModelFileError("damaged (" + std::string(name) + " is missing)");
  return *found;
}

std::vector<std::string> strings(const Json& value, const std::string& name) {
  if (!value.array()) throw ModelFileError("damaged (" + name + " is not a list)");
  std::vector<std::string> made;
  for (const Json& item : *value.array()) {
    if (!item.string()) throw ModelFileError("damaged (" + name + " is not a list of strings)");
    made.push_back(*item.string());
  }
  return made;
}

Templates stored_templates(const ModelFile& file) {
  const Json& meta = file.meta;
  const Json& text = member(meta, "templates");
  if (text.is_null()) return {};
  if (!text.string()) throw ModelFileError("damaged (templates are not text)");
  std::vector<NamedList> lists = stored_vectors(file);
  const Json& given = member(meta, "lists");
  if (!given.object()) throw ModelFileError("damaged (lists is not an object)");
  for (const auto& [name, entries] : *given.object()) lists.push_back({name, strings(entries, "word list " + name)});
  std::sort(lists.begin(), lists.end(), [](const NamedList& a, const NamedList& b) { return a.name < b.name; });
  const Json* const finds = meta.find("finds");
  ParsedTemplates parsed =
      parse_templates(*text.string(), "templates", lists, finds && finds->boolean() && *finds->boolean());
  return std::move(parsed.templates);
}

StoredLimits stored_limits(const ModelFile& file, size_t L, const std::string& prefix) {
  StoredLimits limits;
  if (!file.has(prefix + "names")) return limits;
  const auto array = [&]<class V>(const std::string& name, V) {
    return file.has(name) ? file.array<V>(name) : std::span<const V>();
  };
  const auto names = file.array<uint8_t>(prefix + "names");
  const auto entry = file.array<int32_t>(prefix + "entry"), exit = file.array<int32_t>(prefix + "exit");
  const auto previous = file.array<int32_t>(prefix + "previous"), current = file.array<int32_t>(prefix + "current");
  const size_t rules = names.empty() ? 0 : 1 + static_cast<size_t>(std::count(names.begin(), names.end(), '\n'));
  need(entry.size() == rules * L && exit.size() == entry.size(), "constraints: rules for another number of labels");
  need(previous.size() == current.size(), "constraints: pairs of one label");
  std::vector<PairRule> made;
  const auto row = [&](std::span<const int32_t> all, size_t n) {
    const auto own = all.subspan(n * L, L);
    return std::vector<int32_t>(own.begin(), own.end());
  };
  auto begin = names.begin();
  for (size_t n = 0; n < rules; ++n) {
    const auto end = std::find(begin, names.end(), '\n');
    made.push_back({std::string(begin, end), row(entry, n), row(exit, n)});
    begin = end == names.end() ? end : end + 1;
  }
  PairRules::Pairs forbidden;
  for (size_t q = 0; q < previous.size(); ++q) forbidden.emplace_back(previous[q], current[q]);
  std::vector<bool> start = flags(file, prefix + "start"), stop = flags(file, prefix + "stop");
  if (rules || !forbidden.empty() || !start.empty() || !stop.empty()) {
    limits.pairs =
        std::make_shared<PairRules>(L, std::move(made), std::move(forbidden), std::move(start), std::move(stop));
  }
  if (file.has(prefix + "count_names")) limits.rules = labelling_rules(file, L, prefix);
  if (!file.has(prefix + "words")) return limits;
  const auto bytes = file.array<uint8_t>(prefix + "words");
  limits.dictionary = std::make_shared<TagDictionary>(
      L, TagDictionary::Arrays{{reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                               file.array<uint64_t>(prefix + "word_end"),
                               file.array<uint64_t>(prefix + "list_end"),
                               file.array<int32_t>(prefix + "list"),
                               array(prefix + "unknown", int32_t{})});
  return limits;
}

}  // namespace tagwright
