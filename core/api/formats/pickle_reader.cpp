// pickle_reader.cpp: see pickle.h. undertow/serialization/_pickle_reader.py reads the same pickles for Python.
// build: small
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/api/formats/file.h"
#include "core/api/formats/loaded_tensor.h"
#include "core/api/formats/nesting.h"
#include "core/api/formats/pickle.h"
#include "core/api/formats/pickle_names.h"
#include "core/autograd/tensor_state.h"

namespace undertow::formats {

namespace {

#define UT_PICKLE_CHECK(condition, ...) UT_FORMAT_CHECK(condition, "corrupt pickle: ", __VA_ARGS__)

// What can be on the stack: a value, or something that is only an argument of a call.
struct Item;
struct Special {
  enum Kind : uint8_t { Global, Storage, Arguments } kind;
  std::string name;                  // Global: module.name
  core::Ref<core::Storage> storage;  // Storage
  optional<core::DType> dtype;       // Storage: none for bytes
  std::vector<Item> items;           // Arguments: a tuple that contains a special
};
struct Item {
  IValue value;
  std::shared_ptr<const Special> special;

  Item(IValue v = {}) : value(std::move(v)) {}
  explicit Item(Special s) : special(std::make_shared<Special>(std::move(s))) {}
  bool is(Special::Kind k) const { return special && special->kind == k; }
  const IValue& loadable() const {
    UT_FORMAT_CHECK(!special, "load: a function, class or storage ", special->name, " cannot be loaded as a value");
    return value;
  }
};

class Machine {
 public:
  Machine(const std::string& data, const LoadStorage& load) : data_(data), load_(load), budget_(data.size()) {}
  ~Machine() {
    // Containers may be nested deeply or contain themselves: empty them while all are alive, so that nothing recurses.
    if (done_) return;
    for (IValue& c : containers_) {
      if (c.isList()) c.toListRef().clear();
      if (c.isTuple()) const_cast<IValue::List&>(c.toTupleRef()).clear();
      if (c.isGenericDict()) c.toGenericDict().clear();
    }
  }

  IValue run() {
    while (true) {
      uint8_t code = byte();
      if (code == '.') break;
      operate(code);
    }
    UT_PICKLE_CHECK(stack_.size() == 1 && marks_.empty(), stack_.size(), " objects are left at its end; expected one");
    IValue result = pop().loadable();
    stack_.clear();
    memo_.clear();
    check_nesting(result, data_.size());
    done_ = true;
    return result;
  }

 private:
  // -- reading
  uint8_t byte() {
    UT_PICKLE_CHECK(at_ < data_.size(), "it has no end");
    return static_cast<uint8_t>(data_[at_++]);
  }
  template <class T>
  T number() {
    UT_PICKLE_CHECK(data_.size() - at_ >= sizeof(T), "it has no end");
    at_ += sizeof(T);
    return number_at<T>(data_, at_ - sizeof(T));
  }
  std::string text(uint64_t count) {
    UT_PICKLE_CHECK(count <= data_.size() - at_, "a string of ", count, " bytes, but ", data_.size() - at_,
                    " are left");
    at_ += count;
    return data_.substr(at_ - count, count);
  }
  std::string line() {
    size_t end = std::string_view(data_).substr(at_, 1024).find('\n');
    UT_PICKLE_CHECK(end != std::string::npos, "a name without an end");
    at_ += end + 1;
    return data_.substr(at_ - end - 1, end);
  }
  int64_t long_number(uint64_t count) {
    std::string bytes = text(count);
    UT_FORMAT_CHECK(bytes.size() <= 8, "load: an int of ", 8 * bytes.size(), " bits; at most 64 are supported");
    if (bytes.empty()) return 0;
    const bool negative = static_cast<unsigned char>(bytes.back()) & 0x80;  // a char has no sign on some processors
    bytes.resize(8, static_cast<char>(negative ? 0xff : 0));
    return number_at<int64_t>(bytes, 0);
  }

  // -- the stack
  void push(Item i) { stack_.push_back(std::move(i)); }
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  Item pop() {
    UT_PICKLE_CHECK(stack_.size() > floor(), "an operation without operands");
    Item out = std::move(stack_.back());
    stack_.pop_back();
    return out;
  }
  Item& top() {
    UT_PICKLE_CHECK(stack_.size() > floor(), "an operation without operands");
    return stack_.back();
  }
  std::vector<Item> pop_mark() {
    UT_PICKLE_CHECK(!marks_.empty(), "an end without a mark");
    size_t from = marks_.back();
    marks_.pop_back();
    std::vector<Item> out(std::make_move_iterator(stack_.begin() + static_cast<ptrdiff_t>(from)),
                          std::make_move_iterator(stack_.end()));
    stack_.resize(from);
    return out;
  }
  // Copies of elements are limited to as many as the pickle has bytes: a reference costs only two.
  void spend(size_t count) {
    UT_PICKLE_CHECK(count <= budget_, "it copies more elements than its size allows");
    budget_ -= count;
  }
  IValue kept(IValue container) {
    containers_.push_back(container);
    return container;
  }
  void push_tuple(std::vector<Item> items) {
    bool plain = std::all_of(items.begin(), items.end(), [](const Item& i) { return !i.special; });
    if (!plain) return push(Item(Special{Special::Arguments, {}, {}, {}, std::move(items)}));
    IValue::List list;
    for (Item& i : items) list.push_back(std::move(i.value));
    push(kept(IValue::tuple(std::move(list))));
  }
  void push_tuple(size_t count) {
    std::vector<Item> items(count);
    for (size_t i = count; i > 0; i--) items[i - 1] = pop();
    push_tuple(std::move(items));
  }
  void append(std::vector<Item> items) {
    const IValue& target = top().loadable();
    UT_PICKLE_CHECK(target.isList(), "an element for ", target.kind());
    for (Item& i : items) target.toListRef().push_back(i.loadable());
  }
  static void fill(const IValue& target, const std::vector<Item>& pairs) {
    UT_PICKLE_CHECK(target.isGenericDict(), "an item for ", target.kind());
    UT_PICKLE_CHECK(pairs.size() % 2 == 0, "a key without a value");
    for (size_t i = 0; i < pairs.size(); i += 2) {
      const IValue& key = pairs[i].loadable();
      UT_FORMAT_CHECK(key.isString() || key.isInt() || key.isBool() || key.isDouble(),
                      "load: a key of a dict must be a string or a number, got ", key.kind());
      target.toGenericDict().emplace_back(key, pairs[i + 1].loadable());
    }
  }

  // -- what a pickle may call
  static core::DType dtype_of(const Item& i) {
    const auto dtype = i.is(Special::Global) ? dtype_named(i.special->name) : std::nullopt;
    UT_PICKLE_CHECK(dtype, "a tensor without a dtype");
    return *dtype;
  }
  static core::Dims ints(const Item& i) {
    const IValue& v = i.loadable();
    UT_PICKLE_CHECK(v.isTuple() && v.toTupleRef().size() <= kMostDimensions, "the sizes of a tensor are ", v.kind(),
                    ", or too many");
    core::Dims out;
    for (const IValue& n : v.toTupleRef()) out.push_back(n.toInt());
    return out;
  }
  static const IValue& at(const std::vector<Item>& args, size_t i) {
    UT_PICKLE_CHECK(i < args.size(), "a call with too few arguments");
    return args[i].loadable();
  }
  static Tensor with_grad(Tensor t, bool on) {
    if (on) core::require_grad(t, true);
    return t;
  }
  // storage, offset, size, stride[, requires_grad, hooks[, dtype][, metadata]]
  Tensor rebuilt(const std::vector<Item>& args, int version) {
    size_t least = version == 1 ? 4 : version == 2 ? 6 : 7;
    UT_PICKLE_CHECK(args.size() >= least && args.size() <= least + (version > 1), "a tensor with ", args.size(),
                    " arguments");
    UT_PICKLE_CHECK(args[0].is(Special::Storage), "a tensor without a storage");
    const Special& s = *args[0].special;
    UT_PICKLE_CHECK(version == 3 || s.dtype, "a tensor over a storage without a dtype");
    core::DType dtype = version == 3 ? dtype_of(args[6]) : *s.dtype;
    if (version == 3 && dtype == core::DType::Bool) {
      spend(s.storage->nbytes());
      check_bools(*s.storage);
    }
    core::Dims sizes = ints(args[2]), strides = ints(args[3]);
    Tensor t = tensor_over(s.storage, dtype, at(args, 1).toInt(), sizes, strides);
    if (version > 1) {
      const IValue& hooks = at(args, 5);
      UT_FORMAT_CHECK(hooks.isNone() || (hooks.isGenericDict() && hooks.toGenericDict().empty()),
                      "load: a tensor with backward hooks, which are code");
      if (args.size() > least) t = with_bits(t, at(args, least));
      t = with_grad(t, at(args, 4).toBool());
    }
    return t;
  }
  static Tensor with_bits(Tensor t, const IValue& metadata) {
    if (metadata.isNone()) return t;
    for (const auto& [name, value] : metadata.toGenericDict()) {
      bool conj = name.toStringRef() == "conj";
      UT_FORMAT_CHECK((conj || name.toStringRef() == "neg") && value.isBool() && value.toBool(),
                      "load: a tensor with metadata '", name.toStringRef(), "'");
      t = conj ? core::ops::conj(t) : core::ops::_neg_view(t);
    }
    return core::ops::detach(t);
  }
  void reduce() {
    Item arguments = pop(), called = pop();
    UT_FORMAT_CHECK(called.is(Special::Global), "load: a call of ", called.value.kind(), ", which load does not call");
    std::vector<Item> args;
    if (arguments.is(Special::Arguments)) {
      spend(arguments.special->items.size());
      args = arguments.special->items;
    } else {
      const IValue& tuple = arguments.loadable();
      UT_PICKLE_CHECK(tuple.isTuple(), "a call without a tuple of arguments");
      spend(tuple.toTupleRef().size());
      for (const IValue& v : tuple.toTupleRef()) args.emplace_back(v);
    }
    const std::string& name = called.special->name;
    if (name == "torch._utils._rebuild_tensor") return push(IValue(rebuilt(args, 1)));
    if (name == "torch._utils._rebuild_tensor_v2") return push(IValue(rebuilt(args, 2)));
    if (name == "torch._utils._rebuild_tensor_v3") return push(IValue(rebuilt(args, 3)));
    if (name == "torch._utils._rebuild_parameter") {
      UT_PICKLE_CHECK(args.size() == 3, "a Parameter with ", args.size(), " arguments");
      return push(IValue(with_grad(core::ops::detach(at(args, 0).toTensor()), at(args, 1).toBool())));
    }
    if (name == "collections.OrderedDict") return ordered_dict(args);
    if (name == "torch.Size") {
      UT_PICKLE_CHECK(args.size() == 1, "torch.Size with ", args.size(), " arguments");
      const IValue& v = at(args, 0);
      IValue::List list = v.isList() ? v.toListRef() : v.toTupleRef();
      spend(list.size());
      for (const IValue& n : list) n.toInt();
      return push(kept(IValue::tuple(std::move(list))));
    }
    if (name == "builtins.complex")
      return push(IValue(std::complex<double>(at(args, 0).toDouble(), at(args, 1).toDouble())));
    fail("load: a call of ", name, ", which load does not call");
  }
  void ordered_dict(const std::vector<Item>& args) {
    UT_PICKLE_CHECK(args.size() <= 1, "an OrderedDict with ", args.size(), " arguments");
    IValue out = kept(IValue::dict({}));
    if (args.size() == 1) {
      const IValue& items = at(args, 0);
      for (const IValue& pair : items.isList() ? items.toListRef() : items.toTupleRef()) {
        const IValue::List& two = pair.isList() ? pair.toListRef() : pair.toTupleRef();
        UT_PICKLE_CHECK(two.size() == 2, "an OrderedDict whose items are not pairs");
        spend(2);
        fill(out, {Item(two[0]), Item(two[1])});
      }
    }
    push(std::move(out));
  }
  // The attributes of an OrderedDict (_metadata of a state dict), which C++ has no use for.
  void build() {
    Item state = pop();
    UT_FORMAT_CHECK(state.loadable().isGenericDict() && top().loadable().isGenericDict(), "load: a state for ",
                    top().loadable().kind(), "; only an OrderedDict can have one");
  }
  void persistent() {
    Item id = pop();
    UT_PICKLE_CHECK(id.is(Special::Arguments) && (id.special->items.size() == 5 || id.special->items.size() == 6),
                    "a reference to something that is not a storage");
    const std::vector<Item>& parts = id.special->items;
    UT_PICKLE_CHECK(parts[1].is(Special::Global) && at(parts, 0).isString() && at(parts, 0).toStringRef() == "storage",
                    "a reference to something that is not a storage");
    const std::string& type = parts[1].special->name;
    Special out{Special::Storage, {}, {}, dtype_of_storage(type), {}};
    UT_PICKLE_CHECK(out.dtype || type == "torch.storage.UntypedStorage", "a storage of the class ", type);
    std::string key = at(parts, 2).toStringRef();
    int64_t count = at(parts, 4).toInt(), itemsize = out.dtype ? core::itemsize(*out.dtype) : 1;
    UT_PICKLE_CHECK(count >= 0 && count <= INT64_MAX / itemsize, "a storage of ", count, " elements");
    uint64_t nbytes = static_cast<uint64_t>(count * itemsize);
    auto [it, fresh] = storages_.try_emplace(key);
    if (fresh) it->second = load_(key, nbytes);
    UT_PICKLE_CHECK(it->second && it->second->nbytes() == nbytes, "two sizes of the storage '", key, "'");
    if (out.dtype == core::DType::Bool && bools_.try_emplace(key, true).second) check_bools(*it->second);
    out.storage = it->second;
    push(Item(std::move(out)));
  }
  void remember(uint64_t index) {
    UT_PICKLE_CHECK(index <= data_.size(), "a reference with the number ", index);
    memo_[index] = top();
  }
  void recall(uint64_t index) {
    auto it = memo_.find(index);
    UT_PICKLE_CHECK(it != memo_.end(), "a reference to the object ", index, ", which it does not contain");
    push(it->second);
  }
  void push_global(const std::string& module, const std::string& name) {
    std::string home = module == "__builtin__" ? "builtins" : module;
    check_known_name(home, name);
    push(Item(Special{Special::Global, home + "." + name, {}, {}, {}}));
  }

  void operate(uint8_t code) {
    switch (code) {
      case 0x80: {
        uint8_t protocol = byte();
        UT_FORMAT_CHECK(protocol <= 5, "unsupported pickle protocol: ", protocol);
        return;
      }
      case 0x95:
        number<uint64_t>();  // the length of a frame: a hint for readers of streams
        return;
      case '(':
        UT_PICKLE_CHECK(marks_.size() < (1u << 18), "too many marks without an end");
        return marks_.push_back(stack_.size());
      case '0':
        if (stack_.size() > floor())
          stack_.pop_back();
        else
          pop_mark();
        return;
      case '1':
        pop_mark();
        return;
      case '2':
        return push(Item(top()));
      case 'N':
        return push(IValue());
      case 0x88:
        return push(IValue(true));
      case 0x89:
        return push(IValue(false));
      case 'J':
        return push(IValue(number<int32_t>()));
      case 'K':
        return push(IValue(static_cast<int64_t>(byte())));
      case 'M':
        return push(IValue(static_cast<int64_t>(number<uint16_t>())));
      case 0x8A:
        return push(IValue(long_number(byte())));
      case 'G': {
        UT_PICKLE_CHECK(data_.size() - at_ >= 8, "it has no end");
        uint64_t bits = 0;
        for (int i = 0; i < 8; i++) bits = bits << 8 | byte();
        return push(IValue(std::bit_cast<double>(bits)));
      }
      case 'X':
        return push(IValue(text(number<uint32_t>())));
      case 0x8C:
        return push(IValue(text(byte())));
      case 0x8D:
        return push(IValue(text(number<uint64_t>())));
      case 'U':
        return push(IValue(text(byte())));
      case ']':
        return push(kept(IValue(IValue::List())));
      case '}':
        return push(kept(IValue::dict({})));
      case ')':
        return push_tuple(std::vector<Item>());
      case 'a': {
        Item one = pop();
        std::vector<Item> items;
        items.push_back(std::move(one));
        return append(std::move(items));
      }
      case 'e':
        return append(pop_mark());
      case 't':
        return push_tuple(pop_mark());
      case 0x85:
      case 0x86:
      case 0x87:
        return push_tuple(static_cast<size_t>(code - 0x84));
      case 's': {
        Item value = pop(), key = pop();
        return fill(top().loadable(), {std::move(key), std::move(value)});
      }
      case 'u': {
        std::vector<Item> pairs = pop_mark();
        return fill(top().loadable(), pairs);
      }
      case 'h':
        return recall(byte());
      case 'j':
        return recall(number<uint32_t>());
      case 'q':
        return remember(byte());
      case 'r':
        return remember(number<uint32_t>());
      case 0x94:
        return remember(memo_.size());
      case 'c': {
        std::string module = line(), name = line();
        return push_global(module, name);
      }
      case 0x93: {
        std::string name = pop().loadable().toStringRef(), module = pop().loadable().toStringRef();
        return push_global(module, name);
      }
      case 'R':
        return reduce();
      case 'b':
        return build();
      case 'Q':
        return persistent();
      default:
        fail("Weights only load failed: Unsupported operand ", static_cast<int>(code), " at ", at_ - 1);
    }
  }

  const std::string& data_;
  const LoadStorage& load_;
  size_t at_ = 0, budget_;
  std::vector<Item> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, Item> memo_;
  std::map<std::string, core::Ref<core::Storage>> storages_;
  std::map<std::string, bool> bools_;  // storages whose bytes were checked
  std::vector<IValue> containers_;
  bool done_ = false;
};

}  // namespace

IValue read_pickle(const std::string& data, const LoadStorage& load_storage) {
  return Machine(data, load_storage).run();
}

}  // namespace undertow::formats
