// enum.h: options that are words, such as kMean or kReflect. Each is its own type, so that an option accepts only the
// words it knows.
#pragma once
#include <string>
#include <variant>

namespace undertow {

#define UNDERTOW_WORD(name)                    \
  namespace enumtype {                         \
  struct name {                                \
    static constexpr const char* word = #name; \
  };                                           \
  }                                            \
  inline constexpr enumtype::name name {}
UNDERTOW_WORD(kLinear);
UNDERTOW_WORD(kConv1D);
UNDERTOW_WORD(kConv2D);
UNDERTOW_WORD(kConv3D);
UNDERTOW_WORD(kConvTranspose1D);
UNDERTOW_WORD(kConvTranspose2D);
UNDERTOW_WORD(kConvTranspose3D);
UNDERTOW_WORD(kSigmoid);
UNDERTOW_WORD(kTanh);
UNDERTOW_WORD(kReLU);
UNDERTOW_WORD(kGELU);
UNDERTOW_WORD(kSiLU);
UNDERTOW_WORD(kMish);
UNDERTOW_WORD(kLeakyReLU);
UNDERTOW_WORD(kFanIn);
UNDERTOW_WORD(kFanOut);
UNDERTOW_WORD(kConstant);
UNDERTOW_WORD(kReflect);
UNDERTOW_WORD(kReplicate);
UNDERTOW_WORD(kCircular);
UNDERTOW_WORD(kZeros);
UNDERTOW_WORD(kNearest);
UNDERTOW_WORD(kBilinear);
UNDERTOW_WORD(kBicubic);
UNDERTOW_WORD(kTrilinear);
UNDERTOW_WORD(kArea);
UNDERTOW_WORD(kNearestExact);
UNDERTOW_WORD(kBorder);
UNDERTOW_WORD(kReflection);
UNDERTOW_WORD(kNone);
UNDERTOW_WORD(kMean);
UNDERTOW_WORD(kSum);
UNDERTOW_WORD(kMax);
UNDERTOW_WORD(kBatchMean);
UNDERTOW_WORD(kValid);
UNDERTOW_WORD(kSame);
UNDERTOW_WORD(kRNN_TANH);
UNDERTOW_WORD(kRNN_RELU);
UNDERTOW_WORD(kLSTM);
UNDERTOW_WORD(kGRU);
#undef UNDERTOW_WORD

namespace enumtype {
// "kMean" for an option with this value.
template <class... Words>
std::string get_enum_name(const std::variant<Words...>& option) {
  return std::visit([](const auto& word) { return std::string(word.word); }, option);
}
}  // namespace enumtype

namespace nn {
using Reduction = std::variant<enumtype::kNone, enumtype::kMean, enumtype::kSum>;  // in the order of the core's numbers
}

}  // namespace undertow
