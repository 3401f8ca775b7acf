// Runs all cases, those whose name contains the first argument, or with --file those of the files whose path ends with
// the second one. Exits with 1 if a case fails or none is found.
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>
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
  const bool by_file = count > 2 && std::strcmp(arguments[1], "--file") == 0;
  const auto selected = [&](const Case& one) {
    if (by_file) return std::string_view(one.file).ends_with(arguments[2]);
    return count < 2 || std::strstr(one.name, arguments[1]) != nullptr;
  };
  for (const Case& one : cases()) {
    if (!selected(one)) continue;
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
