"""Relations of animals with each other, with furniture and food, and of plants with soil."""

from __future__ import annotations

_DAMAGE = """\
{a} ruin {b} = abîmer {b} = puppy kitten monkey parrot dog = sofa armchair table wardrobe = past \
    = angry, ~ be bored, naughty = antique, newly varnished, expensive
{a} claw at {b} = griffer {b} = kitten lion tiger bear lioness = sofa curtain cushion armchair \
    = yes = angry, playful, ~ be bored, restless = soft, torn, colourful
{a} chew {b} = mâchonner {b} = puppy goat rabbit dog hamster = slipper shoe boot belt = past \
    = hungry, ~ be bored, playful, young = made of leather, soft
{a} nibble {b} = grignoter {b} = mouse rat rabbit squirrel = cheese biscuit carrot bread pear \
    = past = hungry, greedy, curious = tasty, soft, fresh
{a} rub against {b} = se frotter contre {b} = kitten cow horse pig bear = tree wall door fence \
    = yes = affectionate, happy, playful = smooth, warm, solid
{a} dirty {b} = salir {b} = dog pig puppy duck goat = carpet floor sofa sheet kitchen = past \
    = muddy, soaked, disobedient = white, newly varnished, spotless
{a} topple {b} = faire tomber {b} = dog bull monkey elephant = vase lamp statue shed = past \
    = clumsy, excited, playful = wobbly, light, badly placed, rickety
{a} dig in {b} = creuser dans {b} = dog mole rabbit badger = garden lawn field = past \
    = hungry, ~ be bored, disobedient, young = soft, sandy, freshly planted
{a} graze in {b} = brouter dans {b} = herd goat = meadow field pasture = yes \
    = hungry, lazy, skinny = green, sunny, fertile, quiet
{a} roll in {b} = se rouler dans {b} = dog pig horse elephant = grass meadow puddle hay = yes \
    = happy, playful, excited = soft, muddy, fragrant
{a} rattle {b} = secouer {b} = monkey parrot lion prisoner = cage door gate fence = past \
    = angry, impatient, hungry, furious = rickety, locked, rusty
{a} trample {b} = piétiner {b} = bull elephant pig horse = lawn flower lettuce fence tulip = past \
    = frightened, furious, clumsy = freshly planted, low, fragile
"""

_LIVING = """\
{a} sting {b} = piquer {b} = wasp bee scorpion jellyfish hornet = dog horse bear puppy = past \
    = aggressive, angry, irritated, venomous = careless, asleep, curious
{a} kick {b} = donner un coup de sabot à {b} = horse mule cow zebra = dog fox wolf puppy = past \
    = irritated, stubborn, frightened = aggressive, careless, insolent
{a} peck {b} = donner des coups de bec à {b} = goose rooster swan = dog puppy fox kitten = past \
    = angry, aggressive, fierce = curious, careless, clumsy
{a} bark at {b} = aboyer après {b} = dog puppy seal = tractor cow motorcycle robot = past \
    = vigilant, excited, restless = noisy, unfamiliar, strange
{a} growl at {b} = grogner après {b} = dog bear wolf lion = puppy fox kitten monkey = past \
    = angry, jealous, irritated, ill = insolent, curious, playful
{a} lick {b} = lécher {b} = cow dog lioness mare ewe = calf puppy kitten lamb = yes \
    = affectionate, caring, patient = dirty, newborn, muddy, shivering
{a} warm {b} = réchauffer {b} = hen cow dog bear = chick calf puppy kitten = past \
    = affectionate, furry, caring = shivering, newborn, frozen, ill
{a} adopt {b} = adopter {b} = cow dog ewe hen gorilla = lamb kitten chick calf puppy = past \
    = affectionate, caring, gentle = orphaned, lost, newborn, abandoned
{a} tempt {b} = tenter {b} = cake cheese bone carrot honey = mouse dog bear horse = yes \
    = appetising, delicious, fragrant, fresh = hungry, greedy, starving
{a} attract {b} = attirer {b} = honey flower jam rose cake = bee fly ant butterfly wasp = yes \
    = sweet, fragrant, sugary = hungry, curious, greedy
{a} repel {b} = dégoûter {b} = soup meat medicine cheese = dog girl boy lion = past \
    = bitter, rotten, strange-smelling = picky, sick, sensitive
{a} satisfy {b} = rassasier {b} = meal bone soup carrot = dog bear lion horse = unable \
    = small, light, tasteless = greedy, hungry, fat, big
{a} choke {b} = étouffer {b} = bone walnut olive meatball = dog lion boy puppy = past \
    = big, hard, pointed = greedy, in a hurry, careless
{a} cure {b} = guérir {b} = medicine pill syrup remedy vaccine = dog horse girl cow = unable \
    = weak, diluted, bland = ill, old, feverish
{a} irritate {b} = agacer {b} = radio drum siren trumpet alarm = dog lion bear owl = past \
    = noisy, badly tuned, deafening = sleepy, tired, ill, sensitive
{a} dazzle {b} = éblouir {b} = lamp projector flashlight = owl deer horse bat = past \
    = powerful, shiny, switched on = nocturnal, sensitive, young
{a} distract {b} = déconcentrer {b} = radio television siren balloon = dog horse boy guard = past \
    = noisy, colourful, switched on = absent-minded, young, tired
{a} play with {b} = jouer avec {b} = kitten puppy boy girl monkey = ball string balloon doll = yes \
    = playful, excited, ~ be bored, young = colourful, soft, bouncy, round
{a} lose sight of {b} = perdre de vue {b} = dog eagle hunter wolf = rabbit deer mouse fox = past \
    = short-sighted, tired, slow, distracted = fast, tiny, well camouflaged
"""

_PLANTS = """\
{a} thrive in {b} = pousser bien dans {b} = rose tree vine wheat lettuce \
    = garden field greenhouse valley = yes = well watered, freshly planted, young \
    = fertile, sunny, well tended
{a} wither in {b} = se faner dans {b} = rose tulip flower daisy lily = garden vase bedroom = past \
    = fragile, young, freshly planted = dry, hot, dark, arid
{a} freeze in {b} = geler dans {b} = rose cactus orchid lemon = garden field balcony courtyard \
    = past = fragile, young, exotic = windswept, windy, shady
{a} cast a shadow on {b} = faire de l'ombre à {b} = tree oak fir tower wall \
    = garden flower house bench = yes = high, leafy, big, wide = low, small
S transplant {a} into {b} = replanter {a} dans {b} = rose cactus fern orchid shrub \
    = field garden greenhouse = yes = withered, dried out, fragile \
    = large enough, sunny, deep enough, fertile
S plant {a} in {b} = planter {a} dans {b} = tulip tree vine potato cactus = garden field courtyard \
    = cannot = fragile, exotic, expensive, big = dry, small, stony, frozen
{a} choke out {b} = étouffer {b} = weed nettle moss clover = flower lettuce rose wheat = past \
    = tough, thorny, overgrown = fragile, young, badly watered
"""
OF_ANIMALS = _DAMAGE + _LIVING + _PLANTS
