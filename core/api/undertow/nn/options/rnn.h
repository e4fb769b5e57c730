// rnn.h: options of recurrent layers and cells.
#pragma once
#include <cstdint>
#include <variant>

#include <undertow/types/arg.h>
#include <undertow/types/enum.h>

namespace undertow::nn {

namespace detail {
using rnn_nonlinearity_t = std::variant<enumtype::kTanh, enumtype::kReLU>;
using rnn_options_base_mode_t = std::variant<enumtype::kLSTM, enumtype::kGRU, enumtype::kRNN_TANH, enumtype::kRNN_RELU>;

// The options of all three kinds.
struct RNNOptionsBase {
  RNNOptionsBase(rnn_options_base_mode_t mode, int64_t input_size, int64_t hidden_size)
      : mode_(mode), input_size_(input_size), hidden_size_(hidden_size) {}
  UNDERTOW_ARG(rnn_options_base_mode_t, mode);
  UNDERTOW_ARG(int64_t, input_size);
  UNDERTOW_ARG(int64_t, hidden_size);
  UNDERTOW_ARG(int64_t, num_layers) = 1;
  UNDERTOW_ARG(bool, bias) = true;
  UNDERTOW_ARG(bool, batch_first) = false;
  UNDERTOW_ARG(double, dropout) = 0.0;
  UNDERTOW_ARG(bool, bidirectional) = false;
  UNDERTOW_ARG(int64_t, proj_size) = 0;
};
}  // namespace detail

struct GRUOptions {
  GRUOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  UNDERTOW_ARG(int64_t, input_size);
  UNDERTOW_ARG(int64_t, hidden_size);
  UNDERTOW_ARG(int64_t, num_layers) = 1;
  UNDERTOW_ARG(bool, bias) = true;
  UNDERTOW_ARG(bool, batch_first) = false;
  UNDERTOW_ARG(double, dropout) = 0.0;
  UNDERTOW_ARG(bool, bidirectional) = false;
};
struct LSTMOptions {
  LSTMOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  UNDERTOW_ARG(int64_t, input_size);
  UNDERTOW_ARG(int64_t, hidden_size);
  UNDERTOW_ARG(int64_t, num_layers) = 1;
  UNDERTOW_ARG(bool, bias) = true;
  UNDERTOW_ARG(bool, batch_first) = false;
  UNDERTOW_ARG(double, dropout) = 0.0;
  UNDERTOW_ARG(bool, bidirectional) = false;
  UNDERTOW_ARG(int64_t, proj_size) = 0;
};
struct RNNOptions {
  using nonlinearity_t = detail::rnn_nonlinearity_t;
  RNNOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  UNDERTOW_ARG(int64_t, input_size);
  UNDERTOW_ARG(int64_t, hidden_size);
  UNDERTOW_ARG(int64_t, num_layers) = 1;
  UNDERTOW_ARG(nonlinearity_t, nonlinearity) = kTanh;
  UNDERTOW_ARG(bool, bias) = true;
  UNDERTOW_ARG(bool, batch_first) = false;
  UNDERTOW_ARG(double, dropout) = 0.0;
  UNDERTOW_ARG(bool, bidirectional) = false;
};

struct LSTMCellOptions {
  LSTMCellOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  UNDERTOW_ARG(int64_t, input_size);
  UNDERTOW_ARG(int64_t, hidden_size);
  UNDERTOW_ARG(bool, bias) = true;
};
using GRUCellOptions = LSTMCellOptions;
struct RNNCellOptions {
  using nonlinearity_t = detail::rnn_nonlinearity_t;
  RNNCellOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  UNDERTOW_ARG(int64_t, input_size);
  UNDERTOW_ARG(int64_t, hidden_size);
  UNDERTOW_ARG(bool, bias) = true;
  UNDERTOW_ARG(nonlinearity_t, nonlinearity) = kTanh;
};

}  // namespace undertow::nn
