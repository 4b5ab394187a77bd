import torch


@torch.no_grad()
def chunked_attention(q, k, v, chunk_size=1024):
    """
    Memory-efficient attention for inference: the queries are processed chunk_size at a time.
    q: (batch, n, d)   k, v: (batch, m, d)   ->   (batch, n, d), same as full attention
    """
    scale = q.shape[-1] ** -0.5
    out = torch.zeros(q.shape[0], q.shape[1], v.shape[2], device=q.device, dtype=q.dtype)
    k_t = k.transpose(1, 2)
    n_chunks = q.shape[1] // chunk_size
    for i in range(n_chunks):
        start = i * chunk_size
        end = start + chunk_size
        s = torch.bmm(q[:, start:end], k_t) * scale
        p = s.softmax(dim=-1)
        del s
        out[:, start:end] = torch.bmm(p, v)
        del p
    return out
