// Beam search, also where other decoders start.
#pragma once

#include "decode/table.h"

namespace tagwright {

Decode beam;

}  // namespace tagwright
