"""Names of torch.hub that are not in undertow.hub."""

import re

__all__ = ["HASH_REGEX"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # the hash in a file's name: resnet18-bfd8deac.pth
