"""What the package was built with, as `torch.version`: no CUDA, no ROCm."""

import undertow

__version__ = undertow.__version__
cuda = None
hip = None
rocm = None
xpu = None
debug = False
git_version = ""
