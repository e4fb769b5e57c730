// test_functions.cpp: functions that are composed in headers: transforms, windows, images, pooling, losses, embedding
// bags. With a file name, writes the results that tests/nn/test_cpp_functions.py compares with Python's, bit for bit.
#include <cmath>
#include <map>

#include <undertow/fft.h>
#include <undertow/nn.h>
#include <undertow/signal.h>
#include <undertow/undertow.h>

#include "tests/cpp/check.h"
#include "tests/cpp/frontend/throws.h"

using namespace undertow;
namespace F = undertow::nn::functional;
using Results = std::map<std::string, Tensor>;

Tensor numbers(std::vector<int64_t> size) {
  int64_t count = 1;
  for (int64_t n : size) count *= n;
  return linspace(-2, 2, count).reshape(size);
}

void transforms(Results& r) {
  Tensor x = numbers({3, 4, 6}), z = undertow::complex(x, x.square());
  r["fft"] = fft::fft(x);
  r["fft_options"] = fft::fft(z, 5, 1, "ortho");
  r["ifft"] = fft::ifft(x, 8);
  r["rfft"] = fft::rfft(x, {}, 0, "forward");
  r["irfft"] = fft::irfft(z, 7);
  r["hfft"] = fft::hfft(z);
  r["ihfft"] = fft::ihfft(x, 4, 1, "ortho");
  r["fft2"] = fft::fft2(x);
  r["ifft2"] = fft::ifft2(z, {3, 8}, {0, 1}, "forward");
  r["rfft2"] = fft::rfft2(x, {-1, 5});
  r["irfft2"] = fft::irfft2(z);
  r["fftn"] = fft::fftn(x);
  r["ifftn"] = fft::ifftn(z, nullopt, {0, 2});
  r["rfftn"] = fft::rfftn(x, {4, 4}, nullopt, "ortho");
  r["irfftn"] = fft::irfftn(z, {4, 9}, {2, 1});
  r["hfftn"] = fft::hfftn(z);
  r["ihfftn"] = fft::ihfftn(x, nullopt, {1, 0});
  r["hfft2"] = fft::hfft2(z);
  r["ihfft2"] = fft::ihfft2(x);
  r["fftfreq"] = fft::fftfreq(7, 0.5);
  r["rfftfreq"] = fft::rfftfreq(8, 0.1, kDouble);
  r["fftshift"] = fft::fftshift(x);
  r["ifftshift"] = fft::ifftshift(x, {1, 2});
}

void signals(Results& r) {
  r["hann"] = hann_window(9);
  r["hann_symmetric"] = hann_window(9, false, kDouble);
  r["hamming"] = hamming_window(8, true, 0.6, 0.4);
  r["blackman"] = blackman_window(6, false);
  r["bartlett"] = bartlett_window(7);
  r["kaiser"] = kaiser_window(10, true, 8.0);
  r["one"] = hann_window(1, kDouble);
  Tensor x = numbers({2, 60}).sin();
  Tensor window = hann_window(16);
  Tensor columns = stft(x, 16, 4, {}, window, true, "reflect", false, {}, true);
  r["stft"] = columns;
  r["stft_short_window"] = stft(x[0], 12, {}, 8, {}, true, "constant", true, false, true);
  r["stft_without_padding"] = stft(x, 16, 8, {}, window, /*normalized=*/false, true, /*return_complex=*/false);
  r["istft"] = istft(columns, 16, 4, {}, window, true, false, {}, 60);
  r["istft_complex"] = istft(fft::fft(numbers({5, 8})).t(), 8, 2, {}, {}, false, false, false, {}, true);
}

void images(Results& r) {
  Tensor line = numbers({2, 3, 7}), image = numbers({2, 3, 5, 4}), volume = numbers({1, 2, 3, 4, 5});
  using Options = F::InterpolateFuncOptions;
  using Size = std::vector<int64_t>;
  using Factor = std::vector<double>;
  r["nearest1"] = F::interpolate(line, Options().size(Size{11}));
  r["nearest2"] = F::interpolate(image, Options().scale_factor(Factor{2, 1.7}).mode(kNearest));
  r["nearest_exact"] = F::interpolate(image, Options().size(Size{3, 9}).mode(kNearestExact));
  r["linear"] = F::interpolate(line, Options().scale_factor(Factor{1.6}).mode(kLinear));
  r["bilinear"] = F::interpolate(image, Options().size(Size{8, 3}).mode(kBilinear));
  r["bilinear_corners"] =
      F::interpolate(image, Options().scale_factor(Factor{1.5, 2.5}).mode(kBilinear).align_corners(true));
  r["bilinear_recomputed"] =
      F::interpolate(image, Options().scale_factor(Factor{1.3, 2.6}).mode(kBilinear).recompute_scale_factor(true));
  r["bilinear_antialias"] = F::interpolate(image, Options().size(Size{2, 2}).mode(kBilinear).antialias(true));
  r["bicubic"] = F::interpolate(image, Options().size(Size{7, 7}).mode(kBicubic).align_corners(false));
  r["trilinear"] = F::interpolate(volume, Options().size(Size{4, 2, 7}).mode(kTrilinear));
  r["area"] = F::interpolate(image, Options().size(Size{2, 3}).mode(kArea));
  r["upsample"] = nn::Upsample(nn::UpsampleOptions().scale_factor(Factor{2, 2}).mode(kBilinear))(image);

  Tensor theta = numbers({2, 2, 3}), grid = F::affine_grid(theta, {2, 3, 4, 6});
  r["affine_grid"] = grid;
  r["affine_grid_3d"] = F::affine_grid(numbers({1, 3, 4}), {1, 1, 2, 3, 4}, /*align_corners=*/true);
  using Grid = F::GridSampleFuncOptions;
  r["grid_sample"] = F::grid_sample(image, grid, Grid().align_corners(false));
  r["grid_sample_border"] = F::grid_sample(image, grid, Grid().padding_mode(kBorder).align_corners(true));
  r["grid_sample_nearest"] =
      F::grid_sample(image, grid, Grid().mode(kNearest).padding_mode(kReflection).align_corners(false));
  r["grid_sample_bicubic"] =
      F::grid_sample(image, grid, Grid().mode(kBicubic).padding_mode(kReflection).align_corners(true));
  r["grid_sample_3d"] = F::grid_sample(volume, numbers({1, 2, 3, 2, 3}), Grid().align_corners(true));
  r["unfold"] = nn::Unfold(nn::UnfoldOptions({2, 3}).padding(1).stride({2, 1}))(image);
  r["fold"] = nn::Fold(nn::FoldOptions({4, 5}, {2, 2}))(numbers({1, 8, 12}));
}

void poolings(Results& r) {
  Tensor line = numbers({2, 3, 8}), image = numbers({2, 3, 6, 6}).sin(), volume = numbers({1, 2, 4, 4, 4}).cos();
  auto [one, one_at] = F::max_pool1d_with_indices(line, F::MaxPool1dFuncOptions(2));
  auto [two, two_at] = F::max_pool2d_with_indices(image, F::MaxPool2dFuncOptions(3).stride(2));
  auto [three, three_at] = F::max_pool3d_with_indices(volume, F::MaxPool3dFuncOptions(2));
  r["unpool1"] = nn::MaxUnpool1d(2)(one, one_at);
  r["unpool2"] = nn::MaxUnpool2d(nn::MaxUnpool2dOptions(3).stride(2))(two, two_at, std::vector<int64_t>{6, 6});
  r["unpool3"] = F::max_unpool3d(three, three_at, F::MaxUnpool3dFuncOptions(2));
  r["lp1"] = F::lp_pool1d(line, F::LPPool1dFuncOptions(4, 2));
  r["lp2"] = nn::LPPool2d(nn::LPPool2dOptions(2, {2, 3}).stride(1))(image);
  r["lp3_maximum"] = F::lp_pool3d(volume, F::LPPool3dFuncOptions(INFINITY, 2));
}

void losses(Results& r) {
  Tensor scores = numbers({4, 5}).sin(), labels = tensor({0, 3, 4, 1}), weight = linspace(0.5, 2, 5);
  r["multi_margin"] = F::multi_margin_loss(scores, labels);
  r["multi_margin_options"] = nn::MultiMarginLoss(
      nn::MultiMarginLossOptions().p(2).margin(0.4).weight(weight).reduction(kNone))(scores, labels);
  Tensor listed = tensor({{3, 0, -1, 1, 2}, {-1, 0, 0, 0, 0}, {1, 2, 3, 4, 0}, {2, -1, 2, -1, 2}});
  r["multilabel_margin"] = nn::MultiLabelMarginLoss()(scores, listed);
  r["multilabel_soft_margin"] = nn::MultiLabelSoftMarginLoss(nn::MultiLabelSoftMarginLossOptions().weight(weight))(
      scores, (scores > 0).to(kFloat));
  auto distance = [](const Tensor& a, const Tensor& b) { return (a - b).abs().sum({-1}); };
  nn::TripletMarginWithDistanceLossOptions triplet;
  triplet.distance_function(distance).swap(true).reduction(kSum);
  r["triplet"] = nn::TripletMarginWithDistanceLoss(triplet)(scores, scores.cos(), scores.flip({0}));

  Tensor log_probs = numbers({6, 3, 4}).cos().log_softmax(-1), targets = tensor({{1, 2, 3}, {2, 2, 1}, {3, 1, 1}});
  Tensor steps = tensor({6, 5, 4}), counts = tensor({3, 2, 1});
  r["ctc"] = nn::CTCLoss()(log_probs, targets, steps, counts);
  r["ctc_sum"] = F::ctc_loss(log_probs, targets, {6, 6, 2}, {3, 3, 3},
                             F::CTCLossFuncOptions().blank(0).reduction(kSum).zero_infinity(true));
  Tensor leaf = log_probs.detach().clone().requires_grad_();
  F::ctc_loss(leaf, targets, steps, counts, F::CTCLossFuncOptions().reduction(kSum)).backward();
  r["ctc_gradient"] = leaf.grad();
}

void bags(Results& r) {
  manual_seed(3);
  nn::EmbeddingBag bag(nn::EmbeddingBagOptions(7, 3).mode(kSum).padding_idx(2));
  Tensor rows = arange(12).reshape({3, 4}) % 7, factors = numbers({3, 4});
  r["bag_weight"] = bag->weight;
  r["bag"] = bag(rows, Tensor(), factors);
  r["bag_mean"] =
      F::embedding_bag(rows.reshape({-1}), bag->weight, F::EmbeddingBagFuncOptions().offsets(tensor({0, 5, 5})));
  r["bag_max"] = F::embedding_bag(rows, bag->weight, F::EmbeddingBagFuncOptions().mode(kMax));
}

void samples(Results& r) {
  manual_seed(5);
  r["gumbel"] = F::gumbel_softmax(numbers({3, 4}));
  r["gumbel_hard"] = F::gumbel_softmax(numbers({3, 4}), F::GumbelSoftmaxFuncOptions().tau(0.5).hard(true).dim(0));
  r["pdist"] = F::pdist(numbers({4, 3}).sin(), 3);
  r["padded"] = nn::utils::rnn::pad_sequence({numbers({2, 3}), numbers({4, 3}), numbers({1, 3})}, true, -1);
  r["padded_left"] = nn::utils::rnn::pad_sequence({arange(2), arange(4)}, false, 0, "left");
}

void poolings_with_indices() {
  Tensor image = numbers({2, 3, 6, 6}).sin();
  auto [found, at] = nn::AdaptiveMaxPool2d(nn::AdaptiveMaxPool2dOptions({2, 3}))->forward_with_indices(image);
  CHECK(image.flatten(2).gather(2, at.flatten(2)).reshape(found.sizes()).equal(found));
  Tensor line = numbers({2, 8}).cos();
  auto [most, where] = F::adaptive_max_pool1d_with_indices(line, F::AdaptiveMaxPool1dFuncOptions(4));
  CHECK(line.gather(1, where).equal(most) &&
        F::adaptive_max_pool1d(line, F::AdaptiveMaxPool1dFuncOptions(4)).equal(most));
}

void options_from_one_word() {
  Tensor x = numbers({6}), y = zeros({6});
  CHECK((F::smooth_l1_loss(x, y, kNone).sizes() == x.sizes()) && F::soft_margin_loss(x, y, kSum).dim() == 0);
  CHECK(F::huber_loss(x, y, kNone).dim() == 1 && F::kl_div(x, y.exp(), kBatchMean).dim() == 0);
  CHECK(F::smooth_l1_loss(x, y, kMean, /*beta=*/0.5)
            .equal(F::smooth_l1_loss(x, y, F::SmoothL1LossFuncOptions().beta(0.5))));
  CHECK(throws([&] { F::smooth_l1_loss(x, y, F::SmoothL1LossFuncOptions().beta(2), 1); }, "expected beta not to be"));
  Tensor out = empty({2, 3});
  F::normalize(numbers({2, 3}), F::NormalizeFuncOptions().out(out));
  CHECK(out.equal(F::normalize(numbers({2, 3}))));
  CHECK(nn::Unfold(IntArrayRef({2, 4}))->options.kernel_size()[1] == 4);
  nn::TripletMarginWithDistanceLossOptions::reduction_t reduction = kSum;
  CHECK(enumtype::get_enum_name(reduction) == "kSum");
}

void pretrained_bags() {
  Tensor weight = numbers({4, 2});
  nn::EmbeddingBag bag = nn::EmbeddingBag::from_pretrained(weight);
  CHECK(bag->weight.equal(weight) && !bag->weight.requires_grad());
  CHECK(bag(tensor({{1, 0}})).squeeze(0).allclose((weight[0] + weight[1]) / 2));
  CHECK(throws([] { nn::EmbeddingBag::from_pretrained(ones({2})); }, "expected to be 2-dimensional"));
}

void properties() {
  Tensor x = randn({5, 12}, kDouble), z = fft::fft(x);
  CHECK(allclose(real(fft::ifft(z)), x) && allclose(fft::irfft(fft::rfft(x)), x));
  CHECK(allclose(real(fft::ifftn(fft::fftn(x))), x) && allclose(fft::hfft(fft::ihfft(x)), x));
  Tensor k = arange(12, kDouble), angles = -2 * M_PI / 12 * k.unsqueeze(1) * k;
  CHECK(allclose(real(z), x.mm(angles.cos())) && allclose(imag(z), x.mm(angles.sin())));
  CHECK(fft::ifftshift(fft::fftshift(x)).equal(x) && fft::rfftfreq(0).numel() == 1 && fft::fftfreq(0).numel() == 0);

  Tensor sound = randn({2, 64}, kDouble), window = hann_window(16, kDouble);
  Tensor columns = stft(sound, 16, 4, {}, window, true, "reflect", false, {}, true);
  CHECK((columns.sizes() == IntArrayRef({2, 9, 17})));
  CHECK(allclose(istft(columns, 16, 4, {}, window, true, false, {}, 64), sound));

  // The identity map samples the image itself, and the same pixels again when it is resized.
  Tensor image = randn({1, 2, 4, 5}, kDouble), same = tensor({{{1., 0., 0.}, {0., 1., 0.}}}, kDouble);
  Tensor grid = F::affine_grid(same, image.sizes());
  CHECK(allclose(F::grid_sample(image, grid, F::GridSampleFuncOptions().align_corners(false)), image));
  CHECK(F::interpolate(image, F::InterpolateFuncOptions().scale_factor(std::vector<double>{2, 2}))
            .slice(2, 0, 8, 2)
            .slice(3, 0, 10, 2)
            .equal(image));
  Tensor leaf = image.clone().requires_grad_();
  F::grid_sample(leaf, grid, F::GridSampleFuncOptions().align_corners(false)).sum().backward();
  CHECK(allclose(leaf.grad(), ones_like(image)));
  auto copy = std::dynamic_pointer_cast<nn::EmbeddingBagImpl>(nn::EmbeddingBag(4, 2)->clone());
  CHECK(copy && copy->weight.sizes() == IntArrayRef({4, 2}));
}

void mistakes() {
  Tensor x = ones({2, 3}), image = ones({1, 1, 2, 2});
  CHECK(throws([&] { fft::fft(x, 0); }, "Invalid number of data points (0) specified"));
  CHECK(throws([&] { fft::fft(x, {}, 2); }, "Dimension out of range"));
  CHECK(throws([&] { fft::fft(x, {}, -1, "both"); }, "Invalid normalization mode: \"both\""));
  CHECK(throws([&] { fft::rfft(x.to(kComplexFloat)); }, "rfft expects a real input tensor, but got ComplexFloat"));
  CHECK(throws([&] { fft::fftn(x, {2}, {0, 1}); }, "dim and shape arguments must have the same length"));
  CHECK(throws([&] { fft::fftn(x, {}, {0, -2}); }, "FFT dims must be unique"));
  CHECK(throws([&] { fft::fft(x.to(kHalf)); }, "Unsupported dtype Half"));
  CHECK(throws([&] { stft(x[0], 8); }, "Padding size"));
  CHECK(throws([&] { stft(ones({20}), 8, 2); }, "return_complex"));
  CHECK(throws([&] { hann_window(-1); }, "requires non-negative window_length, got window_length=-1"));
  using Options = F::InterpolateFuncOptions;
  CHECK(throws([&] { F::interpolate(image, Options()); }, "either size or scale_factor should be defined"));
  CHECK(throws([&] { F::interpolate(image, Options().size(std::vector<int64_t>{2})); }, "same number of spatial"));
  CHECK(throws([&] { F::interpolate(image, Options().size(std::vector<int64_t>{2, 2}).mode(kLinear)); },
               "Got 4D input, but linear mode needs 3D input"));
  CHECK(throws([&] { F::grid_sample(image, ones({1, 2, 2, 3})); }, "expected grid to have size 2 in last dimension"));
  CHECK(throws([&] { F::multi_margin_loss(x, tensor({0, 3})); }, "target out of range"));
  CHECK(throws([&] { nn::utils::rnn::pad_sequence({x, ones({2, 2})}); }, "got shapes [2, 3] and [2, 2]"));
  CHECK(throws([&] { F::embedding_bag(arange(2), x); }, "a 1D input needs it"));
  CHECK(throws([&] { nn::MaxUnpool2d(2)(image, zeros({1, 1, 2, 2}, kLong), std::vector<int64_t>{9, 9}); },
               "invalid output_size (dim 0 must be between 2 and 6, but is 9)"));
}

int main(int argc, char** argv) {
  Results results;
  transforms(results);
  signals(results);
  images(results);
  poolings(results);
  losses(results);
  bags(results);
  samples(results);
  if (argc > 1) {
    save(state_dict_value(NamedTensors(results.begin(), results.end())), argv[1]);
    return 0;
  }
  properties();
  poolings_with_indices();
  options_from_one_word();
  pretrained_bags();
  mistakes();
  return report("test_functions");
}
