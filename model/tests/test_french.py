"""Sentences of the anaphora text against hand-checked English and French."""

import pytest

from anaphora.clauses import (
    Clause,
    Connector,
    Deed,
    action_clause,
    adjective_clause,
    finished,
    finished_french,
    phrase_clause,
)
from anaphora.events import GENERAL, PEOPLE, RELATIONS, RELATIVE_ADJECTIVES
from anaphora.mentions import MODES, SPEAKER, SPEAKERS, Mention, name
from anaphora.nouns import NOUNS
from anaphora.predicates import ACTIONS, ADJECTIVES, PHRASES
from anaphora.scenes import active_clause, passive_clause
from grammar import french as french_grammar

EVENTS = {" ".join(x.english): x for x in (*GENERAL, *RELATIONS, *PEOPLE)}
CONNECTORS = {
    "because": "parce que", ".": ".", "and": "et", "but": "mais", "since": "puisque",
    "when": "quand", "while": "alors que", "although": "bien que", "so": "donc",
}  # fmt: skip
FORMS = {x.english_plural: (x, True) for x in NOUNS.values()}
FORMS |= {x.english: (x, False) for x in NOUNS.values()}
DEEDS = {"because": "had", "so": "past", "but": "past not", "and": "wanted", ".": "had to"}
TABLES = {"adjective": ADJECTIVES, "phrase": PHRASES, "action": ACTIONS}


def noun_phrase(text: str) -> Mention:
    """'an old castle' as a mention."""
    determiner, *modifier, noun = text.split()
    entry, plural = FORMS[noun]
    return Mention(entry, plural, {"an": "a"}.get(determiner, determiner), " ".join(modifier))


def predicate(item: Mention, kind: str, text: str, tense: str, connector: str) -> Clause:
    """The clause of a row: a predicate of a table, or an adjective with its degree."""
    options = "subjunctive" if connector == "although" else ""
    if kind not in TABLES:
        degree, adjective = (
            (kind, text) if kind in ("too", "very", "so") else ("", f"{kind} {text}")
        )
        adjective = adjective.strip()
        if adjective.endswith(" enough"):
            degree, adjective = "enough", adjective.removesuffix(" enough")
        texts = adjective, RELATIVE_ADJECTIVES[adjective]
        return adjective_clause(item, texts, tense, degree, options)
    entry = next(x for x in TABLES[kind] if x.english == text)
    if kind == "adjective":
        return adjective_clause(item, (entry.english, entry.french), tense, "", options)
    if kind == "phrase":
        return phrase_clause(item, (entry.english, entry.french), tense)
    subjects = {"because": name("Anna"), "so": SPEAKER, "but": name("Tom"), "and": SPEAKERS}
    deed = Deed(subjects.get(connector, SPEAKER), DEEDS[connector], Connector("", ""))
    return action_clause(item, entry, deed)


def rendered(row: str) -> tuple[str, str]:
    """English and French of 'event | a | b | mode | connector | antecedent | predicate'."""
    event_text, first, second, mode, connector, right, rest = row.split(" | ")
    event, a, b = EVENTS[event_text], noun_phrase(first), noun_phrase(second)
    if mode == "passive":
        words, french = passive_clause(event, a, b)
        tense = "past"
    else:
        words, french = active_clause(event, a, {"a": a, "b": b}, MODES[mode])
        tense = MODES[mode].tense
    kind, _, text = rest.partition(" ")
    clause = predicate({"a": a, "b": b}[right], kind, text, tense, connector)
    words = [*words, connector, *clause.english, "."]
    english = [
        x[0].upper() + x[1:] if i == 0 or words[i - 1] == "." else x for i, x in enumerate(words)
    ]
    return finished(english), finished_french(f"{french} {CONNECTORS[connector]} {clause.french} .")


# A row of three lines: what is asked for, the English, the French.
TABLE = """\
push {b} | the dog | the tables | past | because | a | adjective hungry
The dog pushed the tables because it was hungry.
Le chien a poussé les tables parce qu'il avait faim.
push {b} | the cow | the tables | past not | because | b | adjective made of oak
The cow did not push the tables because they were made of oak.
La vache n'a pas poussé les tables parce qu'elles étaient en chêne.
look at {b} | a goose | this apple | progressive | . | b | adjective ripe
A goose was looking at this apple. It was ripe.
Une oie regardait cette pomme. Elle était mûre.
sit down next to {b} | the mules | a bench | past | because | a | adjective tired
The mules sat down next to a bench because they were tired.
Les mules se sont assises à côté d'un banc parce qu'elles étaient fatiguées.
lie down near {b} | the ewe | the tree | past not | although | a | adjective ill
The ewe did not lie down near the tree although it was ill.
La brebis ne s'est pas couchée près de l'arbre bien qu'elle soit malade.
run around {b} | your donkey | that church | present | and | b | phrase be full of tourists
Your donkey runs around that church and it is full of tourists.
Ton âne court autour de cette église et elle est pleine de touristes.
damage {b} | my goat | our tablecloth | past | because | b | adjective crumpled
My goat damaged our tablecloth because it was crumpled.
Ma chèvre a abîmé notre nappe parce qu'elle était froissée.
approach {b} | the ostriches | the lake | wanted | when | b | adjective frozen solid
The ostriches wanted to approach the lake when it was frozen solid.
Les autruches voulaient s'approcher du lac quand il était complètement gelé.
see {b} | an elephant | the axe | could not | but | b | adjective rusty
An elephant could not see the axe but it was rusty.
Un éléphant ne pouvait pas voir la hache mais elle était rouillée.
find {b} | the actress | the key | had | . | a | phrase be in a hurry
The actress had found the key. She was in a hurry.
L'actrice avait trouvé la clé. Elle était pressée.
play with {b} | a kitten | her scarf | is | while | a | adjective happy
A kitten is playing with her scarf while it is happy.
Un chaton joue avec son écharpe alors qu'il est heureux.
guard {b} | the goose | an old castle | past | because | b | phrase have thick walls
The goose guarded an old castle because it had thick walls.
L'oie a gardé un vieux château parce qu'il avait des murs épais.
enter {b} | the bees | the hotel | past not | since | b | phrase be closed on Sundays
The bees did not enter the hotel since it was closed on Sundays.
Les abeilles ne sont pas entrées dans l'hôtel puisqu'il était fermé le dimanche.
wait in front of {b} | the queen | the bakery | tried | but | a | phrase have a headache
The queen tried to wait in front of the bakery but she had a headache.
La reine a essayé d'attendre devant la boulangerie mais elle avait mal à la tête.
discover {b} | the lamb | the stream | past | because | a | adjective sad
The lamb discovered the stream because it was sad.
L'agneau a découvert le ruisseau parce qu'il était triste.
refuse {b} | the parrot | the water | past | because | a | adjective angry
The parrot refused the water because it was angry.
Le perroquet a refusé l'eau parce qu'il était en colère.
drag {b} | the puppy | my sock | refused | . | b | phrase have a hole
The puppy refused to drag my sock. It had a hole.
Le chiot a refusé de traîner ma chaussette. Elle avait un trou.
land on {b} | the swans | two cars | had to | because | b | adjective badly parked
The swans had to land on two cars because they were badly parked.
Les cygnes ont dû se poser sur deux voitures parce qu'elles étaient mal garées.
fly over {b} | the lark | the island | never | when | a | adjective thirsty
The lark never flew over the island when it was thirsty.
L'alouette n'a jamais survolé l'île quand elle avait soif.
be on {b} | a spider | the bed | state not | because | b | adjective uncomfortable
A spider was not on the bed because it was uncomfortable.
Une araignée n'était pas sur le lit parce qu'il était inconfortable.
be older than {b} | the church | the trumpet | state | but | b | adjective out of tune
The church was older than the trumpet but it was out of tune.
L'église était plus vieille que la trompette mais elle était désaccordée.
be bigger than {b} | these elephants | their van | present | and | b | phrase have a flat tyre
These elephants are bigger than their van and it has a flat tyre.
Ces éléphants sont plus grands que leur camionnette et elle a un pneu crevé.
fall on {b} | the branches | a van | past | because | a | adjective mossy
The branches fell on a van because they were mossy.
Les branches sont tombées sur une camionnette parce qu'elles étaient couvertes de mousse.
roll under {b} | this lemon | the armchair | past | because | a | adjective sweet
This lemon rolled under the armchair because it was sweet.
Ce citron a roulé sous le fauteuil parce qu'il était sucré.
hit {b} | the ambulance | the hedge | past not | . | a | adjective second-hand
The ambulance did not hit the hedge. It was second-hand.
L'ambulance n'a pas heurté la haie. Elle était d'occasion.
stop in front of {b} | three taxis | the hotel | past | because | a | phrase need new brakes
Three taxis stopped in front of the hotel because they needed new brakes.
Trois taxis se sont arrêtés devant l'hôtel parce qu'ils avaient besoin de nouveaux freins.
block {b} | the oak | that alley | has | since | b | adjective paved
The oak has blocked that alley since it is paved.
Le chêne a bloqué cette ruelle puisqu'elle est pavée.
disappear behind {b} | the plane | the hill | going | and | a | phrase fly low
The plane is going to disappear behind the hill and it flies low.
L'avion va disparaître derrière la colline et il vole bas.
come from {b} | the letter | the farm | state | and | a | adjective well written
The letter came from the farm and it was well written.
La lettre venait de la ferme et elle était bien écrite.
push {b} | the bear | the wheelbarrow | passive | because | b | adjective handy
The wheelbarrow was pushed by the bear because it was handy.
La brouette a été poussée par l'ours parce qu'elle était pratique.
destroy {b} | the mice | the letters | passive | because | b | adjective illegible
The letters were destroyed by the mice because they were illegible.
Les lettres ont été détruites par les souris parce qu'elles étaient illisibles.
sniff {b} | a cow | the roses | passive | because | a | adjective curious
The roses were sniffed by a cow because it was curious.
Les roses ont été reniflées par une vache parce qu'elle était curieuse.
go through {b} | the sofa | the door | could not | because | a | too big
The sofa could not go through the door because it was too big.
Le canapé ne pouvait pas passer par la porte parce qu'il était trop gros.
go through {b} | the sofa | the door | could not | because | b | too narrow
The sofa could not go through the door because it was too narrow.
Le canapé ne pouvait pas passer par la porte parce qu'elle était trop étroite.
contain {b} | the boxes | the dictionaries | cannot | because | a | too small
The boxes cannot contain the dictionaries because they are too small.
Les boîtes ne peuvent pas contenir les dictionnaires parce qu'elles sont trop petites.
reach {b} | the ladder | the windows | past not | because | b | too high
The ladder did not reach the windows because they were too high.
L'échelle n'a pas atteint les fenêtres parce qu'elles étaient trop hautes.
cover {b} | this sheet | our bed | present not | because | b | too long
This sheet does not cover our bed because it is too long.
Ce drap ne recouvre pas notre lit parce qu'il est trop long.
carry {b} | the mare | your saucepans | could not | since | a | too weak
The mare could not carry your saucepans since it was too weak.
La jument ne pouvait pas porter tes casseroles puisqu'elle était trop faible.
jump over {b} | the dogs | the fence | past not | . | a | too old
The dogs did not jump over the fence. They were too old.
Les chiens n'ont pas sauté par-dessus la clôture. Ils étaient trop vieux.
cut {b} | the axes | the ropes | cannot | because | b | too hard
The axes cannot cut the ropes because they are too hard.
Les haches ne peuvent pas couper les cordes parce qu'elles sont trop dures.
overtake {b} | the motorcycle | the ambulance | past | because | b | very slow
The motorcycle overtook the ambulance because it was very slow.
La moto a dépassé l'ambulance parce qu'elle était très lente.
go under {b} | a ship | the bridge | cannot | because | b | too low
A ship cannot go under the bridge because it is too low.
Un navire ne peut pas passer sous le pont parce qu'il est trop bas.
sink in {b} | the rafts | the sea | past | because | b | so rough
The rafts sank in the sea because it was so rough.
Les radeaux ont coulé dans la mer parce qu'elle était si agitée.
be afraid of {b} | the hen | the eagle | state | because | b | very fierce
The hen was afraid of the eagle because it was very fierce.
La poule avait peur de l'aigle parce qu'il était très féroce.
attack {b} | the wolves | the ewes | passive | because | b | defenceless
The ewes were attacked by the wolves because they were defenceless.
Les brebis ont été attaquées par les loups parce qu'elles étaient sans défense.
escape from {b} | the mouse | the cat | past | because | a | clever
The mouse escaped from the cat because it was clever.
La souris a échappé au chat parce qu'elle était maligne.
collapse under {b} | the shelf | the statues | past | because | b | enormous
The shelf collapsed under the statues because they were enormous.
L'étagère s'est effondrée sous les statues parce qu'elles étaient énormes.
carry {b} | the mule | the chairs | past | because | b | light enough
The mule carried the chairs because they were light enough.
La mule a porté les chaises parce qu'elles étaient assez légères.
seize {b} | the owl | the mouse | passive | because | b | slow
The mouse was seized by the owl because it was slow.
La souris a été saisie par la chouette parce qu'elle était lente.
get lost in {b} | the puppies | the town | past | because | a | young
The puppies got lost in the town because they were young.
Les chiots se sont perdus dans la ville parce qu'ils étaient jeunes.
return to {b} | the cows | the farm | past | because | a | tired
The cows returned to the farm because they were tired.
Les vaches sont retournées à la ferme parce qu'elles étaient fatiguées.
thank {b} | the nurse | the farmer | past | because | a | grateful
The nurse thanked the farmer because she was grateful.
L'infirmière a remercié le fermier parce qu'elle était reconnaissante.
punish {b} | the father | the boys | past | because | b | insolent
The father punished the boys because they were insolent.
Le père a puni les garçons parce qu'ils étaient insolents.
visit {b} | my aunt | the widow | past | . | b | alone
My aunt visited the widow. She was alone.
Ma tante a rendu visite à la veuve. Elle était seule.
apologise to {b} | the waitress | the king | past | because | a | late
The waitress apologised to the king because she was late.
La serveuse s'est excusée auprès du roi parce qu'elle était en retard.
look after {b} | the midwife | the actresses | progressive | because | b | injured
The midwife was looking after the actresses because they were injured.
La sage-femme s'occupait des actrices parce qu'elles étaient blessées.
trust {b} | the duchess | your nephew | present | because | a | naive
The duchess trusts your nephew because she is naive.
La duchesse fait confiance à ton neveu parce qu'elle est naïve.
push {b} | the goat | the chairs | past | so | b | action assemble
The goat pushed the chairs so I assembled them.
La chèvre a poussé les chaises donc je les ai montées.
push {b} | the goat | a chair | past | but | a | action frighten
The goat pushed a chair but Tom did not frighten it.
La chèvre a poussé une chaise mais Tom ne l'a pas effrayée.
look at {b} | the cats | a flower | had | because | b | action water
The cats had looked at a flower because Anna had watered it.
Les chats avaient regardé une fleur parce qu'Anna l'avait arrosée.
find {b} | the monkey | the shirt | past | so | b | action iron
The monkey found the shirt so I ironed it.
Le singe a trouvé la chemise donc je l'ai repassée.
touch {b} | the girl | the lamp | past | and | b | action switch off
The girl touched the lamp and we wanted to switch it off.
La fille a touché la lampe et nous voulions l'éteindre.
sniff {b} | the camel | the soup | past | so | b | action taste
The camel sniffed the soup so I tasted it.
Le chameau a reniflé la soupe donc je l'ai goûtée.
see {b} | the otter | the villas | past | because | b | action rent
The otter saw the villas because Anna had rented them.
La loutre a vu les villas parce qu'Anna les avait louées.
lick {b} | the fox | the bowl | past | . | b | action scrub
The fox licked the bowl. I had to scrub it.
Le renard a léché le bol. J'ai dû le récurer.
jump over {b} | the zebra | the hedge | past | and | b | action prune
The zebra jumped over the hedge and we wanted to prune it.
Le zèbre a sauté par-dessus la haie et nous voulions la tailler.
like {b} | the princess | the pears | present | . | a | adjective polite
The princess likes the pears. She is polite.
La princesse aime les poires. Elle est polie.
"""
_LINES = TABLE.splitlines()
ROWS = list(zip(_LINES[::3], _LINES[1::3], _LINES[2::3], strict=True))


def test_the_table_is_long_enough():
    assert len(ROWS) >= 60


@pytest.mark.parametrize(("row", "english", "french"), ROWS)
def test_sentences_are_as_checked_by_hand(row, english, french):
    assert rendered(row) == (english, french)


@pytest.mark.parametrize(
    ("masculine", "feminine"),
    [("protecteur", "protectrice"), ("querelleur", "querelleuse"), ("veuf", "veuve"),
     ("sauf", "sauve"), ("snob", "snob"), ("indiscret", "indiscrète"), ("aigu", "aiguë"),
     ("boudeur", "boudeuse"), ("migrateur", "migratrice"), ("courtois", "courtoise")],
)  # fmt: skip
def test_feminine_of_an_adjective(masculine, feminine):
    assert french_grammar.feminine(masculine) == feminine


def test_words_before_an_aspirated_h_are_whole():
    assert french_grammar.joined("de hisser le_ hall") == "de hisser le hall"
    assert french_grammar.plural("bande dessinée") == "bandes dessinées"
