// delegated.cpp: see delegated.h.
#include "core/autograd/delegated/delegated.h"

namespace undertow::core::delegated {

void (*handler)(const char* key, std::span<const Boxed> args, Results& out) = nullptr;

namespace {
Results run(const char* key, std::initializer_list<Boxed> args) {
  UT_CHECK(handler, "no rules are installed, so ", key,
           " cannot be computed on a batched, sparse or dispatched tensor");
  Results out;
  handler(key, {args.begin(), args.size()}, out);
  return out;
}

// The tensors that an operator returns, exactly n of them. A batching rule returns them; a user's __torch_dispatch__
// may not.
std::vector<Tensor> tensors_of(const char* key, std::initializer_list<Boxed> args, size_t n) {
  std::vector<Tensor> found = std::move(run(key, args).tensors);
  UT_CHECK(found.size() == n, key, ": Unable to cast the result to ", n == 1 ? "Tensor" : "tensors", ": expected ", n,
           n == 1 ? " tensor" : " tensors", ", but a __torch_dispatch__ or batching rule returned ", found.size());
  return found;
}
}  // namespace

void call(const char* key, std::initializer_list<Boxed> args, Tensor& out) {
  out = std::move(tensors_of(key, args, 1)[0]);
}
void call(const char* key, std::initializer_list<Boxed> args, std::vector<Tensor>& out) {
  out = std::move(run(key, args).tensors);
}
void call(const char* key, std::initializer_list<Boxed> args, std::tuple<Tensor, Tensor>& out) {
  auto r = tensors_of(key, args, 2);
  out = {std::move(r[0]), std::move(r[1])};
}
void call(const char* key, std::initializer_list<Boxed> args, std::tuple<Tensor, Tensor, Tensor>& out) {
  auto r = tensors_of(key, args, 3);
  out = {std::move(r[0]), std::move(r[1]), std::move(r[2])};
}
void call(const char* key, std::initializer_list<Boxed> args, std::tuple<Tensor, Tensor, Tensor, Tensor>& out) {
  auto r = tensors_of(key, args, 4);
  out = {std::move(r[0]), std::move(r[1]), std::move(r[2]), std::move(r[3])};
}
void call(const char* key, std::initializer_list<Boxed> args, Scalar& out) { out = run(key, args).number; }
void call(const char* key, std::initializer_list<Boxed> args, bool& out) { out = run(key, args).number.to<bool>(); }
void call(const char* key, std::initializer_list<Boxed> args) { run(key, args); }

void raise_out_delegated(const char* name, uint32_t flags) {
  UT_CHECK_AS(NotImplemented, !(flags & kSparse), name,
              "(..., out=): sparse tensors have no form with out=; use the returned tensor");
  UT_CHECK_AS(NotImplemented, !(flags & kDispatched), name,
              "(..., out=): tensors with a __torch_dispatch__ have no form with out=; use the returned tensor");
  UT_FAIL("Batching rule not implemented for ", name,
          "(..., out=): under vmap no operator writes into a tensor given by out=; use the returned tensor");
}

}  // namespace undertow::core::delegated
