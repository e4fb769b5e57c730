// library.h: operators with a name and a schema, defined in C++ and visible in Python as `ops.ns.name`:
//
//   Tensor scale(const Tensor& x, double a) { return x * a; }
//   UNDERTOW_LIBRARY(demo, m) { m.def("scale(Tensor x, float a=1) -> Tensor", &scale); }
//
// Note [Operator Kernels]
// An operator has at most one kernel for each key. A call runs the kernel for Autograd, if there is one and no
// BelowAutogradGuard is active; otherwise the kernel for the device of the first tensor; otherwise the one without a
// device (CompositeExplicitAutograd, then CompositeImplicitAutograd, which is what m.def and a plain m.impl register).
// A kernel for Autograd usually calls an autograd::Function, whose forward calls the operator again under the guard.
// Operators that a kernel calls are recorded as anywhere else. If an input requires grad, but a kernel for a device
// gives a result without a history, the result gets a node that warns in the backward pass.
#pragma once
#include <undertow/extension/boxed.h>

#include <functional>

namespace undertow {

enum class DispatchKey : uint8_t {
  Undefined,
  CPU,
  Meta,
  CUDA,
  MPS,  // and the next one: may be registered, and are never called
  XPU,
  PrivateUse1,
  Autograd,
  CompositeExplicitAutograd,
  CompositeImplicitAutograd,
  // Names of the above.
  AutogradCPU = Autograd,
  AutogradMeta = Autograd,
  AutogradOther = Autograd,
  ADInplaceOrView = Autograd,
  CatchAll = CompositeImplicitAutograd,
  BackendSelect = CompositeExplicitAutograd,
  CompositeExplicitAutogradNonFunctional = CompositeExplicitAutograd,
  CompositeImplicit = CompositeImplicitAutograd,
  CompositeExplicit = CompositeExplicitAutograd,
  // Keys for devices that do not exist here.
  AutogradCUDA = Undefined,
  QuantizedCPU = Undefined,
  QuantizedCUDA = Undefined,
  SparseCPU = Undefined,
  SparseCUDA = Undefined,
  Autocast = Undefined,
  AutocastCPU = Undefined,
  AutocastCUDA = Undefined,
  FuncTorchBatched = Undefined,
  Python = Undefined,
};
inline constexpr int kNumDispatchKeys = static_cast<int>(DispatchKey::CompositeImplicitAutograd) + 1;

namespace library {

using Stack = std::vector<IValue>;  // arguments before a call, results after it
using Kernel = std::function<void(Stack&)>;

class Operator;
// The operator "ns::name" or "ns::name.overload"; null if there is none.
Operator* find(std::string_view name);
// Runs the kernel that Note [Operator Kernels] selects. The lock of an interpreter may be held or not.
void call(Operator& op, Stack& stack);
// "ns::name.overload(Tensor x) -> Tensor"; empty if only kernels were registered so far.
const std::string& schema(const Operator& op);
bool has_kernel(const Operator& op, DispatchKey key);
std::vector<std::string> names();  // of all operators that have a schema
// What went wrong in UNDERTOW_LIBRARY while a library was loaded: an exception there would end the program. Empties it.
std::vector<std::string> take_errors();

// Operators called in this scope skip their kernels for Autograd, and nothing is recorded.
class BelowAutogradGuard {
 public:
  BelowAutogradGuard();
  ~BelowAutogradGuard();
  BelowAutogradGuard(const BelowAutogradGuard&) = delete;
  BelowAutogradGuard& operator=(const BelowAutogradGuard&) = delete;

 private:
  core::NoGradGuard no_grad_;
  bool before_;
};

void define(const std::string& space, const std::string& schema);
void implement(const std::string& qualified_name, DispatchKey key, Kernel kernel);
void fail(const std::string& where, const std::string& what);

// What a kernel's parameter is kept in while it runs: itself, or what a reference to it needs.
template <class T>
struct Stored {
  using type = T;
};
template <class T>
struct Stored<ArrayRef<T>> {
  using type = std::vector<T>;
};
template <class T>
struct Stored<optional<ArrayRef<T>>> {
  using type = optional<std::vector<T>>;
};
template <>
struct Stored<OptionalIntArrayRef> {
  using type = optional<std::vector<int64_t>>;
};
template <>
struct Stored<std::string_view> {
  using type = std::string;
};
template <class T>
using StoredFor = typename Stored<std::remove_cvref_t<T>>::type;

template <class A>
StoredFor<A> argument(const Stack& stack, size_t i) {
  try {
    return IValueOf<StoredFor<A>>::from(stack[i]);
  } catch (const core::Error& e) {
    UT_FAIL_AS(Type, "argument ", i + 1, ": ", e.what());
  }
}
template <class A>
decltype(auto) pass(StoredFor<A>& stored) {
  if constexpr (std::is_same_v<std::remove_cvref_t<A>, OptionalIntArrayRef>)
    return stored ? OptionalIntArrayRef(*stored) : OptionalIntArrayRef();
  else if constexpr (std::is_same_v<StoredFor<A>, std::remove_cvref_t<A>>)
    return static_cast<std::conditional_t<std::is_lvalue_reference_v<A>, StoredFor<A>&, StoredFor<A>&&>>(stored);
  else
    return std::remove_cvref_t<A>(stored);
}

// The type of a function, from a pointer to it or a lambda.
template <class F>
struct Signature : Signature<decltype(&std::remove_cvref_t<F>::operator())> {};
template <class R, class... A>
struct Signature<R(A...)> {
  using Result = R;
  static std::string schema(const std::string& name) {
    std::string out;
    size_t i = 0;
    (((out += (i ? ", " : "") + IValueOf<StoredFor<A>>::schema() + " _" + std::to_string(i)), i++), ...);
    std::string result = "()";
    if constexpr (!std::is_void_v<R>) result = IValueOf<std::remove_cvref_t<R>>::schema();
    return name + "(" + out + ") -> " + result;
  }
  template <class F>
  static void run(F& f, Stack& stack) {
    UT_CHECK_TYPE(stack.size() == sizeof...(A), "the kernel takes ", sizeof...(A), " arguments, but the operator has ",
                  stack.size());
    [&]<size_t... I>(std::index_sequence<I...>) {
      std::tuple<StoredFor<A>...> args{argument<A>(stack, I)...};
      stack.clear();
      if constexpr (std::is_void_v<R>)
        f(pass<A>(std::get<I>(args))...);
      else
        push(stack, std::remove_cvref_t<R>(f(pass<A>(std::get<I>(args))...)));
    }(std::index_sequence_for<A...>{});
  }

 private:
  template <class T>
  static void push(Stack& stack, T&& result) {
    stack.push_back(boxed(result));
  }
  template <class... T>
  static void push(Stack& stack, std::tuple<T...>&& results) {
    std::apply([&](T&... x) { (stack.push_back(boxed(x)), ...); }, results);
  }
};
template <class R, class... A>
struct Signature<R (*)(A...)> : Signature<R(A...)> {};
template <class R, class... A>
struct Signature<R (&)(A...)> : Signature<R(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R(A...)> {};

// A function, or an object that is called like one.
template <class F>
concept KernelFunction =
    std::is_function_v<std::remove_pointer_t<std::decay_t<F>>> || requires { &std::decay_t<F>::operator(); };

template <class F>
Kernel kernel_of(F&& f) {
  return [f = std::decay_t<F>(std::forward<F>(f))](Stack& stack) mutable { Signature<std::decay_t<F>>::run(f, stack); };
}

template <class T>
inline constexpr bool is_tuple = false;
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;

// An operator called with C++ types: find_typed<Tensor(const Tensor&, double)>("demo::scale").call(x, 2.0).
template <class F>
class TypedHandle;
template <class R, class... A>
class TypedHandle<R(A...)> {
 public:
  explicit TypedHandle(Operator* op) : op_(op) {}
  R call(A... a) const {
    Stack stack{boxed(std::remove_cvref_t<A>(a))...};
    library::call(*op_, stack);
    if constexpr (std::is_void_v<R>)
      return;
    else if constexpr (is_tuple<std::remove_cvref_t<R>>)
      return IValueOf<R>::from(IValue::tuple(std::move(stack)));
    else if constexpr (std::is_lvalue_reference_v<R>)  // an operator that writes to its first argument returns it
      return const_cast<R>(static_cast<const std::remove_cvref_t<R>&>(first(a...)));
    else
      return IValueOf<R>::from(stack.at(0));
  }
  R redispatch(DispatchKey, A... a) const { return call(std::forward<A>(a)...); }

 private:
  template <class T, class... Rest>
  static T& first(T& t, Rest&...) {
    return t;
  }
  Operator* op_;
};

// A found operator, by libtorch's names.
class OperatorHandle {
 public:
  explicit OperatorHandle(Operator* op) : op_(op) {}
  template <class F>
  TypedHandle<F> typed() const {
    return TypedHandle<F>(op_);
  }
  void callBoxed(Stack* stack) const { library::call(*op_, *stack); }

 private:
  Operator* op_;
};
class Dispatcher {
 public:
  static Dispatcher& singleton() {
    static Dispatcher one;
    return one;
  }
  OperatorHandle findSchemaOrThrow(const char* name, const char* overload) const;
  optional<OperatorHandle> findSchema(const std::string& name) const {
    Operator* op = find(name);
    return op ? optional<OperatorHandle>(OperatorHandle(op)) : nullopt;
  }
};

// A kernel with the key that it is for.
struct KeyedKernel {
  DispatchKey key;
  Kernel kernel;
  std::string inferred;  // "(Tensor _0) -> Tensor"
};
template <class F>
KeyedKernel dispatch(DispatchKey key, F&& f) {
  return {key, kernel_of(std::forward<F>(f)), Signature<std::decay_t<F>>::schema("")};
}

// Facts about an operator for libtorch's compiler. There is no compiler here: they are accepted without an effect.
enum class Tag { pt2_compliant_tag, needs_fixed_stride_order, flexible_layout, nondeterministic_seeded, core };

// What UNDERTOW_LIBRARY and UNDERTOW_LIBRARY_IMPL pass to the code that follows them.
class Library {
 public:
  Library(std::string space, DispatchKey key) : space_(std::move(space)), key_(key) {}
  // Declares an operator by its schema; with a function a name is enough, and the schema is that of the function.
  Library& def(const std::string& schema) {
    define(space_, schema);
    return *this;
  }
  Library& def(const std::string& schema, const std::vector<Tag>&) { return def(schema); }
  template <KernelFunction F>
  Library& def(const std::string& schema, F&& f, const std::vector<Tag>& = {}) {
    return def(schema, KeyedKernel{DispatchKey::CompositeImplicitAutograd, kernel_of(std::forward<F>(f)),
                                   Signature<std::decay_t<F>>::schema("")});
  }
  Library& def(const std::string& schema, KeyedKernel kernel);
  // Registers a kernel for the key of the block, or of `dispatch(key, f)`.
  template <KernelFunction F>
  Library& impl(const std::string& name, F&& f) {
    return impl(name, KeyedKernel{key_, kernel_of(std::forward<F>(f)), ""});
  }
  template <class F>
  Library& impl(const std::string& name, DispatchKey key, F&& f) {
    return impl(name, KeyedKernel{key, kernel_of(std::forward<F>(f)), ""});
  }
  Library& impl(const std::string& name, KeyedKernel kernel);
  void set_python_module(const char*, const char* = "") {}

 private:
  std::string space_;
  DispatchKey key_;
};

// Runs the code of a block while the program or the extension is loaded.
class Init {
 public:
  Init(void (*code)(Library&), const char* space, DispatchKey key, const char* file, int line);
};

}  // namespace library

using library::Library;
using library::Tag;

}  // namespace undertow

#define UT_LIBRARY_JOIN2(a, b) a##b
#define UT_LIBRARY_JOIN(a, b) UT_LIBRARY_JOIN2(a, b)
#define UT_LIBRARY_BLOCK(ns, key, m, id)                                                                           \
  static void UT_LIBRARY_JOIN(undertow_library_code_##ns##_, id)(::undertow::library::Library&);                   \
  static const ::undertow::library::Init UT_LIBRARY_JOIN(undertow_library_init_##ns##_, id)(                       \
      &UT_LIBRARY_JOIN(undertow_library_code_##ns##_, id), #ns, ::undertow::DispatchKey::key, __FILE__, __LINE__); \
  static void UT_LIBRARY_JOIN(undertow_library_code_##ns##_, id)(::undertow::library::Library & m)
// Defines operators of a namespace. Several blocks may add to one namespace.
#define UNDERTOW_LIBRARY(ns, m) UT_LIBRARY_BLOCK(ns, CompositeImplicitAutograd, m, __COUNTER__)
#define UNDERTOW_LIBRARY_FRAGMENT(ns, m) UT_LIBRARY_BLOCK(ns, CompositeImplicitAutograd, m, __COUNTER__)
// Registers kernels of one key: CPU, Meta, Autograd, CompositeExplicit or CompositeImplicit.
#define UNDERTOW_LIBRARY_IMPL(ns, key, m) UT_LIBRARY_BLOCK(ns, key, m, __COUNTER__)
