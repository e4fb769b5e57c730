// library.cpp: the table of operators that libraries define, and the choice of a kernel. See library.h.
// build: small
#include <undertow/library.h>

#include <array>
#include <map>
#include <mutex>

#include "core/autograd/operators.h"
#include "core/base/interpreter_lock.h"
#include "core/graph/node.h"

namespace undertow::library {

class Operator {
 public:
  std::string name, schema;
  // Replaced, never changed, so that a call can use one while another thread registers.
  std::array<std::shared_ptr<Kernel>, kNumDispatchKeys> kernels;
};

namespace {

struct Registry {
  std::mutex mutex;  // guards everything here, and the members of operators
  std::map<std::string, std::unique_ptr<Operator>, std::less<>> operators;
  std::vector<std::string> errors;
};
Registry& registry() {
  static auto* one = new Registry;  // leaked: kernels may be code of libraries that end earlier
  return *one;
}

Operator& operator_named(const std::string& name) {  // with the mutex held
  auto& slot = registry().operators[name];
  if (!slot) {
    slot = std::make_unique<Operator>();
    slot->name = name;
  }
  return *slot;
}

thread_local bool below_autograd = false;

std::shared_ptr<Kernel> kernel_for(const Operator& op, DispatchKey key) {
  std::lock_guard lock(registry().mutex);
  return op.kernels[static_cast<size_t>(key)];
}

void each_tensor(const IValue& v, const std::function<void(const core::Tensor&)>& f) {
  if (v.isTensor()) {
    if (Tensor t = v.toTensor(); t.defined()) f(t);
  } else if (v.isList() || v.isTuple()) {
    for (const IValue& x : detail::elements_of(v)) each_tensor(x, f);
  }
}

DispatchKey device_key(core::DeviceType type) {
  switch (type) {
    case core::DeviceType::CPU:
      return DispatchKey::CPU;
    case core::DeviceType::Meta:
      return DispatchKey::Meta;
    case core::DeviceType::CUDA:
      return DispatchKey::CUDA;
    default:
      return DispatchKey::PrivateUse1;
  }
}

// The history of a result whose operator has a kernel but no derivative.
class WarnNotImplemented : public core::NodeWithEdgeList {
 public:
  UT_NODE_MEMORY(WarnNotImplemented)
  explicit WarnNotImplemented(std::string op) : op_(std::move(op)) {}
  void apply(std::span<core::Tensor>, std::span<core::Tensor>) override {
    core::warn(core::str(op_,
                         ": an autograd kernel was not registered to the Autograd key(s) but we are trying to "
                         "backprop through it. The gradients of its inputs are missing; register a derivative with "
                         "UNDERTOW_LIBRARY_IMPL(ns, Autograd, m) or library.register_autograd."));
  }
  std::string name() const override { return "WarnNotImplemented"; }

 private:
  std::string op_;
};

void run_for_device(const Operator& op, Kernel& kernel, Stack& stack) {
  std::vector<core::Tensor> needed;
  if (core::grad_enabled())
    for (const IValue& v : stack)
      each_tensor(v, [&](const core::Tensor& t) {
        if (t.requires_grad()) needed.push_back(t);
      });
  kernel(stack);
  if (needed.empty()) return;
  core::Ref<core::Node> node;
  for (const IValue& v : stack)
    each_tensor(v, [&](const core::Tensor& t) {
      if (t.requires_grad() || !core::is_differentiable(t.dtype()) || t.impl()->has(core::kIsView)) return;
      if (!node) {
        auto* made = new WarnNotImplemented(op.name);
        node = core::Ref<core::Node>::adopt(made);
        made->set_num_edges(needed.size());
        for (size_t i = 0; i < needed.size(); i++) made->edges()[i] = core::gradient_edge(needed[i]);
        made->finish_recording();
      }
      core::set_history(t, node);
    });
}

[[noreturn]] void no_kernel(const Operator& op, DispatchKey key) {
  constexpr const char* names[kNumDispatchKeys] = {"",
                                                   "CPU",
                                                   "Meta",
                                                   "CUDA",
                                                   "MPS",
                                                   "XPU",
                                                   "another",
                                                   "Autograd",
                                                   "CompositeExplicitAutograd",
                                                   "CompositeImplicitAutograd"};
  std::string have;
  for (int i = 1; i < kNumDispatchKeys; i++)
    if (op.kernels[static_cast<size_t>(i)]) have += (have.empty() ? "" : ", ") + std::string(names[i]);
  UT_FAIL_AS(NotImplemented, "Could not run '", op.name, "' with arguments from the '", names[static_cast<int>(key)],
             "' backend: no kernel is registered for it. Kernels exist for: [", have, "].");
}

}  // namespace

Operator* find(std::string_view name) {
  std::lock_guard lock(registry().mutex);
  auto it = registry().operators.find(name);
  return it == registry().operators.end() || it->second->schema.empty() ? nullptr : it->second.get();
}
const std::string& schema(const Operator& op) { return op.schema; }
bool has_kernel(const Operator& op, DispatchKey key) { return kernel_for(op, key) != nullptr; }
std::vector<std::string> names() {
  std::lock_guard lock(registry().mutex);
  std::vector<std::string> out;
  for (auto& [name, op] : registry().operators)
    if (!op->schema.empty()) out.push_back(name);
  return out;
}
std::vector<std::string> take_errors() {
  std::lock_guard lock(registry().mutex);
  return std::exchange(registry().errors, {});
}

void call(Operator& op, Stack& stack) {
  try {
    if (!below_autograd)
      if (auto kernel = kernel_for(op, DispatchKey::Autograd)) return (*kernel)(stack);
    DispatchKey device = DispatchKey::Undefined;
    for (const IValue& v : stack)
      each_tensor(v, [&](const core::Tensor& t) {
        if (device == DispatchKey::Undefined) device = device_key(t.device().type);
      });
    if (device == DispatchKey::Undefined) device = DispatchKey::CPU;
    if (auto kernel = kernel_for(op, device)) return run_for_device(op, *kernel, stack);
    if (auto kernel = kernel_for(op, DispatchKey::CompositeExplicitAutograd)) return run_for_device(op, *kernel, stack);
    if (auto kernel = kernel_for(op, DispatchKey::CompositeImplicitAutograd)) return (*kernel)(stack);
    no_kernel(op, device);
  } catch (const core::Error& e) {
    if (e.kind() != core::ErrorKind::Type || std::string_view(e.what()).substr(0, 9) != "argument ") throw;
    UT_FAIL_AS(Type, op.name, "(): ", e.what(), ". Declaration: ", op.schema);
  }
}

BelowAutogradGuard::BelowAutogradGuard() : before_(std::exchange(below_autograd, true)) {}
BelowAutogradGuard::~BelowAutogradGuard() { below_autograd = before_; }

void define(const std::string& space, const std::string& schema) {
  const size_t open = schema.find('(');
  UT_CHECK_VALUE(open != std::string::npos && schema.find("->", open) != std::string::npos,
                 "a schema must be like name(Tensor x, float a=1) -> Tensor, got ", schema);
  std::string name = schema.substr(0, open);
  while (!name.empty() && name.back() == ' ') name.pop_back();
  const std::string prefix = space + "::";
  if (name.compare(0, prefix.size(), prefix) == 0) name = name.substr(prefix.size());
  UT_CHECK_VALUE(!name.empty() && name.find("::") == std::string::npos, "the operator ", name,
                 " does not belong to the namespace ", space, " of its block");
  std::lock_guard lock(registry().mutex);
  Operator& op = operator_named(prefix + name);
  if (!op.schema.empty() && op.schema != prefix + name + schema.substr(open))
    core::warn(core::str("the operator ", op.name, " is defined again: ", schema, "; before, it was ", op.schema));
  op.schema = prefix + name + schema.substr(open);
}

void implement(const std::string& name, DispatchKey key, Kernel kernel) {
  if (key == DispatchKey::Undefined) return;  // a device that does not exist here
  std::lock_guard lock(registry().mutex);
  operator_named(name).kernels[static_cast<size_t>(key)] = std::make_shared<Kernel>(std::move(kernel));
}

Library& Library::def(const std::string& schema, KeyedKernel kernel) {
  const bool named = schema.find('(') == std::string::npos;
  define(space_, named ? schema + kernel.inferred : schema);
  return impl(schema.substr(0, schema.find('(')), std::move(kernel));
}
Library& Library::impl(const std::string& name, KeyedKernel kernel) {
  const std::string prefix = space_ + "::";
  const bool whole = name.compare(0, prefix.size(), prefix) == 0;
  UT_CHECK_VALUE(whole || name.find("::") == std::string::npos, "the operator ", name,
                 " does not belong to the namespace ", space_, " of its block");
  implement(whole ? name : prefix + name, kernel.key, std::move(kernel.kernel));
  return *this;
}

OperatorHandle Dispatcher::findSchemaOrThrow(const char* name, const char* overload) const {
  std::string full = name;
  if (overload && *overload) full += std::string(".") + overload;
  Operator* op = find(full);
  UT_CHECK(op, "Could not find schema for ", full, ". No loaded library defines it.");
  return OperatorHandle(op);
}

Init::Init(void (*code)(Library&), const char* space, DispatchKey key, const char* file, int line) {
  try {
    Library m(space, key);
    code(m);
  } catch (const std::exception& e) {
    fail(core::str(file, ":", line), e.what());
  }
}
void fail(const std::string& where, const std::string& what) {
  // Without an interpreter nobody asks for the errors.
  if (!core::interpreter_lock) UT_FAIL(where, ": ", what);
  std::lock_guard lock(registry().mutex);
  registry().errors.push_back(where + ": " + what);
}

}  // namespace undertow::library
