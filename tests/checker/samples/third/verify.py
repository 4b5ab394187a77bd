"""Check every sample against its reference:  python verify.py [case ...]

Each example is run twice with the same random numbers: once on the sample, once with the sample's
name replaced by the reference (float64, references.py), which gets the weights of a module built by
the right file. Runs: two seeds x (float64; float64 with all parameters moved by normal noise,
so that no zero or one in the initialisation hides anything; float32). A right file or twin must equal
the reference to rounding in all six and leave its inputs alone; a wrong one must differ clearly on the
plain runs of its example. Error = max |difference| / max |reference|.
"""
import importlib.util
import inspect
import json
import pathlib
import sys

import numpy as np
import torch

import references

HERE = pathlib.Path(__file__).resolve().parent
RIGHT64, RIGHT32, WRONG = 1e-11, 1e-4, 1e-2


def load(file):
    spec = importlib.util.spec_from_file_location(file[:-3], HERE / file)
    mod = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mod)
    return mod


def to_np(x):
    if isinstance(x, torch.Tensor):
        x = x.detach().numpy()
        return x.astype(np.float64) if x.dtype.kind == "f" else x.copy()
    if isinstance(x, (list, tuple)):
        return type(x)(to_np(y) for y in x)
    return x


def to_torch(x):
    if isinstance(x, (list, tuple)):
        return type(x)(to_torch(y) for y in x)
    return torch.tensor(x) if isinstance(x, np.ndarray) else x


def build(cls, a, k, noise):
    """A module whose weights do not depend on the random state of the example, and the other way round."""
    with torch.random.fork_rng():
        torch.manual_seed(77)
        m = cls(*a, **k)
        if noise:
            with torch.no_grad():
                for p in m.parameters():
                    p.add_(0.3 * torch.randn(p.shape))
    return m


def kept(x):
    if isinstance(x, (list, tuple)):
        return [kept(y) for y in x]
    if isinstance(x, dict):
        return {n: kept(y) for n, y in x.items()}
    return x.detach().clone() if isinstance(x, torch.Tensor) else x.copy() if isinstance(x, np.ndarray) else x


def same(a, b):
    if isinstance(a, (list, tuple)):
        return all(map(same, a, b))
    if isinstance(a, (torch.Tensor, np.ndarray)):
        return bool((a == b).all())
    return True


def watched(fn, touched):
    def call(*a, **k):
        was = kept((a, k))
        out = fn(*a, **k)
        if not same(list(a), list(was[0])) or not same(list(k.values()), list(was[1].values())):
            touched.append(True)
        return out
    return call


class Ref:
    def __init__(self, m, fn):
        self.m, self.fn = m, fn

    def __call__(self, *a, **k):
        return to_torch(self.fn(self.m, *to_np(a), **{n: to_np(v) for n, v in k.items()}))

    step = forward = __call__

    def eval(self):
        return self


def evaluate(e, mod, target, seed, dtype):
    torch.set_default_dtype(dtype)
    torch.manual_seed(seed)
    np.random.seed(seed)
    space = dict(vars(mod), torch=torch, np=np)
    space[e["name"]] = target
    out = eval(e["example"], space)
    return np.asarray(to_np(out), dtype=np.float64)


def errors(e, right_file):
    mod, right = load(e["file"]), load(right_file)
    thing, model = getattr(mod, e["name"]), getattr(right, e["name"])
    fn = getattr(references, "ref_" + e["case"])
    module = inspect.isclass(thing) and issubclass(thing, torch.nn.Module)
    result, touched = {}, []
    modes = [("64", torch.float64, False), ("32", torch.float32, False)]
    if module:
        modes.append(("64 noise", torch.float64, True))
    if e["library"] == "numpy":
        modes = modes[:1]
    for seed in (0, 1):
        for label, dtype, noise in modes:
            if module:
                def sample(*a, **k):
                    m = build(thing, a, k, noise)
                    m.register_forward_pre_hook(lambda m, a, k: m.__dict__.__setitem__("_was", kept((a, k))), with_kwargs=True)
                    def after(m, a, k, out):
                        if not same(list(a), list(m._was[0])) or not same(list(k.values()), list(m._was[1].values())):
                            touched.append(True)
                    m.register_forward_hook(after, with_kwargs=True)
                    return m
                ref = lambda *a, **k: Ref(build(model, a, k, noise), fn)
            elif inspect.isclass(thing):
                sample, ref = thing, fn
            elif e["library"] == "numpy":
                sample, ref = watched(thing, touched), fn
            else:
                sample = watched(thing, touched)
                ref = lambda *a, **k: to_torch(fn(*to_np(a), **{n: to_np(v) for n, v in k.items()}))
            got = evaluate(e, mod, sample, seed, dtype)
            want = evaluate(e, right, ref, seed, dtype)
            torch.set_default_dtype(torch.float32)
            assert np.isfinite(want).all() and got.shape == want.shape, (e["file"], got.shape, want.shape)
            err = np.abs(got - want).max() / np.abs(want).max()
            result.setdefault(label, []).append(float("inf") if np.isnan(err) else float(err))
    return result, bool(touched)


def main():
    index = json.loads((HERE / "index.json").read_text())
    files = {p.name for p in HERE.glob("*.py")} - {"verify.py", "references.py"}
    assert files == {e["file"] for e in index} and len(files) == len(index), "index and folder differ"
    twins = {e["twin_of"]: e["file"] for e in index if e["kind"] == "twin"}
    worst, least, bad = {}, float("inf"), 0
    for e in index:
        if sys.argv[1:] and e["case"] not in sys.argv[1:]:
            continue
        try:
            res, touched = errors(e, twins.get(e["file"], e["file"]))
        except Exception as problem:
            print("FAILED", e["file"], type(problem).__name__, problem)
            bad += 1
            continue
        if e["kind"] == "wrong":
            low = min(min(v) for k, v in res.items() if k != "64 noise")
            least = min(least, low)
            ok = low > WRONG
        else:
            for k, v in res.items():
                worst[k] = max(worst.get(k, 0), *v)
            ok = not touched and all(max(v) < (RIGHT32 if k == "32" else RIGHT64) for k, v in res.items())
        bad += not ok
        if not ok or sys.argv[1:]:
            print("ok " if ok else "BAD", e["kind"], e["file"], {k: ["%.1e" % x for x in v] for k, v in res.items()}, "inputs changed" if touched else "")
    print(len(index), "entries,", bad, "bad; largest error of right and twin:", {k: "%.1e" % v for k, v in worst.items()},
          "; smallest difference of a wrong one: %.1e" % least)
    return bad


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
