// Sentences of attributes as python-crfsuite reads them, and a tagger that takes them one at a time.
#include "model/attributes.h"

#include <cmath>
#include <string>
#include <utility>

#include "model/model_file.h"
#include "python/objects.h"

namespace tagwright {
namespace {

constexpr size_t kMostItems = size_t{1} << 26;
constexpr size_t kDeepest = 16;        // dicts inside dicts
constexpr size_t kReleased = 1 << 16;  // operations of a search that is worth releasing the GIL for
constexpr Expected kItems{"a sequence of items", "", kMostItems};
constexpr Expected kAttributes{"a dict or a list of attributes", "", kMostItems};

// The attributes of a sentence, in the order of its tokens.
struct Items {
  std::string bytes;
  std::vector<size_t> end;        // [attribute], in bytes
  std::vector<double> value;      // [attribute]
  std::vector<size_t> token_end;  // [token], in attributes

  size_t size() const { return token_end.size(); }
  std::string_view attribute(size_t at) const {
    const size_t begin = at ? end[at - 1] : 0;
    return {bytes.data() + begin, end[at] - begin};
  }
  void add(std::string_view attribute, double number) {
    bytes.append(attribute);
    end.push_back(bytes.size());
    value.push_back(number);
  }
  void end_token() { token_end.push_back(end.size()); }
};

// Reads what python-crfsuite takes as a sentence, and calls to.add(attribute, value) and to.end_token(). An item is a
// dict or a sequence of names, str or bytes; a value is a number, a str or bytes, or a dict, list or set of its own.
template <class To>
class ItemReader {
 public:
  explicit ItemReader(To& to) : to_(to) {}

  void read(nb::handle sequence) {
    for_each_item(
        sequence, kItems, [] { return std::string("xseq"); },
        [&](nb::handle item, size_t t) {
          token_ = t;
          add_item(item, 0);
          to_.end_token();
        });
  }

 private:
  std::string place() const { return "item " + std::to_string(token_); }

  static std::string_view text_of(nb::handle name) {
    if (PyUnicode_Check(name.ptr())) {
      Py_ssize_t n = 0;
      const char* const bytes = PyUnicode_AsUTF8AndSize(name.ptr(), &n);
      if (!bytes) throw nb::python_error();
      return {bytes, static_cast<size_t>(n)};
    }
    if (PyBytes_Check(name.ptr())) return {PyBytes_AsString(name.ptr()), static_cast<size_t>(PyBytes_Size(name.ptr()))};
    throw nb::type_error(("expected str or bytes, " + class_name(name) + " found").c_str());
  }

  static bool is_text(PyObject* value) { return PyUnicode_Check(value) || PyBytes_Check(value); }

  // The prefix of the dicts around an item is the first `prefix_` bytes of name_.
  void add_item(nb::handle item, size_t depth) {
    if (depth > kDeepest) throw std::invalid_argument(place() + ": attributes inside attributes, more than 16 deep");
    const auto where = [&] { return place(); };
    if (PyDict_Check(item.ptr())) {
      for_each_entry(item, where, [&](nb::handle key, nb::handle value) { add_entry(key, value, depth); });
      return;
    }
    for_each_item(item, kAttributes, where, [&](nb::handle key, size_t) { to_.add(prefixed(text_of(key)), 1.0); });
  }

  std::string_view prefixed(std::string_view text) {
    if (prefix_ == 0) return text;
    name_.resize(prefix_);
    return name_.append(text);
  }

  void add_entry(nb::handle key, nb::handle value, size_t depth) {
    PyObject* const own = value.ptr();
    if (PyFloat_CheckExact(own)) {
      add_number(text_of(key), PyFloat_AsDouble(own));
    } else if (is_text(own)) {
      name_.resize(prefix_);
      name_.append(text_of(key)).append(1, ':').append(text_of(value));
      to_.add(name_, 1.0);
    } else if (PyDict_Check(own) || PyList_Check(own) || PySet_Check(own)) {
      const size_t before = prefix_;
      name_.resize(prefix_);
      name_.append(text_of(key)).append(1, ':');
      prefix_ = name_.size();
      add_item(value, depth + 1);
      prefix_ = before;
    } else {
      const double number = PyFloat_AsDouble(own);
      if (number == -1.0 && PyErr_Occurred()) throw nb::python_error();
      add_number(text_of(key), number);
    }
  }

  void add_number(std::string_view key, double number) {
    if (!std::isfinite(number))
      throw std::invalid_argument(place() + ": the value of attribute " + std::string(key) + " is not finite");
    to_.add(prefixed(key), number);
  }

  To& to_;
  size_t token_ = 0, prefix_ = 0;
  std::string name_;
};

Items items_of(nb::handle sequence) {
  const Items* given = nullptr;
  if (nb::try_cast(sequence, given)) return *given;
  Items made;
  ItemReader<Items>(made).read(sequence);
  return made;
}

nb::list shown_items(const Items& items) {
  nb::list made;
  size_t at = 0;
  for (const size_t end : items.token_end) {
    nb::dict own;
    for (; at < end; ++at) {
      const std::string_view name = items.attribute(at);
      own[nb::str(name.data(), name.size())] = items.value[at];
    }
    made.append(own);
  }
  return made;
}

// Appends a sentence to a text of ready-made features.
void append_items(Text& text, const Items& items) {
  text.ready = true;
  size_t at = 0;
  for (const size_t end : items.token_end) {
    for (; at < end; ++at) {
      text.add_cell(items.attribute(at));
      text.value.push_back(static_cast<float>(items.value[at]));
    }
    text.end_token();
  }
  text.end_sentence();
}

// Node scores of a sentence while it is read.
struct NodeScores {
  const AttributeModel& model;
  std::vector<double>& nodes;  // [t * L + y]

  void add(std::string_view attribute, double value) {
    model.add(attribute, value, nodes.data() + nodes.size() - model.L());
  }
  void end_token() { nodes.resize(nodes.size() + model.L()); }
};

// An open model and the current sentence. The GIL guards what changes; what is read runs foreign code, which may call
// the tagger again, and is therefore read into a vector of its own.
class AttributeTagger {
 public:
  static std::unique_ptr<AttributeTagger> open(nb::object content) {
    auto made = std::make_unique<AttributeTagger>();
    auto view = std::make_shared<Py_buffer>();
    if (PyObject_GetBuffer(content.ptr(), view.get(), PyBUF_SIMPLE) != 0) throw nb::python_error();
    const std::shared_ptr<const void> owner(view->buf, [view](const void*) {
      nb::gil_scoped_acquire gil;
      PyBuffer_Release(view.get());
    });
    made->model_ = AttributeModel::open({static_cast<const char*>(view->buf), static_cast<size_t>(view->len)}, owner);
    for (const std::string& label : made->model_->labels()) {
      made->names_.append(nb::str(label.data(), label.size()));
      made->ids_[made->names_[made->names_.size() - 1]] = made->names_.size() - 1;
    }
    return made;
  }

  void set(nb::handle sequence) { take(scored(sequence)); }

  nb::object tag(nb::handle sequence) {
    // Another thread may set another sentence during a search: it has a vector of its own.
    std::vector<double> nodes = sequence.is_none() ? nodes_ : scored(sequence);
    nb::object made = best(nodes);
    take(std::move(nodes));
    return made;
  }

  // The labels of each of many sentences; the current one stays.
  nb::list tag_all(nb::handle sequences) {
    nb::list made;
    for_each_item(
        sequences, kItems, [] { return std::string("X"); },
        [&](nb::handle sequence, size_t) {
          std::vector<double> nodes = scored(sequence);
          made.append(best(nodes));
          spare_ = std::move(nodes);
        });
    return made;
  }

  double probability(nb::handle labels) {
    if (nodes_.empty()) return 0;
    std::vector<int32_t> path;
    for_each_item(
        labels, kItems, [] { return std::string("yseq"); },
        [&](nb::handle label, size_t) { path.push_back(static_cast<int32_t>(id_of(label))); });
    const size_t T = nodes_.size() / model_->L();
    if (path.size() != T)
      throw std::invalid_argument("the numbers of items and labels differ: |x| = " + std::to_string(T) +
                                  ", |y| = " + std::to_string(path.size()));
    sum();
    // Rounding may put the score of the only path slightly above log Z.
    return std::min(1.0, std::exp(model_->score(nodes_, path) - log_z_));
  }

  double marginal(nb::handle label, int64_t position) {
    const size_t T = nodes_.size() / model_->L();
    if (T == 0) return 0;
    if (position < 0 || static_cast<size_t>(position) >= T)
      throw std::invalid_argument("the position " + std::to_string(position) + " is out of range of " +
                                  std::to_string(T));
    const size_t id = id_of(label);
    sum();
    return probability_[static_cast<size_t>(position) * model_->L() + id];
  }

  // The probability of every label, by name, of each token of the current sentence.
  nb::list marginals() {
    sum();
    const size_t L = model_->L();
    nb::list made;
    for (size_t t = 0; t * L < nodes_.size(); ++t) {
      nb::dict own;
      for (size_t y = 0; y < L; ++y) own[names_[y]] = probability_[t * L + y];
      made.append(own);
    }
    return made;
  }

  nb::list labels() const { return nb::list(names_); }

  // Names of the attributes, weights of (attribute, label) and of (previous label, label), in the order of the file.
  nb::tuple weights() const {
    const size_t L = model_->L();
    nb::list names;
    nb::dict states, edges;
    std::vector<double> row(L);
    for (size_t i = 0; i < L; ++i)
      for (size_t j = 0; j < L; ++j)
        if (model_->has_edge(i, j)) edges[nb::make_tuple(names_[i], names_[j])] = model_->edge(i, j);
    for (size_t a = 0; a < model_->attributes(); ++a) {
      const std::string_view name = model_->attribute(a);
      const nb::str own(name.data(), name.size());
      names.append(own);
      std::fill(row.begin(), row.end(), 0.0);
      model_->row(a, row.data());
      for (size_t y = 0; y < L; ++y)
        if (row[y] != 0) states[nb::make_tuple(own, names_[y])] = row[y];
    }
    return nb::make_tuple(names, states, edges);
  }

 private:
  std::vector<double> scored(nb::handle sequence) {
    std::vector<double> nodes = std::exchange(spare_, {});
    nodes.clear();
    const size_t L = model_->L();
    const Items* items = nullptr;
    if (nb::try_cast(sequence, items)) {
      nodes.resize(times(items->size(), L));
      for (size_t t = 0, at = 0; t < items->size(); ++t)
        for (; at < items->token_end[t]; ++at)
          model_->add(items->attribute(at), items->value[at], nodes.data() + t * L);
    } else {
      nodes.resize(L);
      NodeScores to{*model_, nodes};
      ItemReader<NodeScores>(to).read(sequence);
      nodes.resize(nodes.size() - L);
    }
    model_->add_ends(nodes);
    return nodes;
  }

  void take(std::vector<double> nodes) {
    spare_ = std::exchange(nodes_, std::move(nodes));
    summed_ = false;
  }

  nb::object best(const std::vector<double>& nodes) {
    const size_t L = model_->L(), T = nodes.size() / L;
    std::vector<int32_t> labels = std::exchange(labels_, {});
    std::vector<double> room = std::exchange(room_, {});
    labels.resize(T);
    const auto search = [&] { model_->best_labels(nodes, labels.data(), room); };
    if (times(T, times(L, L)) > kReleased)
      without_gil(search);
    else
      search();
    nb::object made = names_of(names_, {labels.data(), T});
    labels_ = std::move(labels);
    room_ = std::move(room);
    return made;
  }

  void sum() {
    if (summed_) return;
    log_z_ = model_->sums(nodes_, probability_);
    summed_ = true;
  }

  size_t id_of(nb::handle label) const {
    const nb::object found = nb::borrow(PyDict_GetItemWithError(ids_.ptr(), label.ptr()));
    if (!found.is_valid()) {
      if (PyErr_Occurred()) throw nb::python_error();
      throw std::runtime_error("the model has no label " + nb::cast<std::string>(nb::str(label)));
    }
    return nb::cast<size_t>(found);
  }

  std::unique_ptr<AttributeModel> model_;
  nb::list names_;
  nb::dict ids_;
  std::vector<double> nodes_;  // of the current sentence, [t * L + y]
  std::vector<double> spare_, room_;
  std::vector<int32_t> labels_;
  bool summed_ = false;
  double log_z_ = 0;
  std::vector<double> probability_;
};

}  // namespace

void bind_attributes(nb::module_& m) {
  nb::class_<Items>(m, "Items")
      .def(
          "__init__", [](Items* self, nb::handle pyseq) { new (self) Items(items_of(pyseq)); }, "pyseq"_a,
          "Reads the items of a sentence in the forms of python-crfsuite.")
      .def("items", &shown_items, "Returns one dict of attributes and values per item.")
      .def("__len__", &Items::size);
  nb::class_<AttributeTagger>(m, "AttributeTagger")
      .def_static("open", &AttributeTagger::open, "content"_a,
                  "Opens the bytes of a model file of CRFsuite or of our own, which are not copied.")
      .def("set", &AttributeTagger::set, "sequence"_a, "Sets the current sentence.")
      .def("tag", &AttributeTagger::tag, "sequence"_a.none() = nb::none(),
           "Returns the best labels of a sentence, which becomes the current one; None: of the current one.")
      .def("tag_all", &AttributeTagger::tag_all, "sequences"_a, "Returns the best labels of each sentence.")
      .def("probability", &AttributeTagger::probability, "labels"_a)
      .def("marginal", &AttributeTagger::marginal, "label"_a, "position"_a)
      .def("marginals", &AttributeTagger::marginals)
      .def("labels", &AttributeTagger::labels)
      .def("weights", &AttributeTagger::weights,
           "Returns the attributes, the weights of attributes with labels, and those of pairs of labels.");
  m.def("append_items", &append_items, "text"_a, "items"_a,
        "Appends a sentence of attributes to a text of ready-made features.");
  m.def("append_text", [](Text& to, const Text& from) { to.append(from); }, "to"_a, "sentences"_a);
  m.def("empty_text", [] { return Text(); }, "Returns a text without sentences.");
}

}  // namespace tagwright
