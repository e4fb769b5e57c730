"""Writes tests/cpp/random_golden.h: the numbers of torch's CPU generator, for tests/cpp/test_random.cpp to match.

Needs torch (2.13, on an AMD processor: elsewhere it may draw bernoulli and exponential from MKL); the test does not.
Run from the repository root: python tests/parity/random_oracle.py
"""

from __future__ import annotations

import pathlib

import torch

KEPT = 6  # values written out per case, for a readable failure message; the hash covers all
FLOATS = {"float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16}
INTEGERS = {
    "uint8": torch.uint8,
    "int8": torch.int8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
}
ALL = {**FLOATS, **INTEGERS, "bool": torch.bool}


def cases():
    """(distribution, dtype name, n, a, b) in the vocabulary of test_random.cpp."""
    for name in FLOATS:
        for n in (5, 16, 700):
            yield "uniform", name, n, 0.0, 1.0
            yield "uniform", name, n, 0.1, 0.7
        for n in (1, 7, 15, 16, 17, 40, 701):
            yield "normal", name, n, 0.0, 1.0
            yield "normal", name, n, 0.3, 0.7
        yield "log_normal", name, 701, 0.3, 0.7
        yield "exponential", name, 700, 1.7, 0.0
        yield "cauchy", name, 700, 0.3, 0.7
        yield "bernoulli_each", name, 300, 0.0, 0.0
    for name in (*FLOATS, *INTEGERS):
        yield "geometric", name, 300, 0.3, 0.0
        yield "random_from_to", name, 300, 5, 100
    for name in ALL:
        yield "random", name, 700, 0.0, 0.0
        yield "bernoulli", name, 300, 0.3, 0.0
    for low, high in ((-7, 2**28 - 8), (-7, 2**28 - 7), (0, 2**32), (-(2**40), 2**50)):
        yield "random_from_to", "int64", 300, low, high
    yield "random_full_range", "int64", 300, 0.0, 0.0
    for n in (1, 2, 10, 1000):
        yield "permutation", "int64", n, 0.0, 0.0
    yield "permutation", "int32", 100, 0.0, 0.0
    yield "permutation", "float", 100, 0.0, 0.0


def draw(distribution: str, dtype: torch.dtype, n: int, a: float, b: float) -> torch.Tensor:
    out = torch.empty(n, dtype=dtype)
    if distribution in ("uniform", "normal", "log_normal", "cauchy"):
        return getattr(out, distribution + "_")(a, b)
    if distribution in ("exponential", "geometric", "bernoulli"):
        return getattr(out, distribution + "_")(a)
    if distribution == "bernoulli_each":
        return torch.bernoulli((torch.arange(n, dtype=torch.float64) / n).to(dtype))
    if distribution == "random_from_to":
        return out.random_(int(a), int(b))
    if distribution == "random":
        return out.random_()
    if distribution == "random_full_range":
        return out.random_(-(2**63), None)
    return torch.randperm(n, dtype=dtype)


def fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


def raw(values: torch.Tensor) -> bytes:
    return bytes(values.contiguous().view(torch.uint8).tolist())


def golden_line(index: int, case) -> str:
    distribution, name, n, a, b = case
    seed = (0, 1, 42, 2**40 + 7)[index % 4]
    torch.manual_seed(seed)
    values = draw(distribution, ALL[name], n, a, b)
    after = int(torch.empty(1, dtype=torch.int32).random_())  # proves how many words were drawn
    kept = ", ".join(float(v).hex() for v in values[:KEPT].double())
    return (
        f'    {{"{distribution}", "{name}", {n}, {float(a).hex()}, {float(b).hex()}, {seed}u, '
        f"0x{fnv1a(raw(values)):016x}u, {after}u, {{{kept}}}}},"
    )


def saved_states() -> list[str]:
    """Hashes of get_rng_state after a few histories, replayed step by step by the test."""
    torch.manual_seed(123)
    lines = [fnv1a(raw(torch.get_rng_state()))]
    torch.empty(3, dtype=torch.float64).normal_()
    lines.append(fnv1a(raw(torch.get_rng_state())))
    torch.empty(612).uniform_()
    lines.append(fnv1a(raw(torch.get_rng_state())))
    torch.empty(1).uniform_()
    lines.append(fnv1a(raw(torch.get_rng_state())))
    return [f"0x{value:016x}u" for value in lines]


def main() -> None:
    torch.set_num_threads(1)
    lines = [golden_line(index, case) for index, case in enumerate(cases())]
    text = "\n".join(
        [
            "// random_golden.h: expected results of torch's CPU generator. Written by tests/parity/random_oracle.py",
            f"// from torch {torch.__version__}; do not edit.",
            "#pragma once",
            "",
            "#include <cstdint>",
            "",
            "struct Golden {",
            "  const char* distribution;",
            "  const char* dtype;",
            "  std::size_t n;",
            "  double a, b;",
            "  std::uint64_t seed;",
            "  std::uint64_t hash;   // FNV-1a of all bytes",
            "  std::uint32_t after;  // the low 31 bits of the next word",
            f"  double first[{KEPT}];",
            "};",
            "",
            f"inline constexpr std::uint64_t kStateHashes[] = {{{', '.join(saved_states())}}};",
            "",
            "inline constexpr Golden kGolden[] = {",
            *lines,
            "};",
            "",
        ]
    )
    pathlib.Path(__file__).parent.parent.joinpath("cpp", "random_golden.h").write_text(text)


if __name__ == "__main__":
    main()
