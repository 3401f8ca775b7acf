#include "model/model_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#ifdef _WIN32
#include <io.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif
#ifndef O_BINARY
#define O_BINARY 0
#endif

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/digest.h"

namespace tagwright {
namespace {

constexpr size_t kLongestHeader = 100'000'000;  // the limit of safetensors itself

struct DtypeName {
  std::string_view file, digest;  // in safetensors, and in the text that the digest covers
  size_t bytes;
};
constexpr DtypeName kDtypes[] = {{"U64", "<u8", 8}, {"F64", "<f8", 8}, {"F32", "<f4", 4}, {"U32", "<u4", 4},
                                 {"I32", "<i4", 4}, {"U16", "<u2", 2}, {"U8", "|u1", 1}};

const DtypeName& name_of(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)]; }

uint64_t little_endian(const char* bytes) {
  uint64_t value = 0;
  for (int n = 8; n-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[n]);
  return value;
}

// Copies of arrays that are not aligned in the file; they keep the file's bytes, too.
struct Copies {
  std::shared_ptr<const void> bytes;
  std::vector<std::unique_ptr<uint64_t[]>> arrays;
};

Tensor tensor_of(const std::string& name, const Json& entry, std::string_view data, Copies& copies) {
  const Json *const dtype = entry.find("dtype"), *const shape = entry.find("shape"),
                    *const offsets = entry.find("data_offsets");
  const auto is_pair = [](const Json* value, size_t count) {
    return value && value->array() && value->array()->size() == count;
  };
  const DtypeName* const found = dtype && dtype->string()
                                     ? std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                                    [&](const DtypeName& one) { return one.file == *dtype->string(); })
                                     : std::end(kDtypes);
  std::optional<size_t> count, begin, end;
  if (is_pair(shape, 1)) count = shape->array()->front().size();
  if (is_pair(offsets, 2)) {
    begin = offsets->array()->front().size();
    end = offsets->array()->back().size();
  }
  if (found == std::end(kDtypes) || !count || !begin || !end)
    throw ModelFileError("damaged (array '" + name + "' is not described correctly)");
  if (*end < *begin || *count > (*end - *begin) / found->bytes || *count * found->bytes != *end - *begin ||
      *end > data.size())
    throw ModelFileError("cut short or damaged (array '" + name + "' ends beyond the file); get it again");
  Tensor made{static_cast<Dtype>(found - kDtypes), data.data() + *begin, *count};
  if (reinterpret_cast<uintptr_t>(made.data) % found->bytes) {
    copies.arrays.push_back(std::make_unique<uint64_t[]>((*end - *begin + 7) / 8));
    std::memcpy(copies.arrays.back().get(), made.data, *end - *begin);
    made.data = copies.arrays.back().get();
  }
  return made;
}

// Covers the metadata as it is written, then names, types and lengths of the arrays by their names, then the arrays.
std::string digest_of_file(const ModelFile& file, const Json& about) {
  std::vector<const std::pair<std::string, Tensor>*> sorted;
  for (const auto& one : file.arrays) sorted.push_back(&one);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  std::string text = "[";
  text.append(about.source()).append(", [");
  for (const auto* one : sorted) {
    text.append(text.back() == '[' ? "[" : ", [");
    append_json(text, one->first);
    text.append(", \"").append(name_of(one->second.dtype).digest).append("\", ");
    text.append(std::to_string(one->second.count)).append("]");
  }
  text.append("]]");
  Digest digest = digest_of(text.data(), text.size(), {});
  for (const auto* one : sorted)
    digest = digest_of(one->second.data, one->second.count * name_of(one->second.dtype).bytes, digest);
  return hex(digest);
}

}  // namespace

ModelFile ModelFile::parse(std::string_view bytes, std::shared_ptr<const void> owner) {
  if (bytes.size() < 8) throw ModelFileError("not a tagwright model (" + std::to_string(bytes.size()) + " bytes)");
  const uint64_t length = little_endian(bytes.data());
  if (length > kLongestHeader) throw ModelFileError("not a tagwright model (no safetensors header)");
  if (length > bytes.size() - 8) throw ModelFileError("cut short, or not a tagwright model; get or train it again");
  ModelFile made;
  Json header;
  const Json* meta = nullptr;
  const Json* form = nullptr;
  std::string digest;
  try {
    header = Json::parse(bytes.substr(8, static_cast<size_t>(length)));
    const Json* const own = header.find("__metadata__");
    const Json* const text = own ? own->find("tagwright") : nullptr;
    if (text && text->string()) {
      made.stored = *text->string();
      made.meta = Json::parse(made.stored);
      meta = made.meta.find("about");
      form = meta ? meta->find("format") : nullptr;
      if (const Json* found = made.meta.find("digest"); found && found->string()) digest = *found->string();
    }
  } catch (const std::invalid_argument&) {
    form = nullptr;
  }
  if (!form) throw ModelFileError("not a tagwright model (a safetensors file of another kind, or damaged)");
  if (form->size() != kFormat)
    throw ModelFileError("written in format " + std::string(form->source()) + ", but this tagwright reads " +
                         std::to_string(kFormat) + "; install a newer one");
  auto copies = std::make_shared<Copies>();
  copies->bytes = std::move(owner);
  for (const auto& [name, entry] : *header.object())
    if (name != "__metadata__")
      made.arrays.emplace_back(name, tensor_of(name, entry, bytes.substr(8 + static_cast<size_t>(length)), *copies));
  made.held = copies;
  if (digest != digest_of_file(made, *meta))
    throw ModelFileError("altered or damaged (its digest does not fit); get or train it again");
  // Only what describes the model stays.
  Json about = *meta;
  made.meta = std::move(about);
  return made;
}

ModelFile ModelFile::read(int file, size_t copied) {
  const auto fail = [](const char* what) { throw std::system_error(errno, std::generic_category(), what); };
#ifdef _WIN32
  const int64_t size_or_error = _filelengthi64(file);
  if (size_or_error < 0) fail("filelength");
  const auto size = static_cast<size_t>(size_or_error);
  static_cast<void>(copied);
#else
  struct stat status{};
  if (fstat(file, &status) != 0) fail("fstat");
  const auto size = static_cast<size_t>(status.st_size);
  if (size > copied) {
    void* const mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) fail("mmap");
    std::shared_ptr<const void> owner(mapped, [size](const void* own) { munmap(const_cast<void*>(own), size); });
    return parse({static_cast<const char*>(mapped), size}, owner);
  }
#endif
  const std::shared_ptr<char[]> copy(new char[size + 1]);
  size_t done = 0;
  while (done < size) {
    const auto got = ::read(file, copy.get() + done, static_cast<unsigned>(std::min<size_t>(size - done, 1U << 30)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read");
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return parse({copy.get(), done}, copy);
}

ModelFile ModelFile::load(const std::string& path) {
  const auto fail = [&](int error) { throw std::system_error(error, std::generic_category(), path); };
  const int file = ::open(path.c_str(), O_RDONLY | O_BINARY);
  if (file < 0) fail(errno);
  struct Closer {
    int file;
    ~Closer() { ::close(file); }
  } const closer{file};
  struct stat status{};
  if (fstat(file, &status) == 0 && (status.st_mode & S_IFMT) == S_IFDIR) fail(EISDIR);
  try {
    return read(file);
  } catch (const ModelFileError& error) {
    throw ModelFileError(path + ": " + error.what());
  }
}

const Tensor* ModelFile::find(std::string_view name) const {
  for (const auto& [own, tensor] : arrays)
    if (own == name) return &tensor;
  return nullptr;
}

}  // namespace tagwright
