// composites.h: functions made of operators, which in Python are written in Python: broadcast_tensors, meshgrid,
// einsum, unique_dim and others.
#pragma once
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <undertow/op_functions.h>

#include "core/base/error.h"
#include "core/tensor/dtype/promotion.h"

namespace undertow {

// The tensors expanded to one shape.
inline variable_list broadcast_tensors(TensorList tensors) {
  std::vector<int64_t> shape;
  for (const Tensor& t : tensors) {
    std::vector<int64_t> sizes = t.sizes().vec();
    if (sizes.size() > shape.size()) shape.insert(shape.begin(), sizes.size() - shape.size(), 1);
    for (size_t back = 1; back <= sizes.size(); back++) {
      int64_t &known = shape[shape.size() - back], size = sizes[sizes.size() - back];
      UT_CHECK(known == size || known == 1 || size == 1, "broadcast_tensors: sizes ", known, " and ", size,
               " of dimension -", back, " do not match");
      if (known == 1) known = size;
    }
  }
  variable_list out;
  for (const Tensor& t : tensors) out.push_back(t.expand(shape));
  return out;
}

// Tensor i of the result has the elements of tensor i along dimension i; with "xy", dimensions 0 and 1 are exchanged.
inline variable_list meshgrid(TensorList tensors, std::string_view indexing = "ij") {
  UT_CHECK(indexing == "ij" || indexing == "xy", "meshgrid: indexing must be \"ij\" or \"xy\": got \"", indexing, "\"");
  const size_t count = tensors.size();
  variable_list columns;
  for (size_t i = 0; i < count; i++) {
    std::vector<int64_t> sizes(count, 1);
    sizes[indexing == "xy" && i < 2 && count > 1 ? 1 - i : i] = -1;
    columns.push_back(tensors[i].reshape(sizes));
  }
  return broadcast_tensors(columns);
}

// One row for each way to take one element of each vector.
inline Tensor cartesian_prod(TensorList tensors) {
  for (const Tensor& t : tensors)
    UT_CHECK(t.dim() == 1, "Expect a 1D vector, but got shape ", core::ShapeText{t.sizes()});
  if (tensors.size() == 1) return tensors[0];
  variable_list columns = meshgrid(tensors);
  for (Tensor& t : columns) t = t.flatten();
  return stack(columns, 1);
}
inline Tensor block_diag(TensorList tensors) { return _block_diag(tensors); }

// Over one dimension; see Tensor::var.
template <detail::Dimension I>
Tensor var(const Tensor& self, I dim) {
  return self.var(dim);
}
template <detail::Dimension I>
Tensor std(const Tensor& self, I dim) {
  return self.std(dim);
}
template <detail::Dimension I>
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, I dim) {
  return var_mean(self, OptionalIntArrayRef(static_cast<int64_t>(dim)));
}
template <detail::Dimension I>
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, I dim) {
  return std_mean(self, OptionalIntArrayRef(static_cast<int64_t>(dim)));
}

// The dtype of a result of two operands, and whether a dtype can become another in place.
inline ScalarType promote_types(ScalarType a, ScalarType b) { return core::promote_types(a, b); }
inline ScalarType result_type(const Tensor& a, const Tensor& b) {
  return core::result_type(detail::checked(a), detail::checked(b));
}
inline ScalarType result_type(const Tensor& a, const Scalar& b) {
  core::Promoter types;
  types.add(detail::checked(a));
  types.add(b);
  return types.result();
}
inline ScalarType result_type(const Scalar& a, const Tensor& b) { return result_type(b, a); }
inline ScalarType result_type(const Scalar& a, const Scalar& b) {
  core::Promoter types;
  types.add(a);
  types.add(b);
  return types.result();
}
inline bool can_cast(ScalarType from, ScalarType to) { return core::can_cast(from, to); }
inline bool is_nonzero(const Tensor& self) { return self.is_nonzero(); }
inline bool is_same_size(const Tensor& self, const Tensor& other) { return self.is_same_size(other); }

inline Tensor alias(const Tensor& self) { return view_alias(self); }
inline Tensor& index_put_(Tensor& self, TensorList indices, const Tensor& values, bool accumulate = false) {
  core::ops::index_put_(self, detail::span_of(indices), values, accumulate);
  return self;
}
inline Tensor atleast_1d(const Tensor& self) { return self.dim() ? self : self.unsqueeze(0); }
inline Tensor atleast_2d(const Tensor& self) { return self.dim() > 1 ? self : atleast_1d(self).unsqueeze(0); }
inline Tensor atleast_3d(const Tensor& self) { return self.dim() > 2 ? self : atleast_2d(self).unsqueeze(-1); }

// The distinct slices along `dim`, for each slice its index among them, and how often each occurs.
inline std::tuple<Tensor, Tensor, Tensor> unique_dim(const Tensor& self, int64_t dim, bool sorted = true,
                                                     bool return_inverse = false, bool return_counts = false) {
  return _unique_dim(self, dim, sorted, return_inverse, return_counts);
}
// The same for runs of equal elements or slices, of which only neighbours are compared.
inline std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor& self, bool return_inverse = false,
                                                             bool return_counts = false,
                                                             optional<int64_t> dim = nullopt) {
  return _unique_consecutive(self, return_inverse, return_counts, dim);
}
inline std::tuple<Tensor, Tensor, Tensor> unique_dim_consecutive(const Tensor& self, int64_t dim,
                                                                 bool return_inverse = false,
                                                                 bool return_counts = false) {
  return _unique_consecutive(self, return_inverse, return_counts, dim);
}

namespace detail {

// The sum over the dimensions `summed` of the product of two tensors with the same number of dimensions, whose sizes
// are equal or 1. Summed dimensions stay, with size 1. One batched matrix product.
inline Tensor contract(Tensor a, Tensor b, const std::vector<bool>& summed) {
  std::vector<int64_t> both, left, right, sums;  // dimensions of the batch, of the rows, of the columns, of the sum
  for (int64_t d = 0; d < a.dim(); d++) {
    const bool in_a = a.size(d) != 1, in_b = b.size(d) != 1;
    if (!summed[static_cast<size_t>(d)]) {
      (in_a && in_b ? both : in_b ? right : left).push_back(d);
      continue;
    }
    if (in_a && !in_b) a = a.sum({d}, /*keepdim=*/true);
    if (in_b && !in_a) b = b.sum({d}, /*keepdim=*/true);
    sums.push_back(d);
  }
  auto joined = [](std::initializer_list<const std::vector<int64_t>*> parts) {
    std::vector<int64_t> all;
    for (const auto* part : parts) all.insert(all.end(), part->begin(), part->end());
    return all;
  };
  auto count = [](const Tensor& t, const std::vector<int64_t>& dims) {
    int64_t n = 1;
    for (int64_t d : dims) n *= t.size(d);
    return n;
  };
  Tensor rows =
      a.permute(joined({&both, &left, &sums, &right})).reshape({count(a, both), count(a, left), count(a, sums)});
  Tensor columns =
      b.permute(joined({&both, &sums, &right, &left})).reshape({count(b, both), count(b, sums), count(b, right)});
  const std::vector<int64_t> order = joined({&both, &left, &right, &sums});
  std::vector<int64_t> sizes, place(order.size());
  for (size_t i = 0; i < order.size(); i++) {
    const int64_t d = order[i];
    place[static_cast<size_t>(d)] = static_cast<int64_t>(i);
    sizes.push_back(summed[static_cast<size_t>(d)] ? 1 : std::max(a.size(d), b.size(d)));
    if (a.size(d) == 0 || b.size(d) == 0) sizes.back() = summed[static_cast<size_t>(d)] ? 1 : 0;
  }
  return bmm(rows, columns).reshape(sizes).permute(place);
}

}  // namespace detail

// Sums of products by labels, as in Python: einsum("bij,bjk->bik", {a, b}). Operands are multiplied from left to right.
inline Tensor einsum(std::string_view equation, TensorList operands) {
  constexpr int kMost = 64, kLetters = 52;  // labels after the letters are the dimensions of "...", the last one first
  std::string text;
  for (char c : equation)
    if (c != ' ') text += c;
  const size_t arrow = text.find("->");
  std::vector<std::string> terms(1);
  for (char c : text.substr(0, arrow)) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  UT_CHECK(terms.size() == operands.size() && !operands.empty(), "einsum(): \"", text, "\" is for ", terms.size(),
           " operands, and ", operands.size(), " were given");
  // The labels of a term. "..." stands for as many dimensions as the others leave over.
  auto labels_of = [&](const std::string& term, int64_t ellipsis) {
    std::vector<int> labels;
    for (size_t i = 0; i < term.size(); i++) {
      const char c = term[i];
      if (term.compare(i, 3, "...") == 0) {
        UT_CHECK(ellipsis >= 0 && ellipsis <= kMost - kLetters, "einsum(): \"...\" in \"", term,
                 "\" has no dimension left");
        for (int64_t k = ellipsis; k-- > 0;) labels.push_back(kLetters + static_cast<int>(k));
        i += 2;
        continue;
      }
      UT_CHECK((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), "einsum(): invalid label '", c, "' in \"", text,
               "\"; labels are letters");
      labels.push_back(c <= 'Z' ? c - 'A' : c - 'a' + 26);
    }
    return labels;
  };
  std::vector<std::vector<int>> labels;
  std::array<int, kMost> uses{}, last{};
  std::array<int64_t, kMost> size{};
  size.fill(1);
  int64_t widest = 0;
  for (size_t i = 0; i < terms.size(); i++) {
    const size_t dots = terms[i].find("...");
    const int64_t written = static_cast<int64_t>(terms[i].size()) - (dots == std::string::npos ? 0 : 3);
    const int64_t ellipsis = dots == std::string::npos ? 0 : operands[i].dim() - written;
    widest = std::max(widest, ellipsis);
    labels.push_back(labels_of(terms[i], ellipsis));
    UT_CHECK(static_cast<int64_t>(labels[i].size()) == operands[i].dim(), "einsum(): operand ", i, " has ",
             operands[i].dim(), " dimensions, and its labels \"", terms[i], "\" are for ", labels[i].size());
    for (size_t d = 0; d < labels[i].size(); d++) {
      const auto l = static_cast<size_t>(labels[i][d]);
      const int64_t n = operands[i].size(static_cast<int64_t>(d));
      UT_CHECK(size[l] == n || size[l] == 1 || n == 1, "einsum(): operand ", i, " has size ", n, " where another has ",
               size[l], ", for the same label in \"", text, "\"");
      if (size[l] == 1) size[l] = n;
      uses[l]++;
      last[l] = static_cast<int>(i);
    }
  }
  std::vector<int> order;  // the labels of the result, then those that are summed
  if (arrow != std::string::npos) {
    order = labels_of(text.substr(arrow + 2), widest);
  } else {
    for (int64_t k = widest; k-- > 0;) order.push_back(kLetters + static_cast<int>(k));
    for (int l = 0; l < kLetters; l++)
      if (uses[static_cast<size_t>(l)] == 1) order.push_back(l);
  }
  const auto kept = static_cast<int64_t>(order.size());
  for (size_t i = 0; i < order.size(); i++) {
    UT_CHECK(uses[static_cast<size_t>(order[i])] > 0 || order[i] >= kLetters, "einsum(): the result \"",
             text.substr(arrow + 2), "\" has a label that no operand has");
    UT_CHECK(std::find(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i), order[i]) ==
                 order.begin() + static_cast<std::ptrdiff_t>(i),
             "einsum(): a label appears twice in the result of \"", text, "\"");
  }
  for (int l = 0; l < kMost; l++)
    if (uses[static_cast<size_t>(l)] && std::find(order.begin(), order.end(), l) == order.end()) order.push_back(l);

  // Each operand with its dimensions in that order: diagonals for repeated labels, size 1 for labels that it has not.
  auto arranged = [&](size_t i) {
    Tensor t = operands[i];
    std::vector<int> own = labels[i];
    for (size_t d = 0; d < own.size(); d++)
      for (size_t other = own.size(); other-- > d + 1;)
        if (own[other] == own[d]) {
          t = t.diagonal(0, static_cast<int64_t>(d), static_cast<int64_t>(other)).movedim(-1, static_cast<int64_t>(d));
          own.erase(own.begin() + static_cast<std::ptrdiff_t>(other));
        }
    std::vector<int64_t> places;
    for (int l : order) {
      auto found = std::find(own.begin(), own.end(), l);
      if (found == own.end()) {
        own.push_back(l);
        t = t.unsqueeze(-1);
        found = own.end() - 1;
      }
      places.push_back(found - own.begin());
    }
    return t.permute(places);
  };
  Tensor result = arranged(0);
  for (size_t i = 1; i < operands.size(); i++) {
    std::vector<bool> summed;
    for (size_t d = 0; d < order.size(); d++)
      summed.push_back(static_cast<int64_t>(d) >= kept && last[static_cast<size_t>(order[d])] <= static_cast<int>(i));
    result = detail::contract(result, arranged(i), summed);
  }
  while (result.dim() > kept) result = result.sum({result.dim() - 1});
  return result;
}

}  // namespace undertow
