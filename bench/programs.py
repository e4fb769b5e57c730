"""What programs do between operators: making models, saving them, loading data, converting numbers, printing.

`bench.sweep` times these cases with its own; `python -m bench.sweep --only program:` times them alone.
"""

from __future__ import annotations

from .cases import Case

NAMES = "import copy, io, os, tempfile\nnn = L.nn; optim = L.optim; init = L.nn.init; data = L.utils.data\n"
MODEL = "model = nn.Transformer(64, 4, 3, 3, 128); state = model.state_dict()\n"
PARAMETERS = "ps = [nn.Parameter(L.randn(20)) for _ in range(500)]\nfor p in ps: p.grad = L.randn(20)\n"
FILE = """
where = os.path.join(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None), "weights")
import atexit, shutil; atexit.register(shutil.rmtree, os.path.dirname(where), True)
"""
MAPS = """
class Pairs(data.Dataset):
    def __len__(self): return 2000
    def __getitem__(self, k): return L.full((32,), float(k)), k % 10
pairs = Pairs()
x = L.randn(20000, 32); y = L.randint(0, 10, (20000,))
rows = data.TensorDataset(x, y)
def epoch(source, **options):
    for batch in data.DataLoader(source, batch_size=64, **options): pass
"""
NUMBERS = "x = L.randn(1_000_000); n = L.randint(0, 1000, (1_000_000,)); f = x.tolist(); i = n.tolist(); few = L.randn(8); one = L.tensor(2.5)\n"
ROWS = "x = L.randn(1000, 16); m = x[:, 0] > 0; some = list(range(0, 1000, 3)); flags = m.tolist(); parts = list(x); w = L.rand(512, 512)\n"

# (setup, statements)
GROUPS = [
    ("w = L.empty(1_000_000)\n", [
        "nn.Linear(10, 10)", "nn.Linear(1024, 1024)", "nn.Conv2d(64, 64, 3)", "nn.LSTM(64, 64)",
        "nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))",
        "nn.Transformer(64, 4, 3, 3, 128)", "nn.TransformerEncoder(nn.TransformerEncoderLayer(384, 6, 1536), 6)", "init.trunc_normal_(w, std=.02)",
        "init.normal_(w)", "init.uniform_(w)", "init.kaiming_uniform_(w.view(1000, 1000))", "init.xavier_normal_(w.view(1000, 1000))",
        "init.orthogonal_(w[:65536].view(256, 256))"]),
    (MODEL, [
        "model.state_dict()", "model.load_state_dict(state)", "copy.deepcopy(model)", "list(model.parameters())", "list(model.named_modules())",
        "model.train()", "model.zero_grad()", "model.requires_grad_(True)", "model.double().float()", "model.apply(lambda module: None)",
        "repr(model)",
        "optim.AdamW(model.parameters())", "optim.SGD(model.parameters(), lr=.1).state_dict()"]),
    (MODEL + "file = io.BytesIO(); L.save(state, file)\ndef load(**options):\n    file.seek(0); return L.load(file, **options)\n", [
        "L.save(state, io.BytesIO())", "load()", "load(weights_only=False)"]),
    (FILE + "state = {f'w{k}': L.randn(3_000_000) for k in range(10)}; L.save(state, where)\n", [
        "L.save(state, where)", "L.load(where)", "L.load(where, mmap=True)", "{k: v.clone() for k, v in L.load(where).items()}"]),
    (MAPS, [
        "epoch(rows)", "epoch(rows, shuffle=True)", "epoch(pairs)", "epoch(pairs, num_workers=2)", "data.default_collate([(x[0], 1)] * 64)",
        "data.random_split(rows, [.8, .2])"]),
    (PARAMETERS, [f"o.step()  # {made}" for made in ("SGD(ps, lr=.1)", "SGD(ps, lr=.1, momentum=.9)", "Adam(ps)", "AdamW(ps)")]),
    (PARAMETERS, [
        "optim.Adam(ps)", "nn.utils.clip_grad_norm_(ps, 1.)", "nn.utils.clip_grad_value_(ps, 1.)", "nn.utils.parameters_to_vector(ps)",
        "nn.utils.get_total_norm([p.grad for p in ps])"]),
    (NUMBERS, [
        "L.tensor(f)", "L.tensor(i)", "x.tolist()", "n.tolist()", "L.tensor([[1., 2.], [3., 4.]])", "L.tensor(2.5)", "L.tensor([True, False])",
        "one.item()",
        "float(one)", "bool(one > 1)", "few.tolist()", "few.numpy()", "x.numpy()", "L.from_numpy(few.numpy())", "L.as_tensor([1, 2, 3])", "repr(few)",
        "repr(x)", "str(one)", "f'{one:.3f}'", "for v in few: pass", "few.shape", "len(few)", "L.zeros(8)", "L.arange(8)", "L.randn(8)",
        "L.randperm(1000)",
        "few.to('cpu')", "few.to(L.float64)", "few.detach()", "few.clone()", "copy.deepcopy(few)", "L.manual_seed(0)"]),
    (ROWS, [
        "x[3]", "x[3, 4]", "x[3, 4].item()", "x[some]", "x[flags]", "x[m]", "x[:, [1, 3]]", "x[None, ..., 1:5]", "x[3] = 1.", "x[m] = 0.",
        "x[some] = x[some]",
        "L.stack(parts)", "L.cat(parts)", "x.unbind()", "x.split(10)", "list(x)", "[row.sum() for row in x[:100]]", "x.sum().item()",
        "x.argmax(1).tolist()",
        "(x.argmax(1) == 3).float().mean().item()", "x.view(-1).topk(5)", "w.inverse()",
        "L.vstack(parts[:50])", "L.nn.utils.rnn.pad_sequence(parts[:50], True)", "L.meshgrid(x[0], x[1], indexing='ij')", "x.unique()"]),
]  # fmt: skip


def programs() -> list[Case]:
    out = []
    for setup, statements in GROUPS:
        for stmt in statements:
            code, _, made = stmt.partition("  # ")
            optimizer = f"o = optim.{made}; o.step()\n" if made else ""
            out.append(Case(f"program: {stmt}", NAMES + setup + optimizer, code, 1.0, threads=2))
    return out
