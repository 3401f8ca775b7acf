// Blocks of files to blocks of tagged files, each piece read, tagged and written by one thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "features/lines.h"
#include "model/tag.h"

namespace tagwright {

// The lines of a block with the best labels, in order; none if the block is malformed or some sentence has no
// answer: Python then reads it and reports what is wrong.
std::optional<std::string> tag_lines(const Scorer& scorer, std::string_view block, const LineFormat& format,
                                     const Edges& edges, const Plan& plan, size_t threads,
                                     std::span<const std::string_view> names);

}  // namespace tagwright
