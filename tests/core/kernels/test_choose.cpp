#include <cstdlib>
#include <string>

#include "levels.h"

namespace tagwright {
namespace {

// A kernel without a case in this folder is not known to be bit-equal at all levels: add one, then count it here.
static_assert(sizeof(BatchKernels<float>) == 10 * sizeof(void*));
static_assert(sizeof(Kernels) == (1 + 41) * sizeof(void*) + 2 * sizeof(BatchKernels<float>));

TEST(the_best_level_is_chosen_unless_one_is_asked_for) {
  const char* asked = std::getenv("TAGWRIGHT_SIMD");
  CHECK(kernels().name == std::string(asked ? asked : test::levels().back()->name));
  CHECK(&kernels() == &kernels());
}

TEST(levels_have_names_and_functions_of_their_own) {
  CHECK(test::levels()[0]->name == std::string("base"));
  if (test::levels().size() < 2) return;
  CHECK(test::levels()[1]->name == std::string("avx2"));
  CHECK(test::levels()[0]->dense_step_ff != test::levels()[1]->dense_step_ff);
  CHECK(test::levels()[0]->sum_d != test::levels()[1]->sum_d);
}

}  // namespace
}  // namespace tagwright
