"""Relations of animals, things and sites: more frames that name the predicates of either noun."""

from __future__ import annotations

OF_THINGS = """\
{a} pass under {b} = passer sous {b} = truck bus beast tractor caravan = fence barrier bridge \
    = not = tall, big, high, enormous = low, narrow
{a} slip into {b} = se glisser dans {b} = small kitten puppy fox = box drawer tube basket = not \
    = big, fat, clumsy = small, narrow, full
{a} stay on {b} = tenir sur {b} = plate vase lamp bottle clock = shelf tray wall table = not \
    = big, heavy, wide, wobbly = narrow, small, sloping
{a} bear {b} = supporter {b} = chair bench shelf branch bridge stool = elephant piano statue truck \
    = unable = old, fragile, weak, rickety = heavy, big, massive
{a} tow {b} = remorquer {b} = car tractor van boat = truck caravan ship bus = not \
    = weak, small, old = heavy, big, overloaded
{a} drag {b} = traîner {b} = horse donkey dog ox tractor = log cart stone container = not \
    = weak, tired, old, exhausted = heavy, big, full, bulky
{a} see {b} = voir {b} = beast bird people = mouse ant coin needle ring island = not \
    = short-sighted, tired, drowsy, old = small, tiny, far away
{a} notice {b} = remarquer {b} = beast people = coin needle spider key lizard = not \
    = busy, tired, absent-minded, excited = small, tiny, well camouflaged
{a} smell {b} = sentir {b} = dog fox bear wolf = mushroom cheese meat rose = not \
    = old, sick, far away = fresh, well wrapped
{a} land on {b} = se poser sur {b} = plane helicopter eagle swan = roof island field road = not \
    = heavy, big, fast = small, narrow, icy
{a} grow in {b} = pousser dans {b} = rose tulip tree oak seed = pot garden desert field = not \
    = delicate, young, old = dry, arid, small, dark
{a} illuminate {b} = éclairer {b} = candle lamp torch bulb = cave cellar church street = not \
    = weak, dim, far away = dark, large, gloomy
{a} absorb {b} = absorber {b} = sponge handkerchief towel carpet = water milk juice oil = past \
    = dry, thick, soft = spilt, cold
{a} hold up {b} = soutenir {b} = pillar beam column wall = roof balcony ceiling bridge = yes \
    = solid, strong, thick = heavy, enormous, cracked
{a} protect {b} = protéger {b} = wall hedge fence roof = garden flower house vegetable = yes \
    = high, solid, thick = fragile, precious, delicate
{a} shelter {b} = abriter {b} = barn cave hut shed = horse sheep goat lamb donkey = yes \
    = dry, warm, spacious, solid = wet, tired, frightened, shivering
{a} mask {b} = cacher {b} = wall hedge tree building curtain = lake car statue path = yes \
    = high, thick, wide, leafy = small, low, narrow
{a} startle {b} = surprendre {b} = drum siren truck balloon helicopter = horse cat bird rabbit \
    = past = noisy, loud, deafening = nervous, asleep, timid
{a} disturb {b} = déranger {b} = radio drum drill tractor motorcycle = dog cat horse lion bear \
    = past = noisy, loud, faulty = tired, sleepy, sick, old
{a} stain {b} = tacher {b} = wine sauce ink coffee jam = shirt tablecloth carpet dress = past \
    = red, greasy, hot = white, clean, new, made of silk
{a} dent {b} = cabosser {b} = stone rock branch truck = car bucket kettle van = past \
    = hard, heavy, pointed = badly placed, fragile
{a} bend under {b} = plier sous {b} = branch shelf plank = box statue chest suitcase = past \
    = thin, weak, flimsy = heavy, full, massive
{a} get stuck in {b} = s'embourber dans {b} = truck tractor car horse bus = field path swamp \
    = past = heavy, overloaded, old = muddy, wet, soft, flooded
{a} slip on {b} = glisser sur {b} = beast people = floor staircase road = past \
    = clumsy, careless, tired, in a hurry = wet, icy, slippery, waxed
{a} trip over {b} = trébucher sur {b} = beast people = stone log rope toy carpet = past \
    = clumsy, tired, blind, absent-minded = badly placed, invisible
{a} rust in {b} = rouiller dans {b} = key knife bicycle shovel hammer = cellar garden shed garage \
    = past = old, made of iron, wet = damp, flooded
{a} rot in {b} = pourrir dans {b} = fruit meat vegetable = cellar cupboard basket = past \
    = ripe, overripe, old = damp, warm
{a} stay fresh in {b} = rester frais* dans {b} = cheese salad meat = fridge cellar freezer \
    = yes = well wrapped, home-made, organic = cold, cool, airtight
{a} hunt {b} = chasser {b} = cat fox eagle wolf lion = mouse rabbit pigeon duck hare = past \
    = hungry, starving, famished, ferocious = slow, wounded, plump, careless
{a} outrun {b} = distancer {b} = rabbit horse deer hare = dog wolf fox lion = past \
    = fast, young, afraid, agile = slow, old, tired, lame
{a} defend {b} = défendre {b} = cow bear lioness mare ewe = calf kitten lamb puppy = past \
    = brave, strong, fearless = weak, young, defenceless, wounded
{a} interrupt {b} = interrompre {b} = alarm siren dog telephone = concert meeting lesson ceremony \
    = past = noisy, deafening, faulty = endless, boring, important
{a} run faster than {b} = courir plus vite que {b} = beast = beast = more \
    = young, agile, in good shape, muscular = old, tired, lame, injured
{a} be slower than {b} = être plus lent* que {b} = vehicle = vehicle = more \
    = old, overloaded, badly maintained = modern, powerful, new
{a} be cheaper than {b} = être moins cher* que {b} = clothing furniture instrument machine \
    = clothing furniture instrument machine = more = second-hand, damaged, common, faulty \
    = new, precious, rare
{a} be lighter than {b} = être plus léger* que {b} = container furniture tool \
    = container furniture tool = more = empty, hollow, made of straw \
    = full of stones, made of iron, made of lead
{a} weigh more than {b} = peser plus lourd que {b} = container = container = more \
    = full, full of stones, full of water, filled = empty, half empty
{a} be longer than {b} = être plus long* que {b} = film speech concert lesson \
    = film speech concert lesson = more = endless, detailed, slow = short, fast
{a} defeat {b} = battre {b} = horse dog robot computer = horse dog robot computer = past \
    = fast, powerful, well trained = slow, old, tired, weak
S see {a} from {b} = voir {a} depuis {b} = sea castle island lighthouse \
    = house window balcony bedroom = cannot = small, far away, tiny = low, badly located
S put {a} onto {b} = poser {a} sur {b} = piano statue box appliance = shelf table wall desk \
    = cannot = heavy, big, bulky = fragile, small, narrow, high
S park {a} in {b} = garer {a} dans {b} = truck bus van caravan car = garage street courtyard \
    = cannot = long, wide, big = narrow, small, full, crowded
S carry {a} up {b} = monter {a} par {b} = piano wardrobe sofa box appliance = staircase ladder \
    = cannot = heavy, bulky, wide = steep, narrow, slippery
S pack {a} in {b} = emballer {a} dans {b} = vase statue lamp painting mirror = box crate suitcase \
    = cannot = big, large, bulky = small, flimsy, full
S preserve {a} in {b} = conserver {a} dans {b} = fruit vegetable meat cheese = jar cellar freezer \
    = yes = fresh, ripe, raw, organic = cold, dark, airtight, cool
S cool {a} in {b} = rafraîchir {a} dans {b} = wine beer lemonade melon \
    = cellar fridge bucket stream \
    = yes = warm, lukewarm = cold, cool, full of water
S dry {a} in {b} = sécher {a} dans {b} = shirt towel sheet dress sock = garden attic bathroom \
    = yes \
    = wet, damp, soaked = sunny, warm
S boil {a} in {b} = faire bouillir {a} dans {b} = egg potato carrot = saucepan pot = yes \
    = raw, peeled = big, clean, full of water
S bake {a} in {b} = cuire {a} dans {b} = bread cake pizza pie = oven = yes = raw, home-made \
    = hot, switched on, clean
S wrap {a} up in {b} = envelopper {a} dans {b} = glass plate vase cup = newspaper blanket towel \
    = yes = fragile, precious, chipped = thick, soft, old
S cover {a} with {b} = couvrir {a} avec {b} = piano car table sofa = sheet blanket tablecloth \
    = yes \
    = dirty, dusty, ugly, stained = clean, large, embroidered
S tie {a} to {b} = attacher {a} à {b} = horse dog bull goat = tree pole fence gate = yes \
    = nervous, aggressive, stubborn, wild = solid, strong, thick
S save {a} from {b} = sauver {a} de {b} = puppy kitten lamb horse = lake house swamp river = past \
    = afraid, trapped, panicked, young = deep, dangerous, flooded
S trade {a} for {b} = échanger {a} contre {b} = vehicle instrument machine \
    = vehicle instrument machine = yes = old, slow, noisy, rusty = new, fast, modern
S choose {a} rather than {b} = choisir {a} plutôt que {b} = hotel restaurant apartment sofa dress \
    = hotel restaurant apartment sofa dress = yes = comfortable, cheap, elegant, magnificent \
    = expensive, uncomfortable, noisy, ugly
S recommend {a} instead of {b} = recommander {a} au lieu de {b} = novel film hotel restaurant \
    = novel film hotel restaurant = yes = interesting, captivating, excellent \
    = boring, bad, tedious
S season {a} with {b} = assaisonner {a} avec {b} = salad soup meat omelette \
    = salt vinegar oil mustard = yes = bland, tasteless, raw = spicy, organic
S print {a} with {b} = imprimer {a} avec {b} = letter photo ticket invoice map = printer computer \
    = yes = important, urgent = new, powerful, switched on
S translate {a} with {b} = traduire {a} avec {b} = letter poem contract article \
    = dictionary tablet computer = yes = hard to understand, illegible, long \
    = practical, accurate, reliable
S exhibit {a} in {b} = exposer {a} dans {b} = painting statue sculpture crown \
    = museum gallery palace \
    = yes = magnificent, precious, ancient = crowded, spacious, famous
S visit {a} after {b} = visiter {a} après {b} = castle museum cathedral \
    = meeting lunch exam lesson \
    = past = magnificent, famous, in ruins = short, tiring, boring
"""
