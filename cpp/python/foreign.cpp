// Models of other tools.
#include "model/foreign/foreign.h"

#include "python/bindings.h"

namespace tagwright {

namespace {

nb::dict read(nb::bytes bytes) {
  const std::string_view content(bytes.c_str(), bytes.size());
  ForeignModel model = without_gil([&] { return read_foreign(content); });
  nb::dict arrays, out;
  const bool has[kArrayGroups] = {true, !model.weights.set.empty()};
  for_each_array(model.weights, [&](ArrayGroup group, const char* name, auto& array) {
    if (has[group]) arrays[name] = array_of(std::move(array));
  });
  out["tool"] = model.tool;
  out["memm"] = model.memm;
  out["labels"] = model.labels;
  out["templates"] = model.templates;
  out["arrays"] = arrays;
  return out;
}

}  // namespace

void bind_foreign(nb::module_& m) {
  m.def("read_foreign", &read, "content"_a,
        "Returns tool, whether it is a MEMM, labels, templates and arrays of a model that another tool has written. ValueError, with the "
        "offset or line, for a file that is damaged or not a model.");
  m.def(
      "foreign_tool", [](nb::bytes start) { return std::string(foreign_tool({start.c_str(), start.size()})); },
      "start"_a, "Returns which tool has written a file that begins with these bytes, or ''.");
}

}  // namespace tagwright
