// convert.h: converts one Python object to one C++ value and back. All functions throw; none leaves a Python error set.
#pragma once
#include <atomic>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/interpreter_lock.h"
#include "core/python/errors.h"
#include "core/python/tensor/tensor_object.h"
#include "core/python/types/dtype_object.h"
#include "core/tensor/device.h"

namespace undertow::core {
struct Generator;
}

namespace undertow::core::python {

inline const Tensor& tensor_arg(PyObject* o) { return tensor_of(o); }
const Tensor& opt_tensor_arg(PyObject* o);
std::vector<Tensor> tensor_list_arg(PyObject* o);
std::vector<Tensor> out_list_arg(PyObject* o, size_t n);
Scalar scalar_arg(PyObject* o);
std::optional<Scalar> opt_scalar_arg(PyObject* o, std::optional<Scalar> fallback);
int64_t int_arg(PyObject* o);
std::optional<int64_t> opt_int_arg(PyObject* o, std::optional<int64_t> fallback);
double float_arg(PyObject* o);
std::optional<double> opt_float_arg(PyObject* o, std::optional<double> fallback);
bool bool_arg(PyObject* o);
std::optional<bool> opt_bool_arg(PyObject* o, std::optional<bool> fallback);
Dims ints_arg(PyObject* o, int64_t repeat = 1);  // a single int is repeated `repeat` times
DType dtype_arg(PyObject* o);
std::optional<DType> opt_dtype_arg(PyObject* o, std::optional<DType> fallback);
std::string str_arg(PyObject* o);
std::optional<std::string_view> opt_str_arg(PyObject* o);
Generator* generator_arg(PyObject* o);
std::optional<Device> device_arg(PyObject* o);
Device device_or_default(PyObject* o);  // for a factory: None means the default device
std::optional<MemoryFormat> memory_format_arg(PyObject* o);
std::optional<Layout> layout_arg(PyObject* o);

// A list of ints that may be None; owns the memory that get() refers to.
class OptInts {
 public:
  explicit OptInts(PyObject* o, int64_t repeat = 1) {
    if (o && o != Py_None) dims_ = ints_arg(o, repeat);
  }
  std::optional<IntSpan> get() const { return dims_ ? std::optional<IntSpan>(IntSpan(*dims_)) : std::nullopt; }

 private:
  std::optional<Dims> dims_;
};

// The keyword arguments of every factory function: layout, pin_memory, requires_grad, in this order in the slots.
class FactoryArgs {
 public:
  explicit FactoryArgs(PyObject** slots);
  // Is a sparse layout asked for, or another one than that of a sparse first argument? Then call_sparse creates the
  // tensor, in undertow/sparse. `slots` are the arguments of the table entry.
  bool concerns_sparse(PyObject* first) const;
  PyObject* call_sparse(const char* name, PyObject** slots, size_t count) const;
  // With out=: its device. A device and a layout that are also given must be equal.
  Device device_of_out(PyObject* given, const Tensor& out) const;
  // With out=: its dtype. A dtype that is also given must be equal.
  std::optional<DType> dtype_of_out(std::optional<DType> given, const Tensor& out) const;
  // Moves the result to pinned memory and makes it require grad, if that was asked for.
  void finish(const Tensor& result) const;

 private:
  std::optional<Layout> layout_;
  bool pinned_ : 1 = false, requires_grad_ : 1 = false;
};

PyObject* wrap(std::vector<Tensor> list);  // a tuple
PyObject* wrap(int64_t v);
PyObject* wrap(bool v);
PyObject* wrap(double v);
PyObject* wrap(const Scalar& s);
PyObject* wrap(DType t);
PyObject* wrap_sizes(IntSpan sizes);  // a Size
// The namedtuple class `undertow.return_types.<name>`; created once per name.
PyTypeObject* return_type(const char* name, std::initializer_list<const char*> fields);
PyObject* wrap_items(std::vector<PyObject*> items, PyTypeObject* type);
template <class... T>
PyObject* wrap_tuple(std::tuple<T...> t, PyTypeObject* type) {
  return std::apply([&](auto&&... x) { return wrap_items({check(wrap(std::move(x)))...}, type); }, std::move(t));
}
template <size_t N>
PyObject* wrap_outs(PyObject* outs, PyTypeObject* type) {
  std::vector<PyObject*> items;
  items.reserve(N);
  for (size_t i = 0; i < N; i++) items.push_back(check(PySequence_GetItem(outs, static_cast<Py_ssize_t>(i))));
  return wrap_items(std::move(items), type);
}

// Releases the interpreter lock (GIL) during a large operation. For a small one, releasing it costs more than the
// operation.
class LongOp {
 public:
  LongOp() = default;
  template <class... T>
  explicit LongOp(const T&... t) {
    int64_t n = (size_of(t) + ... + 0);
    if (UT_UNLIKELY(n > kLong)) {
      unlocked.fetch_add(1);
      state_ = PyEval_SaveThread();
    }
  }
  ~LongOp() {
    if (UT_UNLIKELY(state_ != nullptr)) {
      PyEval_RestoreThread(state_);
      unlocked.fetch_sub(1);
    }
  }
  // The number of operations that run without the GIL now. Atomic: it is decremented before another thread gets the
  // GIL.
  inline static std::atomic<int> unlocked{0};
  LongOp(const LongOp&) = delete;
  LongOp& operator=(const LongOp&) = delete;

 private:
  static constexpr int64_t kLong = 64 * 1024;
  static int64_t size_of(const Tensor& t) { return t.defined() ? t.numel() : 0; }
  static int64_t size_of(const std::vector<Tensor>& list) {
    int64_t n = 0;
    for (const Tensor& t : list) n += size_of(t);
    return n;
  }
  PyThreadState* state_ = nullptr;
};

}  // namespace undertow::core::python
