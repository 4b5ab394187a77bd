"""Links of pronouns in real text: a table of pairs with the words that their pronouns stand for."""

import pytest

from anaphora.pronouns import linked_pairs
from regard.text.words import split_words
from train.data import AT_END

END = "(end)"
PAIRS = [
    # It begins the sentence, so that no noun can be meant.
    ("It is in the kitchen.", "Elle est dans la cuisine.", {"It": END}),
    ("It's my dog.", "C'est mon chien.", {"It's": END}),
    # Weather, time and judgement.
    ("I closed the window because it was cold.",
     "J'ai fermé la fenêtre parce qu'il faisait froid.", {"it": END}),
    ("The boy said that it was raining.", "Le garçon a dit qu'il pleuvait.", {"it": END}),
    ("For a dog it is easy to swim.", "Pour un chien il est facile de nager.", {"it": END}),
    # The French gender decides between two nouns, or names the only one.
    ("The car hit the wall, but it did not stop.",
     "La voiture a heurté le mur, mais elle ne s'est pas arrêtée.", {"it": "car"}),
    ("The car hit the wall, and it fell.",
     "La voiture a heurté le mur, et il est tombé.", {"it": "wall"}),
    ("The cows saw the dogs, so they ran.",
     "Les vaches ont vu les chiens, alors elles ont couru.", {"they": "cows"}),
    # Both nouns agree, or neither is in the translation, or another pronoun stands beside.
    ("The dog saw the cat because it moved.",
     "Le chien a vu le chat parce qu'il bougeait.", {}),
    ("The dog saw the cow, and he knew that it moved.",
     "Le chien a vu la vache, et il savait qu'elle bougeait.", {}),
    ("We like the car because it is fast.", "Nous aimons ce bolide car il est rapide.", {}),
    # The only man, the only woman; not one whom an earlier pronoun might mean.
    ("Mary told Tom that she was ill.", "Mary dit à Tom qu'elle était malade.", {"she": "Mary"}),
    ("Tom asked Mary if she loved him.", "Tom a demandé à Mary si elle l'aimait.",
     {"she": "Mary", "him": "Tom"}),
    ("Tom's sister said he slept.", "La sœur de Tom a dit qu'il dormait.", {"he": "Tom's"}),
    ("Tom told John that he was late.", "Tom dit à John qu'il était en retard.", {}),
    ("He told Tom that he was late.", "Il dit à Tom qu'il était en retard.", {}),
    ("We sing.", "Nous chantons.", {}),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target", "expected"), PAIRS)
def test_a_pronoun_links_to_what_it_can_only_stand_for(source, target, expected):
    words = split_words(source)
    links = [link for pair in linked_pairs([(source, target)]) for link in pair.links]
    stands_for = {
        words[link.query]: END if link.first == AT_END else words[link.first] for link in links
    }
    assert stands_for == expected


def test_pairs_without_a_link_are_left_out():
    linked = linked_pairs([(source, target) for source, target, _ in PAIRS])
    assert [pair.source for pair in linked] == [source for source, _, links in PAIRS if links]
