import torch
import torch.nn as nn


class MHSA(nn.Module):
    def __init__(self, n_dims, heads=4):
        super().__init__()
        self.heads = heads
        d = n_dims // heads
        self.wq = nn.Parameter(torch.empty(heads, n_dims, d))
        self.wk = nn.Parameter(torch.empty(heads, n_dims, d))
        self.wv = nn.Parameter(torch.empty(heads, n_dims, d))
        self.wo = nn.Parameter(torch.empty(heads, d, n_dims))
        for w in self.parameters():
            nn.init.normal_(w, std=n_dims ** -0.5)

    def forward(self, x):
        q = torch.einsum('bnc,hcd->bhnd', x, self.wq)
        k = torch.einsum('bnc,hcd->bhnd', x, self.wk)
        v = torch.einsum('bnc,hcd->bhnd', x, self.wv)
        energy = torch.einsum('bhid,bhjd->bhij', q, k) / q.shape[-1] ** 0.5
        attention = torch.softmax(energy, dim=-1)   # over the keys j
        out = torch.einsum('bhij,bhid->bhjd', attention, v)
        return torch.einsum('bhnd,hdc->bnc', out, self.wo)
