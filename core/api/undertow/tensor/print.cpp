// print.cpp: the printed form of a tensor. The rules are those of undertow/_tensor_str.py, and a test compares both.
// build: small
#include <undertow/tensor/print.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "core/autograd/tangents.h"
#include "core/graph/autograd_meta.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/dtype/storage_dtypes.h"

namespace undertow {

namespace {

PrintOptions process_options;

std::string right_aligned(std::string text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

// Floats, all as 3. or as 3.1400 or as 3.1400e+00, depending on the values.
class FloatFormat {
 public:
  FloatFormat(const std::vector<double>& values, const PrintOptions& o) : precision_(o.precision) {
    // Zeros, infinities and nans affect neither the notation nor the width.
    std::vector<double> shown;
    for (double v : values)
      if (v != 0 && std::isfinite(v)) shown.push_back(v);
    if (shown.empty()) return;
    double low = std::fabs(shown[0]), high = low;
    for (double v : shown) {
      low = std::min(low, std::fabs(v));
      high = std::max(high, std::fabs(v));
      integral_ = integral_ && v == std::ceil(v);
    }
    scientific_ = o.sci_mode.value_or(high / low > 1000.0 || high > 1.0e8 || (!integral_ && low < 1.0e-4));
    for (double v : shown) width = std::max(width, text(v).size());
  }
  std::string format(double v) const { return right_aligned(text(v), width); }
  size_t width = 1;

 private:
  std::string text(double v) const {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    char buffer[512];
    int digits = scientific_ || !integral_ ? precision_ : 0;
    std::snprintf(buffer, sizeof buffer, scientific_ ? "%.*e" : "%.*f", std::min(digits, 100), v);
    return scientific_ || !integral_ ? buffer : std::string(buffer) + ".";
  }
  int precision_;
  bool integral_ = true, scientific_ = false;
};

// The texts of all shown elements, in order, and the width that a line counts for each.
struct Elements {
  std::vector<std::string> texts;
  size_t width = 1;
};

Elements formatted(const std::vector<core::Scalar>& values, core::DType dtype, const PrintOptions& o) {
  Elements out;
  if (core::is_complex(dtype)) {
    std::vector<double> real, imag;
    for (const core::Scalar& s : values) {
      real.push_back(s.to_complex().real());
      imag.push_back(s.to_complex().imag());
    }
    FloatFormat re(real, o), im(imag, o);
    out.width = re.width + im.width + 1;  // one for the j
    for (size_t i = 0; i < values.size(); i++) {
      std::string part = im.format(imag[i]);
      part.erase(0, part.find_first_not_of(' '));
      out.texts.push_back(re.format(real[i]) + (part[0] == '-' || part[0] == '+' ? "" : "+") + part + "j");
    }
  } else if (core::is_floating(dtype)) {
    std::vector<double> numbers;
    for (const core::Scalar& s : values) numbers.push_back(s.to_double());
    FloatFormat f(numbers, o);
    out.width = f.width;
    for (double v : numbers) out.texts.push_back(f.format(v));
  } else {
    for (const core::Scalar& s : values) {
      if (dtype == core::DType::Bool)
        out.texts.push_back(s.to<bool>() ? "True" : "False");
      else
        out.texts.push_back(dtype == core::DType::UInt64 ? std::to_string(s.to<uint64_t>())
                                                         : std::to_string(s.to_int()));
      out.width = std::max(out.width, out.texts.back().size());
    }
    for (std::string& text : out.texts) text = right_aligned(text, out.width);
  }
  return out;
}

// The elements in brackets, without name and suffixes.
class Contents {
 public:
  Contents(const core::Tensor& t, const PrintOptions& o) : options_(o), sizes_(t.sizes()) {
    shortened_ = t.numel() > o.threshold;
    std::vector<core::Scalar> values;
    read(t, t.data(), 0, values);
    elements_ = formatted(values, t.dtype(), o);
  }
  std::string text(size_t indent) { return block(0, indent); }

 private:
  bool is_elided(size_t d) const { return shortened_ && sizes_[d] > 2 * options_.edgeitems; }
  // Calls f(index) for each index of dimension d that is shown.
  template <class F>
  void each(size_t d, F f) const {
    for (int64_t i = 0; i < sizes_[d]; i++) {
      if (is_elided(d) && i == options_.edgeitems) i = sizes_[d] - options_.edgeitems;
      f(i);
    }
  }
  void read(const core::Tensor& t, const char* at, size_t d, std::vector<core::Scalar>& out) const {
    if (d == sizes_.size()) return out.push_back(core::read_element(t.dtype(), at));
    each(d, [&](int64_t i) { read(t, at + i * t.strides()[d] * t.itemsize(), d + 1, out); });
  }
  std::string block(size_t d, size_t indent) {
    if (d == sizes_.size()) return elements_.texts[next_++];
    std::vector<std::string> parts;
    each(d, [&](int64_t) {
      parts.push_back(d + 1 == sizes_.size() ? elements_.texts[next_++] : block(d + 1, indent + 1));
    });
    bool last = d + 1 == sizes_.size();
    if (is_elided(d)) parts.insert(parts.begin() + options_.edgeitems, last ? " ..." : "...");
    size_t per_line = std::max<size_t>(
        1, (static_cast<size_t>(std::max<int64_t>(options_.linewidth - static_cast<int64_t>(indent), 0))) /
               (elements_.width + 2));
    std::string out = "[";
    for (size_t i = 0; i < parts.size(); i++) {
      if (i && last && i % per_line)
        out += ", ";
      else if (i)
        out += "," + std::string(last ? 1 : sizes_.size() - d - 1, '\n') + std::string(indent + 1, ' ');
      out += parts[i];
    }
    return out + "]";
  }
  const PrintOptions& options_;
  core::Dims sizes_;
  bool shortened_ = false;
  Elements elements_;
  size_t next_ = 0;  // the element that is printed next
};

std::string contents(const core::Tensor& t, const PrintOptions& o, size_t indent) {
  if (t.is_meta()) return "...";
  if (t.numel() == 0) return "[]";
  if (t.numel() > o.threshold && t.dim() > 0 && o.edgeitems == 0) return "[...]";
  core::NoGradGuard no_grad;
  core::Tensor plain = core::ops::resolve_neg(core::ops::resolve_conj(core::ops::detach(t)));
  return Contents(plain, o).text(indent);
}

// True if the printed elements do not imply the dtype.
bool names_its_dtype(const core::Tensor& t) {
  core::DType usual = core::default_dtype(), dtype = t.dtype();
  if (dtype == usual) return false;
  if (t.numel() == 0 || t.is_meta()) return true;
  if (core::is_complex(dtype))
    return dtype != (usual == core::DType::Float64 ? core::DType::Complex128 : core::DType::Complex64);
  return dtype != core::DType::Int64 && dtype != core::DType::Bool;
}

std::string history(const core::Tensor& t) {
  try {
    if (core::Node* fn = core::grad_fn(t)) return "grad_fn=<" + fn->name() + ">";
  } catch (const Error&) {
    return "grad_fn=<Invalid>";  // a view whose base was changed in a way that has no derivative
  }
  return t.requires_grad() ? "requires_grad=True" : "";
}

std::string size_text(core::IntSpan sizes) {
  std::string out = "(";
  for (size_t i = 0; i < sizes.size(); i++) out += (i ? ", " : "") + std::to_string(sizes[i]);
  return out + (sizes.size() == 1 ? ",)" : ")");
}

std::vector<std::string> suffixes(const core::Tensor& t, const PrintOptions& o) {
  std::vector<std::string> out;
  if (!t.is_cpu()) out.push_back(core::str("device='", t.device(), "'"));
  if (t.is_meta() || (t.numel() == 0 ? t.dim() != 1 : o.edgeitems == 0)) out.push_back("size=" + size_text(t.sizes()));
  if (names_its_dtype(t)) out.push_back(core::str("dtype=undertow.", core::name(t.dtype())));
  if (std::string h = history(t); !h.empty()) out.push_back(std::move(h));
  if (Tensor tangent = std::get<1>(core::ops::unpack_dual(t)); tangent.defined())
    out.push_back("tangent=" + repr(tangent, o));
  return out;
}

}  // namespace

void set_printoptions(const PrintOptions& options) { process_options = options; }
const PrintOptions& get_printoptions() { return process_options; }

std::string repr(const Tensor& t, const PrintOptions& o) {
  if (!t.defined()) return "[ Tensor (undefined) ]";
  if (t.is_sparse())
    return core::str("tensor(..., size=", size_text(t.sizes()), ", dtype=undertow.", core::name(core::DType(t.dtype())),
                     ", layout=undertow.", core::name(t.layout()), ")");
  const size_t indent = 7;
  std::string text = "tensor(" + contents(t, o, indent);
  size_t line_end = text.rfind('\n');
  size_t last_line = text.size() - (line_end == std::string::npos ? static_cast<size_t>(-1) : line_end) + 1;
  for (const std::string& suffix : suffixes(t, o)) {
    if (last_line + suffix.size() + 2 > static_cast<size_t>(o.linewidth)) {
      text += ",\n" + std::string(indent, ' ') + suffix;
      last_line = indent + suffix.size();
    } else {
      text += ", " + suffix;
      last_line += suffix.size() + 2;
    }
  }
  return text + ")";
}
std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << repr(t); }

}  // namespace undertow
