import torch
import torch.nn as nn


class CAM_Module(nn.Module):
    """Channel attention of DANet."""

    def __init__(self, beta=0.0):
        super().__init__()
        self.beta = nn.Parameter(torch.full((1,), float(beta)))

    def forward(self, x):
        b, C, height, width = x.size()
        proj_query = x.view(b, C, -1)
        proj_key = x.view(b, C, -1).permute(0, 2, 1)
        energy = torch.bmm(proj_query, proj_key)
        energy_new = torch.max(energy, -1, keepdim=True)[0].expand_as(energy) - energy
        attention = energy_new.softmax(dim=-1)
        out = torch.bmm(attention, x.view(b, C, -1)).view(b, C, height, width)
        return self.beta * out + x
