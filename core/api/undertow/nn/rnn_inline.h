// rnn_inline.h: the definitions of rnn.h. The reference is undertow/_functions/recurrent.py: a layer's input is
// multiplied by its weights for all steps at once, and an LSTM layer runs as one operator of the core. In a header, so
// that it costs nothing where it is not used.
#pragma once
#include <undertow/nn/rnn.h>

#include <cmath>

#include <undertow/nn/functional.h>
#include <undertow/nn/init.h>

namespace undertow::nn {

namespace rnn_detail {

enum Kind { kLstmKind, kGruKind, kTanhKind, kReluKind };  // in the order of rnn_options_base_mode_t

using Sizes = std::initializer_list<int64_t>;
inline core::IntSpan span(Sizes sizes) { return {sizes.begin(), sizes.size()}; }

inline int64_t gates_of(size_t kind) { return kind == kLstmKind ? 4 : kind == kGruKind ? 3 : 1; }

// The weights of one direction of one layer; biases and the projection may be undefined.
struct Weights {
  Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
};

// One step: the next states from the input's part of the gates and the previous states.
inline detail::States next_states(size_t kind, const core::Tensor& gates, const detail::States& states,
                                  const Weights& w) {
  core::Tensor hidden = core::ops::linear(states[0], w.w_hh, w.b_hh);
  if (kind == kTanhKind) return {core::ops::tanh(core::ops::add(gates, hidden))};
  if (kind == kReluKind) return {core::ops::relu(core::ops::add(gates, hidden))};
  if (kind == kGruKind) {
    std::vector<core::Tensor> i = core::ops::chunk(gates, 3, -1), h = core::ops::chunk(hidden, 3, -1);
    core::Tensor z = core::ops::sigmoid(core::ops::add(i[1], h[1]));
    core::Tensor n =
        core::ops::tanh(core::ops::add(i[2], core::ops::mul(core::ops::sigmoid(core::ops::add(i[0], h[0])), h[2])));
    return {core::ops::add(core::ops::mul(core::ops::sub(states[0], n), z), n)};
  }
  std::vector<core::Tensor> g = core::ops::chunk(core::ops::add(gates, hidden), 4, -1);
  core::Tensor kept = core::ops::mul(core::ops::sigmoid(g[1]), states[1]);
  core::Tensor cell = core::ops::add(kept, core::ops::mul(core::ops::sigmoid(g[0]), core::ops::tanh(g[2])));
  core::Tensor h = core::ops::mul(core::ops::sigmoid(g[3]), core::ops::tanh(cell));
  return {w.w_hr.defined() ? core::ops::linear(h, w.w_hr) : h, cell};
}

// One direction of one layer over (time, batch, features): the outputs, then the final states.
inline std::pair<Tensor, detail::States> layer(size_t kind, const Tensor& input, detail::States states,
                                               const Weights& w, bool reverse) {
  uint32_t bits = core::thread_mode.bits | core::process_mode.load(std::memory_order_relaxed);
  bool plain = !(bits & (core::kForwardLevel | core::kTransform));
  if (kind == kLstmKind && !w.w_hr.defined() && plain && (input.dtype() == kFloat || input.dtype() == kDouble)) {
    Tensor bias = w.b_ih.defined() && w.b_hh.defined() ? Tensor(core::ops::add(w.b_ih, w.b_hh)) : Tensor();
    auto [output, cells, _] =
        core::ops::lstm_layer(core::ops::linear(input, w.w_ih, bias), states[0], states[1], w.w_hh, reverse);
    int64_t last = reverse ? 0 : -1;
    return {output, {core::ops::select(output, 0, last), core::ops::select(cells, 0, last)}};
  }
  std::vector<core::Tensor> gates = core::ops::unbind(core::ops::linear(input, w.w_ih, w.b_ih), 0);
  std::vector<core::Tensor> out(gates.size());
  for (size_t t = 0; t < gates.size(); t++) {
    size_t at = reverse ? gates.size() - 1 - t : t;
    states = next_states(kind, gates[at], states, w);
    out[at] = states[0];
  }
  return {core::ops::stack(out), states};
}

template <class Options>
inline detail::RNNOptionsBase base_of(detail::rnn_options_base_mode_t mode, const Options& o) {
  detail::RNNOptionsBase base(mode, o.input_size(), o.hidden_size());
  base.num_layers(o.num_layers()).bias(o.bias()).batch_first(o.batch_first()).dropout(o.dropout());
  return base.bidirectional(o.bidirectional());
}

}  // namespace rnn_detail

namespace detail {

inline void RNNBase::register_weights() {
  const auto& o = options_base;
  UT_CHECK_VALUE(o.dropout() >= 0 && o.dropout() <= 1,
                 "dropout should be a number in range [0, 1] representing the probability of an element being zeroed");
  UT_CHECK_VALUE(o.input_size() > 0 && o.hidden_size() > 0, "input_size and hidden_size must be greater than zero");
  UT_CHECK_VALUE(o.num_layers() > 0, "num_layers must be greater than zero");
  UT_CHECK_VALUE(o.proj_size() >= 0 && o.proj_size() < o.hidden_size(),
                 "proj_size has to be smaller than hidden_size, and zero to disable projections");
  const int64_t rows = rnn_detail::gates_of(o.mode().index()) * o.hidden_size();
  const int64_t out = o.proj_size() ? o.proj_size() : o.hidden_size();
  flat_weights_.clear();
  auto add = [&](const char* stem, const std::string& suffix, rnn_detail::Sizes size) {
    flat_weights_.push_back(register_parameter(stem + suffix, core::ops::empty(rnn_detail::span(size))));
  };
  for (int64_t k = 0; k < o.num_layers(); k++) {
    for (const char* direction : {"", "_reverse"}) {
      if (*direction && !o.bidirectional()) continue;
      std::string suffix = "_l" + std::to_string(k) + direction;
      add("weight_ih", suffix, {rows, k == 0 ? o.input_size() : out * (o.bidirectional() ? 2 : 1)});
      add("weight_hh", suffix, {rows, out});
      if (o.bias()) {
        add("bias_ih", suffix, {rows});
        add("bias_hh", suffix, {rows});
      }
      if (o.proj_size()) add("weight_hr", suffix, {o.proj_size(), o.hidden_size()});
    }
  }
  reset_parameters();
}

inline void RNNBase::reset_parameters() {
  double bound = 1.0 / std::sqrt(static_cast<double>(options_base.hidden_size()));
  for (const Tensor& weight : parameters()) init::uniform_(weight, -bound, bound);
}

inline States RNNBase::zero_states(const Tensor& input) const {
  const auto& o = options_base;
  int64_t layers = o.num_layers() * (o.bidirectional() ? 2 : 1), batch = input.size(o.batch_first() ? 0 : 1);
  int64_t out = o.proj_size() ? o.proj_size() : o.hidden_size();
  States states{core::ops::new_zeros(input, rnn_detail::span({layers, batch, out}))};
  if (o.mode().index() == rnn_detail::kLstmKind)
    states.push_back(core::ops::new_zeros(input, rnn_detail::span({layers, batch, o.hidden_size()})));
  return states;
}

inline void RNNBase::check(const Tensor& input, const States& states) const {
  const auto& o = options_base;
  UT_CHECK_VALUE(input.dtype() == flat_weights_[0].dtype(), "RNN input dtype (", input.core::Tensor::dtype(),
                 ") does not match weight dtype (", flat_weights_[0].core::Tensor::dtype(), ")");
  UT_CHECK(input.size(-1) == o.input_size(), "input.size(-1) must be equal to input_size. Expected ", o.input_size(),
           ", got ", input.size(-1));
  States expected = zero_states(input);
  for (size_t k = 0; k < states.size(); k++)
    UT_CHECK(states[k].sizes() == expected[k].sizes(), "Expected hidden",
             states.size() > 1 ? core::str("[", k, "]") : "", " size ", core::ShapeText{expected[k].sizes()}, ", got ",
             core::ShapeText{states[k].sizes()});
}

inline States RNNBase::run(const Tensor& given, States states) {
  const auto& o = options_base;
  UT_CHECK_VALUE(given.dim() == 2 || given.dim() == 3, printed_name(name()), ": Expected input to be 2D or 3D, got ",
                 given.dim(), "D instead");
  const bool lone = given.dim() == 2;
  Tensor input = lone ? Tensor(given.unsqueeze(o.batch_first() ? 0 : 1)) : given;
  if (states.empty() || !states[0].defined()) {
    states = zero_states(input);
  } else if (lone) {
    for (Tensor& s : states) s = s.unsqueeze(1);
  }
  check(input, states);
  if (o.batch_first()) input = input.transpose(0, 1);
  UT_CHECK(input.size(0) > 0, "Expected sequence length to be larger than 0 in RNN");

  const size_t directions = o.bidirectional() ? 2 : 1, layers = static_cast<size_t>(o.num_layers());
  const size_t per_layer = flat_weights_.size() / (layers * directions);
  std::vector<std::vector<core::Tensor>> final(states.size());
  for (size_t k = 0; k < layers; k++) {
    std::vector<core::Tensor> outs;
    for (size_t d = 0; d < directions; d++) {
      const size_t at = k * directions + d;
      const Tensor* own = &flat_weights_[at * per_layer];
      rnn_detail::Weights w{own[0], own[1], {}, {}, {}};
      if (o.bias()) {
        w.b_ih = own[2];
        w.b_hh = own[3];
      }
      if (o.proj_size()) w.w_hr = own[per_layer - 1];
      States first;
      for (const Tensor& s : states) first.push_back(s[static_cast<int64_t>(at)]);
      auto [out, last] = rnn_detail::layer(o.mode().index(), input, std::move(first), w, d == 1);
      outs.push_back(out);
      for (size_t s = 0; s < last.size(); s++) final[s].push_back(last[s]);
    }
    input = directions == 1 ? outs[0] : core::ops::cat(outs, -1);
    if (o.dropout() > 0 && is_training() && k + 1 < layers)
      input = functional::dropout(input, functional::DropoutFuncOptions().p(o.dropout()));
  }
  if (o.batch_first()) input = input.transpose(0, 1);
  States result{lone ? Tensor(input.squeeze(o.batch_first() ? 0 : 1)) : input};
  for (auto& parts : final) {
    Tensor whole = core::ops::stack(parts);
    result.push_back(lone ? Tensor(whole.squeeze(1)) : whole);
  }
  return result;
}

inline std::string RNNBase::describe() const {
  const auto& o = options_base;
  return core::str(printed_name(name()), "(input_size=", o.input_size(), ", hidden_size=", o.hidden_size(),
                   ", num_layers=", o.num_layers(), ", bias=", o.bias() ? "true" : "false",
                   ", batch_first=", o.batch_first() ? "true" : "false", ", dropout=", o.dropout(),
                   ", bidirectional=", o.bidirectional() ? "true" : "false", ")");
}

inline void RNNCellBase::register_weights() {
  int64_t rows = gates_ * hidden_size_;
  weight_ih = register_parameter("weight_ih", core::ops::empty(rnn_detail::span({rows, input_size_})));
  weight_hh = register_parameter("weight_hh", core::ops::empty(rnn_detail::span({rows, hidden_size_})));
  bias_ih = register_parameter("bias_ih", has_bias_ ? core::ops::empty(rnn_detail::span({rows})) : Tensor());
  bias_hh = register_parameter("bias_hh", has_bias_ ? core::ops::empty(rnn_detail::span({rows})) : Tensor());
  reset_parameters();
}
inline void RNNCellBase::reset_parameters() {
  double bound = 1.0 / std::sqrt(static_cast<double>(hidden_size_));
  for (const Tensor& weight : parameters()) init::uniform_(weight, -bound, bound);
}
inline States RNNCellBase::step(int kind, const Tensor& given, States states) {
  UT_CHECK(given.dim() == 1 || given.dim() == 2, printed_name(name()), ": Expected input to be 1D or 2D, got ",
           given.dim(), "D instead");
  UT_CHECK(given.size(-1) == input_size_, "input has inconsistent input_size: got ", given.size(-1), " expected ",
           input_size_);
  const bool lone = given.dim() == 1;
  Tensor input = lone ? Tensor(given.unsqueeze(0)) : given;
  for (Tensor& s : states) {
    if (!s.defined())
      s = core::ops::new_zeros(input, rnn_detail::span({input.size(0), hidden_size_}));
    else if (lone)
      s = s.unsqueeze(0);
    UT_CHECK(s.size(-1) == hidden_size_, "hidden has inconsistent hidden_size: got ", s.size(-1), ", expected ",
             hidden_size_);
  }
  rnn_detail::Weights w{weight_ih, weight_hh, bias_ih, bias_hh, {}};
  states = rnn_detail::next_states(static_cast<size_t>(kind), core::ops::linear(input, w.w_ih, w.b_ih), states, w);
  if (lone)
    for (Tensor& s : states) s = s.squeeze(0);
  return states;
}

}  // namespace detail

inline RNNImpl::RNNImpl(const RNNOptions& o)
    : Cloneable(rnn_detail::base_of(o.nonlinearity().index() == 0 ? detail::rnn_options_base_mode_t(kRNN_TANH)
                                                                  : detail::rnn_options_base_mode_t(kRNN_RELU),
                                    o)),
      options(o) {
  reset();
}
inline std::tuple<Tensor, Tensor> RNNImpl::forward(const Tensor& input, Tensor hx) {
  detail::States found = run(input, {std::move(hx)});
  return {found[0], found[1]};
}
inline GRUImpl::GRUImpl(const GRUOptions& o) : Cloneable(rnn_detail::base_of(kGRU, o)), options(o) { reset(); }
inline std::tuple<Tensor, Tensor> GRUImpl::forward(const Tensor& input, Tensor hx) {
  detail::States found = run(input, {std::move(hx)});
  return {found[0], found[1]};
}
inline LSTMImpl::LSTMImpl(const LSTMOptions& o)
    : Cloneable(rnn_detail::base_of(kLSTM, o).proj_size(o.proj_size())), options(o) {
  reset();
}
inline std::tuple<Tensor, LSTMImpl::States> LSTMImpl::forward(const Tensor& input, std::optional<States> hx) {
  detail::States states;
  if (hx) states = {std::get<0>(*hx), std::get<1>(*hx)};
  detail::States found = run(input, std::move(states));
  return {found[0], States{found[1], found[2]}};
}

inline RNNCellImpl::RNNCellImpl(const RNNCellOptions& o)
    : Cloneable(o.input_size(), o.hidden_size(), o.bias(), 1), options(o) {
  reset();
}
inline Tensor RNNCellImpl::forward(const Tensor& input, const Tensor& hx) {
  return step(options.nonlinearity().index() == 0 ? rnn_detail::kTanhKind : rnn_detail::kReluKind, input, {hx})[0];
}
inline GRUCellImpl::GRUCellImpl(const GRUCellOptions& o)
    : Cloneable(o.input_size(), o.hidden_size(), o.bias(), 3), options(o) {
  reset();
}
inline Tensor GRUCellImpl::forward(const Tensor& input, const Tensor& hx) {
  return step(rnn_detail::kGruKind, input, {hx})[0];
}
inline LSTMCellImpl::LSTMCellImpl(const LSTMCellOptions& o)
    : Cloneable(o.input_size(), o.hidden_size(), o.bias(), 4), options(o) {
  reset();
}
inline LSTMCellImpl::States LSTMCellImpl::forward(const Tensor& input, std::optional<States> hx) {
  detail::States states(2);
  if (hx) states = {std::get<0>(*hx), std::get<1>(*hx)};
  states = step(rnn_detail::kLstmKind, input, std::move(states));
  return {states[0], states[1]};
}

}  // namespace undertow::nn
