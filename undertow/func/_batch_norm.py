"""`replace_all_batch_norm_modules_`: remove the running statistics of batch norms, which vmap cannot update for each sample."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from undertow.nn.modules.module import Module


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Remove the running statistics from every batch norm in `root`, in place, and return `root`.

    >>> import undertow as ut
    >>> net = ut.nn.Sequential(ut.nn.Linear(2, 3), ut.nn.BatchNorm1d(3))
    >>> ut.func.replace_all_batch_norm_modules_(net)[1].running_mean is None
    True
    """
    from undertow.nn.modules.batchnorm import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
