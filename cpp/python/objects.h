// Reading Python's containers, whatever happens to them meanwhile.
//
// Almost any look at an object may run Python code: its own, or that of another thread. What is read is therefore held
// by a reference of our own, not by that of its container, and a container that changes while it is read is an error,
// as it is in Python's own loops over a dict.
#pragma once

#include <string>

#include "python/bindings.h"

namespace tagwright {

// What a container must be, for messages.
struct Expected {
  const char* what;
  const char* if_text = "";  // what to do where it is a string
  size_t most;               // of an iterator, which may have no end
};

// The name of an object's type; runs no code of the object.
inline std::string class_name(nb::handle object) {
  if (object.is_none()) return "None";
  const nb::object name = nb::steal(PyType_GetName(reinterpret_cast<PyTypeObject*>(object.type().ptr())));
  const char* const text = name.is_valid() ? PyUnicode_AsUTF8AndSize(name.ptr(), nullptr) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : "an object";
}

// Whether an object has an attribute; one whose look-up raises an Exception counts as missing. PyObject_HasAttrString
// prints such an exception from Python 3.13 on.
inline bool has_attribute(nb::handle object, const char* name) {
  const nb::object found = nb::steal(PyObject_GetAttrString(object.ptr(), name));
  if (found.is_valid()) return true;
  if (!PyErr_ExceptionMatches(PyExc_Exception)) throw nb::python_error();
  PyErr_Clear();
  return false;
}

// Feature strings as Python has them: what is cut from the middle of a character is shown, not refused.
inline nb::str shown(const std::string& text) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

// A list of the names of labels; names: [label].
inline nb::object names_of(nb::handle names, std::span<const int32_t> labels) {
  nb::object made = nb::steal(PyList_New(static_cast<Py_ssize_t>(labels.size())));
  if (!made.is_valid()) throw nb::python_error();
  for (size_t t = 0; t < labels.size(); ++t)
    PyList_SetItem(made.ptr(), static_cast<Py_ssize_t>(t), Py_NewRef(PyList_GetItem(names.ptr(), labels[t])));
  return made;
}

// Borrowed: item n of a list or a tuple, in functions that the limited API has, too.
inline PyObject* item_of(PyObject* items, Py_ssize_t n) {
  return PyList_CheckExact(items) ? NB_LIST_GET_ITEM(items, n) : NB_TUPLE_GET_ITEM(items, n);
}

// Lets Ctrl-C end a loop that runs no Python code of its own; n: how many times it went round.
inline void hear_signals(size_t n) {
  if (n % 4096 == 4095 && PyErr_CheckSignals() != 0) throw nb::python_error();
}

inline std::runtime_error changed(const std::string& name) {
  return std::runtime_error(name + " changed while it was read");
}

// Calls each(item, n) for the items of a list, a tuple or anything else that is iterable, but text; name(): what it is
// called in messages.
template <class Name, class Each>
void for_each_item(nb::handle items, const Expected& expected, Name&& name, Each&& each) {
  const nb::object held = nb::borrow(items);
  PyObject* const ptr = held.ptr();
  if (PyList_CheckExact(ptr) || PyTuple_CheckExact(ptr)) {
    const Py_ssize_t size = Py_SIZE(ptr);
    for (Py_ssize_t n = 0; n < size; ++n) {
      const nb::object item = nb::borrow(item_of(ptr, n));
      each(nb::handle(item), static_cast<size_t>(n));
      hear_signals(static_cast<size_t>(n));
      if (Py_SIZE(ptr) != size) throw changed(name());
    }
    return;
  }
  const bool text = PyUnicode_Check(ptr) || PyBytes_Check(ptr);
  const nb::object iterator = nb::steal(text ? nullptr : PyObject_GetIter(ptr));
  if (!iterator.is_valid()) {
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
    PyErr_Clear();
    throw std::invalid_argument(name() + " must be " + expected.what + ", not " + class_name(held) +
                                (PyUnicode_Check(ptr) ? expected.if_text : ""));
  }
  for (size_t n = 0;; ++n) {
    const nb::object item = nb::steal(PyIter_Next(iterator.ptr()));
    if (!item.is_valid()) break;
    if (n >= expected.most)
      throw std::invalid_argument(name() + " has more than " + std::to_string(expected.most) +
                                  " items, or no end; give a list");
    each(nb::handle(item), n);
    hear_signals(n);
  }
  if (PyErr_Occurred()) throw nb::python_error();
}

// Calls each(key, value) for the entries of a dict.
template <class Name, class Each>
void for_each_entry(nb::handle dict, Name&& name, Each&& each) {
  const nb::object held = nb::borrow(dict);
  const Py_ssize_t size = NB_DICT_GET_SIZE(held.ptr());
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0, n = 0; PyDict_Next(held.ptr(), &at, &key, &value); ++n) {
    // Entries that come in the place of others leave the size as it was.
    if (n == size) throw changed(name());
    const nb::object own_key = nb::borrow(key), own_value = nb::borrow(value);
    each(nb::handle(own_key), nb::handle(own_value));
    if (NB_DICT_GET_SIZE(held.ptr()) != size) throw changed(name());
  }
}

}  // namespace tagwright
