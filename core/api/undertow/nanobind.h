// nanobind.h: nanobind casters for Tensor, Scalar, Device, ScalarType and ArrayRef, and the Python exceptions for our
// errors: call undertow::python::register_nanobind_errors() in NB_MODULE. optional, vector and tuple are nanobind's.
#pragma once
#include <undertow/python.h>

#include <nanobind/nanobind.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace undertow::python {

inline void register_nanobind_errors() {
  nanobind::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const nanobind::builtin_exception&) {
      throw;
    } catch (const nanobind::python_error&) {
      throw;
    } catch (const std::exception& e) {
      if (!set_python_error(e)) throw;
    }
  });
}

// For NB_MODULE functions that release the lock: nb::call_guard<undertow::python::GilRelease>().

}  // namespace undertow::python

namespace nanobind::detail {

template <>
struct type_caster<::undertow::Tensor> {
  NB_TYPE_CASTER(::undertow::Tensor, const_name("undertow.Tensor"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    try {
      value = ::undertow::python::tensor_of(source.ptr());
    } catch (const std::exception&) {
      return PyErr_Clear(), false;
    }
    return value.defined();
  }
  static handle from_cpp(const ::undertow::Tensor& t, rv_policy, cleanup_list*) noexcept {
    try {
      return ::undertow::python::object_of(t);
    } catch (const std::exception&) {
      return {};
    }
  }
};

template <>
struct type_caster<::undertow::Scalar> {
  NB_TYPE_CASTER(::undertow::Scalar, const_name("bool | int | float | complex"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    try {
      ::undertow::core::Scalar s;
      if (!::undertow::python::scalar_from(source.ptr(), &s)) return false;
      value = s;
      return true;
    } catch (const std::exception&) {
      return PyErr_Clear(), false;
    }
  }
  static handle from_cpp(const ::undertow::Scalar& s, rv_policy, cleanup_list*) noexcept {
    return ::undertow::python::object_of(static_cast<const ::undertow::core::Scalar&>(s));
  }
};

template <>
struct type_caster<::undertow::Device> {
  using Value = ::undertow::Device;
  static constexpr auto Name = const_name("undertow.device");
  template <class T>
  using Cast = movable_cast_t<T>;
  template <class>
  static constexpr bool can_cast() {
    return true;
  }
  explicit operator Value*() { return &value; }
  explicit operator Value&() { return value; }
  explicit operator Value&&() { return std::move(value); }
  Value value{::undertow::kCPU};
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    int type = 0, index = -1;
    try {
      if (!::undertow::python::api().device_of(source.ptr(), &type, &index)) return false;
    } catch (const std::exception&) {
      return PyErr_Clear(), false;
    }
    value = ::undertow::Device(static_cast<::undertow::DeviceType>(type), static_cast<int8_t>(index));
    return true;
  }
  static handle from_cpp(const ::undertow::Device& d, rv_policy, cleanup_list*) noexcept {
    return ::undertow::python::api().wrap_device(static_cast<int>(d.type()), d.index());
  }
};

template <>
struct type_caster<::undertow::ScalarType> {
  NB_TYPE_CASTER(::undertow::ScalarType, const_name("undertow.dtype"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    try {
      const int number = ::undertow::python::api().dtype_of(source.ptr());
      if (number >= 0) value = static_cast<::undertow::core::DType>(number);
      return number >= 0;
    } catch (const std::exception&) {
      return PyErr_Clear(), false;
    }
  }
  static handle from_cpp(::undertow::ScalarType t, rv_policy, cleanup_list*) noexcept {
    return ::undertow::python::api().wrap_dtype(static_cast<int>(t));
  }
};

// A list that the function borrows; the caster owns it during the call.
template <class T>
struct type_caster<::undertow::ArrayRef<T>> {
  using Value = ::undertow::ArrayRef<T>;
  static constexpr auto Name = const_name("list[") + make_caster<T>::Name + const_name("]");
  template <class>
  using Cast = Value;
  template <class>
  static constexpr bool can_cast() {
    return true;
  }
  explicit operator Value() { return items_; }
  bool from_python(handle source, uint8_t flags, cleanup_list* cleanup) noexcept {
    make_caster<std::vector<T>> list;
    if (!list.from_python(source, flags, cleanup)) return false;
    items_ = std::move(list.value);
    return true;
  }
  static handle from_cpp(Value list, rv_policy policy, cleanup_list* cleanup) noexcept {
    return make_caster<std::vector<T>>::from_cpp(list.vec(), policy, cleanup);
  }

 private:
  std::vector<T> items_;
};

}  // namespace nanobind::detail
