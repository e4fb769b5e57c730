"""Wrong arguments: each marked line is reported."""

import undertow as ut
import undertow.nn.functional as F
from undertow import nn, optim
from undertow.utils.data import DataLoader

x = ut.zeros(2, 3)
ut.zeros("2")  # error
ut.sum(x, dimension=1)  # error
ut.sum(self=x)  # error
ut.where(x > 0, x)  # error
ut.cat(x)  # error
x.view("a")  # error
x.reshape(2.5)  # error
x + "a"  # error
x.to(dtype="float64")  # error
ut.matmul(x)  # error
ut.softmax(x, dim="last")  # error
ut.div(x, 2, rounding_mode="up")  # error
ut.linalg.qr(x, mode="full")  # error
F.gelu(x, approximate="fast")  # error
F.cross_entropy(x)  # error
nn.Linear(4)  # error
nn.Linear(4, "8")  # error
nn.Conv2d(1, 2)  # error
optim.SGD(x, momentun=0.9)  # error
DataLoader([1, 2], batchsize=2)  # error
x.backward(retain=True)  # error
x.requires_grad = "yes"  # error
a, b, c = x.max(0)  # error
ut.manual_seed()  # error
x.shape = (3, 2)  # error
