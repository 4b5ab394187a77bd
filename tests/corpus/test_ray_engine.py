"""Ray Data does the same work: the same report to the last digit, also when actors are killed."""

import logging
import os
import warnings
from functools import partial
from pathlib import Path

import pytest
from tests.helpers.stumbling import Stumbling

from regard.corpus.batches import BatchJob, Sampling
from regard.corpus.models import ModelSpec
from regard.corpus.readers import find_sources
from regard.corpus.shards import HEADS, Shards
from regard.corpus.survey import SurveyJob
from regard.errors import BackendError

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own, about itself and open sockets
ray = pytest.importorskip("ray", reason="needs ray: pip install '.[survey]'")

# Workers import this test's own work.
PATHS = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])


@pytest.fixture(scope="module")
def cluster():
    """Two cores on this machine, for all tests of this file."""
    with warnings.catch_warnings(action="ignore"), pytest.MonkeyPatch.context() as patch:
        for name, value in (("RAY_USAGE_STATS_ENABLED", "0"), ("RAY_BACKEND_LOG_LEVEL", "fatal"),
                            ("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0"),
                            ("PYTHONPATH", PATHS)):  # fmt: skip
            patch.setenv(name, value)
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False,
                 logging_level=logging.ERROR)  # fmt: skip
        yield
        ray.shutdown()


def test_nobody_at_the_address(surveyed):
    """Before the cluster of the other tests is there, which would be used instead."""
    with pytest.raises(BackendError) as error:
        surveyed(engine="ray", address="ray://127.0.0.1:9")
    assert str(error.value) == (
        "no Ray cluster answers at ray://127.0.0.1:9: [Errno 111] Connection refused."
    )


def test_the_same_report_as_the_plain_loop(cluster, surveyed, undisturbed):
    found = surveyed(engine="ray", workers=2)
    for name in ("report.json", "failed.parquet"):
        assert (found.folder / name).read_bytes() == (undisturbed.folder / name).read_bytes()


def test_a_round_that_runs_where_the_cluster_is(cluster, corpus, folder, undisturbed):
    """What goes through Ray's client; here without one, which would need another package."""
    from regard.corpus.ray_engine import _client_round, _unpickled

    job = SurveyJob(
        find_sources([corpus]), ModelSpec(str(folder)), Sampling(batch=8), undisturbed.folder
    )
    batches = partial(job.batches, frozenset(range(4, 15)))
    shards = [_unpickled(x) for x in _client_round(BatchJob(job.model), batches, 1, 0.0)]
    assert sorted(shard.number for shard in shards) == [0, 1, 2, 3]
    for shard in shards:
        path = Shards(undisturbed.folder).path(HEADS, shard.number)
        assert shard.files[HEADS] == path.read_bytes()


def test_killed_actors_cost_their_batches_not_the_run(
    cluster, corpus, folder, undisturbed, tmp_path
):
    from regard.corpus.ray_engine import on_ray

    (tmp_path / "marks").mkdir()
    job = SurveyJob(
        find_sources([corpus]), ModelSpec(str(folder)), Sampling(batch=8), tmp_path / "out"
    )
    job.run(
        lambda work, batches: on_ray(Stumbling(work, tmp_path / "marks", (2, 9)), batches, 2, None),
        restart=False,
    )
    assert len(list((tmp_path / "marks").iterdir())) == 2
    report = "report.json"
    assert (job.folder / report).read_bytes() == (undisturbed.folder / report).read_bytes()


def test_what_cannot_be_read_over_there_is_said(cluster, folder, corpus, tmp_path):
    from regard.corpus.ray_engine import on_ray

    path = tmp_path / "corpus.txt"
    path.write_bytes(corpus.read_bytes())
    job = SurveyJob(
        find_sources([path]), ModelSpec(str(folder)), Sampling(batch=8), tmp_path / "out"
    )
    batches = partial(job.batches, frozenset())
    path.unlink()
    with pytest.raises(BackendError) as error:
        list(on_ray(BatchJob(job.model), batches, 2, None))
    assert str(error.value) == (
        f"the work failed on Ray: the corpus cannot be read there: {str(path)!r} cannot be read: "
        "No such file or directory."
    )


@pytest.mark.parametrize(("engine", "package"), [("local", "pyarrow"), ("ray", "ray")])
def test_without_the_extra(surveyed, monkeypatch, engine, package):
    from regard.corpus import readers

    found = readers.importlib.util.find_spec
    monkeypatch.setattr(
        readers.importlib.util, "find_spec", lambda name: None if name == package else found(name)
    )
    with pytest.raises(BackendError) as error:
        surveyed(engine=engine)
    assert str(error.value) == (
        f"this survey needs {package}, which is not installed: pip install 'regard[survey]'."
    )
