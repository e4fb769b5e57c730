// meta_backend.cpp: see meta_backend.h. Every kernel that only writes results of a known shape is no work at all; those
// that must read elements are left out, and raise.
#include "core/kernels/meta/meta_backend.h"

#include "core/kernels/copy.h"
#include "core/kernels/create.h"
#include "core/kernels/pointwise.h"

namespace undertow::meta {

namespace {

void* allocate(size_t, Device) { return nullptr; }
void deallocate(void*, size_t, Device) {}

void copy_memory(void*, Device dst, const void*, Device, size_t) {
  UT_CHECK_AS(NotImplemented, dst.is_meta(), "Cannot copy out of meta tensor; no data!");
}
constexpr DeviceMemory kMemory = {.allocate = allocate, .deallocate = deallocate, .copy = copy_memory};

void copy_across(const Tensor& dst, const Tensor&) {
  UT_CHECK_AS(NotImplemented, dst.is_meta(), "Cannot copy out of meta tensor; no data!");
}
Scalar item(const Tensor&) { UT_FAIL("Tensor.item() cannot be called on meta tensors: they have no elements"); }

constexpr CopyKernels kCopy = {
    .copy = no_work,
    .copy_across = copy_across,
    .conj_neg_in_place = no_work,
    .fill = no_work,
    .zero = no_work,
    .item = item,
};
constexpr CreateKernels kCreate = {.arange = no_work, .linspace = no_work, .logspace = no_work};
constexpr PointwiseKernels kPointwise = {.run = no_work};

}  // namespace

const Backend backend = {
    .memory = &kMemory,
    .copy = &kCopy,
    .create = &kCreate,
    .pointwise = &kPointwise,
};

}  // namespace undertow::meta
