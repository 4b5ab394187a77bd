"""Relations of people and things: care and work, liquids and vessels, tools and targets."""

from __future__ import annotations

_CARE = """\
{a} iron {b} = repasser {b} = people = shirt dress skirt tablecloth uniform = past \
    = careful, diligent, proud, patient = crumpled, wrinkled, made of cotton
{a} polish {b} = astiquer {b} = people = shoe boot sword spoon medal bell = past \
    = proud, diligent, patient = dusty, dirty, rusty, made of silver
{a} scrub {b} = frotter {b} = people = pan floor bathtub saucepan staircase = past \
    = diligent, hard-working, angry = greasy, stained, muddy
{a} wipe {b} = essuyer {b} = people = table glass window plate mirror = past \
    = careful, polite, diligent = dusty, sticky, greasy
{a} paint {b} = peindre {b} = people = fence gate door wall yacht = past \
    = ~ be bored, idle, hard-working, proud = rusty, ugly, faded
{a} mend {b} = raccommoder {b} = people = sock net coat curtain glove = past \
    = skilled, patient, poor, careful = torn, full of holes, threadbare
{a} put on {b} = mettre {b} = people = coat boot glove sweater scarf raincoat = past \
    = shivering, in a hurry, late = warm, waterproof, comfortable, fashionable
{a} fold {b} = plier {b} = people = sheet blanket letter map towel = past \
    = careful, patient, diligent = clean, dry, ironed
{a} sew {b} = coudre {b} = people = dress curtain flag costume = past = skilled, patient, poor \
    = torn, unfinished, elegant
{a} knit {b} = tricoter {b} = people = scarf sweater sock mitten = past \
    = patient, skilled, retired = warm, made of wool, fashionable
{a} oil {b} = huiler {b} = people = gate chain bicycle mower = past \
    = careful, conscientious, patient = rusty, creaky, noisy
{a} open {b} = ouvrir {b} = people = jar window chest bottle door = not \
    = weak, clumsy, lazy, timid = rusty, heavy, tight
{a} translate {b} = traduire {b} = people = poem contract letter article = not \
    = lazy, busy, tired, inexperienced = incomprehensible, illegible, complicated
{a} sign {b} = signer {b} = people = contract petition treaty cheque = not \
    = hesitant, suspicious, cautious, busy = misleading, vague, incomprehensible
{a} give back {b} = rendre {b} = people = book dress car umbrella telescope = past \
    = honest, disappointed, polite = faulty, damaged, useless
{a} cook {b} = cuisiner {b} = people = meat carrot bean trout = past \
    = hungry, hospitable, generous = fresh, cheap, organic
{a} peel {b} = éplucher {b} = people = potato carrot peach banana onion = past \
    = hungry, careful, helpful = raw, ripe, dirty
{a} try on {b} = essayer {b} = people = dress hat ring coat shoe = past = curious, undecided, rich \
    = fashionable, elegant, on sale
{a} frame {b} = encadrer {b} = people = drawing diploma portrait poster = past = proud, grateful \
    = precious, magnificent, rare
{a} collect {b} = collectionner {b} = people = coin shell postcard medal = yes \
    = rich, patient, curious = rare, precious, colourful
{a} water {b} = arroser {b} = people = flower rose lawn tree = past \
    = careful, helpful, conscientious = dry, withered, freshly planted
{a} pick {b} = cueillir {b} = people = strawberry grape flower mushroom peach = past \
    = hungry, greedy, hard-working = ripe, edible, fragrant
{a} mow {b} = tondre {b} = gardener neighbour farmer boy girl = lawn meadow = past \
    = hard-working, helpful, diligent = overgrown, high, green
{a} brush {b} = brosser {b} = people = horse dog pony donkey = past = patient, careful, helpful \
    = muddy, dusty, dirty
{a} tame {b} = apprivoiser {b} = people = wolf fox bear lion = not \
    = impatient, inexperienced, clumsy = wild, fierce, aggressive
{a} train {b} = dresser {b} = people = dog horse elephant parrot = not \
    = impatient, busy, inexperienced = wild, disobedient, aggressive
{a} adopt {b} = adopter {b} = people = dog kitten puppy pony = past = kind, generous, childless \
    = stray, abandoned, housebroken
{a} rescue {b} = secourir {b} = fireman sailor soldier policeman = dog horse cow kitten = past \
    = brave, on duty, vigilant = trapped, injured, in danger
{a} repaint {b} = repeindre {b} = people = door fence kitchen shutter = past \
    = ~ be bored, hard-working, skilled = faded, ugly, rusty
{a} unwrap {b} = déballer {b} = people = gift parcel box souvenir = past \
    = curious, impatient, excited = delivered, wrapped in paper, mysterious
{a} rent {b} = louer {b} = people = cottage villa apartment yacht = past = on holiday, rich \
    = spacious, comfortable, furnished
{a} visit {b} = visiter {b} = people = museum castle cathedral garden = past \
    = curious, on holiday, retired = famous, picturesque, historic
{a} applaud {b} = applaudir {b} = people = concert film speech performance = past \
    = impressed, polite, enthusiastic = magnificent, moving, funny
{a} postpone {b} = reporter {b} = people = wedding trip meeting journey = past \
    = ill, busy, hesitant = too expensive, badly prepared
"""

_VESSELS = """\
{a} overflow from {b} = déborder de {b} = soup milk coffee water = saucepan cup bowl bucket = past \
    = boiling, hot = small, shallow, wobbly
{a} evaporate from {b} = s'évaporer de {b} = water perfume vinegar wine = bowl bottle tank barrel \
    = past = hot, boiling = wide open, badly closed, shallow
{a} stay hot in {b} = rester chaud* dans {b} = coffee tea soup cocoa = thermos teapot pot mug \
    = yes = boiling, piping hot = airtight, well insulated, thick
{a} drip from {b} = goutter de {b} = water oil wine = tap barrel bottle ceiling = past \
    = spilt, diluted = leaky, cracked, badly closed
{a} spoil in {b} = tourner dans {b} = milk soup cream sauce = fridge cellar pot bowl = past \
    = expired, home-made = warm, dirty, unplugged
S stir {a} with {b} = remuer {a} avec {b} = soup sauce stew cocoa = spoon stick spatula fork \
    = cannot = thick, hot, sticky = short, small, flimsy
S warm {a} in {b} = réchauffer {a} dans {b} = soup milk stew broth = saucepan microwave pot = yes \
    = cold, lukewarm, frozen = clean, large enough, big enough
S carry {a} in {b} = transporter {a} dans {b} = water milk wine oil = bucket bottle barrel jug \
    = cannot = hot, boiling = small, fragile, leaky, rickety
S serve {a} in {b} = servir {a} dans {b} = soup stew rice broth = bowl plate cup pot = yes \
    = hot, delicious, ready to be served = clean, deep enough, large enough
S soak {a} in {b} = tremper {a} dans {b} = towel sock bean sheet = bucket tub bathtub bowl = yes \
    = dirty, stained, dry = large enough, deep enough, full of water
S freeze {a} in {b} = congeler {a} dans {b} = meat bread soup strawberry = freezer = yes \
    = fresh, raw, cheap = big enough, empty, cold enough
S store {a} in {b} = stocker {a} dans {b} = oil wine water wheat coal \
    = barrel tank cellar warehouse = yes = precious, expensive, flammable \
    = dry, large enough, airtight
S mix {a} in {b} = mélanger {a} dans {b} = flour sauce salad cream = bowl saucepan tub = yes \
    = sticky, cold, thick = large enough, clean, deep enough
S fetch {a} with {b} = aller chercher {a} avec {b} = water milk sand coal = bucket barrel cart jug \
    = past = fresh, cheap, useful = empty, big enough, solid
"""

_TOOLS = """\
S loosen {a} with {b} = desserrer {a} avec {b} = screw bolt = screwdriver lever hammer = cannot \
    = rusty, tight, old = short, small, bent
S chop {a} with {b} = couper {a} avec {b} = log branch tree carrot = axe sword sickle = cannot \
    = hard, thick, big = blunt, small, rusty
S slice {a} with {b} = trancher {a} avec {b} = bread meat ham cheese melon = sword razor spatula \
    = cannot = hard, tough, thick = blunt, short, small
S hammer {a} into {b} = enfoncer {a} dans {b} = nail pole hook = wall plank beam tree = cannot \
    = bent, blunt, short = hard, solid
S measure {a} with {b} = mesurer {a} avec {b} = table wall carpet garden = ruler stick string \
    = cannot = large, big, high, wide = short, small, bent
S scrape {a} with {b} = gratter {a} avec {b} = pan wall floor pot = spatula brush spoon = yes \
    = greasy, rusty, dirty = sharp, solid, flat
S light up {a} with {b} = éclairer {a} avec {b} = cave cellar attic garden path \
    = torch lamp candle flashlight = cannot = large, dark, vast = weak, dim, small
S observe {a} with {b} = observer {a} avec {b} = planet bird ant island satellite \
    = telescope microscope camera = cannot = far away, small, tiny = weak, old, dirty, damaged
S write {a} with {b} = écrire {a} avec {b} = letter poem message note = pen pencil computer = yes \
    = urgent, confidential = practical, new, reliable
S defend {a} with {b} = défendre {a} avec {b} = castle village bridge fortress \
    = sword rifle cannon spear = cannot = large, isolated, vast = rusty, blunt, heavy
S comb {a} with {b} = peigner {a} avec {b} = dog goat pony puppy = comb brush = cannot \
    = restless, agitated, dirty = small, damaged, hard
S light {a} with {b} = allumer {a} avec {b} = candle cigar cigarette = lighter torch = cannot \
    = damp, short, thick = empty, damaged, faulty
S dig up {a} with {b} = déterrer {a} avec {b} = chest bone potato coin = spade shovel pickaxe \
    = past = precious, edible, full of gold = solid, sharp, practical
S knock on {a} with {b} = frapper à {a} avec {b} = door gate window = stick hammer brick = past \
    = locked, thick, closed for repairs = heavy, hard, solid
S water {a} with {b} = arroser {a} avec {b} = garden lawn field orchard = hose bucket jug = cannot \
    = large, vast, dry = short, small, leaky
S glue {a} with {b} = recoller {a} avec {b} = vase plate cup puppet = glue wax = cannot \
    = damaged, fragile, damp = old, dry, weak
S play {a} on {b} = jouer {a} sur {b} = melody sonata hymn song = piano violin flute organ \
    = cannot = complicated, fast = badly tuned, damaged, old
"""
OF_HANDLING = _CARE + _VESSELS + _TOOLS
