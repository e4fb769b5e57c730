// safetensors.cpp: see safetensors.h. undertow/serialization/_safetensors.py reads and writes the same format.
// build: small
#include "core/api/formats/safetensors.h"

#include <algorithm>
#include <set>

#include "core/api/formats/loaded_tensor.h"

namespace undertow::formats {

namespace {

constexpr uint64_t kLargestHeader = 100'000'000;  // the format's own limit
struct DTypeName {
  const char* name;
  core::DType dtype;
};
constexpr DTypeName kNames[] = {{"BOOL", core::DType::Bool},
                                {"U8", core::DType::UInt8},
                                {"U16", core::DType::UInt16},
                                {"U32", core::DType::UInt32},
                                {"U64", core::DType::UInt64},
                                {"I8", core::DType::Int8},
                                {"I16", core::DType::Int16},
                                {"I32", core::DType::Int32},
                                {"I64", core::DType::Int64},
                                {"F8_E4M3", core::DType::Float8_e4m3fn},
                                {"F8_E5M2", core::DType::Float8_e5m2},
                                {"F8_E4M3FNUZ", core::DType::Float8_e4m3fnuz},
                                {"F8_E5M2FNUZ", core::DType::Float8_e5m2fnuz},
                                {"F8_E8M0", core::DType::Float8_e8m0fnu},
                                {"F16", core::DType::Float16},
                                {"BF16", core::DType::BFloat16},
                                {"F32", core::DType::Float32},
                                {"F64", core::DType::Float64},
                                {"C64", core::DType::Complex64}};

#define UT_HEADER_CHECK(condition, ...) UT_FORMAT_CHECK(condition, "load: not a valid safetensors file: ", __VA_ARGS__)

struct Entry {
  std::string name;
  optional<core::DType> dtype;
  core::Dims sizes;
  int64_t begin = -1, end = -1;
};

// The JSON that a header consists of: an object of objects of strings and lists of ints.
class Json {
 public:
  explicit Json(const std::string& text) : text_(text) {}
  bool take(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }
  void expect(char c) { UT_HEADER_CHECK(take(c), "its header is not valid JSON: '", c, "' expected at byte ", at_); }
  void end() {
    space();
    UT_HEADER_CHECK(at_ == text_.size(), "its header is not valid JSON: text after its end");
  }
  // Calls f(key) for each key; f reads the value.
  template <class F>
  void object(F f) {
    expect('{');
    std::set<std::string> keys;
    if (take('}')) return;
    do {
      std::string key = string();
      UT_HEADER_CHECK(keys.insert(key).second, "the name '", key, "' occurs twice");
      expect(':');
      f(key);
    } while (take(','));
    expect('}');
  }
  std::vector<int64_t> ints() {
    std::vector<int64_t> out;
    expect('[');
    if (take(']')) return out;
    do {
      out.push_back(integer());
    } while (take(','));
    expect(']');
    return out;
  }
  std::string string() {
    expect('"');
    std::string out;
    while (true) {
      unsigned char c = next();
      if (c == '"') return out;
      UT_HEADER_CHECK(c >= 0x20, "its header is not valid JSON: a control character in a string");
      if (c == '\\')
        escape(out);
      else
        out += static_cast<char>(c);
    }
  }

 private:
  void space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) at_++;
  }
  unsigned char next() {
    UT_HEADER_CHECK(at_ < text_.size(), "its header is not valid JSON: it has no end");
    return static_cast<unsigned char>(text_[at_++]);
  }
  int64_t integer() {
    space();
    UT_HEADER_CHECK(at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9',
                    "its header is not valid JSON: a "
                    "non-negative int expected at byte ",
                    at_);
    int64_t out = 0;
    bool zero = text_[at_] == '0';
    size_t digits = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; at_++, digits++) {
      bool overflow = __builtin_mul_overflow(out, int64_t{10}, &out) ||
                      __builtin_add_overflow(out, int64_t{text_[at_] - '0'}, &out);
      UT_HEADER_CHECK(!overflow, "a number at byte ", at_, " is larger than any memory");
    }
    UT_HEADER_CHECK(!zero || digits == 1, "its header is not valid JSON: a number that starts with 0");
    return out;
  }
  uint32_t code_unit() {
    uint32_t out = 0;
    for (int i = 0; i < 4; i++) {
      unsigned char c = next();
      int digit = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
      UT_HEADER_CHECK(digit >= 0, "its header is not valid JSON: a bad escape in a string");
      out = out << 4 | static_cast<uint32_t>(digit);
    }
    return out;
  }
  void escape(std::string& out) {
    unsigned char c = next();
    static const std::string_view plain = "\"\\/", letters = "bfnrt", values = "\b\f\n\r\t";
    if (plain.find(static_cast<char>(c)) != std::string_view::npos) {
      out += static_cast<char>(c);
    } else if (size_t i = letters.find(static_cast<char>(c)); i != std::string_view::npos) {
      out += values[i];
    } else {
      UT_HEADER_CHECK(c == 'u', "its header is not valid JSON: a bad escape in a string");
      uint32_t code = code_unit();
      if (code >= 0xD800 && code < 0xDC00) {
        UT_HEADER_CHECK(next() == '\\' && next() == 'u', "its header is not valid JSON: half a surrogate pair");
        uint32_t low = code_unit();
        UT_HEADER_CHECK(low >= 0xDC00 && low < 0xE000, "its header is not valid JSON: half a surrogate pair");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      }
      append_utf8(out, code);
    }
  }
  static void append_utf8(std::string& out, uint32_t c) {
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += static_cast<char>(0xC0 | c >> 6);
      out += static_cast<char>(0x80 | (c & 63));
    } else if (c < 0x10000) {
      out += static_cast<char>(0xE0 | c >> 12);
      out += static_cast<char>(0x80 | (c >> 6 & 63));
      out += static_cast<char>(0x80 | (c & 63));
    } else {
      out += static_cast<char>(0xF0 | c >> 18);
      out += static_cast<char>(0x80 | (c >> 12 & 63));
      out += static_cast<char>(0x80 | (c >> 6 & 63));
      out += static_cast<char>(0x80 | (c & 63));
    }
  }
  const std::string& text_;
  size_t at_ = 0;
};

Entry read_entry(Json& json, const std::string& name) {
  Entry e{name, {}, {}};
  bool has_shape = false;
  json.object([&](const std::string& key) {
    if (key == "dtype") {
      std::string text = json.string();
      for (const DTypeName& n : kNames)
        if (text == n.name) e.dtype = n.dtype;
      UT_HEADER_CHECK(e.dtype, "'", name, "' has the unknown dtype '", text, "'");
    } else if (key == "shape") {
      std::vector<int64_t> sizes = json.ints();
      UT_HEADER_CHECK(sizes.size() <= kMostDimensions, "'", name, "' has ", sizes.size(), " dimensions");
      e.sizes = core::Dims(sizes);
      has_shape = true;
    } else {
      UT_HEADER_CHECK(key == "data_offsets", "the entry of '", name,
                      "' must have dtype, shape and data_offsets, and nothing else");
      std::vector<int64_t> two = json.ints();
      UT_HEADER_CHECK(two.size() == 2, "'", name, "' has ", two.size(), " positions");
      e.begin = two[0];
      e.end = two[1];
    }
  });
  UT_HEADER_CHECK(e.dtype && has_shape && e.begin >= 0, "the entry of '", name,
                  "' must have dtype, shape and data_offsets");
  int64_t bytes = core::itemsize(*e.dtype);
  bool empty = std::find(e.sizes.begin(), e.sizes.end(), 0) != e.sizes.end();
  for (int64_t n : e.sizes)
    UT_HEADER_CHECK(empty || !__builtin_mul_overflow(bytes, n, &bytes), "'", name, "' is larger than any memory");
  UT_HEADER_CHECK(e.end - e.begin == (empty ? 0 : bytes), "'", name, "' of shape ", core::ShapeText{e.sizes}, " takes ",
                  empty ? 0 : bytes, " bytes, but its positions span ", e.end - e.begin);
  return e;
}

void append_json(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace

NamedTensors read_safetensors(Source& source, std::map<std::string, std::string>* metadata) {
  uint64_t length = number_at<uint64_t>(source.text(0, 8, "the header's length"), 0);
  UT_HEADER_CHECK(length <= kLargestHeader, "its header length is ", length, " bytes, more than the ", kLargestHeader,
                  " allowed");
  std::string header = source.text(8, length, "the header");
  std::vector<Entry> entries;
  Json json(header);
  json.object([&](const std::string& name) {
    if (name != "__metadata__") return entries.push_back(read_entry(json, name));
    json.object([&](const std::string& key) {
      std::string value = json.string();
      if (metadata) (*metadata)[key] = std::move(value);
    });
  });
  json.end();
  std::vector<const Entry*> order;
  for (const Entry& e : entries) order.push_back(&e);
  std::sort(order.begin(), order.end(),
            [](const Entry* a, const Entry* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
  int64_t previous_end = 0;
  for (const Entry* e : order) {
    UT_HEADER_CHECK(e->begin == previous_end, "'", e->name, "' begins at ", e->begin, ", but ", previous_end,
                    " was expected: tensors overlap or leave a gap");
    previous_end = e->end;
  }
  uint64_t data = 8 + length;
  UT_HEADER_CHECK(static_cast<uint64_t>(previous_end) == source.size() - data, "its tensors take ", previous_end,
                  " bytes, but ", source.size() - data, " follow the header: it is truncated or has extra data");
  NamedTensors out;
  for (const Entry& e : entries) {
    auto storage = source.storage(data + static_cast<uint64_t>(e.begin), static_cast<uint64_t>(e.end - e.begin),
                                  "the tensor '" + e.name + "'");
    if (*e.dtype == core::DType::Bool) check_bools(*storage);
    out.emplace_back(e.name, tensor_over(storage, *e.dtype, 0, e.sizes, core::contiguous_strides(e.sizes)));
  }
  return out;
}

void write_safetensors(Target& target, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata) {
  core::NoGradGuard no_grad;
  std::vector<core::Tensor> whole;
  std::set<std::string> names;
  for (const auto& [name, t] : tensors) {
    UT_FORMAT_CHECK(name != "__metadata__" && names.insert(name).second, "save: the name '", name,
                    "' is reserved or occurs twice");
    UT_FORMAT_CHECK(t.defined() && !t.is_sparse() && t.core::Tensor::is_cpu(), "save: '", name,
                    "' is not a strided tensor on the CPU");
    whole.push_back(core::ops::contiguous(core::ops::resolve_neg(core::ops::resolve_conj(core::ops::detach(t)))));
  }
  // The widest first, so that every tensor is aligned to the size of its elements.
  std::vector<size_t> order(whole.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return whole[a].itemsize() > whole[b].itemsize(); });
  std::vector<int64_t> begin(whole.size());
  int64_t at = 0;
  for (size_t i : order) {
    begin[i] = at;
    at += whole[i].nbytes();
  }
  std::string header = "{\"__metadata__\":{";
  bool first = true;
  for (const auto& [key, value] : metadata) {
    header += first ? "" : ",";
    first = false;
    append_json(header, key);
    header += ':';
    append_json(header, value);
  }
  header += '}';
  for (size_t i = 0; i < whole.size(); i++) {
    const char* dtype = nullptr;
    for (const DTypeName& n : kNames)
      if (n.dtype == whole[i].dtype()) dtype = n.name;
    UT_FORMAT_CHECK(dtype, "save: safetensors has no dtype ", whole[i].dtype(), ", which '", tensors[i].first, "' has");
    header += ',';
    append_json(header, tensors[i].first);
    header += core::str(":{\"dtype\":\"", dtype, "\",\"shape\":[");
    for (size_t d = 0; d < whole[i].sizes().size(); d++) header += core::str(d ? "," : "", whole[i].sizes()[d]);
    header += core::str("],\"data_offsets\":[", begin[i], ",", begin[i] + whole[i].nbytes(), "]}");
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  UT_FORMAT_CHECK(header.size() <= kLargestHeader, "save: the header would have ", header.size(), " bytes");
  std::string length;
  put(length, static_cast<uint64_t>(header.size()));
  target.write(length + header);
  for (size_t i : order) target.write(whole[i].data(), static_cast<size_t>(whole[i].nbytes()));
}

}  // namespace undertow::formats
