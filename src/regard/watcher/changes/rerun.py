"""What went into a watched model and what came out, and the same run once more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from regard.errors import BackendError, NotAskedError

if TYPE_CHECKING:
    import torch


@dataclass
class ModelRun:
    """Logits (b, t, v) of the first forward of a text, and the tokens that ``generate`` gave."""

    logits: torch.Tensor | None = field(default=None, repr=False)
    sequences: torch.Tensor | None = field(default=None, repr=False)


@dataclass
class RunCapture:
    """The last run inside a block: the arguments of ``model(...)`` or of ``model.generate(...)``.

    Arguments are references; the states of the random generators are those before
    ``generate``.
    """

    model: Any = field(repr=False)
    name: str = ""
    arguments: tuple[Any, ...] = field(default=(), repr=False)
    keywords: dict[str, Any] = field(default_factory=dict, repr=False)
    result: ModelRun = field(default_factory=ModelRun, repr=False)
    _state: Any = field(default=None, repr=False)
    _generating: bool = False

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Record the runs of the block."""
        with ExitStack() as cleanup:
            hook = self.model.register_forward_hook(self._forward_ended, with_kwargs=True)
            cleanup.callback(hook.remove)
            if hasattr(self.model, "generate"):
                own = self.model.generate
                self.model.__dict__["generate"] = lambda *a, **k: self._generate(own, a, k)
                cleanup.callback(self.model.__dict__.pop, "generate", None)
            yield

    def _forward_ended(
        self, model: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any
    ) -> None:
        if self._generating:
            if self.result.logits is None:
                self.result.logits = _logits(output)
            return
        self.name, self.arguments, self.keywords = "forward", arguments, dict(keywords)
        self.result = ModelRun(_logits(output))

    def _generate(self, own: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        import torch

        self.name, self.arguments, self.keywords = "generate", arguments, dict(keywords)
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
        self.result, self._state = ModelRun(), (torch.get_rng_state(), cuda)
        self._generating = True
        try:
            output = own(*arguments, **keywords)
        finally:
            self._generating = False
        self.result.sequences = getattr(output, "sequences", output)
        return output

    def again(self) -> ModelRun:
        """The same run with the model as it is now."""
        import torch

        if not self.name:
            raise NotAskedError("the model did not run: call it inside the block.")
        cache = self.keywords.get("past_key_values")
        if cache is not None and self.name == "forward":
            raise BackendError(
                "the same run needs the same start, but the model was given a cache, which has "
                "grown since: call the model with the text itself, or use generate."
            )
        second = RunCapture(self.model)
        with torch.no_grad(), torch.random.fork_rng(), second.attached():
            if self.name == "generate":
                torch.set_rng_state(self._state[0])
                if self._state[1]:
                    torch.cuda.set_rng_state_all(self._state[1])
            call = self.model.generate if self.name == "generate" else self.model
            call(*self.arguments, **self.keywords)
        return second.result


def _logits(output: Any) -> torch.Tensor | None:
    logits = getattr(output, "logits", None)
    return None if logits is None else logits.detach()
