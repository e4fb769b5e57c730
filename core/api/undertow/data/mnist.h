// mnist.h: the MNIST digits, read from the four files of the original distribution.
#pragma once
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <undertow/data/datasets.h>

#include "core/base/error.h"

namespace undertow::data::datasets {

class MNIST : public Dataset<MNIST> {
 public:
  enum class Mode { kTrain, kTest };
  // Reads train-images-idx3-ubyte and train-labels-idx1-ubyte, or t10k-..., in the folder `root`.
  explicit MNIST(const std::string& root, Mode mode = Mode::kTrain) : is_train_(mode == Mode::kTrain) {
    std::string start = root + (root.ends_with('/') ? "" : "/") + (is_train_ ? "train" : "t10k");
    images_ = read(start + "-images-idx3-ubyte", 3).to(kFloat32).div_(255).unsqueeze(1);
    targets_ = read(start + "-labels-idx1-ubyte", 1).to(kInt64);
    UT_CHECK(images_.size(0) == targets_.size(0), "MNIST: the numbers of images and labels differ: ", images_.size(0),
             " and ", targets_.size(0), " in ", start, "-*");
  }
  Example<> get(size_t index) override {
    auto i = static_cast<int64_t>(index);
    return {images_[i], targets_[i]};
  }
  std::optional<size_t> size() const override { return static_cast<size_t>(images_.size(0)); }
  bool is_train() const noexcept { return is_train_; }
  const Tensor& images() const { return images_; }    // float32 from 0 to 1, N x 1 x 28 x 28
  const Tensor& targets() const { return targets_; }  // int64, N

 private:
  // An IDX file of bytes: two zeros, 8 for the type, the number of dimensions, each size in four bytes, the elements.
  static Tensor read(const std::string& path, int64_t dims) {
    struct Close {
      void operator()(std::FILE* f) const { std::fclose(f); }
    };
    std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
    UT_CHECK(file != nullptr, "MNIST: cannot open ", path);
    auto number = [&] {
      unsigned char b[4] = {};
      UT_CHECK(std::fread(b, 1, 4, file.get()) == 4, "MNIST: ", path, " ends too early");
      return static_cast<int64_t>(b[0]) << 24 | b[1] << 16 | b[2] << 8 | b[3];
    };
    UT_CHECK(number() == (8 << 8 | dims), "MNIST: ", path, " is not an IDX file of bytes with ", dims, " dimensions");
    std::vector<int64_t> sizes;
    for (int64_t d = 0; d < dims; d++) sizes.push_back(number());
    int64_t wanted = 1;
    for (int64_t n : sizes) UT_CHECK(!__builtin_mul_overflow(wanted, n, &wanted), "MNIST: ", path, " is too large");
    // The length is checked before memory is asked for: a damaged header may claim any size.
    long start = std::ftell(file.get());
    UT_CHECK(std::fseek(file.get(), 0, SEEK_END) == 0 && std::ftell(file.get()) - start == wanted, "MNIST: ", path,
             " should have ", wanted, " bytes after its header and has ", std::ftell(file.get()) - start);
    std::fseek(file.get(), start, SEEK_SET);
    Tensor bytes = empty(sizes, kUInt8);
    auto count = static_cast<size_t>(wanted);
    UT_CHECK(std::fread(bytes.mutable_data_ptr(), 1, count, file.get()) == count, "MNIST: cannot read ", path);
    return bytes;
  }
  bool is_train_;
  Tensor images_, targets_;
};

}  // namespace undertow::data::datasets
