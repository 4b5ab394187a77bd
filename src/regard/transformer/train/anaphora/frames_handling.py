"""Everyday events in which a person handles two things."""

from __future__ import annotations

# english = french = nouns of {a} = nouns of {b} = options, as in `frames`
OF_HANDS = """\
S kick {a} towards {b} = pousser du pied {a} vers {b} = ball bucket box rock = building animal part
S toss {a} to {b} = lancer {a} à {b} = food toy stick = animal -bug
S roll {a} towards {b} = faire rouler {a} vers {b} = ball barrel log = beast building part
S lay {a} on {b} = étendre {a} sur {b} = cloth = wood grass
S place {a} beside {b} = placer {a} à côté de {b} = portable = wood machine plant animal
S set {a} near {b} = poser {a} près de {b} = portable = animal plant building
S tie {a} to {b} = lier {a} à {b} = beast boat balloon rope = tree pole gate column
S fasten {a} to {b} = accrocher {a} à {b} = flag lamp picture bell = wall tree car
S nail {a} to {b} = clouer {a} à {b} = picture plank poster = tree wall door
S glue {a} to {b} = coller {a} à {b} = picture poster card = wood door container
S release {a} near {b} = relâcher {a} près de {b} = animal = waters land building
S walk {a} along {b} = promener {a} le long de {b} = dog pony horse puppy = road waters wall
S ride {a} around {b} = mener {a} autour de {b} = horse bicycle camel pony = lake building field
S park {a} near {b} = garer {a} près de {b} = vehicle = building waters plant
S steer {a} towards {b} = diriger {a} vers {b} = ride = island building animal
S build {a} near {b} = construire {a} près de {b} = building boat = waters land plant
S plant {a} behind {b} = planter {a} derrière {b} = plant = building wood car
S pick {a} near {b} = cueillir {a} près de {b} = flower fruit rose = building waters animal
S gather {a} in {b} = ramasser {a} dans {b} = mushroom fruit shell = land container
S cook {a} in {b} = cuisiner {a} dans {b} = vegetable meat egg soup stew salmon \
    = kitchen garden pan pot
S fry {a} in {b} = faire frire {a} dans {b} = egg potato onion meat = pan kitchen
S peel {a} over {b} = éplucher {a} au-dessus de {b} = produce = bowl dustbin table
S chop {a} on {b} = couper {a} sur {b} = vegetable meat ham = table plate counter plank
S share {a} with {b} = partager {a} avec {b} = food drink toy = beast bird small
S wipe {a} with {b} = essuyer {a} avec {b} = wood machine part = textile sponge
S scrub {a} with {b} = frotter {a} avec {b} = container floor part = brush sponge
S polish {a} with {b} = astiquer {a} avec {b} = jewel blade wood boot = cloth sponge
S dry {a} near {b} = sécher {a} près de {b} = cloth dog = oven waters plant
S fold {a} on {b} = plier {a} sur {b} = cloth newspaper map = wood
S iron {a} on {b} = repasser {a} sur {b} = cloth = table bed
S knit {a} for {b} = tricoter {a} pour {b} = sweater scarf sock mitten = dog doll teddy kitten
S pack {a} with {b} = emballer {a} avec {b} = clothing tool toy = food text
S unpack {a} in {b} = déballer {a} dans {b} = container clothing = room building
S spill {a} on {b} = renverser {a} sur {b} = drink soup ink = cloth text wood
S sprinkle {a} on {b} = répandre {a} sur {b} = sugar salt powder flour = cake wood plant
S deliver {a} to {b} = livrer {a} à {b} = food object = building
S receive {a} with {b} = recevoir {a} avec {b} = text document gift = food jewel picture
S offer {a} to {b} = offrir {a} à {b} = food drink toy = animal -bug
S donate {a} to {b} = faire don de {a} à {b} = object ride = museum school hospital church
S rent {a} near {b} = louer {a} près de {b} = building vehicle boat = waters land
S return {a} to {b} = rapporter {a} à {b} = object = shop library museum
S fetch {a} from {b} = aller chercher {a} dans {b} = portable = room building container
S remove {a} from {b} = retirer {a} de {b} = container cloth toy = wood building car
S rescue {a} from {b} = secourir {a} dans {b} = animal = waters building
S protect {a} from {b} = protéger {a} contre {b} = plant object = animal
S defend {a} against {b} = défendre {a} contre {b} = food house boat = beast bird
S hunt {a} near {b} = chasser {a} près de {b} = beast bird = waters building land
S film {a} near {b} = filmer {a} près de {b} = animal ride = building waters plant
S sketch {a} beside {b} = esquisser {a} à côté de {b} = animal fruit ride = building wood plant
S admire {a} from {b} = admirer {a} depuis {b} = waters land animal = building boat
S recognise {a} on {b} = reconnaître {a} sur {b} = animal building = picture poster
S dream about {a} and {b} = rêver de {a} et de {b} = animal food = ride building
S complain about {a} and {b} = se plaindre de {a} et de {b} = animal machine \
    = food building occasion
S measure {a} with {b} = mesurer {a} avec {b} = wood part animal = ruler rope stick
S raise {a} above {b} = élever {a} au-dessus de {b} = flag lamp box = wall car waters
S drag {a} towards {b} = traîner {a} vers {b} = wood container = building vehicle
S lead {a} to {b} = mener {a} à {b} = beast = building waters
S burn {a} behind {b} = brûler {a} derrière {b} = text wood cloth = building plant
S light {a} beside {b} = allumer {a} à côté de {b} = candle lamp torch = animal plant wood
S turn on {a} near {b} = allumer {a} près de {b} = machine = animal plant bed
S smash {a} against {b} = fracasser {a} contre {b} = container toy = part tree
S tear {a} with {b} = déchirer {a} avec {b} = cloth text = blade tool
S slice {a} with {b} = trancher {a} avec {b} = food -soup -sauce -rice = blade
S open {a} with {b} = ouvrir {a} avec {b} = container door = blade key
S write {a} in {b} = écrire {a} dans {b} = letter poem message essay = kitchen garden library train
S print {a} in {b} = imprimer {a} dans {b} = text picture = office school library
S study {a} in {b} = étudier {a} dans {b} = text language animal plant = building
S win {a} instead of {b} = gagner {a} au lieu de {b} = ride jewel = beast toy food
S test {a} on {b} = tester {a} sur {b} = machine care = animal wood
S arrange {a} around {b} = disposer {a} autour de {b} = flower candle chair = statue table tree
S hold {a} above {b} = tenir {a} au-dessus de {b} = text toy small = waters wood
S press {a} against {b} = presser {a} contre {b} = cloth toy text = part tree
S spot {a} behind {b} = apercevoir {a} derrière {b} = animal ride = building plant
S inspect {a} beside {b} = inspecter {a} à côté de {b} = machine vehicle = animal building plant
S visit {a} with {b} = visiter {a} avec {b} = building land = dog guidebook camera map
S enjoy {a} near {b} = savourer {a} près de {b} = food drink = waters building
S cover {a} with {b} = couvrir {a} avec {b} = animal plant vehicle wood = textile
S surprise {a} behind {b} = surprendre {a} derrière {b} = animal = building plant wood
S frighten {a} with {b} = effrayer {a} avec {b} = beast bird = toy instrument machine
S lure {a} with {b} = attirer {a} avec {b} = animal = food
S reward {a} with {b} = récompenser {a} avec {b} = beast parrot = food toy
S entertain {a} with {b} = amuser {a} avec {b} = beast = toy instrument
S treat {a} with {b} = soigner {a} avec {b} = beast = medicine ointment syrup antibiotic
S dress {a} in {b} = habiller {a} avec {b} = doll puppy monkey = clothing
S slam {a} beside {b} = claquer {a} à côté de {b} = door book window gate = animal
S lower {a} towards {b} = baisser {a} vers {b} = rope ladder lamp flag = animal boat waters
S hand {a} to {b} = tendre {a} à {b} = food toy = monkey elephant dog parrot
S trade {a} for {b} = troquer {a} contre {b} = object ride = beast food plant
S inherit {a} and {b} = hériter de {a} et de {b} = building instrument = animal ride
S sort out {a} and {b} = trier {a} et {b} = text clothing document = toy container tool
"""
