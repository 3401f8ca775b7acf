// Blocks of files to blocks of tagged files, each piece read, tagged and written by one thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "features/lines.h"
#include "features/tag_dictionary.h"
#include "model/tag.h"

namespace tagwright {

// Returns the lines of a block with the best labels, in order. names: of the labels. dictionary: a tag dictionary, or
// nullptr. Returns none if the block is malformed or a sentence has no labelling: reading it line by line reports the
// error.
std::optional<std::string> tag_lines(const Scorer& scorer, std::string_view block, const LineFormat& format,
                                     const Edges& edges, const Plan& plan, size_t threads,
                                     std::span<const std::string_view> names,
                                     const TagDictionary* dictionary = nullptr);

}  // namespace tagwright
