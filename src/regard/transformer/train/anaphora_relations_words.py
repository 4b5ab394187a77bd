"""French of predicates that the relations name and no other table has."""

from __future__ import annotations

# english:french; ! marks what never agrees but the words with *, ~ begins a verb phrase.
_FRENCH = """\
    abandoned:abandonné, antique:ancien, badly built:mal construit*, badly closed:mal fermé*,
    badly guarded:mal gardé*, badly prepared:mal préparé*, badly watered:mal arrosé*,
    childless:!sans enfants, complicated:compliqué, distracted:distrait,
    enthusiastic:enthousiaste, exotic:exotique, flammable:inflammable, flat:plat, gentle:doux,
    green:vert, homeless:!sans abri, made of plastic:!en plastique,
    made of porcelain:!en porcelaine, made of rubber:!en caoutchouc, made with honey:!au miel,
    medieval:médiéval, neglected:négligé, newborn:nouveau-né, newly varnished:fraîchement verni*,
    on sale:!en solde, orphaned:orphelin, picky:difficile, punctual:ponctuel,
    recently built:construit* récemment, rigid:rigide, rough to the touch:rugueux* au toucher,
    shady:ombragé, spotless:impeccable, stiff:raide, straight:droit, tireless:infatigable,
    transparent:transparent, undecided:indécis, unstable:instable, vague:vague, vast:vaste,
    wasted:gaspillé, well fed:bien nourri*, well watered:bien arrosé*, windowless:!sans fenêtres,
    ~ be bored:s'ennuyer"""


def _french() -> dict[str, str]:
    items = (item.partition(":") for item in " ".join(_FRENCH.split()).split(", "))
    return {english: french for english, _, french in items}


PREDICATE_FRENCH = _french()
