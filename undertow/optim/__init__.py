"""Optimizers, as `torch.optim`: native updates of whole parameter groups."""

from undertow.optim import lr_scheduler as lr_scheduler
from undertow.optim import swa_utils as swa_utils
from undertow.optim.adadelta import Adadelta
from undertow.optim.adafactor import Adafactor
from undertow.optim.adagrad import Adagrad
from undertow.optim.adam import Adam
from undertow.optim.adamax import Adamax
from undertow.optim.adamw import AdamW
from undertow.optim.asgd import ASGD
from undertow.optim.lbfgs import LBFGS
from undertow.optim.muon import Muon
from undertow.optim.nadam import NAdam
from undertow.optim.optimizer import Optimizer
from undertow.optim.radam import RAdam
from undertow.optim.rmsprop import RMSprop
from undertow.optim.rprop import Rprop
from undertow.optim.sgd import SGD

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "lr_scheduler",
    "swa_utils",
]
