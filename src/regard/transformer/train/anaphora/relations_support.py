"""Relations of support, shelter and impact: a load and what bears it, a blow and what gets it."""

from __future__ import annotations

_SUPPORT = """\
{a} stand on {b} = se trouver sur {b} = statue vase lamp clock television trophy \
    = shelf table desk dresser stool = rest = heavy, big, wide = weak, narrow, small, rickety
{a} lie on {b} = reposer sur {b} = beam log plank crate statue = table cart bench roof = rest \
    = heavy, big, massive, bulky = weak, flimsy, narrow, fragile
{a} rest on {b} = reposer sur {b} = beam roof bell statue ladder = column pillar wall shelf = rest \
    = heavy, massive, big = thin, weak, fragile, cracked
{a} be screwed to {b} = être vissé* à {b} = shelf mirror lamp hook cupboard = wall ceiling door \
    = rest = heavy, big, bulky = thin, soft, rotten, weak
{a} be fastened to {b} = être fixé* à {b} = bell flag mirror clock = wall ceiling pole column \
    = rest = heavy, big, massive = thin, weak, rotten
{a} be tied to {b} = être attaché* à {b} = herd dog donkey = pole fence tree gate branch = rest \
    = strong, big, heavy, stubborn = rotten, flimsy, rickety
{a} be glued to {b} = être collé* à {b} = poster mirror tile drawing = wall door cupboard = rest \
    = heavy, thick, big = damp, dusty, greasy
{a} be nailed to {b} = être cloué* à {b} = plank shelf poster beam = wall tree door gate = rest \
    = heavy, thick, big = soft, rotten, old
{a} be chained to {b} = être enchaîné* à {b} = bear bull lion gorilla = pole fence gate wall \
    = rest = strong, heavy, fierce = weak, rusty, rotten, flimsy
{a} be parked on {b} = être garé* sur {b} = truck bus van tractor = bridge sidewalk lawn roof \
    = rest = heavy, wide, big = narrow, weak, soft
{a} swing from {b} = se balancer à {b} = monkey lamp gorilla bell = branch rope hook chain = rest \
    = heavy, fat, big = thin, weak, rotten
{a} balance on {b} = tenir en équilibre sur {b} = monkey clown seal bear = rope wall beam branch \
    = not = heavy, clumsy, tired, fat = narrow, slippery, high
{a} perch on {b} = se percher sur {b} = bird = branch chimney wire roof fence = not \
    = heavy, fat, big, timid = thin, slippery, flimsy, hot
{a} sit in {b} = s'asseoir dans {b} = bear dog elephant gorilla = armchair hammock canoe cart \
    = not = fat, heavy, big, dirty = small, fragile, narrow
{a} give way under {b} = craquer sous {b} = bridge shelf branch chair roof floor \
    = truck piano elephant statue bear = past = rotten, weak, worm-eaten \
    = heavy, massive, huge, fat
{a} sag under {b} = s'affaisser sous {b} = mattress sofa shelf hammock branch \
    = dog piano bookcase statue suitcase = past = soft, weak, flimsy = heavy, massive, huge
{a} creak under {b} = grincer sous {b} = floor bed staircase chair bridge \
    = bear cow piano elephant truck = past = old, rickety, worm-eaten = heavy, massive, huge
{a} hold {b} = retenir {b} = cage rope chain fence net = lion bull bear shark horse = unable \
    = weak, rusty, thin, rickety = strong, fierce, heavy, agile
{a} hold back {b} = retenir {b} = dam wall barrier = river torrent lake sea = unable \
    = low, thin, weak, fragile = powerful, deep, rough
{a} prop up {b} = consolider {b} = beam column pole stick = roof wall balcony bridge = can \
    = strong, solid, thick = light, small
S nail {a} to {b} = clouer {a} sur {b} = plank shelf poster beam = wall door tree = cannot \
    = heavy, thick, big = soft, damp, rotten
S glue {a} to {b} = coller {a} sur {b} = poster tile mirror drawing = wall door notebook = cannot \
    = heavy, thick, crumpled = greasy, dusty, damp
S screw {a} to {b} = visser {a} à {b} = shelf mirror lamp hook = wall ceiling door = cannot \
    = heavy, thick, big = soft, thin, rotten
S set {a} on {b} = poser {a} sur {b} = saucepan crate statue pot kettle = shelf table bench desk \
    = yes = heavy, hot, bulky = solid enough, wide enough, stable
S rest {a} on {b} = appuyer {a} sur {b} = rifle ladder oar telescope = wall branch rock fence \
    = yes = heavy, unstable = solid enough, strong enough, low
S build {a} on {b} = construire {a} sur {b} = house church hotel school = hill island field cliff \
    = cannot = heavy, big, expensive = steep, sandy, swampy, small
S park {a} on {b} = garer {a} sur {b} = truck bus car van = sidewalk bridge lawn slope = cannot \
    = wide, heavy, big = narrow, steep, muddy
S moor {a} to {b} = amarrer {a} à {b} = ship yacht raft ferry = pier pole tree rock = cannot \
    = heavy, big = rotten, weak, small, far away
S stand {a} on {b} = placer {a} sur {b} = vase lamp clock trophy = shelf stool table column \
    = cannot = heavy, big, wide = narrow, rickety, high, sloping
S mount {a} on {b} = fixer {a} sur {b} = cannon bell camera telescope = wall ship roof truck \
    = cannot = heavy, big, bulky = small, fragile, weak
"""

_SHELTER = """\
{a} crouch behind {b} = s'accroupir derrière {b} = boy thief soldier girl gorilla monkey \
    = wall hedge rock barrel car = yes = frightened, cautious, timid, afraid \
    = large enough, high enough, thick enough
{a} crouch under {b} = se tapir sous {b} = puppy rabbit mouse kitten fox \
    = table bed sofa bench tree = yes = frightened, shy, afraid \
    = large enough, wide enough, high enough
{a} huddle under {b} = se blottir sous {b} = lamb kitten puppy hen sparrow chick squirrel \
    = tree bench roof umbrella cart = past = shivering, soaked, frightened, tired \
    = large enough, dry, wide enough
{a} wait under {b} = attendre sous {b} = dog horse girl boy cow = tree bridge roof umbrella = yes \
    = soaked, patient, obedient, frightened = large enough, wide enough, dry
{a} nestle in {b} = se blottir dans {b} = kitten puppy chick squirrel = basket armchair hay cradle \
    = past = sleepy, tired, shivering, frightened = soft, warm, comfortable, deep enough
{a} rest under {b} = se reposer sous {b} = horse cow lion elephant farmer = tree oak willow bridge \
    = past = tired, exhausted, old = leafy, large enough, shady
{a} rest in {b} = se reposer dans {b} = dog people bear horse = garden hut barn meadow = yes \
    = exhausted, ill, weary = quiet, comfortable, cool, shady
{a} retreat into {b} = se réfugier dans {b} = fox bear wolf mouse rabbit = cave forest barn tunnel \
    = past = wounded, afraid, exhausted = deep enough, dark, safe, large enough
{a} shelter under {b} = s'abriter sous {b} = beast bird people = tree bridge umbrella roof parasol \
    = yes = soaked, shivering, frightened = large enough, wide enough, solid
{a} shelter in {b} = s'abriter dans {b} = beast people bird = cave barn hut shed church = past \
    = exhausted, shivering, soaked, lost = dry, empty, large enough, warm
{a} vanish behind {b} = s'évanouir derrière {b} = fox deer rabbit car = hill wall hedge forest \
    = past = fast, shy, small = high enough, thick, large enough
{a} conceal {b} = dissimuler {b} = curtain carpet wardrobe hedge = door key chest window = yes \
    = thick enough, large enough, wide = small, low, tiny
{a} screen {b} = masquer {b} = hedge tree wall curtain = pool window house garden = yes \
    = high enough, leafy, thick = small, low, narrow
{a} shade {b} = ombrager {b} = tree oak parasol willow = bench garden table courtyard = yes \
    = leafy, large enough, wide enough = small, narrow, south-facing
{a} shield {b} = abriter {b} = wall umbrella roof hedge = flower lamb puppy candle rose = yes \
    = solid, high enough, large enough = fragile, young, small
{a} warm up in {b} = se réchauffer dans {b} = beast people = kitchen barn hut house cafe = past \
    = shivering, soaked, frozen = well heated, sunny, warm enough
{a} nest in {b} = nicher dans {b} = stork owl sparrow robin swan = tree chimney steeple barn hedge \
    = yes = pregnant, shy, cautious = high enough, quiet, abandoned
{a} stand behind {b} = se tenir derrière {b} = girl boy soldier dog = tree wall column car = yes \
    = shy, frightened, cautious = wide enough, large enough, thick
"""

_IMPACT = """\
{a} smash {b} = fracasser {b} = hammer rock brick ball axe = glassware = past \
    = heavy, hard, big, massive = thin, fragile, made of glass
{a} shatter {b} = briser {b} = ball brick hammer rock branch = glassware = past \
    = hard, heavy, fast = thin, cracked, fragile, made of glass
{a} scrape {b} = érafler {b} = bus truck van bicycle = car gate wall barrier = past \
    = wide, fast, overloaded = badly placed, in the way
{a} tear {b} = déchirer {b} = nail hook dagger branch = dress curtain net bag sheet = past \
    = sharp, pointed, rusty = thin, threadbare, made of silk
{a} cut through {b} = trancher {b} = sword chainsaw axe razor = rope branch plank wire net = past \
    = sharp, powerful, freshly sharpened = thin, soft, rotten, fragile
{a} rip {b} = déchirer {b} = dog puppy kitten goat = curtain pillow dress newspaper cushion = past \
    = playful, angry, excited, naughty = thin, threadbare, made of silk
{a} puncture {b} = crever {b} = nail needle screw hook = balloon ball mattress raft = past \
    = sharp, pointed, rusty = thin, inflated, fragile
{a} bend {b} = tordre {b} = truck branch rock bull = fence pole gate bicycle nail = past \
    = heavy, strong, massive = thin, flimsy, rusty
{a} flatten {b} = aplatir {b} = truck tractor rock elephant bulldozer = box hat hut fence flower \
    = past = heavy, huge, massive = fragile, soft, hollow
{a} wreck {b} = démolir {b} = bulldozer truck bull elephant = hut wall fence shed bridge = past \
    = powerful, heavy, huge = rickety, dilapidated, flimsy, worm-eaten
{a} ram {b} = emboutir {b} = truck bus ship tractor = car gate boat wall = past \
    = fast, heavy, overloaded = badly placed, in the way
{a} knock down {b} = abattre {b} = truck elephant bull tractor = tree fence statue wall hut = past \
    = powerful, strong, massive = rotten, thin, rickety
{a} bounce off {b} = rebondir sur {b} = ball arrow marble coin = wall roof window shield = past \
    = light, round, made of rubber = hard, solid, thick
{a} burn {b} = brûler {b} = candle cigarette oven pan kettle = carpet tablecloth curtain cake \
    = past = hot, boiling, lit = thin, dry, made of silk
{a} melt {b} = faire fondre {b} = oven heater torch = butter chocolate cheese = past \
    = hot, powerful, lit = soft, thin
{a} chip {b} = écailler {b} = brick hammer spoon rock = glassware -mirror -window = past \
    = hard, heavy, pointed = fragile, thin
{a} split {b} = fendre {b} = axe hammer pickaxe = log plank beam branch = past \
    = sharp, heavy, well sharpened = dry, cracked, thin
{a} penetrate {b} = transpercer {b} = arrow spear nail sword needle = shield door coat wall = not \
    = blunt, short, light = thick, hard, solid
{a} penetrate {b} = transpercer {b} = arrow spear nail sword needle = shield door coat wall = past \
    = sharp, pointed, fast = thin, soft, rotten
{a} shake {b} = secouer {b} = train truck drum helicopter = house bridge window lamp = past \
    = heavy, powerful, noisy = badly built, rickety, old
{a} crack under {b} = se fissurer sous {b} = plate floor bridge wall = truck statue elephant beam \
    = past = fragile, thin, badly built = heavy, massive, huge
{a} scorch {b} = roussir {b} = candle torch oven pan = sheet curtain tablecloth dress = past \
    = hot, boiling, lit = thin, dry, made of cotton
{a} slice through {b} = trancher {b} = sword razor axe scalpel = ham bread melon rope meat = can \
    = sharp, solid, big = soft, thin, tender
"""
OF_SUPPORT = _SUPPORT + _SHELTER + _IMPACT
