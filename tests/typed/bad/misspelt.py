"""Misspelled names: each marked line is reported."""

import undertow as ut
import undertow.nn.functional as F
from undertow import nn, optim
from undertow.nn import Linaer  # error

x = ut.zeros(2, 3)
ut.zeroes(2, 3)  # error
x.bakward()  # error
x.gard  # error
x.shpae  # error
ut.linalg.sdv(x)  # error
F.rleu(x)  # error
nn.Liner(2, 3)  # error
optim.Addam([x])  # error
ut.no_gard()  # error
ut.special.erff(x)  # error
ut.fft.ftt(x)  # error
ut.float23  # error
x.max(0).valeus  # error
ut.autograd.gard(x, x)  # error
ut.distributions.Nromal(0.0, 1.0)  # error
ut.utils.dtaa  # error
