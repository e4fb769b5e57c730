// pickle_writer.cpp: see pickle.h.
// build: small
#include <bit>
#include <unordered_map>

#include "core/api/formats/file.h"
#include "core/api/formats/nesting.h"
#include "core/api/formats/pickle.h"

namespace undertow::formats {

namespace {

// The name of torch's storage class; null for dtypes without one, which are written over bytes.
const char* storage_class(core::DType dtype) {
  return core::is_storage(dtype) || dtype == core::DType::Complex32 ? nullptr : core::long_name(dtype);
}

class Writer {
 public:
  Pickled out;
  void value(const IValue& v, int depth) {
    UT_FORMAT_CHECK(depth < kDeepest, "save: the value contains itself, or containers nested more than ", kDeepest,
                    " deep");
    if (v.isNone())
      out.data += 'N';
    else if (v.isBool())
      out.data += v.toBool() ? '\x88' : '\x89';
    else if (v.isInt())
      integer(v.toInt());
    else if (v.isDouble())
      real(v.toDouble());
    else if (v.isComplexDouble()) {
      global("__builtin__", "complex");
      real(v.toComplexDouble().real());
      real(v.toComplexDouble().imag());
      out.data += "\x86R";
    } else if (v.isString())
      text(v.toStringRef());
    else if (v.isTensor())
      tensor(v.toTensor());
    else if (v.isList()) {
      out.data += "](";
      for (const IValue& x : v.toListRef()) value(x, depth + 1);
      out.data += 'e';
    } else if (v.isTuple()) {
      out.data += '(';
      for (const IValue& x : v.toTupleRef()) value(x, depth + 1);
      out.data += 't';
    } else {
      out.data += "}(";
      for (const auto& [k, x] : v.toGenericDict()) {
        value(k, depth + 1);
        value(x, depth + 1);
      }
      out.data += 'u';
    }
  }

 private:
  void global(const char* module, const char* name) { out.data += core::str('c', module, '\n', name, '\n'); }
  void integer(int64_t n) {
    if (n >= 0 && n < 256) {
      out.data += 'K';
      put(out.data, static_cast<uint8_t>(n));
    } else if (n >= INT32_MIN && n <= INT32_MAX) {
      out.data += 'J';
      put(out.data, static_cast<int32_t>(n));
    } else {
      out.data += "\x8a\x08";
      put(out.data, n);
    }
  }
  void real(double v) {
    uint64_t bits = std::bit_cast<uint64_t>(v);
    out.data += 'G';
    for (int i = 7; i >= 0; i--) out.data += static_cast<char>(bits >> (8 * i));
  }
  void text(std::string_view s) {
    UT_FORMAT_CHECK(s.size() <= UINT32_MAX, "save: a string of ", s.size(), " bytes");
    out.data += 'X';
    put(out.data, static_cast<uint32_t>(s.size()));
    out.data += s;
  }
  void ints(core::IntSpan list) {
    out.data += '(';
    for (int64_t n : list) integer(n);
    out.data += 't';
  }
  void tensor(const Tensor& given) {
    UT_FORMAT_CHECK(given.defined() && !given.is_sparse() && given.core::Tensor::is_cpu(),
                    "save: only strided tensors on the CPU can be written from C++");
    core::NoGradGuard no_grad;
    core::Tensor t = given.is_conj() || given.is_neg()
                         ? core::ops::resolve_neg(core::ops::resolve_conj(core::ops::detach(given)))
                         : core::Tensor(given);
    const char* name = storage_class(t.dtype());
    global("torch._utils", name ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    out.data += '(';
    reference(t.storage(), name, t.dtype());
    integer(t.storage_offset());
    ints(t.sizes());
    ints(t.strides());
    // As in torch, the history is not saved; a result is saved as a tensor that requires grad.
    out.data += given.requires_grad() ? '\x88' : '\x89';
    global("collections", "OrderedDict");
    out.data += ")R";
    if (!name) global("torch", core::name(t.dtype()));
    out.data += "tR";
  }
  void reference(core::Storage& storage, const char* name, core::DType dtype) {
    auto [it, fresh] =
        numbers_.try_emplace(&storage, std::pair{out.storages.size(), name ? dtype : core::DType::UInt8});
    if (fresh) out.storages.emplace_back(&storage);
    UT_FORMAT_CHECK(
        it->second.second == (name ? dtype : core::DType::UInt8),
        "Cannot save multiple tensors or storages that view the same data as different types; clone one of them");
    out.data += '(';
    text("storage");
    if (name)
      global("torch", core::str(name, "Storage").c_str());
    else
      global("torch.storage", "UntypedStorage");
    text(std::to_string(it->second.first));
    text("cpu");
    integer(static_cast<int64_t>(storage.nbytes()) / (name ? core::itemsize(dtype) : 1));
    out.data += "tQ";
  }
  std::unordered_map<core::Storage*, std::pair<size_t, core::DType>> numbers_;
};

}  // namespace

Pickled write_pickle(const IValue& value) {
  Writer w;
  w.out.data = "\x80\x02";
  w.value(value, 0);
  w.out.data += '.';
  return std::move(w.out);
}

}  // namespace undertow::formats
