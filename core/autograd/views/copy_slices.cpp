// copy_slices.cpp: see copy_slices.h.
// build: small
#include "core/autograd/views/copy_slices.h"

#include "core/autograd/delegated/dispatched.h"
#include "core/forward/copy/copy.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/engine/evaluate.h"
#include "core/graph/saved_tensor.h"
#include "core/tensor/layout.h"
#include "generated/ops.h"

namespace undertow::core {

namespace {

// Makes the inner node current, so that it can ask the pass which gradients are needed, and asks the outer one what its
// result has become.
struct RunInside {
  RunInside(Node* outer, Node* inner) : saved(current_node), saved_enclosing(enclosing_node) {
    if (current_graph_task) current_node = inner;
    enclosing_node = outer;
  }
  ~RunInside() {
    current_node = saved;
    enclosing_node = saved_enclosing;
  }
  Node *saved, *saved_enclosing;
};

class CopySlices final : public NodeWithEdgeList {
 public:
  CopySlices(const Tensor& base, const Tensor& view, const Ref<Node>& fn, uint32_t self_edge)
      : fn_(fn),
        self_edge_(self_edge),
        base_sizes_(base.sizes()),
        base_strides_(base.strides()),
        base_dtype_(base.dtype()),
        view_sizes_(view.sizes()),
        view_strides_(view.strides()),
        offset_(view.storage_offset() - base.storage_offset()) {
    if (view.impl()->meta) view_fn_ = view.impl()->meta->view_fn;
    set_num_edges(std::max<uint32_t>(fn->num_edges(), self_edge + 1));
    for (uint32_t i = 0; i < fn->num_edges(); i++) edges()[i] = fn->edges()[i];
    // In the node of the write, self is the view; here it is the base. That node is not part of the graph, so it gets
    // our edge for self, to know whether its gradient is needed.
    edges()[self_edge] = gradient_edge(base);
    if (self_edge < fn->num_edges()) fn->edges()[self_edge] = edges()[self_edge];
    finish_recording();
  }
  UT_NODE_MEMORY(CopySlices)
  std::string name() const override { return "CopySlices"; }
  void release_variables() override {
    fn_->release_variables();
    mark_released();
  }
  Node* inner_node() const override { return fn_.get(); }
  // By making the view again of a tensor that stands for what the base was after the write; nobody reads its elements.
  void give_history_to_inner_result(const Tensor& t) override {
    Tensor base = empty_strided_on_device_of(t, base_sizes_, base_strides_, base_dtype_);
    retain();
    base.impl()->grad_fn = this;
    base.impl()->set(kRequiresGrad);
    Tensor view = view_of(base);
    t.impl()->grad_fn = view.impl()->grad_fn;
    t.impl()->grad_fn->retain();
    t.impl()->output_nr = view.impl()->output_nr;
    t.impl()->set(kRequiresGrad);
  }

  void apply(std::span<Tensor> grads, std::span<Tensor> grad_inputs) override {
    if (!grads[0].defined()) return;
    UT_CHECK(!released(),
             "Trying to backward through the graph a second time (or directly access saved tensors after they have "
             "already been freed). Saved intermediate "
             "values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if "
             "you need to backward through the graph a second time "
             "or if you need to access saved tensors after calling backward. The freed node is CopySlices.");
    // The gradient in the base's own layout, so that the view's strides and offset are valid for it.
    Tensor result;
    if (ops::is_dispatched_whole(grads[0])) {
      result = ops::new_empty_strided(grads[0], base_sizes_, base_strides_, base_dtype_, std::nullopt);
      ops::copy_(result, grads[0], false);
    } else {
      result = empty_strided_on_device_of(grads[0], base_sizes_, base_strides_, base_dtype_);
      if (is_non_overlapping_and_dense(base_sizes_, base_strides_))
        result = ops::copy(result, grads[0], false);
      else
        ops::copy_(result, grads[0], false);  // copy() would close the gaps
    }
    Tensor slice = view_of(result);
    GradArray in(std::max<uint32_t>(fn_->num_inputs(), 1)), out(fn_->num_edges());
    in[0] = ops::clone(slice, std::nullopt);
    {
      RunInside inside(this, fn_.get());
      fn_->apply(in.span(), out.span());
    }
    for (uint32_t i = 0; i < fn_->num_edges(); i++)
      if (i != self_edge_ && needs(i)) grad_inputs[i] = std::move(out[i]);
    if (!needs(self_edge_)) return;
    if (self_edge_ < fn_->num_edges() && out[self_edge_].defined())
      ops::copy_(slice, out[self_edge_], false);
    else
      ops::fill_(slice, Scalar(0));
    grad_inputs[self_edge_] = std::move(result);
  }

 private:
  // The view's part of a tensor in the base's layout.
  Tensor view_of(const Tensor& base) const {
    return view_fn_ ? view_fn_->replay(base) : ops::as_strided(base, view_sizes_, view_strides_, offset_);
  }

  Ref<Node> fn_;
  uint32_t self_edge_;
  Dims base_sizes_, base_strides_;
  DType base_dtype_;
  Dims view_sizes_, view_strides_;
  int64_t offset_;
  std::shared_ptr<ViewFunction> view_fn_;
};

}  // namespace

Ref<Node> make_copy_slices(const Tensor& base, const Tensor& view, const Ref<Node>& fn, uint32_t self_edge) {
  return Ref<Node>::adopt(new CopySlices(base, view, fn, self_edge));
}

}  // namespace undertow::core
