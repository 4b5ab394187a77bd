"""The walk over a model's modules, against torch's own."""

import pytest
import torch
from tests.helpers.model_families import FAMILIES
from torch import nn

from regard.watcher.capture.modules import all_modules, module_config, named_modules


class Shared(nn.Module):
    """One module under three names, none under a fourth, and a module that holds itself."""

    def __init__(self):
        super().__init__()
        self.deep = nn.ModuleDict({"inner": nn.Sequential(nn.Linear(2, 2), nn.ReLU())})
        self.first = self.deep["inner"][0]
        self.absent = None
        self.register_module("nothing", None)
        self.list = nn.ModuleList([self.first, nn.Linear(2, 2)])
        self.list.append(self.list)


def jitted():
    return torch.jit.trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.zeros(1, 2))


@pytest.mark.parametrize("make", [Shared, nn.ReLU, *(x.made for x in FAMILIES[:4])])
def test_modules_come_in_torchs_order(make):
    model = make()
    assert named_modules(model) == list(model.named_modules())
    assert all_modules(model) == list(model.modules())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_modules_of_a_scripted_model():
    model = jitted()
    assert [name for name, _ in named_modules(model)] == ["", "0", "1"]


def test_a_config_is_an_attribute_of_the_module_or_of_its_class():
    class Wrapper(nn.Module):
        config = "of the class"

    plain, wrapper = nn.Linear(2, 2), Wrapper()
    assert module_config(plain) is None
    assert module_config(wrapper) == "of the class"
    plain.config, wrapper.config = "of the module", "of the module"
    assert module_config(plain) == module_config(wrapper) == "of the module"
