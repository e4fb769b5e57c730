"""Training in TensorFlow 1's style: variables, optimizers with `minimize`, learning-rate decay, moving averages, clipping."""

from undertow.train._adaptive import AdadeltaOptimizer, AdagradOptimizer, AdamOptimizer, RMSPropOptimizer
from undertow.train._averages import ExponentialMovingAverage
from undertow.train._checkpoint import Checkpoint, CheckpointLoadStatus
from undertow.train._checkpoint_state import CheckpointState, get_checkpoint_state, latest_checkpoint, update_checkpoint_state
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
from undertow.train._files import CheckpointReader, checkpoint_exists, get_checkpoint_mtimes, remove_checkpoint
from undertow.train._ftrl import FtrlOptimizer
from undertow.train._global_step import assert_global_step, create_global_step, get_global_step, get_or_create_global_step
from undertow.train._gradients import AggregationMethod, UnconnectedGradients, gradients, hessians, stop_gradient, trainable_variables
from undertow.train._manager import CheckpointManager
from undertow.train._operation import Operation
from undertow.train._optimizer import Optimizer
from undertow.train._processors import _get_processor
from undertow.train._proximal import AdagradDAOptimizer, ProximalAdagradOptimizer, ProximalGradientDescentOptimizer
from undertow.train._registry import global_variables, reset_default_graph
from undertow.train._saver import Saver, list_variables, load_checkpoint, load_variable
from undertow.train._slices import IndexedSlices, _deduplicate_indexed_slices
from undertow.train._state import StateHolder
from undertow.train._variable import Variable

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "AggregationMethod",
    "Checkpoint",
    "CheckpointLoadStatus",
    "CheckpointManager",
    "CheckpointReader",
    "CheckpointState",
    "ExponentialMovingAverage",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "IndexedSlices",
    "MomentumOptimizer",
    "Operation",
    "Optimizer",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "RMSPropOptimizer",
    "Saver",
    "StateHolder",
    "UnconnectedGradients",
    "Variable",
    "assert_global_step",
    "checkpoint_exists",
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_norm",
    "global_variables",
    "gradients",
    "hessians",
    "inverse_time_decay",
    "latest_checkpoint",
    "linear_cosine_decay",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "natural_exp_decay",
    "piecewise_constant",
    "polynomial_decay",
    "remove_checkpoint",
    "reset_default_graph",
    "stop_gradient",
    "trainable_variables",
    "update_checkpoint_state",
]
