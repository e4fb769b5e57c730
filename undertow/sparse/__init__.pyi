"""The public names of sparse; see undertow/_lazy.py."""

from ._create import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from ._gradcheck import as_sparse_gradcheck as as_sparse_gradcheck
from ._products import addmm as addmm
from ._products import mm as mm
from ._products import sampled_addmm as sampled_addmm
from ._products import spsolve as spsolve
from ._reduce import log_softmax as log_softmax
from ._reduce import softmax as softmax
from ._reduce import sum as sum
from ._spdiags import spdiags as spdiags
