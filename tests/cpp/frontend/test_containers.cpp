// test_containers.cpp: containers of modules and parameters, modules of any class, ordered dictionaries, and copies of
// modules in modules.
#include <sstream>

#include <undertow/nn.h>
#include <undertow/undertow.h>

#include "tests/cpp/check.h"
#include "tests/cpp/frontend/throws.h"

namespace nn = undertow::nn;
using undertow::OrderedDict;
using undertow::Tensor;

bool same(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && (a == b).all().item<bool>(); }

struct CountingImpl : nn::Cloneable<CountingImpl> {
  CountingImpl() { reset(); }
  void reset() override { weight = register_parameter("weight", undertow::ones({2})); }
  int value = 0;
  Tensor weight;
};
struct OuterImpl : nn::Cloneable<OuterImpl> {
  OuterImpl() { reset(); }
  void reset() override {
    inner = register_module("inner", std::make_shared<CountingImpl>());
    dropout = register_module("dropout", nn::Dropout(0.5));
    first = register_module("first", nn::Linear(2, 2));
    last = register_module("last", nn::Linear(2, 2));
    last->weight = last->replace_parameter("weight", first->weight);
    layers = register_module("layers", nn::Sequential(first, nn::ReLU()));
  }
  std::shared_ptr<CountingImpl> inner;
  nn::Dropout dropout{nullptr};
  nn::Linear first{nullptr}, last{nullptr};
  nn::Sequential layers;
};

void a_copy_has_the_members_of_its_submodules() {
  OuterImpl outer;
  outer.inner->value = 123;
  outer.dropout->options.p(0.25);
  {
    undertow::NoGradGuard no_grad;
    outer.inner->weight += 1;
    outer.first->weight += 1;
  }
  auto copy = std::dynamic_pointer_cast<OuterImpl>(outer.clone());
  CHECK(copy->inner->value == 123 && copy->dropout->options.p() == 0.25);
  CHECK(same(copy->inner->weight, outer.inner->weight) && !copy->inner->weight.is_same(outer.inner->weight));
  CHECK(copy->inner->weight.is_same(copy->named_parameters()["inner.weight"]));
  CHECK(same(copy->first->weight, outer.first->weight));
  CHECK(copy->last->weight.is_same(copy->first->weight));  // tied in the copy too
  CHECK(copy->layers->ptr<nn::Linear>(0)->weight.is_same(copy->first->weight));
}

void a_module_of_any_class_gives_a_reference_or_a_holder() {
  nn::Linear linear(3, 4);
  nn::AnyModule any(linear);
  CHECK(&any.get<nn::LinearImpl>() == linear.get());
  nn::Linear other = any.get<nn::Linear>();
  CHECK(other.get() == linear.get());  // the same module, and not a copy
  CHECK(any.ptr<nn::Linear>().get() == linear.get());
  CHECK(throws([&] { any.get<nn::Conv2dImpl>(); }, "Attempted to cast module to undertow::nn::Conv2dImpl"));
  CHECK(throws([&] { any.ptr<nn::Conv2d>(); }, "but its actual type is undertow::nn::LinearImpl"));
  CHECK(
      throws([] { nn::AnyValue(3).get<float>(); }, "Attempted to cast AnyValue to float, but its actual type is int"));
  nn::Sequential layers(nn::Linear(2, 2));
  CHECK(throws([&] { layers->forward<int>(undertow::ones({2})); }, "but you asked for type int"));
  CHECK(throws([] { nn::Sequential()->forward(1); }, "Cannot call forward() on an empty Sequential"));
  CHECK(throws([&] { layers->ptr(1); }, "Index out of range"));
}

void dictionaries_are_updated_and_iterated() {
  nn::ModuleDict dict;
  OrderedDict<std::string, std::shared_ptr<nn::Module>> items = {{"a", nn::Linear(1, 2).ptr()},
                                                                 {"b", nn::ReLU().ptr()}};
  dict->update(items);
  nn::ModuleDict other(items);
  other->insert("c", nn::Tanh());
  dict->update(*other);
  std::string keys;
  for (const auto& item : *dict) keys += item.key();
  CHECK(keys == "abc" && dict->size() == 3 && dict->items().size() == 3 && dict["a"] == items["a"]);

  nn::ParameterDict parameters, changed;
  parameters->insert("w", undertow::zeros({2}));
  changed->insert("w", undertow::ones({3}));
  parameters->update(*changed);
  CHECK(parameters->size() == 1 && same(parameters["w"], undertow::ones({3})));
  changed->insert("v", undertow::ones({1}));
  CHECK(throws([&] { parameters->update(*changed); }, "Parameter 'v' is not defined"));

  nn::ParameterList list(undertow::zeros({1}), undertow::ones({1})), more(undertow::ones({2}));
  *list += *more;
  list->extend(*more);
  *more += *more;
  CHECK(list->size() == 4 && same(list[3], undertow::ones({2})) && more->size() == 2);
}

void an_ordered_dict_accepts_braces_and_checks_its_ends() {
  OrderedDict<std::string, std::pair<int, int>> dict;
  CHECK(throws([&] { dict.front(); }, "Called front() on an empty OrderedDict"));
  CHECK(throws([&] { dict.back(); }, "Called back() on an empty OrderedDict"));
  dict.insert("a", {1, 2});
  CHECK(dict.front().value().second == 2 && dict.back().key() == "a");
}

int main() {
  a_copy_has_the_members_of_its_submodules();
  a_module_of_any_class_gives_a_reference_or_a_holder();
  dictionaries_are_updated_and_iterated();
  an_ordered_dict_accepts_braces_and_checks_its_ends();
  return report("test_containers");
}
