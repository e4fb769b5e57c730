// recording.cpp: see recording.h.
#include "core/autograd/recording.h"

#include "core/forward/create/create.h"
#include "core/forward/pointwise/pointwise.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/ops.h"

namespace undertow::core::ops {

void raise_not_differentiable(const char* name, const char* argument) {
  UT_FAIL("The function '", name, "' is not differentiable with respect to argument '", argument,
          "'. This input cannot have requires_grad True.");
}

// Names devices: that a number on the CPU goes with every device, and the words for meta, are torch's rules about them.
void DeviceCheck::add(const Tensor& t) {
  if (!t.defined() || (t.dim() == 0 && t.is_cpu())) return;
  if (any_ && t.device() != seen_) fail(t.device());
  seen_ = t.device();
  any_ = true;
}
void DeviceCheck::fail(Device other) const {
  if (seen_.is_meta() || other.is_meta())
    UT_FAIL("Tensor on device ", seen_.is_meta() ? other : seen_, " is not on the expected device meta! (", name_, ")");
  UT_FAIL("Expected all tensors to be on the same device, but found at least two devices, ", seen_, " and ", other,
          "! (", name_, ")");
}

Tensor resolve_conj_neg(const Tensor& t) {
  if (!t.defined() || !t.impl()->has(kConj | kNeg)) return t;
  return resolve_neg(resolve_conj(t));
}
std::vector<Tensor> resolve_conj_neg(TensorSpan list) {
  std::vector<Tensor> out;
  for (const Tensor& t : list) out.push_back(resolve_conj_neg(t));
  return out;
}

std::vector<Dims> all_sizes(TensorSpan list) {
  std::vector<Dims> out;
  for (const Tensor& t : list) out.emplace_back(t.sizes());
  return out;
}
std::vector<DType> all_dtypes(TensorSpan list) {
  std::vector<DType> out;
  for (const Tensor& t : list) out.push_back(t.dtype());
  return out;
}

void save_list(std::vector<SavedTensor>& to, TensorSpan list, Node* owner) {
  to = std::vector<SavedTensor>(list.size());
  for (size_t i = 0; i < list.size(); i++) to[i].save(list[i], owner);
}
std::vector<Tensor> unpack_list(const std::vector<SavedTensor>& list, Node* owner) {
  std::vector<Tensor> out;
  out.reserve(list.size());
  for (const SavedTensor& s : list) out.push_back(s.unpack(owner));
  return out;
}
void assign_list(Node& node, std::span<Tensor> grad_inputs, size_t first, std::vector<Tensor> grads) {
  for (size_t i = 0; i < grads.size(); i++)
    if (node.edges()[first + i]) grad_inputs[first + i] = std::move(grads[i]);
}

static Tensor dispatched_zeros_for(const InputMeta& meta) {
  return UT_UNLIKELY(dispatch_mode()) ? zeros(meta.sizes(), meta.dtype(), meta.device()) : zeros_for(meta);
}
void materialize(std::span<Tensor> grads, const Node& node) {
  for (size_t i = 0; i < grads.size(); i++)
    if (!grads[i].defined() && node.input_meta(static_cast<uint32_t>(i)).defined())
      grads[i] = dispatched_zeros_for(node.input_meta(static_cast<uint32_t>(i)));
}

void set_history_if_float(const Tensor& result, const Ref<Node>& node) {
  if (result.defined() && is_differentiable(result.dtype()))
    set_history(result, node);
  else
    node->add_input_undefined();
}

void as_view_of(const Tensor& self, const std::vector<Tensor>& results, uint32_t creation) {
  for (const Tensor& r : results) make_view(self, r, creation);
}

void mark_inference(const Tensor& t) {
  // A view of a normal tensor stays normal; every new tensor is an inference tensor.
  if (t.defined() && !t.impl()->has(kIsView)) t.impl()->set(kInference);
}
void mark_inference(const std::vector<Tensor>& list) {
  for (const Tensor& t : list) mark_inference(t);
}

void check_out(const Tensor& out, const char* name, uint32_t input_flags) {
  if (UT_UNLIKELY((input_flags | out.impl()->flags) & (kDelegated | kDispatched)))
    delegated::raise_out_delegated(name, input_flags | out.impl()->flags);
  UT_CHECK(!grad_enabled() || !((input_flags & kRequiresGrad) || out.requires_grad()), name,
           "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
           "requires grad.");
  UT_CHECK_AS(NotImplemented, !has_tangents(input_flags | out.impl()->flags), "Trying to use forward AD with ", name,
              "_out that does not support it because it is an out= function");
  UT_CHECK(!out.impl()->has(kInference) || mode_is(kInferenceMode),
           "Inplace update to inference tensor outside InferenceMode is not allowed.");
}

void check_separate(const Tensor& out) { check_no_internal_overlap(out); }
void check_separate(const Tensor& out, IntSpan sizes, const Tensor& in) {
  fwd::resize_output(out, sizes);
  if (in.defined()) check_no_overlap(out, in);  // for other layouts, the result is computed before anything is written
}
void check_separate(const Tensor& out, IntSpan sizes, TensorSpan in) {
  for (const Tensor& t : in) check_separate(out, sizes, t);
}

void check_out_dtype(const Tensor& out, DType result, const char* message) {
  if (UT_LIKELY(out.dtype() == result)) return;
  UT_CHECK(message, "Expected out tensor to have dtype ", fwd::meta_name(result), ", but got ",
           fwd::meta_name(out.dtype()), " instead");
  std::string text = message;
  const bool named = text.find('{') != std::string::npos;
  for (auto [mark, dtype] : {std::pair("{result}", result), std::pair("{out}", out.dtype())})
    if (size_t at = text.find(mark); at != std::string::npos)
      text.replace(at, std::string_view(mark).size(), long_name(dtype));
  if (!named) text += str(": it must be ", long_name(result), " but is ", long_name(out.dtype()));
  UT_FAIL_AS(Runtime, text);
}

void write_out(const Tensor& out, const Tensor& result) {
  UT_CHECK(can_cast(result.dtype(), out.dtype()), "result type ", long_name(result.dtype()),
           " can't be cast to the desired output type ", long_name(out.dtype()));
  fwd::resize_output(out, result.sizes());
  fwd::copy_into(out, result);
  out.bump_version("an operation with out=");
}

}  // namespace undertow::core::ops
