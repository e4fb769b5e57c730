"""Options of torch's code generator that programs set; see `_dynamo`."""

from undertow.as_torch.shims._inductor import config as config
