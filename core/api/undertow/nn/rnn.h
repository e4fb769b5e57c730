// rnn.h: recurrent layers over sequences (RNN, LSTM, GRU) and one step of each (cells).
#pragma once
#include <tuple>

#include <undertow/nn/any_module.h>
#include <undertow/nn/options/rnn.h>

namespace undertow::nn {

namespace detail {
using States = std::vector<Tensor>;  // the hidden state, and for LSTM the cell state

// The weights by layer and direction, and the run over a sequence.
class RNNBase : public Module {
 public:
  explicit RNNBase(RNNOptionsBase base) : options_base(std::move(base)) {}
  void reset_parameters();
  std::vector<Tensor> all_weights() const { return flat_weights_; }
  void flatten_parameters() {}  // as in Python: there is nothing to flatten

  RNNOptionsBase options_base;

 protected:
  void register_weights();
  // (time, batch, features), (batch, time, features) with batch_first, or without the batch.
  States run(const Tensor& input, States states);
  inline std::string describe() const override;

 private:
  std::vector<Tensor> flat_weights_;
  States zero_states(const Tensor& input) const;
  void check(const Tensor& input, const States& states) const;
};

class RNNCellBase : public Module {
 public:
  RNNCellBase(int64_t input_size, int64_t hidden_size, bool bias, int64_t gates)
      : input_size_(input_size), hidden_size_(hidden_size), gates_(gates), has_bias_(bias) {}
  void reset_parameters();
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;

 protected:
  void register_weights();
  States step(int kind, const Tensor& input, States states);

 private:
  int64_t input_size_, hidden_size_, gates_;
  bool has_bias_;
};
}  // namespace detail

// h = tanh(W_ih x + b_ih + W_hh h + b_hh), or with relu. Returns the outputs of the last layer at every step, and the
// last states of every layer.
class RNNImpl : public Cloneable<RNNImpl, detail::RNNBase> {
 public:
  RNNImpl(int64_t input_size, int64_t hidden_size) : RNNImpl(RNNOptions(input_size, hidden_size)) {}
  explicit RNNImpl(const RNNOptions& options_);
  void reset() override { register_weights(); }
  std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});
  RNNOptions options;
};
UNDERTOW_MODULE(RNN);

class GRUImpl : public Cloneable<GRUImpl, detail::RNNBase> {
 public:
  GRUImpl(int64_t input_size, int64_t hidden_size) : GRUImpl(GRUOptions(input_size, hidden_size)) {}
  explicit GRUImpl(const GRUOptions& options_);
  void reset() override { register_weights(); }
  std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});
  GRUOptions options;
};
UNDERTOW_MODULE(GRU);

// Returns (outputs, (hidden states, cell states)).
class LSTMImpl : public Cloneable<LSTMImpl, detail::RNNBase> {
 public:
  using States = std::tuple<Tensor, Tensor>;
  LSTMImpl(int64_t input_size, int64_t hidden_size) : LSTMImpl(LSTMOptions(input_size, hidden_size)) {}
  explicit LSTMImpl(const LSTMOptions& options_);
  void reset() override { register_weights(); }
  std::tuple<Tensor, States> forward(const Tensor& input, std::optional<States> hx_opt = {});
  LSTMOptions options;
};
UNDERTOW_MODULE(LSTM);

class RNNCellImpl : public Cloneable<RNNCellImpl, detail::RNNCellBase> {
 public:
  RNNCellImpl(int64_t input_size, int64_t hidden_size) : RNNCellImpl(RNNCellOptions(input_size, hidden_size)) {}
  explicit RNNCellImpl(const RNNCellOptions& options_);
  void reset() override { register_weights(); }
  Tensor forward(const Tensor& input, const Tensor& hx = {});
  RNNCellOptions options;
};
UNDERTOW_MODULE(RNNCell);

class GRUCellImpl : public Cloneable<GRUCellImpl, detail::RNNCellBase> {
 public:
  GRUCellImpl(int64_t input_size, int64_t hidden_size) : GRUCellImpl(GRUCellOptions(input_size, hidden_size)) {}
  explicit GRUCellImpl(const GRUCellOptions& options_);
  void reset() override { register_weights(); }
  Tensor forward(const Tensor& input, const Tensor& hx = {});
  GRUCellOptions options;
};
UNDERTOW_MODULE(GRUCell);

class LSTMCellImpl : public Cloneable<LSTMCellImpl, detail::RNNCellBase> {
 public:
  using States = std::tuple<Tensor, Tensor>;
  LSTMCellImpl(int64_t input_size, int64_t hidden_size) : LSTMCellImpl(LSTMCellOptions(input_size, hidden_size)) {}
  explicit LSTMCellImpl(const LSTMCellOptions& options_);
  void reset() override { register_weights(); }
  States forward(const Tensor& input, std::optional<States> hx_opt = {});
  LSTMCellOptions options;
};
UNDERTOW_MODULE(LSTMCell);

}  // namespace undertow::nn

#include <undertow/nn/rnn_inline.h>
