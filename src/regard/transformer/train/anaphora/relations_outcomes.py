"""Relations with an outcome: results, until something is so, what is possible, what was in vain."""

from __future__ import annotations

_RESULTS = """\
{a} run after {b} all morning = courir après {b} toute la matinée = dog puppy fox wolf \
    = rabbit hare kitten squirrel = result = out of breath, exhausted, thirsty \
    = saved, out of danger
{a} pursue {b} for an hour = poursuivre {b} pendant une heure = predator = prey = result \
    = exhausted, out of breath, disappointed = saved, out of danger
{a} tear {b} = déchirer {b} = dog puppy kitten goat = curtain dress shirt pillow sheet = result \
    = ashamed, locked outside = in pieces, full of holes, ruined
{a} smash {b} = fracasser {b} = monkey bull goat elephant = glassware = result \
    = frightened, locked outside, ashamed = in pieces, shattered
{a} stain {b} = tacher {b} = wine coffee sauce ink oil = shirt carpet tablecloth dress sofa \
    = result = wasted, lost = sticky, ruined, unusable
{a} dirty {b} = salir {b} = dog pig goat puppy = carpet sofa kitchen sheet = result \
    = locked outside, ashamed = muddy, stained, ruined
{a} gallop along {b} all day = galoper le long de {b} toute la journée = horse pony mare zebra \
    = road path beach canal = result = thirsty, exhausted, out of breath = muddy, dusty
{a} guard {b} for days = garder {b} pendant des jours = dog goose soldier guard \
    = bank warehouse palace museum = result = weary, hungry, sleepy = safe, intact
{a} ram {b} = emboutir {b} = truck bus tractor bulldozer = wall gate statue fence = result \
    = dented, ~ need a mechanic = cracked, about to collapse
{a} flatten {b} = aplatir {b} = tractor bulldozer elephant truck = hut box shed chair = result \
    = dented, dusty = in pieces, unusable, ruined
{a} scrape {b} = érafler {b} = bicycle van bus = door wall gate = result \
    = dented, ~ need a mechanic = scuffed, ~ need mending
{a} knit {b} = tricoter {b} = people = sweater scarf mitten = result = proud, exhausted \
    = finished, ready to be sent
{a} polish {b} = astiquer {b} = people = boot spoon sword medal = result = tired, proud, satisfied \
    = shiny, as good as new
{a} paint {b} = peindre {b} = people = fence door gate shutter = result = tired, satisfied, proud \
    = colourful, as good as new
{a} mow {b} = tondre {b} = gardener farmer neighbour = lawn meadow = result \
    = tired, thirsty, exhausted = flat, freshly mown
{a} sweep {b} = balayer {b} = people = courtyard kitchen corridor staircase = result \
    = tired, satisfied = spotless, clean
{a} dig up {b} = déterrer {b} = dog pig badger = bone carrot potato tulip = result \
    = happy, satisfied, muddy = ruined, lost
{a} graze in {b} = brouter dans {b} = sheep cow goat horse = meadow field pasture = result \
    = satisfied, well fed, sleepy = flat, dry
{a} freeze in {b} = geler dans {b} = water milk juice wine = bottle barrel tank jug = result \
    = hard, undrinkable = cracked, in pieces
{a} rust in {b} = rouiller dans {b} = bicycle key anchor shovel = pond river barrel = result \
    = unusable, useless = polluted, muddy
{a} flood {b} = inonder {b} = torrent stream brook = road orchard basement cellar = result \
    = higher than usual, swollen by the rain = under water, impassable
{a} sting {b} = piquer {b} = wasp hornet bee scorpion = dog horse bear puppy = result \
    = dying, dead = in pain, furious
{a} frighten {b} = effrayer {b} = siren radio alarm loudspeaker = horse sheep hen kitten = result \
    = switched off, unplugged = terrified, panicked, out of breath
S scrub {a} with {b} = frotter {a} avec {b} = pan floor bathtub pot = brush sponge mop = result \
    = clean, spotless, shiny = dirty, greasy, soaked
S wipe {a} on {b} = essuyer {a} sur {b} = boot spoon shoe dagger = towel apron carpet curtain \
    = result = clean, shiny = stained, dirty
S roll {a} across {b} = faire rouler {a} à travers {b} = barrel log wheelbarrow \
    = lawn courtyard kitchen = result = dented, muddy = damaged, dirty
S boil {a} in {b} = faire bouillir {a} dans {b} = egg potato bean milk = saucepan pot kettle \
    = result = ready to be served, hot, cooked = dirty, empty
S nail {a} to {b} = clouer {a} à {b} = plank poster shelf = door wall tree = result \
    = in the light, crumpled = full of holes, damaged
S glue {a} to {b} = coller {a} à {b} = poster tile drawing = wall door notebook = result \
    = crumpled, ruined = sticky, colourful
S light {a} with {b} = allumer {a} avec {b} = candle cigar fireplace = lighter torch = result \
    = lit, full of smoke = half empty, overheated
S slice {a} with {b} = trancher {a} avec {b} = ham bread melon = sword razor = result \
    = cut into slices, ready to be served = sticky, greasy, dirty
S stuff {a} into {b} = fourrer {a} dans {b} = sweater towel sheet coat \
    = suitcase bag drawer backpack = result = crumpled, ruined \
    = hard to close, heavy, packed to bursting
S tie {a} around {b} = nouer {a} autour de {b} = rope ribbon scarf string = tree parcel box pole \
    = result = knotted, twisted = ready to be sent, well protected
"""

_UNTIL = """\
S siphon wine from {a} to {b} = transvaser du vin de {a} dans {b} = barrel tank jug \
    = bottle jug bucket = until = empty, half empty = filled, heavy
S shovel coal from {a} to {b} = transporter du charbon de {a} dans {b} = truck cart wagon cellar \
    = crate barrel wheelbarrow = until = empty, light = filled, overloaded
S move books from {a} to {b} = transporter des livres de {a} dans {b} = bookcase box crate \
    = suitcase drawer cupboard = until = empty, dusty = overloaded, heavy, packed to bursting
S carry water from {a} to {b} = porter de l'eau de {a} dans {b} = pool pond barrel tub \
    = bathtub barrel tank = until = empty, dry = filled, full to the brim
S rub {a} with {b} = frotter {a} avec {b} = sword spoon mirror boot = cloth brush sponge = until \
    = shiny, clean, spotless = dirty, threadbare
S scrape {a} with {b} = racler {a} avec {b} = pan pot wall = spatula spoon dagger = until \
    = clean, smooth = bent, blunt
S saw {a} with {b} = scier {a} avec {b} = log plank branch = chainsaw = until \
    = in two pieces, short = blunt, overheated
"""

_POSSIBLE = """\
{a} hold {b} = retenir {b} = cage rope chain net = lion bull bear dog = can = strong, thick, solid \
    = weak, small, young
{a} shelter {b} = abriter {b} = cave barn hut tree bridge = predator herd people = can \
    = big, large, high = small, thin
{a} stand under {b} = se tenir sous {b} = horse camel giraffe truck = bridge roof tree balcony \
    = can = small, short = high, wide
{a} float down {b} = descendre {b} = raft canoe rowboat log = river stream canal = can \
    = light, small, narrow = deep, wide
{a} cut {b} = couper {b} = sword axe razor sickle = rope branch plank grass = can \
    = sharp, heavy, solid = soft, thin, dry
{a} light up {b} = éclairer {b} = lamp candle torch projector = cellar cave corridor garden = can \
    = powerful, big, strong = small, narrow
{a} tow {b} = remorquer {b} = tractor truck van jeep = caravan car trailer cart = can \
    = powerful, strong, big = light, small
{a} frighten off {b} = mettre {b} en fuite = dog goose bull lion = fox crow burglar thief = can \
    = fierce, big, noisy = timid, young, cowardly
{a} knock over {b} = renverser {b} = bull dog elephant horse = fence statue lamp shed = can \
    = strong, heavy, clumsy = light, wobbly
{a} block {b} = bloquer {b} = truck rock tree tractor = road alley path driveway = can \
    = big, wide, high = narrow, small
{a} crush {b} = écraser {b} = hammer rock elephant truck = walnut box toy hat = can \
    = heavy, hard, big = soft, fragile, thin
S push {a} through {b} = faire passer {a} par {b} = table bed box bicycle = door window gate = can \
    = small, narrow, light = wide, big, high
S stand {a} on {b} = placer {a} sur {b} = vase lamp clock pot = shelf stool table desk = can \
    = light, small = solid, wide, stable
S carry {a} up {b} = hisser {a} par {b} = box chair bag basket = staircase ladder rope = can \
    = light, small = solid, wide, strong
S tie {a} to {b} = attacher {a} à {b} = horse bull goat donkey = tree pole fence column = can \
    = docile, patient, small = strong, solid, thick
S roll {a} under {b} = faire rouler {a} sous {b} = ball barrel log pumpkin = table bed bench = can \
    = small, light = high, wide
S see {a} through {b} = voir {a} à travers {b} = castle lake ship statue = window hedge curtain \
    = can = big, high, shiny = thin, clean, wide
"""

_IN_VAIN = """\
{a} jump at {b} = sauter vers {b} = dog goat frog kitten = branch shelf lamp balloon = vain \
    = small, tired, fat = high, far away
{a} stretch towards {b} = s'étirer vers {b} = giraffe bear monkey boy girl = branch fruit lamp \
    = vain = small, short, tired = high, far away
{a} push against {b} = pousser contre {b} = bull boy girl elephant tractor = door wall rock gate \
    = vain = weak, tired, small = heavy, solid, thick
{a} bang against {b} = cogner contre {b} = ram bull bird ball = window wall door gate = vain \
    = weak, small, light = thick, hard, solid
{a} dig under {b} = creuser sous {b} = dog rabbit badger fox mole = wall fence house tree = vain \
    = tired, weak, small = deep, wide, massive
{a} gnaw at {b} = ronger {b} = rat mouse beaver rabbit hamster = beam door rope log = vain \
    = small, old, weak = hard, thick
{a} swim towards {b} = nager vers {b} = dog deer bear horse = island boat ship pier = vain \
    = tired, weak, exhausted = far away, fast
{a} swim against {b} = nager contre {b} = salmon trout otter dog = torrent stream river = vain \
    = weak, tired, young = fast, powerful, rough
{a} roll against {b} = rouler contre {b} = ball barrel car log = wall gate door fence = vain \
    = light, slow, small = solid, thick, heavy
{a} shine into {b} = briller dans {b} = lamp torch candle flashlight = cave cellar tunnel corridor \
    = vain = weak, dim, small = deep, large, dark
{a} squeeze into {b} = se glisser dans {b} = bear dog pig boy = box basket cupboard barrel = vain \
    = fat, big, clumsy = small, narrow
{a} hammer on {b} = taper sur {b} = gorilla soldier boy girl = door gate wall = vain \
    = weak, tired, small = thick, solid, massive
{a} charge at {b} = foncer sur {b} = bull ram elephant buffalo = wall gate truck hunter = vain \
    = slow, old, tired = solid, agile, far away
{a} sail towards {b} = naviguer vers {b} = boat = island harbour lighthouse = vain \
    = slow, damaged, overloaded = far away, unfamiliar
{a} limp after {b} = boiter derrière {b} = dog wolf lamb goat = herd cart = vain \
    = slow, lame, injured = fast, far away
S bang {a} against {b} = cogner {a} contre {b} = walnut coconut bottle jar = table wall rock \
    = vain = hard, solid, thick = soft, wobbly
S press {a} into {b} = enfoncer {a} dans {b} = needle nail screw key = wall beam plank log = vain \
    = blunt, short, bent = hard, thick
S stretch {a} towards {b} = tendre {a} vers {b} = rope ladder stick oar = raft branch window roof \
    = vain = short, heavy, stiff = far away, high
S aim {a} at {b} = pointer {a} vers {b} = rifle telescope camera cannon = bird planet ship deer \
    = vain = heavy, damaged, old = far away, fast, small
S swing {a} at {b} = balancer {a} vers {b} = axe hammer stick = branch fly balloon wasp = vain \
    = short, heavy, light = fast, high, far away
{a} stand in {b} = se trouver dans {b} = piano wardrobe sofa bed = bedroom attic office hut = rest \
    = big, wide, bulky = small, narrow, cramped
{a} lie in {b} = se trouver dans {b} = coat violin dress quilt = suitcase drawer box = rest \
    = big, thick, bulky = small, narrow, cramped
{a} be standing on {b} = se trouver sur {b} = elephant truck bull bus = bridge raft roof ferry \
    = rest = heavy, big, massive = weak, fragile, rickety
{a} be wrapped in {b} = être emballé* dans {b} = statue vase mirror sword \
    = newspaper blanket sheet towel = rest = big, fragile, heavy = thin, small, dirty
"""


OF_OUTCOMES = _RESULTS + _UNTIL + _POSSIBLE + _IN_VAIN
