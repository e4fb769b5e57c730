"""Collation of samples into batches; see `undertow.utils.data.default_collate`."""

from undertow.utils.data import _collate
from undertow.utils.data._collate import *  # noqa: F403
from undertow.utils.data._collate import collate as collate
from undertow.utils.data._collate import default_collate as default_collate

_collate._add_numpy()  # programs read the map
