// Models of other tools.
#include "model/foreign/foreign.h"

#include "python/bindings.h"

namespace tagwright {

namespace {

nb::dict read(nb::bytes bytes) {
  ForeignModel model = without_gil([content = view_of(bytes)] { return read_foreign(content); });
  nb::dict out;
  out["tool"] = model.tool;
  out["memm"] = model.memm;
  out["labels"] = model.labels;
  out["templates"] = model.templates;
  out["arrays"] = to_dict(std::move(model.weights));
  return out;
}

}  // namespace

void bind_foreign(nb::module_& m) {
  m.def("read_foreign", &read, "content"_a,
        "Returns tool, whether it is a MEMM, labels, templates and arrays of a model that another tool has written. "
        "ValueError, with the "
        "offset or line, for a file that is damaged or not a model.");
  m.def(
      "foreign_tool", [](nb::bytes start) { return std::string(foreign_tool(view_of(start))); }, "start"_a,
      "Returns which tool has written a file that begins with these bytes, or ''.");
}

}  // namespace tagwright
