"""Properties of the CPU."""


def get_cpu_capability() -> str:
    """Return the widest vector instruction set that Linux reports for this CPU, by torch's names: "AVX512", "AVX2" or "DEFAULT"."""
    try:
        with open("/proc/cpuinfo") as file:
            words = set(file.read().split())
    except OSError:
        return "DEFAULT"
    return "AVX512" if {"avx512f", "avx512bw"} <= words else "AVX2" if "avx2" in words else "DEFAULT"
