// indexing.h: what can be between the brackets of an index: t.index({Slice(0, 2), None, Ellipsis, 1, mask}).
#pragma once
#include <limits>

#include <undertow/tensor.h>

namespace undertow::indexing {

// The bounds of a slice that is open.
inline constexpr int64_t INDEX_MIN = std::numeric_limits<int64_t>::min(), INDEX_MAX = -(INDEX_MIN + 1);

// A new dimension of size 1.
inline constexpr std::nullopt_t None = std::nullopt;
// All dimensions that no other item names.
struct EllipsisIndexType {};
inline constexpr EllipsisIndexType Ellipsis{};

// start:stop:step of Python; a missing bound is the end of the dimension.
class Slice {
 public:
  Slice(optional<int64_t> start = nullopt, optional<int64_t> stop = nullopt, optional<int64_t> step = nullopt);
  int64_t start() const { return start_; }
  int64_t stop() const { return stop_; }
  int64_t step() const { return step_; }

 private:
  int64_t start_, stop_, step_;
};

class TensorIndex {
 public:
  enum class Kind : uint8_t { None, Ellipsis, Integer, Boolean, Slice, Tensor };

  TensorIndex(std::nullopt_t) : kind_(Kind::None) {}
  TensorIndex(EllipsisIndexType) : kind_(Kind::Ellipsis) {}
  TensorIndex(const char* text);  // "..."
  template <class T>
    requires std::is_integral_v<T>
  TensorIndex(T value)
      : kind_(std::is_same_v<T, bool> ? Kind::Boolean : Kind::Integer), integer_(static_cast<int64_t>(value)) {}
  TensorIndex(const indexing::Slice& slice) : kind_(Kind::Slice), slice_(slice) {}
  TensorIndex(const undertow::Tensor& t) : kind_(Kind::Tensor), tensor_(t) {}

  Kind kind() const { return kind_; }
  bool is_none() const { return kind_ == Kind::None; }
  bool is_ellipsis() const { return kind_ == Kind::Ellipsis; }
  bool is_integer() const { return kind_ == Kind::Integer; }
  bool is_boolean() const { return kind_ == Kind::Boolean; }
  bool is_slice() const { return kind_ == Kind::Slice; }
  bool is_tensor() const { return kind_ == Kind::Tensor; }
  int64_t integer() const { return integer_; }
  bool boolean() const { return integer_ != 0; }
  const indexing::Slice& slice() const { return slice_; }
  const undertow::Tensor& tensor() const { return tensor_; }

 private:
  Kind kind_;
  int64_t integer_ = 0;
  indexing::Slice slice_;
  undertow::Tensor tensor_;
};
std::ostream& operator<<(std::ostream& out, const Slice& slice);

}  // namespace undertow::indexing
