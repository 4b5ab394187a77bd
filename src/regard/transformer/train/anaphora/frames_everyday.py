"""Everyday events between two nouns: what animals and people do, what happens to things."""

from __future__ import annotations

# english = french = nouns of {a} = nouns of {b} = options, as in `frames`
_OF_ANIMATES = """\
{a} grab {b} = attraper {b} = beast people = food toy cloth stick rope
{a} hold {b} = tenir {b} = monkey bear people = food toy tool container -bathtub -tank
{a} shake {b} = secouer {b} = beast people = tree branch toy box bag bottle
{a} kick {b} = donner un coup dans {b} = horse cow mule people = door bucket ball box gate
{a} rub against {b} = se frotter contre {b} = beast = part tree wood car
{a} stare at {b} = fixer {b} = beast bird people = food machine building vehicle picture
{a} listen to {b} = écouter {b} = beast people = instrument radio loudspeaker bell song melody
{a} bark at {b} = aboyer après {b} = dog puppy = vehicle robot balloon statue tree
{a} hiss at {b} = siffler contre {b} = snake goose kitten cobra = machine boot box car
{a} growl at {b} = grogner contre {b} = dog bear wolf tiger = vehicle machine container
{a} circle {b} = décrire des cercles autour de {b} = eagle shark wolf seagull hawk \
    = boat island house tree lighthouse
{a} hover over {b} = planer au-dessus de {b} = eagle hawk seagull falcon = building waters land
{a} perch on {b} = se percher sur {b} = bird = part tree wood branch
{a} nest in {b} = nicher dans {b} = bird -ostrich -penguin = tree building chimney hedge
{a} graze near {b} = brouter près de {b} = cow sheep goat horse deer = building waters road plant
{a} gallop towards {b} = galoper vers {b} = horse zebra pony mare deer = building waters land
{a} trot along {b} = trotter le long de {b} = horse donkey pony dog = road river wall canal
{a} hop around {b} = sautiller autour de {b} = rabbit kangaroo frog sparrow = plant container wood
{a} leap onto {b} = bondir sur {b} = beast frog = wood car boat rock
{a} creep under {b} = se glisser sous {b} = small kitten puppy = wood vehicle plant textile
{a} wander around {b} = errer autour de {b} = beast people = building waters vehicle
{a} head for {b} = se diriger vers {b} = animate -bug -fish = building waters land vehicle
{a} rush towards {b} = se précipiter vers {b} = beast people = food vehicle building toy
{a} turn towards {b} = se tourner vers {b} = beast people = building plant machine vehicle
{a} point at {b} = montrer du doigt {b} = people = animal vehicle building picture
{a} rest beside {b} = se reposer à côté de {b} = beast people = waters plant building vehicle
{a} crouch beside {b} = s'accroupir à côté de {b} = people gorilla monkey = container wood plant car
{a} kneel in front of {b} = s'agenouiller devant {b} = people camel elephant \
    = altar statue tomb temple chapel
{a} stumble over {b} = trébucher sur {b} = beast people = stone toy tool container
{a} slip on {b} = glisser sur {b} = beast people = fruit textile floor staircase
{a} attack {b} = attaquer {b} = dog bear wolf lion bull = vehicle tree statue machine
{a} trample {b} = piétiner {b} = beast = plant cloth text toy
{a} bang on {b} = taper sur {b} = people gorilla monkey = door drum table window machine
{a} squeeze {b} = presser {b} = people monkey bear = fruit sponge toy tube
{a} nibble at {b} = grignoter {b} = mouse rat rabbit goat squirrel = food cloth plant text
{a} gulp down {b} = engloutir {b} = beast bird fish -oyster -mussel = food
{a} bring back {b} = rapporter {b} = dog puppy = stick toy clothing newspaper
{a} recognise {b} = reconnaître {b} = beast people parrot = building vehicle clothing toy
{a} remember {b} = se souvenir de {b} = people elephant = building text occasion work
{a} hate {b} = détester {b} = beast bird people = food machine vehicle occasion = state
{a} love {b} = adorer {b} = beast bird people = food toy land waters plant = state
{a} fear {b} = craindre {b} = beast bird people = machine vehicle waters land = state
{a} own {b} = posséder {b} = people = animal ride building machine = state
{a} inherit {b} = hériter de {b} = people = building jewel instrument beast
{a} hurry past {b} = passer rapidement devant {b} = beast people = building plant statue vehicle
{a} scramble up {b} = grimper sur {b} = goat monkey boy bear = rock tree wall hill
{a} splash in {b} = patauger dans {b} = beast duck people = waters bathtub
{a} dance around {b} = danser autour de {b} = people bear bee = tree statue fountain table
{a} sing near {b} = chanter près de {b} = bird people cricket = building waters plant vehicle
{a} complain about {b} = se plaindre de {b} = people = machine food building occasion
{a} laugh about {b} = rire de {b} = people = clothing picture joke film animal
{a} dream about {b} = rêver de {b} = people dog = food building journey ride
{a} think about {b} = penser à {b} = people = idea occasion building food animal
{a} study {b} = étudier {b} = people = text plant bug language animal
{a} inspect {b} = inspecter {b} = people beast = machine building vehicle container
{a} check {b} = vérifier {b} = people = machine document text vehicle
{a} step over {b} = enjamber {b} = beast people = puddle log rope toy stone
{a} tug at {b} = tirer sur {b} = beast people = rope cloth branch chain
{a} snuggle against {b} = se blottir contre {b} = kitten puppy lamb rabbit \
    = textile tree wall heater
{a} glance at {b} = jeter un coup d'œil à {b} = beast people = building vehicle machine plant
{a} swim away from {b} = s'éloigner de {b} = fish duck swan -oyster -mussel = boat net rock bridge
{a} fly away from {b} = s'envoler de {b} = bird butterfly bee = tree building wood vehicle
{a} crawl towards {b} = ramper vers {b} = bug snake turtle -fly -mosquito = food plant stone house
{a} buzz around {b} = bourdonner autour de {b} = bee fly wasp hornet mosquito = food lamp plant
{a} bathe in {b} = se baigner dans {b} = beast duck people = waters
{a} walk towards {b} = marcher vers {b} = beast people = building waters vehicle plant
{a} drool on {b} = baver sur {b} = dog cow camel puppy = cloth text wood
{a} trust {b} = se fier à {b} = people = machine map compass vehicle = state
{a} miss {b} = rater {b} = people = vehicle occasion plane lesson
"""

_OF_THINGS = """\
{a} drift towards {b} = dériver vers {b} = boat log bottle balloon = rock bridge island animal
{a} sail past {b} = passer devant {b} = boat = island lighthouse castle harbour
{a} crash into {b} = s'écraser contre {b} = vehicle aircraft = part building tree beast
{a} roll towards {b} = rouler vers {b} = ball barrel vehicle marble = animal part plant
{a} slide off {b} = glisser de {b} = text plate cloth toy bowl = wood car roof
{a} tumble from {b} = dégringoler de {b} = beast small toy container = wood roof tree
{a} bounce against {b} = rebondir contre {b} = ball marble = animal part vehicle plant
{a} splash {b} = éclabousser {b} = vehicle elephant dog = clothing part plant
{a} stain {b} = tacher {b} = drink sauce ink jam = cloth text wood
{a} cover {b} = couvrir {b} = textile moss sand = wood vehicle statue rock = state
{a} cling to {b} = s'accrocher à {b} = monkey koala bat snail = tree branch part clothing
{a} stick to {b} = coller à {b} = poster bandage ribbon snail = wood clothing part
{a} belong to {b} = appartenir à {b} = object ride beast = museum school hotel church = state
{a} resemble {b} = ressembler à {b} = animal = toy picture statue vehicle = state
{a} face {b} = faire face à {b} = building = waters land plant statue = state
{a} overlook {b} = dominer {b} = building = waters road garden field = state
{a} border {b} = longer {b} = forest hedge wall field = road waters building = state
{a} contain {b} = contenir {b} = container = food text toy jewel = state
{a} go with {b} = aller avec {b} = clothing jewel = wood car picture instrument = state
{a} weigh more than {b} = peser plus que {b} = beast wood machine = toy text clothing fruit = state
{a} grow near {b} = pousser près de {b} = plant = building waters road vehicle = state
{a} bloom beside {b} = fleurir à côté de {b} = rose tulip lilac daisy poppy = building wood waters
{a} cast a shadow on {b} = faire de l'ombre à {b} = tree building wall = animal bench flower car
{a} arrive at {b} = arriver à {b} = vehicle beast people = building village island
{a} spin around {b} = tournoyer autour de {b} = kite balloon bat butterfly = tree house lamp
{a} burn beside {b} = brûler à côté de {b} = candle log house torch = animal plant wood
{a} explode near {b} = exploser près de {b} = bomb rocket machine balloon = animal building plant
{a} lie across {b} = se trouver en travers de {b} = tree log ladder beast = road path bridge = state
{a} flow past {b} = couler devant {b} = river stream brook canal = building animal plant = state
{a} leak onto {b} = fuir sur {b} = barrel bottle tank roof = cloth wood animal text
{a} loom over {b} = surplomber {b} = building tree giraffe = wood vehicle waters = state
{a} shine on {b} = briller sur {b} = lamp torch projector = animal building waters wood
{a} echo through {b} = résonner dans {b} = drum bell siren song instrument = building land
{a} frighten {b} = effrayer {b} = machine vehicle balloon bell = animal -bug
{a} bore {b} = ennuyer {b} = text work occasion = people dog
"""
OF_EVERY_DAY = _OF_ANIMATES + _OF_THINGS
