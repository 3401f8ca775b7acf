#include <fstream>
#include <iterator>
#include <system_error>

#include "check.h"
#include "model/model.h"
#include "model/model_file.h"

using namespace tagwright;

namespace {

const std::string kData = TAGWRIGHT_SOURCE "/tests/data/0.5.0/";

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

ModelFile parse(const std::string& bytes) { return ModelFile::parse(bytes, nullptr); }

std::string message_of(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const ModelFileError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST(files_of_0_5_0_have_the_digest_that_python_wrote) {
  for (const char* name : {"perceptron", "perceptron_parts", "perceptron_edges", "perceptron_ready_made", "crf",
                           "crf_edges", "hmm", "memm"}) {
    const ModelFile file = ModelFile::load(kData + name + ".safetensors");
    CHECK(file.meta.find("labels") && file.meta.find("format")->size() == 1);
    CHECK(!file.array<uint64_t>("rows.end").empty());
    CHECK_THROWS(ModelFileError, file.array<float>("rows.end"));
    CHECK_THROWS(ModelFileError, file.array<float>("absent"));
  }
}

TEST(a_file_that_cannot_be_read_is_named) {
  CHECK(!ModelFile::load(kData + "bidirectional.safetensors").arrays.empty());
  CHECK_THROWS(std::system_error, ModelFile::load(kData + "absent"));
  CHECK_THROWS(std::system_error, ModelFile::load(kData));
  try {
    ModelFile::load(kData + "words.json");
    CHECK(false);
  } catch (const ModelFileError& error) {
    CHECK(std::string(error.what()).starts_with(kData + "words.json: "));
  }
}

TEST(a_truncated_file_is_refused) {
  const std::string whole = bytes_of(kData + "hmm.safetensors");
  for (size_t n = 0; n < whole.size(); n += n < 600 ? 1 : 97) CHECK(!message_of(whole.substr(0, n)).empty());
  CHECK(message_of(whole.substr(0, 4)) == "not a tagwright model (4 bytes)");
  CHECK(message_of(whole).empty());
}

// A flipped bit anywhere is found by the digest, and whatever is read before it is checked reads nothing outside.
TEST(an_altered_file_is_refused) {
  const std::string whole = bytes_of(kData + "perceptron_edges.safetensors");
  test::Draw draw(1);
  for (size_t n = 0; n < 4000; ++n) {
    std::string altered = whole;
    altered[n < 2000 ? n : draw.below(whole.size())] ^= static_cast<char>(1 << draw.below(8));
    CHECK(!message_of(altered).empty());
  }
}

TEST(a_header_of_another_kind_is_refused) {
  const auto with_header = [](const std::string& header) {
    std::string made(8, '\0');
    for (size_t n = 0; n < 8; ++n) made[n] = static_cast<char>(header.size() >> (8 * n) & 255);
    return made + header;
  };
  CHECK(message_of(with_header("{}")).find("another kind") != std::string::npos);
  CHECK(message_of(with_header("[]")).find("another kind") != std::string::npos);
  CHECK(message_of(with_header(R"({"__metadata__": {"tagwright": "{}"}})")).find("another kind") != std::string::npos);
  CHECK(message_of(with_header(R"({"__metadata__": {"tagwright": "{\"about\": {\"format\": 2}, \"digest\": \"\"}"}})"))
            .starts_with("written in format 2"));
  const std::string meta = R"("__metadata__": {"tagwright": "{\"about\": {\"format\": 1}, \"digest\": \"\"}"})";
  CHECK(message_of(with_header("{" + meta + "}")).find("digest") != std::string::npos);
  for (const char* entry : {R"({"dtype": "F16", "shape": [0], "data_offsets": [0, 0]})",
                            R"({"dtype": "F32", "shape": [], "data_offsets": [0, 0]})",
                            R"({"dtype": "F32", "shape": [-1], "data_offsets": [0, 0]})", R"({"dtype": "F32"})", "1"})
    CHECK(message_of(with_header("{" + meta + ", \"a\": " + entry + "}")).find("not described") != std::string::npos);
  for (const char* entry : {R"({"dtype": "F32", "shape": [1], "data_offsets": [0, 4]})",
                            R"({"dtype": "F32", "shape": [1000000000000000], "data_offsets": [0, 0]})",
                            R"({"dtype": "F32", "shape": [1], "data_offsets": [4, 0]})"})
    CHECK(message_of(with_header("{" + meta + ", \"a\": " + entry + "}")).find("beyond the file") != std::string::npos);
}
