#include <stdexcept>

#include "check.h"
#include "model/json.h"

using namespace tagwright;

TEST(json_values_are_read) {
  const std::string text = R"( {"a": [1, -2.5e3, true, null], "b": "x\u00e9\ud83d\ude00\n", "c": {"d": "|"}} )";
  const Json found = Json::parse(text);
  CHECK(found.object() && found.object()->size() == 3);
  const Json::Array& a = *found.find("a")->array();
  CHECK(*a[0].number() == 1 && *a[1].number() == -2500 && *a[2].boolean() && a[3].is_null());
  CHECK(a[0].size() == 1 && !a[1].size() && !a[2].size());
  CHECK(*found.find("b")->string() == "x\xc3\xa9\xf0\x9f\x98\x80\n");
  CHECK(found.find("c")->source() == R"({"d": "|"})");
  CHECK(!found.find("d") && !a[0].find("d"));
}

TEST(what_is_not_json_is_refused) {
  const std::string deep(100'000, '[');
  for (const std::string& bad :
       {std::string(""), std::string("{"), std::string("[1,]"), std::string("{\"a\":1,\"a\":2}"), std::string("nul"),
        std::string("NaN"), std::string("01"), std::string("1."), std::string("-"), std::string("\"\n\""),
        std::string("\"\\x\""), std::string("\"\\ud800\""), std::string("\"\\udc00\""), std::string("\"\xff\""),
        std::string("1 2"), std::string("{1:2}"), std::string("\"a"), std::string("\"\\u12\""), deep})
    CHECK_THROWS(std::invalid_argument, Json::parse(bad));
}

TEST(strings_are_written_as_python_writes_them) {
  std::string out;
  append_json(out, "a\"\\\n\x01\x7f\xc3\xa9");
  CHECK(out == "\"a\\\"\\\\\\n\\u0001\x7f\xc3\xa9\"");
}

TEST(every_prefix_of_a_document_is_refused) {
  const std::string text = R"({"a": [1, "b\u0041", {"c": false}], "d": -1e5})";
  for (size_t n = 0; n < text.size(); ++n) CHECK_THROWS(std::invalid_argument, Json::parse(text.substr(0, n)));
  Json::parse(text);
}
