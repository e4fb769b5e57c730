"""A test file in PyTorch's style over the tables of torch.testing._internal.common_nn. test_databases_as_torch.py runs it on Undertow.

Whole modules are not saved here (`pickle=False`): files hold only tensors and containers.
"""

import torch
from torch import nn
from torch.testing._internal.common_nn import CriterionTest, NewModuleTest, NNTestCase, criterion_tests, get_new_module_tests, module_tests
from torch.testing._internal.common_utils import freeze_rng_state, run_tests


class TestTables(NNTestCase):
    def _forward(self, module, input):
        with freeze_rng_state():
            return module(*input) if isinstance(input, tuple) else module(input)

    def _backward(self, module, input, output, grad_output, create_graph=False):
        output.backward(grad_output, retain_graph=True, create_graph=create_graph)
        found = tuple(None if i.grad is None else i.grad.data for i in (input if isinstance(input, tuple) else (input,)))
        return found if isinstance(input, tuple) else found[0]

    def _forward_criterion(self, criterion, input, target, extra_args=None):
        return criterion(*(input if isinstance(input, tuple) else (input,)), target, *(extra_args or ()))

    def _backward_criterion(self, criterion, input, output, target, gradOutput=None, extra_args=None):
        inputs = input if isinstance(input, tuple) else (input,)
        for i in inputs:
            if i.grad is not None:
                i.grad.data.zero_()
        made = criterion(*inputs, target, *(extra_args or ()))
        made.backward((torch.ones(()) if gradOutput is None else gradOutput).to(made))
        return tuple(i.grad.data for i in inputs) if isinstance(input, tuple) else input.grad.data

    def _zero_grad_parameters(self, module):
        for p in module.parameters():
            if p.grad is not None:
                p.grad = p.grad.detach().zero_()

    def _get_parameters(self, module):
        return list(module.parameters()), [p.grad for p in module.parameters()]


for kind, tables in ((NewModuleTest, module_tests + get_new_module_tests()), (CriterionTest, criterion_tests)):
    for entry in tables:
        entry = dict(entry)
        if "constructor" not in entry:
            entry["constructor"] = getattr(nn, entry.pop("module_name"))
        entry.pop("decorator", None)
        if kind is NewModuleTest:
            entry["pickle"] = False
        made = kind(**entry)
        setattr(TestTables, made.get_name(), lambda self, made=made: made(self))

if __name__ == "__main__":
    run_tests()
