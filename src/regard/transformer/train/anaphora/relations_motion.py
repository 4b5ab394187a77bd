"""Relations of motion: speed, hunters and prey, vehicles and roads, in and out, over and through.

Either noun could have most of the predicates; the event decides of which one they are said.
"""

from __future__ import annotations

_SPEED = """\
{a} run after {b} = courir après {b} = dog puppy predator = prey = vain \
    = slow, tired, old, fat, lame = fast, agile, cunning
{a} race after {b} = se lancer après {b} = dog tiger jaguar panther lioness \
    = gazelle zebra hare deer = vain = slow, tired, exhausted, heavy = fast, agile, far away
{a} pursue {b} = poursuivre {b} = jeep van motorcycle tractor = car truck train taxi = vain \
    = slow, old, heavy = fast, powerful, far away
{a} sail after {b} = naviguer derrière {b} = frigate warship sailboat = tanker ferry yacht ship \
    = vain = slow, heavy, overloaded, old = fast, powerful, far away
{a} pursue {b} = poursuivre {b} = predator dog = prey = past = hungry, starving, ferocious \
    = injured, lame, slow, plump
{a} gallop after {b} = galoper après {b} = horse pony mare mule = carriage train deer wolf = vain \
    = tired, old, lame, weak = fast, far away
{a} swim after {b} = nager derrière {b} = shark seal otter crocodile = trout salmon duck turtle \
    = vain = slow, fat, tired, old = fast, agile
{a} fly after {b} = voler derrière {b} = eagle hawk falcon owl crow = sparrow dove lark bat robin \
    = vain = slow, tired, heavy, old = fast, agile
{a} run away from {b} = s'enfuir devant {b} = prey sheep = predator snake dog = yes \
    = frightened, timid, weak, defenceless = fierce, aggressive, dangerous, hungry
{a} flee from {b} = fuir devant {b} = prey kitten = predator crocodile dog = past \
    = afraid, weak, defenceless, panicked = ferocious, dangerous, hungry, huge
{a} back away from {b} = reculer devant {b} = herd puppy kitten -bull = predator snake bull = past \
    = timid, frightened, cautious, young = aggressive, dangerous, furious
{a} outwit {b} = duper {b} = fox crow monkey rat = wolf dog bear lion = past \
    = clever, cunning, intelligent = naive, trusting
{a} ambush {b} = tendre une embuscade à {b} = lion wolf panther crocodile \
    = zebra gazelle deer buffalo = past = hungry, patient, well camouflaged \
    = careless, lame, absent-minded
{a} stalk {b} = guetter {b} = predator owl snake = prey lizard sparrow = yes \
    = hungry, patient, starving = plump, careless, injured
{a} corner {b} = coincer {b} = dog fox wolf = rat rabbit hare hedgehog = past \
    = fast, well trained, agile = slow, injured, exhausted, lame
{a} creep towards {b} = s'avancer vers {b} = fox panther kitten snake = bird mouse rabbit duck \
    = yes = hungry, cautious, patient = asleep, careless, injured, plump
{a} scare away {b} = faire fuir {b} = dog lion bull goose \
    = crow fox rabbit sparrow hare magpie pigeon = past = fierce, aggressive, furious, noisy \
    = timid, cowardly, frightened
{a} kill {b} = tuer {b} = predator eagle crocodile = prey = past = hungry, ferocious, powerful \
    = weak, wounded, defenceless, lame
{a} spot {b} = remarquer {b} = eagle hawk owl fox = mouse rabbit lizard frog = not \
    = tired, short-sighted, sleepy, old = small, tiny, well camouflaged, far away
{a} outpace {b} = devancer {b} = horse motorcycle train car = donkey bicycle bus tractor = past \
    = fast, powerful, in good shape, young = slow, old, tired, overloaded
{a} race against {b} = courir contre {b} = horse pony dog = horse pony dog = vain \
    = slow, fat, old, tired = fast, agile, young
{a} arrive before {b} = arriver avant {b} = train bus car bicycle = train bus car tram = past \
    = fast, powerful, punctual = slow, overloaded, running late
{a} lag behind {b} = rester derrière {b} = calf lamb donkey puppy = cow sheep horse dog = past \
    = slow, tired, lame, lazy = fast, impatient, in a hurry
"""

_ROADS = """\
{a} skid on {b} = déraper sur {b} = car bus truck motorcycle van bicycle \
    = road bridge motorway avenue = past = fast, overloaded, badly maintained, heavy \
    = icy, slippery, muddy
{a} speed along {b} = filer sur {b} = car motorcycle train bus = motorway road avenue street = yes \
    = powerful, fast, new = straight, empty, well maintained
{a} brake before {b} = freiner avant {b} = truck car motorcycle bus \
    = bridge tunnel roundabout gate = yes = overloaded, badly maintained, heavy \
    = narrow, dangerous, icy
{a} swerve around {b} = contourner {b} = car truck bicycle motorcycle = ditch rock tree log = past \
    = agile, fast, light = in the way, badly placed, dangerous
{a} leap across {b} = franchir {b} d'un bond = horse deer dog ram = stream ditch brook canyon \
    = not = old, tired, lame, fat = wide, deep
{a} swim across {b} = traverser {b} à la nage = dog deer bear pony = river lake strait canal = not \
    = tired, weak, young, ill = wide, cold, dangerous, deep
{a} float on {b} = flotter sur {b} = raft barrel bottle canoe = river lake pond canal = yes \
    = light, hollow, empty = deep enough, wide enough
{a} drift down {b} = dériver sur {b} = raft rowboat bottle canoe = river stream canal torrent \
    = past = abandoned, empty, light = rough, swollen by the rain
{a} sail down {b} = descendre {b} = ship yacht ferry barge = river canal stream = not \
    = big, wide, heavy, overloaded = narrow, shallow, rough
{a} sail into {b} = entrer dans {b} = ship tanker ferry frigate = harbour port bay creek lagoon \
    = not = big, wide, heavy = small, shallow, narrow, crowded
{a} fly through {b} = traverser {b} = bird bat butterfly ball = window gate tunnel door = can \
    = small, agile, thin, fast = big, wide, high
{a} fly under {b} = passer sous {b} = helicopter eagle swan glider = bridge = not \
    = big, fast, wide = low, narrow
{a} squeeze through {b} = se faufiler par {b} = fox puppy boy girl dog bear \
    = window gate door fence = not = fat, big, plump = narrow, small
{a} squeeze under {b} = se faufiler sous {b} = dog fox hedgehog rabbit kitten \
    = gate bed sofa fence = can = small, thin, agile = high, large
{a} wriggle out of {b} = se dégager de {b} = puppy kitten rabbit snake lizard \
    = net bag basket cage = past = agile, small, thin = badly closed, flimsy, rickety
{a} gallop across {b} = traverser {b} au galop = horse zebra deer pony = field meadow desert beach \
    = yes = frightened, in good shape, thirsty = flat, vast, empty
{a} roll down {b} = dévaler {b} = barrel ball log rock cart = hill staircase slope street = past \
    = round, heavy = steep, sloping, smooth
{a} get out of {b} = se dégager de {b} = cow horse puppy lamb bear = ditch swamp river tank = not \
    = weak, fat, exhausted, injured = deep, steep, muddy, slippery
{a} rush into {b} = se précipiter dans {b} = beast people = house barn cave hut church = past \
    = frightened, afraid, shivering, soaked = wide open, warm, safe, dry
{a} rush out of {b} = se précipiter hors de {b} = beast people = house barn hut cave kitchen \
    = past = terrified, panicked, furious, impatient = full of smoke, dark, haunted, flooded
{a} slip out of {b} = s'échapper de {b} = bear prisoner thief monkey parrot \
    = cage prison cell zoo hut = past = clever, agile, desperate, cunning \
    = badly guarded, dilapidated, badly closed
{a} move into {b} = s'installer dans {b} = people mouse owl squirrel = house barn attic cottage \
    = past = homeless, poor, lonely = empty, uninhabited, abandoned, comfortable
{a} wander into {b} = s'aventurer dans {b} = puppy lamb kitten boy girl \
    = forest cave cellar factory = past = lost, curious, careless, disobedient \
    = wide open, abandoned, mysterious
{a} stay out of {b} = rester hors de {b} = beast people = river pool lake forest cellar = yes \
    = cautious, afraid, cowardly, timid = dangerous, cold, dark, polluted
{a} settle in {b} = s'installer dans {b} = stork swan owl fox people = meadow barn forest village \
    = past = exhausted, pregnant, homeless = quiet, uninhabited, safe, fertile
{a} wait in {b} = attendre dans {b} = beast people = courtyard station corridor barn = yes \
    = patient, obedient, tired = warm, empty, quiet
{a} walk through {b} = traverser {b} = beast people = forest park tunnel village = not \
    = tired, afraid, lazy, timid = dark, dangerous, muddy, crowded
{a} sneak into {b} = se glisser dans {b} = fox burglar rat thief spy monkey \
    = kitchen barn bank museum cellar = past = hungry, cunning, curious, agile \
    = badly guarded, empty, wide open, dark
{a} turn away from {b} = se détourner de {b} = horse dog people cow = bridge tunnel cave cemetery \
    = past = frightened, cautious, superstitious = dark, dangerous, haunted, flooded
"""

_CARRYING = """\
S kick {a} over {b} = envoyer {a} par-dessus {b} = ball rock bucket balloon \
    = wall fence hedge gate = cannot = heavy, soft, slippery = high, far away
S kick {a} into {b} = envoyer {a} dans {b} = ball brick cube = bucket basket pond crate = cannot \
    = heavy, soft, big = small, far away, narrow
S toss {a} over {b} = lancer {a} par-dessus {b} = bag ball rope parcel = wall river roof fence \
    = cannot = heavy, slippery, bulky = high, wide, far away
S toss {a} into {b} = lancer {a} dans {b} = key ball coin sock marble = bucket basket box dustbin \
    = cannot = light, slippery, heavy = small, narrow, far away
S roll {a} under {b} = faire rouler {a} sous {b} = barrel ball log pumpkin = table bed bench truck \
    = cannot = big, heavy, wide = low, small
S roll {a} up {b} = faire rouler {a} jusqu'en haut de {b} = barrel log rock wheelbarrow \
    = hill staircase slope path = cannot = heavy, big, bulky = steep, muddy, bumpy
S push {a} up {b} = pousser {a} jusqu'en haut de {b} = wheelbarrow cart car bicycle pushchair \
    = hill slope street = cannot = heavy, overloaded, rusty = steep, muddy, icy
S push {a} under {b} = pousser {a} sous {b} = box suitcase chest crate = bed table bench = cannot \
    = big, high, bulky, wide = low, narrow
S push {a} through {b} = faire passer {a} par {b} = sofa bed table wardrobe mattress \
    = door window corridor = cannot = wide, big, bulky = narrow, small, low
S squeeze {a} into {b} = faire entrer {a} dans {b} = sweater coat quilt pillow boot \
    = suitcase bag drawer box backpack = cannot = thick, bulky, big = small, narrow
S hand {a} through {b} = tendre {a} par {b} = parcel bag plate cup box = window gate fence \
    = cannot = big, hot, heavy, fragile = narrow, small, high
S carry {a} through {b} = transporter {a} à travers {b} = ladder table mattress piano mirror \
    = corridor forest market = cannot = bulky, heavy, fragile = narrow, dark, crowded
S carry {a} across {b} = transporter {a} de l'autre côté de {b} = suitcase chest bicycle beam \
    = river stream bridge desert = cannot = heavy, bulky, big = dangerous, wide, deep
S drag {a} across {b} = traîner {a} à travers {b} = chest log table crate bag \
    = field courtyard meadow forest = cannot = heavy, bulky, big = muddy, bumpy, vast
S fly {a} over {b} = faire voler {a} au-dessus de {b} = kite balloon glider = hill lake house tree \
    = cannot = heavy, damaged, old = high, far away
S shoot {a} over {b} = tirer {a} par-dessus {b} = arrow ball rocket = wall river hill roof \
    = cannot = heavy, blunt, damaged = high, wide, far away
S steer {a} through {b} = diriger {a} à travers {b} = rowboat canoe truck car ship \
    = canal tunnel village harbour = cannot = big, wide, slow, heavy = narrow, crowded, dark
S slide {a} under {b} = glisser {a} sous {b} = letter book tray note newspaper \
    = door bed sofa carpet = can = thin, small, flat = high, wide
S slip {a} into {b} = glisser {a} dans {b} = letter key coin ticket card \
    = pocket wallet drawer bag box = can = small, thin, flat = wide, large, big
S stretch {a} over {b} = tendre {a} sur {b} = sheet blanket net tablecloth = bed table pool cart \
    = cannot = short, small, stiff = large, wide, big
S tie {a} around {b} = attacher {a} autour de {b} = rope string ribbon belt chain \
    = box tree parcel barrel = cannot = short, stiff = big, wide, large
S wind {a} around {b} = enrouler {a} autour de {b} = rope wire hose ribbon chain \
    = pole tree column branch = cannot = short, stiff, rigid = big, wide, far away
S lower {a} into {b} = descendre {a} dans {b} = bucket basket coffin chest anchor \
    = cellar tomb tank canal = cannot = big, wide, bulky = narrow, small
S hoist {a} onto {b} = hisser {a} sur {b} = chest barrel bell statue piano = truck roof table cart \
    = cannot = heavy, bulky, big = high, wobbly, rickety
S spill {a} on {b} = renverser {a} sur {b} = coffee ink milk soup sauce oil \
    = carpet tablecloth dress sofa letter = result = wasted, lost \
    = stained, soaked, ruined, sticky
S bring {a} through {b} = faire passer {a} par {b} = furniture cow horse piano \
    = door gate corridor = can = small, thin, narrow = wide, big, high, large
S pass {a} over {b} = faire passer {a} par-dessus {b} = ladder bag basket chair box \
    = wall fence gate hedge = can = light, small = low, narrow
"""
OF_MOTION = _SPEED + _ROADS + _CARRYING
