// shape.h: derivatives and compositions of views, copies and joins.
// Each function is differentiable: it calls only operators.
#pragma once
#include "core/autograd/op_types.h"

namespace undertow::core::ops {

// Compositions: views.
Tensor reshape_composite(const Tensor& self, IntSpan shape);
Tensor view_dtype_composite(const Tensor& self, DType dtype);
Tensor flatten_composite(const Tensor& self, int64_t start_dim, int64_t end_dim);
Tensor unflatten_composite(const Tensor& self, int64_t dim, IntSpan sizes);
Tensor narrow_composite(const Tensor& self, int64_t dim, int64_t start, int64_t length);
int64_t index_of(const Tensor& start);  // an integer zero-dimensional tensor as an index
Tensor movedim_composite(const Tensor& self, IntSpan source, IntSpan destination);
Tensor diag_composite(const Tensor& self, int64_t diagonal);
Tensor detach_composite(const Tensor& self);
Tensor real_composite(const Tensor& self);
Tensor imag_composite(const Tensor& self);
Tensor adjoint_composite(const Tensor& self);
// The attributes T, mT, H and mH.
Tensor reversed_dims(const Tensor& self);
Tensor matrix_transpose(const Tensor& self);
Tensor hermitian(const Tensor& self);
Tensor matrix_hermitian(const Tensor& self);
// The parts of a split, each with its own version counter; those of a dual share the memory of its tangent.
std::vector<Tensor> unsafe_split_composite(const Tensor& self, int64_t split_size, int64_t dim);
std::vector<Tensor> unsafe_split_composite(const Tensor& self, IntSpan split_sizes, int64_t dim);
std::vector<Tensor> unsafe_chunk_composite(const Tensor& self, int64_t chunks, int64_t dim);
std::vector<Tensor> chunk_composite(const Tensor& self, int64_t chunks, int64_t dim);
std::vector<Tensor> tensor_split_composite(const Tensor& self, int64_t sections, int64_t dim);
std::vector<Tensor> tensor_split_composite(const Tensor& self, IntSpan indices, int64_t dim);
std::vector<Tensor> tensor_split_composite(const Tensor& self, const Tensor& indices_or_sections, int64_t dim);
std::vector<Tensor> hsplit_composite(const Tensor& self, int64_t sections);
std::vector<Tensor> hsplit_composite(const Tensor& self, IntSpan indices);
std::vector<Tensor> vsplit_composite(const Tensor& self, int64_t sections);
std::vector<Tensor> vsplit_composite(const Tensor& self, IntSpan indices);
std::vector<Tensor> dsplit_composite(const Tensor& self, int64_t sections);
std::vector<Tensor> dsplit_composite(const Tensor& self, IntSpan indices);

// Compositions: copies and changes of memory.
Tensor contiguous_composite(const Tensor& self, std::optional<MemoryFormat> format);
Tensor to_composite(const Tensor& self, DType dtype, bool copy, std::optional<MemoryFormat> format,
                    std::optional<Device> device = std::nullopt);
// non_blocking: a copy between the host and a device may still be running when this returns.
Tensor to_composite(const Tensor& self, DType dtype, bool copy, std::optional<MemoryFormat> format,
                    std::optional<Device> device, bool non_blocking);
// Returns self if it already has this dtype and device.
Tensor to_place(const Tensor& self, DType dtype, Device device);
Tensor resize_composite(const Tensor& self, IntSpan size, std::optional<MemoryFormat> format);

// Compositions: joins.
std::vector<Tensor> at_least(TensorSpan tensors, int64_t dims);  // atleast_1d, _2d, _3d of each
Tensor hstack_composite(TensorSpan tensors);
Tensor column_stack_composite(TensorSpan tensors);
Tensor tile_composite(const Tensor& self, IntSpan dims);
Tensor repeat_interleave_composite(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim,
                                   std::optional<int64_t> output_size);
Tensor repeat_interleave_composite(const Tensor& self, int64_t repeats, std::optional<int64_t> dim,
                                   std::optional<int64_t> output_size);
Tensor fliplr_composite(const Tensor& self);
Tensor flipud_composite(const Tensor& self);

// Derivatives.
Tensor view_as_complex_of(const Tensor& grad);  // for a gradient in any layout
Tensor as_strided_backward(const Tensor& grad, IntSpan sizes, IntSpan strides, int64_t offset, IntSpan size,
                           IntSpan stride, std::optional<int64_t> storage_offset);
Tensor as_strided_tangent(const Tensor& tangent, const Tensor& self, IntSpan size, IntSpan stride,
                          std::optional<int64_t> storage_offset);
// Contiguous and at offset 0 of its storage, as absolute offsets require.
Tensor packed(const Tensor& t);
Tensor strided_scatter_self(const Tensor& grad, IntSpan sizes, IntSpan strides, int64_t offset, IntSpan size,
                            IntSpan stride, std::optional<int64_t> storage_offset);
Tensor strided_scatter_src(const Tensor& grad, IntSpan sizes, IntSpan strides, int64_t offset, IntSpan size,
                           IntSpan stride, std::optional<int64_t> storage_offset);
Tensor as_strided_scatter_tangent(const Tensor& self_t, const Tensor& src_t, const Tensor& self, IntSpan size,
                                  IntSpan stride, std::optional<int64_t> storage_offset);
Tensor permute_backward(const Tensor& grad, IntSpan dims);
Tensor unsqueeze_to(const Tensor& grad, IntSpan sizes, IntSpan dims);
Tensor narrow_backward(const Tensor& grad, IntSpan sizes, int64_t dim, int64_t start, int64_t length);
Tensor unfold_backward(const Tensor& grad, IntSpan sizes, int64_t dimension, int64_t step);
Tensor copy_tangent(const Tensor& self, const Tensor& src_t);
Tensor fill_tangent(const Tensor& self, const Tensor& value_t);
std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<Dims>& sizes, int64_t dim);
std::vector<Tensor> block_diag_backward(const Tensor& grad, const std::vector<Dims>& sizes);
Tensor repeat_backward(const Tensor& grad, IntSpan repeats, IntSpan sizes);
Tensor roll_backward(const Tensor& grad, IntSpan shifts, IntSpan dims);

}  // namespace undertow::core::ops
