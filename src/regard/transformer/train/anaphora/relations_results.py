"""Relations whose ending is a result ('so now it is full'), and more that end in a reason."""

from __future__ import annotations

# ... = result = what {a} is then = what {b} is then; the rows of _REASONS as in the other tables.
_RESULTS = """\
{a} hit {b} = heurter {b} = car truck bus van tractor = wall gate fence bridge barrier = result \
    = dented, ~ need a mechanic, ~ need new brakes = cracked, about to collapse
{a} crash into {b} = percuter {b} = motorcycle car bus train = statue wall fountain bridge \
    = result = ~ need a new engine, ~ need a mechanic = cracked, about to collapse
{a} knock over {b} = renverser {b} = dog cat goat monkey horse = vase bottle lamp jug = result \
    = frightened, ashamed, locked outside = in pieces, shattered, chipped
{a} damage {b} = abîmer {b} = puppy kitten goat monkey = carpet sofa curtain armchair = result \
    = locked outside, ashamed = full of holes, torn, ~ need mending
{a} trample {b} = piétiner {b} = horse cow goat elephant = flower lawn garden lettuce = result \
    = locked in the barn, out of breath = flattened, ruined
{a} gnaw {b} = ronger {b} = dog rat puppy = shoe cushion slipper belt = result \
    = locked outside, ashamed, sick = full of holes, unusable
{a} attack {b} = attaquer {b} = wolf fox lion bear = lamb hen rabbit kitten = result \
    = satisfied, locked in a cage = wounded, dying, terrified
{a} frighten {b} = effrayer {b} = dog fox snake wolf = hen horse sheep rabbit = result \
    = locked outside, proud = terrified, panicked
{a} outrun {b} = distancer {b} = rabbit hare deer = wolf fox dog = result = safe, out of danger \
    = disappointed, annoyed
{a} carry {b} for hours = porter {b} pendant des heures = donkey horse mule camel \
    = crate barrel bag chest = result = exhausted, out of breath, thirsty \
    = delivered
{a} play with {b} all day = jouer avec {b} toute la journée = puppy kitten monkey boy girl \
    = ball doll balloon kite = result = tired, sleepy, out of breath = scuffed, ruined
{a} guard {b} all night = garder {b} toute la nuit = dog soldier policeman goose \
    = house bank castle chest = result = tired, sleepy, exhausted = safe, intact
{a} block {b} = bloquer {b} = truck tree rock bus = road alley path motorway = result \
    = in the way, ~ need moving = impassable, closed to traffic
{a} flood {b} = inonder {b} = river lake canal = field cellar village meadow = result \
    = higher than usual, swollen by the rain = under water, ruined
{a} pollute {b} = polluer {b} = factory tanker = river lake sea = result \
    = closed for good, hated by everyone = toxic, murky, undrinkable
{a} crush {b} = écraser {b} = tree rock beam = car tent hut = result \
    = in the way, ~ need moving \
    = flattened, in pieces, uninhabitable
{a} tow {b} = remorquer {b} = tractor truck van = caravan trailer = result \
    = overheated, ~ need petrol = hitched up
S wipe {a} with {b} = essuyer {a} avec {b} = table window mirror desk = towel handkerchief sponge \
    = result = clean, shiny = dirty, wet, soaked
S dry {a} with {b} = sécher {a} avec {b} = dog horse puppy bowl = towel sheet blanket = result \
    = dry = wet, soaked, damp
S saw {a} with {b} = scier {a} avec {b} = plank branch beam log = knife axe chainsaw = result \
    = in two pieces, short = blunt, overheated
S paint {a} with {b} = peindre {a} avec {b} = door wall fence gate = brush sponge = result \
    = as good as new, colourful = sticky, unusable
S plant {a} in front of {b} = planter {a} devant {b} = tree hedge fir oak = window house bench \
    = result = leafy, ~ grow quickly = in the shade, invisible from the street
S cool {a} in {b} = rafraîchir {a} dans {b} = wine beer lemonade cider = fridge freezer = result \
    = cold, refreshing = full, hard to close
S bake {a} in {b} = cuire {a} dans {b} = cake bread pie pizza = oven = result \
    = ready to be served, crispy, burnt = full of smoke, overheated, dirty
S store {a} in {b} = ranger {a} dans {b} = jewel letter passport photo = chest drawer = result \
    = safe, well protected = full, locked, heavy
S pack {a} in {b} = emballer {a} dans {b} = sweater coat dress book = suitcase crate backpack \
    = result = well protected, crumpled = heavy, hard to close, packed to bursting
S park {a} in {b} = garer {a} dans {b} = car van truck = garage courtyard barn = result \
    = out of the rain, well protected = full, cramped
S tie {a} to {b} = attacher {a} à {b} = horse dog bull donkey = pole fence branch = result \
    = furious, restless, unable to move = bent, twisted
S put {a} onto {b} = poser {a} sur {b} = statue piano machine rock = shelf table desk = result \
    = clearly visible, in the light = cracked, about to collapse
S replace {a} with {b} = remplacer {a} par {b} = computer printer fridge car \
    = computer printer fridge car = result = for sale, useless, worthless = under guarantee, new
S water {a} with {b} = arroser {a} avec {b} = plant = bucket bottle jug = result \
    = blooming, in bloom, ~ grow quickly = empty, light
S wrap {a} in {b} = emballer {a} dans {b} = glass plate vase cup = newspaper handkerchief towel \
    = result = well protected, ready to be sent = crumpled, torn
"""
_REASONS = """\
{a} drown out {b} = couvrir {b} = drum tractor siren trumpet = flute radio violin whistle = past \
    = noisy, deafening, powerful = far away, weak
{a} trap {b} = piéger {b} = net cage trap = fox rat mouse bear = past \
    = well camouflaged, solid, new = careless, greedy, hungry
{a} resist {b} = résister à {b} = wall dam bridge roof = torrent river truck bulldozer = yes \
    = solid, thick, high = weak, slow
{a} poison {b} = empoisonner {b} = mushroom snake spider scorpion = dog cat horse hen = past \
    = poisonous, toxic, dangerous = weak, careless, greedy
{a} slide off {b} = glisser de {b} = plate vase book bottle = tray shelf table = past \
    = round, smooth, wet = sloping, wobbly
{a} be brighter than {b} = être plus lumineux* que {b} = kitchen bedroom office \
    = cellar attic corridor garage = more = sunny, well lit, south-facing \
    = gloomy, badly lit, underground
{a} be colder than {b} = être plus froid* que {b} = cellar barn attic church \
    = kitchen bedroom restaurant = more = draughty, badly insulated, poorly heated \
    = well heated, well insulated, sunny
{a} be farther than {b} = être plus loin que {b} = castle village museum hotel \
    = castle village museum hotel = more = remote, isolated \
    = close to the station, within walking distance
{a} be noisier than {b} = être plus bruyant* que {b} = hotel street restaurant \
    = hotel street restaurant = more = crowded, packed, full of tourists = deserted, empty
{a} be safer than {b} = être plus sûr* que {b} = road bridge path = road bridge path = more \
    = well lit, wide, well maintained = slippery, narrow, badly lit
{a} attract more people than {b} = attirer plus de monde que {b} = film concert festival opera \
    = film concert festival opera = more = famous, exciting, interesting \
    = boring, too expensive, tedious
{a} dry faster than {b} = sécher plus vite que {b} = shirt towel sheet dress \
    = coat blanket carpet sweater = more = thin, light, made of linen \
    = thick, heavy, made of wool
{a} burn better than {b} = brûler mieux que {b} = log branch plank = log branch plank = more \
    = dry, thin = wet, damp, soaked
{a} shine more than {b} = briller plus que {b} = mirror ring coin spoon = mirror ring coin spoon \
    = more = clean, freshly polished, new = dirty, dusty, stained
{a} last longer than {b} = durer plus longtemps que {b} = lesson speech meeting film \
    = lesson speech meeting film = more = slow, detailed, endless = short, interrupted
{a} be more useful than {b} = être plus utile* que {b} = map dictionary manual guidebook \
    = map dictionary manual guidebook = more = accurate, detailed, informative \
    = outdated, inaccurate, illegible
S open {a} with {b} = ouvrir {a} avec {b} = door chest drawer box = key knife screwdriver \
    = cannot = heavy, rusty, solid = small, short, fragile
S transport {a} on {b} = transporter {a} sur {b} = piano statue appliance beam \
    = raft cart wheelbarrow = cannot = heavy, big, bulky = fragile, small, rickety
S tie up {a} with {b} = attacher {a} avec {b} = horse bull boat = rope string chain = cannot \
    = strong, big, heavy = short, thin, fragile
S dip {a} in {b} = tremper {a} dans {b} = bread biscuit croissant = coffee milk tea soup = yes \
    = hard, dry, stale = hot, delicious, boiling
S sew {a} with {b} = coudre {a} avec {b} = dress shirt curtain cushion = needle = cannot \
    = thick, hard = blunt, short, old
S sweep {a} with {b} = balayer {a} avec {b} = floor courtyard kitchen = broom brush = yes \
    = dusty, dirty, muddy = practical, new, solid
S dig in {a} with {b} = creuser dans {a} avec {b} = field garden hill = spade shovel pickaxe \
    = cannot = frozen, hard, stony = blunt, small, fragile
S photograph {a} through {b} = photographier {a} à travers {b} = castle lake bird ship \
    = window fence gate = cannot = far away, small = dirty, high, thick
"""
OF_RESULTS = _RESULTS + _REASONS

# english:french of what no other table has
_FRENCH = """\
    ~ need a mechanic:avoir besoin d'un mécanicien, ~ need new brakes:avoir besoin de nouveaux
    freins, about to collapse:!sur le point de s'effondrer, ~ need a new engine:avoir besoin
    d'un nouveau moteur, locked outside:enfermé* dehors, in pieces:!en morceaux,
    ~ need mending:avoir besoin
    d'être réparé*, locked in the barn:enfermé* dans la grange, flattened:aplati,
    unusable:inutilisable, locked in a cage:enfermé* dans une cage, ~ be still ringing:sonner
    encore, out of danger:!hors de danger, delivered:livré,
    scuffed:éraflé, intact:intact, in the way:!dans le passage, ~ need moving:avoir besoin d'être
    déplacé*, closed to traffic:fermé* à la circulation, higher than usual:plus haut* que
    d'habitude, under water:!sous l'eau, closed for good:définitivement fermé*,
    hated by everyone:détesté* de tous, ~ need petrol:avoir besoin
    d'essence, hitched up:attelé, in two pieces:!en deux morceaux,
    as good as new:!comme neuf*, ~ work again:fonctionner de nouveau, sticky:collant,
    ~ grow quickly:pousser vite, in the shade:!à l'ombre, invisible from the street:invisible*
    depuis la rue, hard to close:difficile* à fermer, full of smoke:plein* de fumée,
    well protected:bien protégé*, out of the rain:!à l'abri de la pluie, unable to move:incapable*
    de bouger, clearly visible:bien visible*, in the light:!à la lumière, for sale:!à vendre,
    under guarantee:!sous garantie, ready to be sent:prêt* à être envoyé*, finished:fini,
    underground:souterrain, badly insulated:mal isolé*, full of tourists:plein* de touristes,
    interrupted:interrompu"""


def _french() -> dict[str, str]:
    items = (item.partition(":") for item in " ".join(_FRENCH.split()).split(", "))
    return {english: french for english, _, french in items}


RESULT_FRENCH = _french()
# Of what is one side's reason the opposite goes after although.
_OPPOSITES = """\
    big small, large small, wide narrow, high low, tall low, long short, heavy light, thick thin,
    strong weak, fast slow, hot cold, warm cold, full empty, dirty clean, wet dry, new old, hard
    soft, fragile solid, flimsy solid, hungry satisfied, tired in_good_shape, exhausted
    in_good_shape, expensive cheap, dangerous safe, noisy quiet, crowded deserted, modern
    old-fashioned, clumsy agile, careless cautious, brave cowardly, shy bold, calm nervous, rich
    poor, boring interesting, ugly beautiful, sharp blunt, useful useless, rare common,
    lazy hard-working, polite rude, honest dishonest, generous mean, patient impatient, sad happy,
    comfortable uncomfortable, sunny dark, weak powerful, young old, rotten fresh, damaged new,
    dark well_lit"""


def _opposites() -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for words in _OPPOSITES.split(","):
        one, other = (x.replace("_", " ") for x in words.split())
        table[one] = (*table.get(one, ()), other)
        table[other] = (*table.get(other, ()), one)
    return table


OPPOSITES = _opposites()
