// gpt.cpp: the demo in C++: trains a small character-level GPT on Shakespeare's sonnets, then samples some lines from
// it. The same seed gives the same losses as examples/demo.py. Usage: gpt [--steps 600] [--seed 1609] [--text
// sonnets.txt]
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <undertow/nn.h>
#include <undertow/optim.h>
#include <undertow/undertow.h>

namespace nn = undertow::nn;
namespace F = undertow::nn::functional;
using undertow::Tensor;

constexpr int64_t kWidth = 96, kLayers = 3, kHeads = 4, kContext = 64, kBatch = 16;
constexpr double kRate = 2e-3;

// Causal self-attention, then a feed-forward layer, each with a residual connection.
struct BlockImpl : nn::Module {
  BlockImpl() {
    norm1 = register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({kWidth})));
    norm2 = register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({kWidth})));
    attend = register_module("attend", nn::Linear(kWidth, 3 * kWidth));
    project = register_module("project", nn::Linear(kWidth, kWidth));
    nn::Linear wide(kWidth, 4 * kWidth);  // created first: arguments of one call have no order
    nn::Linear narrow(4 * kWidth, kWidth);
    feed = register_module("feed", nn::Sequential(wide, nn::GELU(), narrow));
    drop = register_module("drop", nn::Dropout(0.1));
  }
  Tensor forward(Tensor x) {
    int64_t batch = x.size(0), length = x.size(1);
    Tensor parts = attend(norm1(x)).view({batch, length, 3, kHeads, kWidth / kHeads}).permute({2, 0, 3, 1, 4});
    Tensor mixed = F::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, /*is_causal=*/true);
    x = x + drop(project(mixed.transpose(1, 2).reshape({batch, length, kWidth})));
    return x + drop(feed(norm2(x)));
  }
  nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  nn::Linear attend{nullptr}, project{nullptr};
  nn::Sequential feed{nullptr};
  nn::Dropout drop{nullptr};
};
UNDERTOW_MODULE(Block);

// Characters in; logits of the next character out, at every position.
struct GptImpl : nn::Module {
  explicit GptImpl(int64_t letters) {
    letter = register_module("letter", nn::Embedding(letters, kWidth));
    place = register_module("place", nn::Embedding(kContext, kWidth));
    blocks = register_module("blocks", nn::Sequential());
    for (int64_t k = 0; k < kLayers; k++) blocks->push_back(Block());
    norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({kWidth})));
    head = register_module("head", nn::Linear(nn::LinearOptions(kWidth, letters).bias(false)));
    nn::init::normal_(letter->weight, 0.0, 0.02);
    nn::init::normal_(place->weight, 0.0, 0.02);
    head->weight = head->replace_parameter("weight", letter->weight);  // input and output share their vectors
  }
  Tensor forward(const Tensor& codes) {
    Tensor x = letter(codes) + place(undertow::arange(codes.size(1)));
    return head(norm(blocks(x)));
  }
  nn::Embedding letter{nullptr}, place{nullptr};
  nn::Sequential blocks{nullptr};
  nn::LayerNorm norm{nullptr};
  nn::Linear head{nullptr};
};
UNDERTOW_MODULE(Gpt);

// The mean cross entropy, in nats per character, of a batch of pieces of the text.
Tensor loss_of(Gpt& model, const Tensor& data) {
  Tensor starts = undertow::randint(0, data.size(0) - kContext, {kBatch});
  std::vector<Tensor> read, next;
  for (int64_t k = 0; k < kBatch; k++) {
    int64_t at = starts[k].item<int64_t>();
    read.push_back(data.slice(0, at, at + kContext));
    next.push_back(data.slice(0, at + 1, at + 1 + kContext));
  }
  Tensor logits = model(undertow::stack(read));
  return F::cross_entropy(logits.flatten(0, 1), undertow::stack(next).flatten());
}

// The loss on text that was not used for training.
double unread_loss(Gpt& model, const Tensor& data) {
  undertow::NoGradGuard no_grad;
  model->eval();
  double sum = 0;
  for (int k = 0; k < 8; k++) sum += static_cast<double>(loss_of(model, data).item<float>());
  model->train();
  return sum / 8;
}

// AdamW with a decaying learning rate.
void train(Gpt& model, const Tensor& text, const Tensor& unread, int64_t steps) {
  undertow::optim::AdamW optimizer(model->parameters(),
                                   undertow::optim::AdamWOptions(kRate).betas({0.9, 0.99}).weight_decay(0.1));
  undertow::optim::CosineAnnealingLR schedule(optimizer, steps, kRate / 10);
  int64_t every = steps / 8 > 1 ? steps / 8 : 1;
  double shown = unread_loss(model, unread);
  for (int64_t step = 1; step <= steps; step++) {
    Tensor loss = loss_of(model, text);
    optimizer.zero_grad();
    loss.backward();
    nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    optimizer.step();
    schedule.step();
    if (step % every != 0) continue;
    shown = unread_loss(model, unread);
    std::printf("  %4ld/%ld loss %.6f, on unread text %.6f\n", static_cast<long>(step), static_cast<long>(steps),
                static_cast<double>(loss.item<float>()), shown);
    std::fflush(stdout);
  }
}

// Continues `start` character by character, each sampled from the model's distribution.
std::string write(Gpt& model, const std::string& letters, const std::string& start, int count) {
  undertow::NoGradGuard no_grad;
  model->eval();
  std::vector<int64_t> known;
  for (char c : start) known.push_back(static_cast<int64_t>(letters.find(c)));
  Tensor codes = undertow::tensor(known).unsqueeze(0);
  for (int k = 0; k < count; k++) {
    int64_t from = codes.size(1) > kContext ? codes.size(1) - kContext : 0;
    Tensor logits = model(codes.slice(1, from)).select(1, -1) / 0.8;
    codes = undertow::cat({codes, undertow::multinomial(undertow::softmax(logits, -1), 1)}, 1);
  }
  std::string out;
  for (int64_t k = 0; k < codes.size(1); k++) out += letters[static_cast<size_t>(codes[0][k].item<int64_t>())];
  return out;
}

int main(int count, char** arguments) {
  int64_t steps = 600, seed = 1609;
  std::string path = "examples/data/sonnets.txt";
  for (int k = 1; k + 1 < count; k += 2) {
    std::string name = arguments[k];
    if (name == "--steps") steps = std::atol(arguments[k + 1]);
    if (name == "--seed") seed = std::atol(arguments[k + 1]);
    if (name == "--text") path = arguments[k + 1];
  }
  std::ifstream file(path);
  if (!file) {
    std::fprintf(stderr, "cannot open %s; give its path with --text\n", path.c_str());
    return 2;
  }
  std::stringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  const std::set<char> known(text.begin(), text.end());
  const std::string letters(known.begin(), known.end());
  std::vector<int64_t> codes;
  for (char c : text) codes.push_back(static_cast<int64_t>(letters.find(c)));

  undertow::manual_seed(static_cast<uint64_t>(seed));
  Tensor data = undertow::tensor(codes);
  Gpt model(static_cast<int64_t>(letters.size()));
  const int64_t cut = data.size(0) * 9 / 10;
  Tensor unread = data.slice(0, cut);
  const double before = unread_loss(model, unread);
  int64_t parameters = 0;
  for (const Tensor& p : model->parameters()) parameters += p.numel();
  std::printf("Training: a GPT of %ld parameters on %ld letters of Shakespeare's sonnets\n",
              static_cast<long>(parameters), static_cast<long>(cut));
  train(model, data.slice(0, 0, cut), unread, steps);
  std::printf("Its own lines:\n\n%s\n", write(model, letters, "When ", 400).c_str());
  const double after = unread_loss(model, unread);
  if (after >= before) {
    std::printf("FAILED: unread text surprises it as much as before: %.3f, %.3f\n", before, after);
    return 1;
  }
  std::printf("\nok: unread text surprised it by %.2f nats a letter before, and by %.2f now\n", before, after);
  return 0;
}
