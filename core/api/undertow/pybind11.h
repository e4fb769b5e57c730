// pybind11.h: pybind11 casters for Tensor, Scalar, Device, ScalarType, Layout, MemoryFormat, ArrayRef and nodes, and
// the Python exceptions for our errors. optional, vector, tuple and map are those of pybind11/stl.h.
#pragma once
#if !__has_include(<pybind11/pybind11.h>)
#error "the headers of pybind11 are not installed; run `python -m pip install pybind11`"
#endif
#include <undertow/python.h>

#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace undertow::python {

// Makes the functions of this extension raise the Python exception that belongs to an error of ours.
inline bool translate_errors() {
  pybind11::register_local_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const pybind11::builtin_exception&) {
      throw;
    } catch (const pybind11::error_already_set&) {
      throw;
    } catch (const std::exception& e) {
      if (!set_python_error(e)) throw;
    }
  });
  return true;
}
inline void ensure_errors_are_translated() {
  static const bool done = translate_errors();
  (void)done;
}
namespace {
// When the extension is imported. A program that embeds Python may load it before there is an interpreter.
[[maybe_unused]] const bool errors_are_translated =
    Py_IsInitialized() && PyGILState_Check() ? (ensure_errors_are_translated(), true) : false;
}  // namespace

}  // namespace undertow::python

namespace pybind11 {

// Work that releases the lock may record a graph; see GilRelease.
template <>
struct call_guard<gil_scoped_release> {
  using type = ::undertow::python::GilRelease;
};

namespace detail {

template <class T>
struct undertow_tensor_caster {
  PYBIND11_TYPE_CASTER(T, const_name("undertow.Tensor"));
  bool load(handle source, bool) {
    ::undertow::python::ensure_errors_are_translated();
    value = T(::undertow::python::tensor_of(source.ptr()));
    return value.defined();
  }
  static handle cast(const T& t, return_value_policy, handle) { return ::undertow::python::object_of(t); }
};
template <>
struct type_caster<::undertow::Tensor> : undertow_tensor_caster<::undertow::Tensor> {};
template <>
struct type_caster<::undertow::core::Tensor> : undertow_tensor_caster<::undertow::core::Tensor> {};

template <>
struct type_caster<::undertow::Scalar> {
  PYBIND11_TYPE_CASTER(::undertow::Scalar, const_name("typing.Union[bool, int, float, complex]"));
  bool load(handle source, bool) {
    ::undertow::python::ensure_errors_are_translated();
    ::undertow::core::Scalar s;
    if (!::undertow::python::scalar_from(source.ptr(), &s)) return false;
    value = s;
    return true;
  }
  static handle cast(const ::undertow::Scalar& s, return_value_policy, handle) {
    return ::undertow::python::object_of(static_cast<const ::undertow::core::Scalar&>(s));
  }
};

template <>
struct type_caster<::undertow::Device> {
  PYBIND11_TYPE_CASTER(::undertow::Device, const_name("undertow.device"));
  type_caster() : value(::undertow::kCPU) {}
  bool load(handle source, bool) {
    int type = 0, index = -1;
    if (!::undertow::python::api().device_of(source.ptr(), &type, &index)) return false;
    value = ::undertow::Device(static_cast<::undertow::DeviceType>(type), static_cast<int8_t>(index));
    return true;
  }
  static handle cast(const ::undertow::Device& d, return_value_policy, handle) {
    return ::undertow::python::api().wrap_device(static_cast<int>(d.type()), d.index());
  }
};

#define UT_NUMBERED_CASTER(Type, NAME, OF, WRAP)                      \
  template <>                                                         \
  struct type_caster<Type> {                                          \
    PYBIND11_TYPE_CASTER(Type, const_name(NAME));                     \
    bool load(handle source, bool) {                                  \
      const int number = ::undertow::python::api().OF(source.ptr());  \
      if (number >= 0) value = Type(static_cast<UT_CORE_OF>(number)); \
      return number >= 0;                                             \
    }                                                                 \
    static handle cast(Type v, return_value_policy, handle) {         \
      return ::undertow::python::api().WRAP(static_cast<int>(v));     \
    }                                                                 \
  }
#define UT_CORE_OF ::undertow::core::DType
UT_NUMBERED_CASTER(::undertow::ScalarType, "undertow.dtype", dtype_of, wrap_dtype);
#undef UT_CORE_OF
#define UT_CORE_OF ::undertow::core::Layout
UT_NUMBERED_CASTER(::undertow::Layout, "undertow.layout", layout_of, wrap_layout);
#undef UT_CORE_OF
#define UT_CORE_OF ::undertow::core::MemoryFormat
UT_NUMBERED_CASTER(::undertow::MemoryFormat, "undertow.memory_format", memory_format_of, wrap_memory_format);
#undef UT_CORE_OF
#undef UT_NUMBERED_CASTER

// A list that the function borrows; the caster owns it during the call.
template <class T>
struct type_caster<::undertow::ArrayRef<T>> {
  static constexpr auto name = const_name("list[") + make_caster<T>::name + const_name("]");
  template <class>
  using cast_op_type = ::undertow::ArrayRef<T>;
  bool load(handle source, bool convert) {
    if constexpr (std::is_same_v<T, int64_t>) {  // as in Python, one number stands for a list of one
      make_caster<T> one;
      if (PyLong_Check(source.ptr()) && one.load(source, convert)) {
        items_ = {cast_op<T>(one)};
        return true;
      }
    }
    make_caster<std::vector<T>> list;
    if (!list.load(source, convert)) return false;
    items_ = cast_op<std::vector<T>&&>(std::move(list));
    return true;
  }
  operator ::undertow::ArrayRef<T>() const { return items_; }
  static handle cast(::undertow::ArrayRef<T> list, return_value_policy policy, handle parent) {
    return make_caster<std::vector<T>>::cast(list.vec(), policy, parent);
  }

 private:
  std::vector<T> items_;
};

}  // namespace detail
}  // namespace pybind11
