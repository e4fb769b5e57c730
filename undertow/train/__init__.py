"""Training in TensorFlow 1's style: variables, optimizers with `minimize`, learning-rate decay, moving averages, clipping."""

from undertow.train._adaptive import AdadeltaOptimizer, AdagradOptimizer, AdamOptimizer, RMSPropOptimizer
from undertow.train._averages import ExponentialMovingAverage
from undertow.train._clip import clip_by_average_norm, clip_by_global_norm, clip_by_norm, clip_by_value, global_norm
from undertow.train._decay import (
    cosine_decay,
    cosine_decay_restarts,
    exponential_decay,
    inverse_time_decay,
    linear_cosine_decay,
    natural_exp_decay,
    piecewise_constant,
    polynomial_decay,
)
from undertow.train._descent import GradientDescentOptimizer, MomentumOptimizer
from undertow.train._ftrl import FtrlOptimizer
from undertow.train._gradients import AggregationMethod, UnconnectedGradients, gradients, stop_gradient, trainable_variables
from undertow.train._optimizer import Optimizer
from undertow.train._processors import _get_processor
from undertow.train._slices import IndexedSlices
from undertow.train._variable import Variable

__all__ = [
    "AdadeltaOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "AggregationMethod",
    "ExponentialMovingAverage",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "IndexedSlices",
    "MomentumOptimizer",
    "Optimizer",
    "RMSPropOptimizer",
    "UnconnectedGradients",
    "Variable",
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "cosine_decay",
    "cosine_decay_restarts",
    "exponential_decay",
    "global_norm",
    "gradients",
    "inverse_time_decay",
    "linear_cosine_decay",
    "natural_exp_decay",
    "piecewise_constant",
    "polynomial_decay",
    "stop_gradient",
    "trainable_variables",
]
