// Why a lattice has no path.
#pragma once

#include <optional>
#include <string>

#include "lattice/lattice.h"

namespace tagwright {

// Says that no path gets past the column before `token`, or where there is none, that none may stop.
std::string why_no_path(std::optional<size_t> token);

// Looks again which token no labelling reaches, and which rule, list or scores left nothing. None where there is a
// path.
std::optional<std::string> why_no_path(const Lattice& lattice);

}  // namespace tagwright
