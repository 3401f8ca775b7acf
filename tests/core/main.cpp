// NgramIndex the cases whose name contains the first argument, or all. Exits with 1 if one fails or none is found.
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include "check.h"

namespace tagwright::test {
namespace {

constexpr size_t kPrinted = 10;  // failures printed per case
size_t checks = 0, failures = 0;
std::string busy_with;

}  // namespace

std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

void doing(std::string what) { busy_with = std::move(what); }

void check(bool holds, const char* what, const char* file, int line) {
  ++checks;
  if (holds || ++failures > kPrinted) return;
  std::printf("%s:%d: %s%s%s\n", file, line, what, busy_with.empty() ? "" : "; with ", busy_with.c_str());
}

}  // namespace tagwright::test

int main(int count, char** arguments) {
  using namespace tagwright::test;
  size_t passed = 0, failed = 0;
  for (const Case& one : cases()) {
    if (count > 1 && !std::strstr(one.name, arguments[1])) continue;
    failures = 0;
    doing("");
    try {
      one.run();
    } catch (const std::exception& error) {
      check(false, error.what(), one.file, 0);
    }
    if (failures) std::printf("%s: %s: %zu checks failed\n", one.file, one.name, failures);
    ++(failures ? failed : passed);
  }
  std::printf("%zu passed, %zu failed (%zu checks)\n", passed, failed, checks);
  return failed || !passed;
}
