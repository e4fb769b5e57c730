// print.h: a tensor as text, the same as Python's repr: std::cout << t.
#pragma once
#include <iosfwd>
#include <limits>
#include <string>

#include <undertow/tensor.h>

namespace undertow {

// The options of Python's set_printoptions, with its defaults.
struct PrintOptions {
  int precision = 4;         // digits after the decimal point
  int64_t threshold = 1000;  // larger tensors are shortened to edgeitems at each end of each dimension
  int64_t edgeitems = 3;
  int64_t linewidth = 80;
  optional<bool> sci_mode;  // scientific notation; chosen by the values if missing
};
// The options of operator<<. Not synchronized: set them before other threads print.
void set_printoptions(const PrintOptions& options);
const PrintOptions& get_printoptions();

std::string repr(const Tensor& t, const PrintOptions& options = get_printoptions());
std::ostream& operator<<(std::ostream& out, const Tensor& t);

}  // namespace undertow
