// Every decoder can be stopped in the middle of one long sentence, and nothing is the worse for it.
#include "base/stop.h"
#include "check.h"
#include "decode/batch.h"
#include "sums/marginals.h"

namespace tagwright {
namespace {

struct Enough : std::exception {};

int asked, limit;
void ask() {
  if (++asked == limit) throw Enough();
}

constexpr size_t kLength = 20'000, kLabels = 40;

// Scores of a long sentence; one label of each token is far better than the others, so that every search ends soon.
struct Long {
  std::vector<float> nodes = std::vector<float>(kLength * kLabels);
  std::unique_ptr<Edges> edges;

  explicit Long(bool sparse) {
    test::Draw draw(1);
    for (float& score : nodes) score = static_cast<float>(draw.normal());
    for (size_t t = 0; t < kLength; ++t) nodes[t * kLabels + draw.below(kLabels)] += 20;
    std::vector<float> matrix(kLabels * kLabels);
    for (float& score : matrix) score = sparse && draw.chance(0.9) ? 0.0F : static_cast<float>(draw.normal());
    edges = std::make_unique<Edges>(EdgeScores::from_matrix(kLabels, {matrix.data(), nullptr}, {}, {}));
  }
  std::vector<Sentence> sentences() const { return {{kLength, {nodes.data(), nullptr}, edges.get(), nullptr}}; }
};

TEST(every_decoder_stops_within_a_sentence) {
  for (const bool sparse : {false, true}) {
    const Long scores(sparse);
    const std::vector<Sentence> one = scores.sentences();
    for (const Decoder& decoder : decoders())
      for (const size_t k : {1, 3}) {
        if (k > 1 && !decoder.kbest) continue;
        test::doing(std::string(decoder.name) + " k " + std::to_string(k) + (sparse ? ", sparse" : ", dense"));
        Options options;
        options.k = k;
        const auto decode = [&](int after) {
          asked = 0, limit = after;
          const Stopper stopper(ask, {});
          return decode_all(one, decoder, options, 1)[0].paths;
        };
        const std::vector<Path> whole = decode(0);
        const int often = asked;
        CHECK(often >= 3);  // once before it begins
        for (const int after : {1, 2, often / 2, often}) CHECK_THROWS(Enough, decode(after));
        const std::vector<Path> again = decode(0);
        CHECK(again.size() == whole.size() && again[0].labels == whole[0].labels && again[0].score == whole[0].score);
      }
  }
}

TEST(sums_stop_within_a_sentence) {
  const Long scores(false);
  const auto sums = [&](const PruningRule& keep, int after) {
    asked = 0, limit = after;
    const Stopper stopper(ask, {});
    const auto lattice = [&](size_t) {
      return Lattice(*scores.edges, kLength, {scores.nodes.data(), nullptr}, nullptr);
    };
    return marginals_all(1, lattice, keep, false, 1)[0].log_z;
  };
  for (const PruningRule& keep : {PruningRule{}, PruningRule::named("size", 5, 1)}) {
    const double whole = sums(keep, 0);
    const int often = asked;
    CHECK(often >= 3);
    for (const int after : {1, 2, often / 2, often}) CHECK_THROWS(Enough, sums(keep, after));
    CHECK(sums(keep, 0) == whole);
  }
}

}  // namespace
}  // namespace tagwright
