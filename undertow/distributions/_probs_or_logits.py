"""Base class of distributions with one probability, which is given as `probs` or `logits`; the other is computed from it."""

from __future__ import annotations

from undertow.distributions.distribution import Distribution
from undertow.distributions.utils import lazy_property, logits_to_probs, probs_to_logits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor


def chosen(probs: Any, logits: Any) -> tuple[str, Any]:
    """Return the name and the value of the argument that was given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return ("probs", probs) if logits is None else ("logits", logits)


class OddsDistribution(Distribution):
    """`_param` is `probs` or `logits`, whichever was given."""

    if TYPE_CHECKING:
        _param: Tensor

    @lazy_property
    def logits(self) -> Tensor:
        """The log-odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of 1 (success)."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._param.size()

    def _grown(self, instance: Any, batch_shape: Any, **others: Any) -> Any:
        """Return the same distribution with the parameter expanded, and other attributes as given."""
        name = "probs" if "probs" in self.__dict__ else "logits"
        grown = getattr(self, name).expand(batch_shape)
        return self._like(instance, batch_shape, _param=grown, **{name: grown}, **others)
