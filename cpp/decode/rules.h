// Search for labellings that satisfy rules about whole labellings: branch and bound over any decoder.
#pragma once

#include "decode/table.h"

namespace tagwright {

// Returns the k best paths that satisfy Edges::labelling_rules(), given the answer of a decoder that ignores them. It
// is exact where the decoder is, unless the limit of the rules or the deadline is reached: then it holds the paths that
// are proven to be the best ones, or else the best one found, with a proven gap. Answer::error is set where there is no
// path: no labelling satisfies the rules, none was found within the limit, or accept() threw.
Answer under_rules(const Decoder& decoder, const Lattice& lattice, const Options& options, const Answer& relaxed);

}  // namespace tagwright
