#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/lazy.h"

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "check.h"

namespace tagwright {
namespace {

TEST(a_lazy_value_is_computed_once_by_all_threads) {
  for (int round = 0; round < 50; ++round) {
    Lazy<int> value;
    std::atomic<int> calls = 0, right = 0;
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; ++n)
      threads.emplace_back([&] {
        right += value.get([&] {
          ++calls;
          return 7;
        }) == 7;
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(calls == 1);
    CHECK(right == 4);
  }
}

TEST(a_lazy_value_whose_computation_failed_is_computed_again) {
  Lazy<int> value;
  CHECK_THROWS(std::runtime_error, value.get([]() -> int { throw std::runtime_error("no"); }));
  CHECK(value.made() == nullptr);
  CHECK(value.get([] { return 3; }) == 3);
  value.forget();
  CHECK(value.get([] { return 4; }) == 4);
}

#ifndef _WIN32
// With std::call_once the child waits for ever: the thread that computes the value exists in the parent only.
TEST(a_child_forked_while_a_value_is_computed_computes_its_own) {
  Lazy<int> value;
  std::atomic<bool> begun = false, finish = false;
  std::thread maker([&] {
    value.get([&] {
      begun = true;
      while (!finish) std::this_thread::yield();
      return 1;
    });
  });
  while (!begun) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(value.get([] { return 2; }) == 2 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  finish = true;
  maker.join();
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(value.get([] { return 3; }) == 1);
}
#endif

}  // namespace
}  // namespace tagwright
