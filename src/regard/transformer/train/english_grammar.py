"""English forms: plurals of nouns and forms of verbs."""

from __future__ import annotations

from functools import cache

_PLURALS = {
    "mouse": "mice", "sheep": "sheep", "goose": "geese", "man": "men", "woman": "women",
    "knife": "knives", "wife": "wives", "calf": "calves", "wolf": "wolves",
    "policeman": "policemen", "fireman": "firemen", "postman": "postmen",
    "fisherman": "fishermen", "scarf": "scarves", "radio": "radios", "piano": "pianos",
    "shelf": "shelves", "photo": "photos", "kangaroo": "kangaroos", "cello": "cellos",
    "banjo": "banjos", "thief": "thieves", "ox": "oxen", "midwife": "midwives",
    "bookshelf": "bookshelves", "yo-yo": "yo-yos", "flamingo": "flamingos",
    "fish": "fish", "salmon": "salmon", "trout": "trout", "deer": "deer", "cod": "cod",
    "squid": "squid", "goldfish": "goldfish", "jellyfish": "jellyfish", "shrimp": "shrimp",
    "loaf": "loaves", "businessman": "businessmen", "salesman": "salesmen", "hero": "heroes",
    "housewife": "housewives", "thesis": "theses", "oasis": "oases", "volcano": "volcanoes",
    "series": "series", "tuna": "tuna", "dwarf": "dwarfs", "domino": "dominoes", "mango": "mangoes",
}  # fmt: skip

# base: past, participle
_IRREGULAR = {
    row.split()[0]: tuple(row.split()[1:])
    for row in """\
be was been
have had had
see saw seen
put put put
buy bought bought
sell sold sold
find found found
give gave given
get got gotten
go went gone
run ran run
sit sat sat
lie lay lain
stand stood stood
lose lost lost
bring brought brought
send sent sent
choose chose chosen
forget forgot forgotten
cut cut cut
hit hit hit
keep kept kept
know knew known
draw drew drawn
hold held held
feed fed fed
read read read
write wrote written
drive drove driven
build built built
sew sewed sewn
swim swam swum
fall fell fallen
fly flew flown
sing sang sung
feel felt felt
hear heard heard
smell smelled smelled
wake woke woken
pay paid paid
overtake overtook overtaken
make made made
sweep swept swept
think thought thought
come came come
grow grew grown
tell told told
spread spread spread
beat beat beaten
light lit lit
lean leaned leaned
speak spoke spoken
dream dreamt dreamt
lead led led
sink sank sunk
understand understood understood
teach taught taught
burn burnt burnt
slide slid slid
cost cost cost
show showed shown
weigh weighed weighed
sting stung stung
swing swung swung
lay laid laid
bend bent bent
bear bore borne
win won won
hurt hurt hurt
shrink shrank shrunk
rise rose risen
freeze froze frozen
begin began begun
strike struck struck
ring rang rung
set set set
shine shone shone
shoot shot shot
deal dealt dealt
meet met met
beat beat beaten
fight fought fought
spend spent spent
rebuild rebuilt rebuilt
reread reread reread
withstand withstood withstood
outrun outran outrun
shed shed shed
spill spilt spilt
become became become
dig dug dug
forbid forbade forbidden
forgive forgave forgiven
mistake mistook mistaken
shake shook shaken
split split split
stick stuck stuck
breed bred bred
tear tore torn
rewrite rewrote rewritten
proofread proofread proofread
broadcast broadcast broadcast
wring wrung wrung
reset reset reset
blow blew blown
shut shut shut
let let let
babysit babysat babysat
bind bound bound
cast cast cast
foresee foresaw foreseen
overcome overcame overcome
uphold upheld upheld
retell retold retold
rethink rethought rethought
undo undid undone
ride rode ridden
wind wound wound
rewind rewound rewound
sow sowed sown
spit spat spat
weave wove woven
flee fled fled
speed sped sped
burst burst burst
bleed bled bled
creep crept crept
spring sprang sprung
weep wept wept
swell swelled swollen
spin spun spun
kneel knelt knelt
stink stank stunk
swear swore sworn
cling clung clung
leap leapt leapt
grind ground ground
""".splitlines()
}
_DOUBLED = frozenset(("stop", "drop", "drag", "put", "sit", "run", "cut", "hit", "get", "forget",
                      "swim", "step", "wrap", "knit", "transfer", "prefer", "plug",
                      "unplug", "drip", "hum", "hug", "chop", "sip", "cancel", "begin", "set",
                      "beg", "trap", "slip", "grab", "wag", "spot", "dip",
                      "stir", "unwrap", "scrub", "scan", "relabel", "plan", "rob", "pop", "dub",
                      "skim", "repot", "regret", "program", "knot", "trim", "slam", "trip", "rot",
                      "dig", "outrun", "shut",
                      "babysit", "ban", "chip", "clip", "dab", "dam", "distil", "expel", "flag",
                      "gut", "hem", "jam", "jot", "kidnap", "label", "let", "map", "mop", "model",
                      "pad", "pat", "pet", "pin", "pit", "prop", "reprogram", "rip", "rub", "shred",
                      "skid", "skin", "skip", "slap", "spit", "stab", "stub", "swat", "tip", "top",
                      "uncap", "unravel", "unzip", "whip", "zip", "acquit", "spin", "snap", "hop",
                      "throb", "flap", "chat", "nod", "sob", "clap", "quit", "shop", "jog",
                      "bud", "sag", "blur", "tan", "wed", "bet", "commit",
                      "dim", "flop", "refer", "shrug", "star", "trot", "travel", "quarrel",
                      "whir", "excel", "rebel", "fret", "nap", "win",
                      "lag", "outwit", "ram", "split", "repel", "flip", "tug", "tap",
                      "strip", "grip"))  # fmt: skip


def plural(noun: str) -> str:
    """The plural of a noun.

    >>> plural("cherry"), plural("box"), plural("tomato"), plural("toy"), plural("wolf")
    ('cherries', 'boxes', 'tomatoes', 'toys', 'wolves')
    """
    if noun in _PLURALS:
        return _PLURALS[noun]
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    if noun.endswith(("s", "x", "z", "ch", "sh", "ato")):
        return noun + "es"
    return noun + "s"


@cache
def past(verb: str) -> str:
    """The simple past, third person singular."""
    return _IRREGULAR[verb][0] if verb in _IRREGULAR else _regular_past(verb)


@cache
def participle(verb: str) -> str:
    """The past participle."""
    return _IRREGULAR[verb][1] if verb in _IRREGULAR else _regular_past(verb)


def _regular_past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return (verb + verb[-1] if verb in _DOUBLED else verb) + "ed"


@cache
def progressive(verb: str) -> str:
    """The form in -ing.

    >>> progressive("push"), progressive("lie"), progressive("put"), progressive("move")
    ('pushing', 'lying', 'putting', 'moving')
    """
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith("ee") and verb != "be":
        return verb[:-1] + "ing"
    return (verb + verb[-1] if verb in _DOUBLED else verb) + "ing"


@cache
def present(verb: str, plural_subject: bool) -> str:
    """The simple present.

    >>> present("push", False), present("carry", False), present("be", True), present("go", False)
    ('pushes', 'carries', 'are', 'goes')
    """
    if verb == "be":
        return "are" if plural_subject else "is"
    if plural_subject:
        return verb
    if verb == "have":
        return "has"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


def finite(verb: str, tense: str, plural_subject: bool) -> str:
    """A finite form in the past or the present."""
    if tense == "present":
        return present(verb, plural_subject)
    return "were" if verb == "be" and plural_subject else past(verb)


def negated(verb: str, tense: str, plural_subject: bool) -> str:
    """A negated finite form.

    >>> negated("be", "past", True), negated("push", "present", False)
    ('were not', 'does not push')
    """
    if verb == "be":
        return finite(verb, tense, plural_subject) + " not"
    return f"{finite('do', tense, plural_subject) if tense == 'present' else 'did'} not {verb}"


def article(word: str) -> str:
    """The indefinite article before a word.

    >>> article("apple"), article("uniform"), article("hour"), article("dog")
    ('an', 'a', 'an', 'a')
    """
    if word.startswith(("uni", "use", "eu", "one")):
        return "a"
    return "an" if word[0] in "aeiou" or word.startswith(("hour", "honest")) else "a"
