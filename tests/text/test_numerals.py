"""Numbers of a sentence found again in its translation, as both languages write them."""

import pytest

from regard.text.numerals import NumeralGuard, changed_numerals


@pytest.mark.parametrize(
    ("english", "french"),
    [
        ("It costs $1,250.50.", "Cela coûte 1 250,50 $."),
        ("1,000,000 dollars", "un million de dollars"),
        ("1,000,000 dollars", "1 million de dollars"),
        ("$27-thousand", "27 000 dollars"),
        ("About 3.5 km", "Environ 3,5 km"),
        ("0.125 litres", "0,125 litre"),
        ("I have 3 cats.", "J'ai trois chats."),
        ("4, 6 or 12 payments", "quatre, six ou douze fois"),
        ("She is 97.", "Elle a quatre-vingt-dix-sept ans."),
        ("in 1973", "en mille neuf cent soixante-treize"),
        ("21 people", "vingt et une personnes"),
        ("at 8:30 pm", "à 20 h 30"),
        ("at 8.30 pm", "à 8 h 30 du soir"),
        ("after 10:00 p.m.", "après 22h"),
        ("until 2:30", "jusqu'à deux heures et demie"),
        ("at 12 am", "à 0 h"),
        ("the 1980s", "les années 80"),
        ("the 19th century", "le XIXe siècle"),
        ("the 12th century", "le douzième siècle"),
        ("his 45th birthday", "son quarante-cinquième anniversaire"),
        ("the 1st of May", "le 1er mai"),
        ("Call 555-123-4567.", "Appelez le 555 123 4567."),
        ("Call 06 12 34 56 78.", "Appelez le 06.12.34.56.78."),
        ("on 2020-05-12", "le 12/05/2020"),
        ("1/2 litre", "un demi-litre"),
        ("1 1/2 cups", "1 1/2 tasses"),
        ("8 per cent", "8 p. 100"),
        ("2 dogs and three cats", "2 chiens et 3 chats"),
        ("on the eleventh of June", "le 11 juin"),
        ("No numbers here.", "Pas de chiffres ici."),
    ],
)
def test_a_number_is_the_same_in_either_language(english, french):
    assert changed_numerals(english, french) == ((), ())


@pytest.mark.parametrize(
    ("english", "french", "changed"),
    [
        ("1,000,000 dollars", "1 000 dollars", (("1,000,000",), ("1 000",))),
        ("1/2 litre", "12 litres", (("1/2",), ("12",))),
        ("1/2 cup", "1 h 2 de tasse", (("1/2",), ("1", "2"))),
        ("2 1/4 hours", "21/4 heures", (("2 1/4",), ("21/4",))),
        ("3.5 km", "35 km", (("3.5",), ("35",))),
        ("Room 101", "Chambre 110", (("101",), ("110",))),
        ("Room 101", "La chambre", (("101",), ())),
        ("2 and 2", "2 et", (("2",), ())),
        ("I have 3 cats.", "J'ai 3 chats et 4 chiens.", ((), ("4",))),
        ("Call 555-123-4567.", "Appelez le 555-123-456.", (("555-123-4567",), ("555-123-456",))),
        ("at 8 pm", "à 19 h", (("8",), ("19",))),
        ("at 8 am", "à 20 h", (("8",), ("20",))),
        ("97 years", "quatre-vingt-sept ans", (("97",), ())),
    ],
)
def test_a_number_that_changed_is_named_as_it_is_written(english, french, changed):
    assert changed_numerals(english, french) == changed


@pytest.mark.parametrize(
    ("english", "wrong", "right"),
    [
        ("It costs 1,000,000 dollars", "1 000 dollars", "1 000 000 dollars"),
        ("It costs 1,250.50 dollars", "1,250.50 dollars", "1 250,50 dollars"),
        ("It was 111 degrees", "11 degrés", "111 degrés"),
        ("Add 1/2 litre", "12 litres", "1/2 litre"),
        ("Add 1 1/2 cups", "1 12 tasses", "1 1/2 tasse"),
        ("on 12/03/2026", "12/2026", "12/03/2026"),
        ("Call 555-123-4567", "55-123-4567", "555-123-4567"),
        ("Call 06 12 34 56 78", "06 124 566 78", "06 12 34 56 78"),
        ("at 8:30 pm", "19 h 30", "20 h 30"),
        ("at 8:30", "20 h 30", "8 h 30"),
        ("at 3 in 2026, 300 people", "3 en 20263", "3 en 2026, 300 personnes"),
        ("555.2 million", "55,2 millions", "555,2 millions"),
        ("3 eggs", "quatre œufs", "trois œufs"),
        ("that one costs 3,500 euros", "35 000 euros", "3 500 euros"),
        ("£27", "27\ufffd7", "27 livres"),
    ],
)
def test_the_guard_lets_only_the_right_number_grow(english, wrong, right):
    guard = NumeralGuard(english)
    beginnings = {text: [text[:end] for end in range(1, len(text) + 1)] for text in (wrong, right)}
    assert all(map(guard.allows, beginnings[right]))
    assert guard.allows_end(right)
    assert not all(map(guard.allows, beginnings[wrong]))
    assert not guard.allows_end("rien")
