"""Attention through all layers, rolled out as the library does it, and the plane of a head."""

import numpy as np
import numpy.testing as npt

from regard.display import percent
from regard.heads.rollout import rolled_out
from regard.transformer.reading import read

SENTENCE = "A dog ate the food because it was hungry"
ROLLED = """async ({ means, size }) => {
  const { massesFrom, residualStep } = await import("/run/flow.js");
  const steps = means.map((weights) => residualStep(weights, size));
  return Array.from({ length: size }, (_, token) => [...massesFrom(steps, size, token)[0]]);
}"""


def test_what_is_rolled_out_is_the_librarys(page):
    random, size = np.random.default_rng(2), 5
    means_lqk = random.dirichlet(np.full(size, 0.4), (4, size))
    page.goto("/#learn")
    made = page.evaluate(ROLLED, {"means": means_lqk.reshape(4, -1).tolist(), "size": size})
    npt.assert_allclose(made, rolled_out(means_lqk), rtol=1e-12)


def test_a_word_is_followed_through_the_layers(page, open_map, until):
    open_map(page, row=6)
    page.get_by_role("button", name="Through the layers").click()
    page.locator(".flow-sums table").wait_for()
    assert "as=flow" in page.url
    mixed = read(SENTENCE).rollout(part="encoder")
    query = 6
    rows = page.locator(".flow-sums tbody tr").all()
    cells = [row.locator("th, td").all_text_contents() for row in rows]
    shares = mixed.tokens_qk[query]
    order = np.argsort(-shares, kind="stable")[:8]
    assert [x[1] for x in cells] == [percent(shares[k]) for k in order]
    page.locator(".flow-lines").press("ArrowDown")
    page.locator(".flow-lines").press("ArrowDown")
    page.locator(".flow-sums caption", has_text="What hungry is mixed from").wait_for()
    page.get_by_role("button", name="Map", exact=True).click()
    page.locator(".map-canvas").wait_for()
    until(page, "!location.hash.includes('as=')")


PLANE = """async (vectors) => {
  const { principalPlane } = await import("/run/space.js");
  return principalPlane(vectors.map((vector) => Float64Array.from(vector)));
}"""


def test_queries_and_keys_in_the_plane_in_which_they_differ_most(page, open_map):
    open_map(page)
    page.get_by_role("button", name="Queries and keys").click()
    page.locator(".space .dot.key").first.wait_for()
    reading = read(SENTENCE)
    link = reading.highlight().link
    steps = reading.steps(link.layer, link.head)
    vectors = np.vstack([np.squeeze(steps.query), np.squeeze(steps.key)]).astype(np.float64)
    centred = vectors - vectors.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    share = (sizes[:2] ** 2).sum() / (sizes**2).sum()
    assert f"It holds {percent(share)} of their variance" in page.text_content(".space p")
    made = page.evaluate(PLANE, vectors.tolist())
    npt.assert_allclose(made["share"], share, rtol=1e-9)
    points = np.abs(np.array(made["points"]))  # an axis may point either way
    npt.assert_allclose(points, np.abs(left[:, :2] * sizes[:2]), atol=1e-5 * sizes[0])
    assert page.locator(".space .dot").count() == len(vectors)
    # By the mouse: the reach of another dot may lie over this one, and the nearest is meant.
    dot = page.locator(".space .dot.query", has_text="food").locator("circle.around")
    dot.scroll_into_view_if_needed()
    box = dot.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator(".statement", has_text="Food looks at").wait_for()
    page.locator(".space > svg").press("ArrowRight")
    page.locator(".statement", has_text="Because looks at").wait_for()
