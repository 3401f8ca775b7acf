// What a C++ test needs: TEST(name) { CHECK(...); }. Cases register themselves; main.cpp runs them.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace tagwright::test {

struct Case {
  const char* file;
  const char* name;
  void (*run)();
};

// Every case of the program, in no particular order of files.
std::vector<Case>& cases();

struct Registered {
  Registered(const char* file, const char* name, void (*run)()) { cases().push_back({file, name, run}); }
};

// What a case is busy with (a size, a level), printed when a check fails.
void doing(std::string what);

// Counts a check; prints the first few that fail. Goes on either way.
void check(bool holds, const char* what, const char* file, int line);

// Repeatable random numbers.
struct Draw {
  std::mt19937_64 bits;
  explicit Draw(size_t seed) : bits(seed) {}

  // A whole number from `low` to `high`, both included.
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(bits); }
  size_t below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(bits); }
  bool chance(double share) { return std::uniform_real_distribution<>()(bits) < share; }
  double normal(double scale = 1) { return scale * std::normal_distribution<>()(bits); }
};

}  // namespace tagwright::test

#define TEST(name)                                                                   \
  static void name();                                                                \
  static const tagwright::test::Registered name##_registered(__FILE__, #name, name); \
  static void name()

#define CHECK(...) tagwright::test::check(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

#define CHECK_THROWS(exception, ...)                                                        \
  do {                                                                                      \
    bool thrown = false;                                                                    \
    try {                                                                                   \
      static_cast<void>(__VA_ARGS__);                                                       \
    } catch (const exception&) {                                                            \
      thrown = true;                                                                        \
    }                                                                                       \
    tagwright::test::check(thrown, #__VA_ARGS__ " throws " #exception, __FILE__, __LINE__); \
  } while (false)
