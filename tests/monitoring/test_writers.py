"""Where observations go: TensorBoard for real, W&B and MLflow by their documented calls."""

import numpy as np
import pytest
from tests.helpers.small_training import Model, Training, batch, louder, reference

import regard


def train(to):
    training = Training(louder(Model(), 1, 60))
    expected = reference(training.model, batch())
    options = {"threshold": 5.0, "on_alert": "log", "on_error": "raise"}
    with regard.monitor(training.model, every=1, to=to, **options) as monitor:
        training.step()
        training.step()
    return expected, monitor


def test_tensorboard_has_scalars_of_layers_and_an_image_for_each_measure(tmp_path):
    pytest.importorskip("tensorboard", reason="needs tensorboard: pip install tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        expected, monitor = train(writer)
    read = EventAccumulator(str(tmp_path), size_guidance={"images": 0, "tensors": 0})
    read.Reload()
    scalars = read.Scalars("attention/score/decoder_1")
    assert [x.step for x in scalars] == [0, 1]
    assert scalars[0].value == pytest.approx(expected["score"][4:].max(), rel=1e-4)
    entropy = read.Scalars("attention/entropy/decoder_0")[0].value
    assert entropy == pytest.approx(expected["entropy"][:4].mean(), rel=1e-4)
    assert {x.removeprefix("attention/") for x in read.Tags()["images"]} == set(expected)
    image = read.Images("attention/entropy")[0]
    assert (image.height, image.width) == (2 * 8, 4 * 8)
    texts = read.Tensors("attention/alerts/text_summary")
    assert len(texts) == len(monitor.alerts)


class Wandb:
    """A run, as W&B documents it: data of a step below the last one are dropped."""

    def __init__(self):
        self.logged, self.alerts, self.axes, self.step = [], [], {}, 0

    def define_metric(self, name, step_metric=None):
        self.axes[name] = step_metric

    def log(self, data, step=None, commit=None):
        if step is not None and step < self.step:
            return
        self.step = (self.step if step is None else step) + 1
        self.logged.append((data.get("attention/step"), data))

    def alert(self, title, text, level=None, wait_duration=None):
        self.alerts.append(text)


class Mlflow:
    """The module, as MLflow documents it: log_metrics(metrics, step) and set_tag(key, value)."""

    def __init__(self):
        self.logged, self.tags = [], {}

    def log_metrics(self, metrics, step=None):
        self.logged.append((step, metrics))

    def set_tag(self, key, value):
        self.tags[key] = value


@pytest.mark.parametrize("kind", [Wandb, Mlflow])
def test_loggers_get_numbers_by_name_with_their_step(kind):
    logger = kind()
    expected, monitor = train(logger)
    assert [step for step, _ in logger.logged] == [0, 1]
    numbers = logger.logged[0][1]
    assert all(np.isfinite(x) for x in numbers.values())
    assert all(type(x) is float for name, x in numbers.items() if name != "attention/step")
    assert numbers["attention/score/decoder_1"] == pytest.approx(expected["score"].max(), rel=1e-4)
    found = logger.alerts if kind is Wandb else list(logger.tags.values())
    assert set(found) <= {str(alert) for alert in monitor.alerts}
    assert found


def test_wandb_takes_what_is_logged_beside_several_logs_of_the_program_in_a_step():
    run, training = Wandb(), Training(Model())
    with regard.monitor(training.model, every=1, to=run, on_error="raise"):
        for number in range(3):
            training.step()
            for _ in range(3):
                run.log({"loss": 1.0})
            assert run.logged[-4][0] == number
    assert run.axes == {"attention/step": None, "attention/*": "attention/step"}


def test_wandb_offline_takes_what_is_logged(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="needs wandb: pip install wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    with wandb.init(mode="offline", dir=tmp_path, project="regard") as run:
        expected, _ = train(run)
        assert run.summary["attention/entropy/decoder_0"] == pytest.approx(
            expected["entropy"][:4].mean(), rel=0.2
        )


@pytest.mark.filterwarnings("ignore")  # MLflow uses what SQLAlchemy has deprecated
def test_mlflow_keeps_what_is_logged(tmp_path):
    mlflow = pytest.importorskip("mlflow", reason="needs mlflow: pip install mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    with mlflow.start_run() as run:
        expected, monitor = train(mlflow)
    client = mlflow.MlflowClient()
    history = client.get_metric_history(run.info.run_id, "attention/score/decoder_1")
    assert [x.step for x in history] == [0, 1]
    assert history[0].value == pytest.approx(expected["score"].max(), rel=1e-4)
    assert client.get_run(run.info.run_id).data.tags["attention.score"] in map(str, monitor.alerts)


def test_several_places_at_once(tmp_path):
    seen = []
    train([tmp_path / "run", seen.append])
    assert len(seen) == 2
    assert (tmp_path / "run" / "monitor.json").exists()
