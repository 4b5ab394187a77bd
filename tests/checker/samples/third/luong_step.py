import torch
import torch.nn as nn


class LuongDecoderStep(nn.Module):
    """Global attention, score "general", of Luong et al. (2015): score(h_t, h_s) = h_t^T W_a h_s,
    unscaled, then h~_t = tanh(W_c [c_t; h_t])."""

    def __init__(self, dec_size, enc_size):
        super().__init__()
        self.W_a = nn.Linear(enc_size, dec_size, bias=False)
        self.W_c = nn.Linear(dec_size + enc_size, dec_size, bias=False)

    def forward(self, h_t, encoder_outputs, src_lengths):
        """
        h_t: (batch, dec_size)
        encoder_outputs: (src_len, batch, enc_size), as an nn.LSTM gives them
        src_lengths: (batch,)
        """
        h_s = encoder_outputs.transpose(0, 1)
        align = torch.bmm(self.W_a(h_s), h_t.unsqueeze(2)).squeeze(2)
        positions = torch.arange(h_s.size(1), device=h_s.device)
        align = align.masked_fill(positions[None, :] >= src_lengths[:, None], -float('inf'))
        a_t = torch.softmax(align, dim=1)
        c_t = torch.bmm(a_t.unsqueeze(1), h_s).squeeze(1)
        attn_h = torch.tanh(self.W_c(torch.cat([c_t, h_t], dim=1)))
        return attn_h, a_t
