"""Intransitive verbs of animals, people and plants in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

ACTS_OF_LIVING = """\
creature / animate = \
    breathe: ~ respirer; shiver: ~ frissonner; tremble: ~ trembler; faint: > s'évanouir; \
    fall asleep: > s'endormir; doze: ~ somnoler; doze off: > s'assoupir; panic: ~ paniquer; \
    flee: > s'enfuir; run away: > s'enfuir; look around: ~ regarder autour de soi; grow old: \
    >~ vieillir; feel sick: ~ avoir la nausée; lose consciousness: > perdre connaissance; \
    drown: > se noyer; starve: ~ mourir de faim; get scared: > prendre peur; lie down: > se \
    coucher; stretch: ~ s'étirer; struggle: ~ se débattre; rest: ~ se reposer; hurry: ~ se \
    dépêcher; hesitate: ~ hésiter; pant: ~ haleter; get hurt: > se blesser; wander around: ~ \
    errer; sniff: ~ renifler; get lost: > se perdre; listen: ~ écouter; bleed: ~ saigner; \
    choke: > s'étouffer; get bored: ~ s'ennuyer; feel dizzy: ~ avoir le vertige; wait \
    patiently: ~ attendre patiemment; get sick: > tomber malade*; roll on the ground: ~ se \
    rouler par terre; suffocate: ~ suffoquer; hear footsteps: > entendre des pas; see the \
    enemy: > voir l'ennemi
quadruped people / animate = \
    sit down: > s'asseoir; stand up: > se lever; walk: ~ marcher; yawn: ~ bâiller; sneeze: ~ \
    éternuer; snore: ~ ronfler; vomit: ~ vomir; snort: ~ grogner; hop: ~ sautiller; sweat: ~ \
    transpirer; kneel: > s'agenouiller; hiccup: ~ hoqueter; blink: ~ cligner des yeux; groan: ~ \
    gémir; moan: ~ gémir; limp: ~ boiter; drool: ~ baver; snore loudly: ~ ronfler bruyamment; \
    put on weight: > prendre du poids; want to go home: vouloir rentrer; be able to swim: savoir \
    nager; have a nightmare: > faire un cauchemar; have an allergy: avoir une allergie; be blind \
    in one eye: être borgne*; play in the snow: ~ jouer dans la neige; need affection: avoir \
    besoin d'affection; growl: ~ grogner; whine: ~ gémir; burp: ~ roter; jump for joy: ~ sauter \
    de joie
dog puppy wolf fox / animate = \
    snarl: ~ gronder; whimper: ~ gémir; yelp: ~ glapir; bark loudly: ~ aboyer fort; bare its \
    teeth: > montrer les dents; guard the house: garder la maison; beg for food: ~ réclamer de \
    la nourriture; obey at once: obéir aussitôt; fetch the stick: > rapporter le bâton; dig \
    holes: ~ creuser des trous; smell a rabbit: > flairer un lapin; bark at strangers: ~ aboyer \
    après les inconnus; wag its tail: ~ remuer la queue
cat kitten tiger lion panther / animate = \
    hiss: ~ feuler; pounce: > bondir; purr: ~ ronronner; arch its back: ~ faire le gros dos; \
    hunt mice: chasser les souris; have whiskers: avoir des moustaches; have sharp claws: avoir \
    des griffes pointues; land on its feet: > retomber sur ses pattes
horse pony mare donkey mule zebra / animate = \
    gallop: ~ galoper; trot: ~ trotter; bray: ~ braire; rear up: > se cabrer; refuse the jump: > \
    refuser l'obstacle; graze: ~ brouter; lose a shoe: > perdre un fer
cow ox bull sheep ewe lamb goat deer gazelle calf buffalo / animal people machine = \
    moo: ~ meugler; graze: ~ brouter; chew the cud: ~ ruminer; have horns: avoir des cornes
sheep ewe lamb goat / animal = \
    bleat: ~ bêler; give wool: donner de la laine
pig sow / animal people = \
    grunt: ~ grogner; oink: ~ grogner; wallow in the mud: ~ se vautrer dans la boue
lion tiger bear panther jaguar lioness / animal machine people = \
    growl fiercely: ~ grogner férocement; roar: ~ rugir; prowl: ~ rôder; attack a man: > \
    attaquer un homme; be looking for prey: chercher une proie
bear hedgehog marmot squirrel badger bat / animal people = \
    hibernate: ~ hiberner
bird -ostrich -penguin -chick -hen / animal ride = \
    chirp: ~ gazouiller; flap its wings: ~ battre des ailes; perch on a branch: > se percher sur \
    une branche; migrate: ~ migrer; land on the roof: > se poser sur le toit; spread its wings: \
    > déployer ses ailes; build its nest: ~ construire son nid
bird / animal ride = \
    peck at the seeds: ~ picorer les graines; lay an egg: > pondre un œuf; moult: ~ muer; have \
    colourful feathers: avoir des plumes colorées; chirp: ~ gazouiller; fluff its feathers: ~ \
    gonfler ses plumes
sparrow robin blackbird lark nightingale cuckoo bird -ostrich -turkey -penguin -hen -duck -goose \
    -chicken -chick -owl -eagle -hawk -falcon -crow -magpie -stork -seagull -peacock -pheasant \
    -partridge -rooster -swan / animate = \
    sing: ~ chanter; twitter: ~ gazouiller; warble: ~ gazouiller; tweet: ~ gazouiller; sing at \
    dawn: ~ chanter à l'aube
duck goose swan / animal = \
    quack: ~ cancaner; waddle: ~ se dandiner; paddle: ~ barboter; dive: > plonger
hen rooster chicken turkey / animal = \
    cluck: ~ glousser; crow: ~ chanter; peck: ~ picorer; cackle: ~ caqueter
owl dove pigeon / animal people = \
    hoot: ~ hululer; coo: ~ roucouler
parrot / animal machine people = \
    talk: ~ parler; repeat everything: répéter tout; squawk: ~ crier; imitate voices: imiter les \
    voix
crow magpie seagull / animal people = \
    caw: ~ croasser; screech: ~ crier; squawk: ~ crier
frog toad / animal = \
    croak: ~ coasser; hop away: > s'éloigner en sautant
snake cobra lizard / animal people machine = \
    hiss: ~ siffler; slither: ~ ramper; shed its skin: > changer de peau; coil up: > s'enrouler; \
    crawl: ~ ramper; slither away: > s'éloigner en rampant
mouse rat hamster squirrel ferret / animal people machine = \
    squeak: ~ couiner; gnaw: ~ ronger; scurry away: > détaler; nibble: ~ grignoter; gather nuts: \
    ~ ramasser des noisettes
monkey gorilla / animal people = \
    chatter: ~ jacasser; swing from branch to branch: ~ se balancer de branche en branche; \
    scream: ~ crier; make faces: ~ faire des grimaces; peel bananas: ~ éplucher des bananes
elephant / animal instrument = \
    trumpet: ~ barrir; have a long trunk: avoir une longue trompe; have big ears: avoir de \
    grandes oreilles; have tusks: avoir des défenses
hyena / people animal = \
    laugh: ~ rire
beaver / animal people = \
    build a dam: ~ construire un barrage
fish duck swan otter seal frog turtle penguin whale dolphin / animate boat = \
    swim: ~ nager; swim away: > s'éloigner à la nage; dive: > plonger; surface: > remonter à la \
    surface; splash: ~ barboter; swim underwater: ~ nager sous l'eau
fish -whale -dolphin -octopus -crab -lobster / animal = \
    have scales: avoir des écailles; have gills: avoir des branchies
whale dolphin / animal boat = \
    leap out of the water: > bondir hors de l'eau
bee fly wasp mosquito hornet beetle dragonfly cricket / animate machine = \
    buzz: ~ bourdonner; buzz around: ~ bourdonner; sting people: piquer les gens; fly around: ~ \
    voler partout
bug / animal people = \
    crawl: ~ ramper; crawl away: > s'éloigner en rampant; have no bones: ne pas avoir d'os
caterpillar snail slug worm / animal people = \
    crawl: ~ ramper; wriggle: ~ se tortiller
spider / animal people = \
    spin a web: ~ tisser une toile; have eight legs: avoir huit pattes
beast small -snake -cobra / animal wood people = \
    have four legs: avoir quatre pattes; run on four legs: ~ courir à quatre pattes; give birth \
    to three young: > donner naissance à trois petits
beast small bird / animate = \
    need a home: avoir besoin d'un foyer; hunt at night: chasser la nuit; live in a cage: vivre \
    dans une cage; have rabies: avoir la rage; have fleas: avoir des puces; live in the forest: \
    vivre dans la forêt; mate: > s'accoupler; be looking for its young: chercher ses petits; \
    crouch: > s'accroupir; lick its paws: ~ se lécher les pattes
people / animate = \
    laugh: ~ rire; cry: ~ pleurer; whisper: ~ chuchoter; shout: ~ crier; smile: ~ sourire; \
    vote: > voter; pray: ~ prier; complain: ~ se plaindre; argue: ~ se disputer; joke: ~ \
    plaisanter; giggle: ~ glousser; sigh: ~ soupirer; frown: ~ froncer les sourcils; nod: > \
    hocher la tête; wave: ~ faire signe; apologise: > s'excuser; apologize: > s'excuser; \
    lie: ~ mentir; swear: ~ jurer; sob: ~ sangloter; weep: ~ pleurer; dance: ~ danser; sing: \
    ~ chanter; talk: ~ parler; chat: ~ bavarder; cook: ~ cuisiner; study: ~ étudier; write: \
    ~ écrire; travel: ~ voyager; retire: > prendre sa retraite; resign: > démissionner; \
    confess: > avouer; gamble: ~ jouer pour de l'argent; mumble: ~ marmonner; stutter: ~ \
    bégayer; whistle: ~ siffler; scream: ~ crier; yell: ~ hurler; applaud: ~ applaudir; \
    clap: ~ applaudir; meditate: ~ méditer; knit: ~ tricoter; ski: ~ skier; exercise: ~ \
    faire de l'exercice; shave: > se raser; get dressed: > s'habiller; get married: > se \
    marier; get divorced: > divorcer; get angry: > se fâcher; lose patience: > perdre \
    patience; win the lottery: > gagner à la loterie; win the election: > gagner l'élection; \
    lose the election: > perdre les élections; tell a joke: > raconter une blague; make a \
    mistake: > faire une erreur; make a promise: > faire une promesse; change the subject: > \
    changer de sujet; speak quietly: parler bas; keep silent: > garder le silence; shrug: > \
    hausser les épaules; protest: ~ protester; negotiate: ~ négocier; go bankrupt: > faire \
    faillite; pay the bill: > payer l'addition; borrow money: > emprunter de l'argent; spend \
    too much money: dépenser trop d'argent; own three houses: posséder trois maisons; miss \
    the train: > manquer le train; graduate: > obtenir son diplôme; wink: > faire un clin \
    d'œil; blush: > rougir; have a good memory: avoir une bonne mémoire; have grey hair: \
    avoir les cheveux gris; have many friends: avoir beaucoup d'amis; believe in ghosts: \
    croire aux fantômes; forget the password: > oublier le mot de passe; sign the contract: \
    > signer le contrat; tell the truth: > dire la vérité; want a divorce: vouloir divorcer; \
    emigrate: > émigrer; daydream: ~ rêvasser; boast: ~ se vanter; quarrel: ~ se quereller; \
    have a degree: avoir un diplôme; be on holiday: être en vacances; have the flu: avoir la \
    grippe; have a job interview: avoir un entretien d'embauche; think aloud: ~ réfléchir à \
    voix haute; play chess: ~ jouer aux échecs; work overtime: faire des heures \
    supplémentaires; rob a bank: > dévaliser une banque; speak with an accent: parler avec \
    un accent; know the password: connaître le mot de passe; cheat: ~ tricher; fight: ~ se \
    battre; betray a friend: > trahir un ami; go shopping: > faire des courses; give a \
    speech: > faire un discours
soldier knight guard policeman / people = \
    fight bravely: ~ se battre avec courage; obey orders: obéir aux ordres; carry a gun: porter \
    une arme; surrender: > se rendre; march: ~ marcher au pas
plant vegetable / place food = \
    wither: >~ flétrir; wilt: >~ se faner; rot: >~ pourrir; dry up: >~ se dessécher; need more \
    sunlight: avoir besoin de plus de soleil; need rain: avoir besoin de pluie; need pruning: \
    avoir besoin d'être taillé*; grow well: pousser bien; sprout: >~ germer; grow wild: pousser \
    à l'état sauvage; die from the drought: > mourir de sécheresse; need fertiliser: avoir \
    besoin d'engrais; attract insects: attirer les insectes
flower rose tulip orchid lilac poppy daisy carnation lily geranium cactus sunflower / plant = \
    bloom: >~ s'épanouir; blossom: >~ s'épanouir; open in the sun: ~ s'ouvrir au soleil; bloom \
    every year: refleurir chaque année; lose its petals: >~ perdre ses pétales; smell lovely: \
    sentir merveilleusement bon; have red petals: avoir des pétales rouges; have thorns: avoir \
    des épines
tree oak fir pine birch maple willow / plant part people = \
    sway in the wind: ~ se balancer au vent; bend in the wind: ~ plier dans le vent; rustle: ~ \
    bruire; cast a shadow: faire de l'ombre; lose its branches: > perdre ses branches; fall in \
    the storm: > tomber pendant la tempête; have a thick trunk: avoir un tronc épais; have deep \
    roots: avoir des racines profondes; turn yellow: > jaunir
creature / animate plant device = \
    die: > mourir; survive: > survivre; suffer: ~ souffrir; recover: >~ se rétablir
creature / animate waters place = \
    calm down: >~ se calmer
creature / animate ride toy = \
    move about: ~ bouger
creature / animate ride = \
    turn around: > se retourner
creature / animate drink = \
    escape: > s'échapper
quadruped people / animate device waters road = \
    run: ~ courir
quadruped people / animate toy = \
    jump: ~ sauter
bird -ostrich -penguin -chick -hen / animal ride toy cloth text people = \
    fly: ~ voler
bird -ostrich -penguin -chick -hen / animal ride toy cloth text = \
    fly away: > s'envoler; fly off: > s'envoler
bird -ostrich -penguin -chick -hen / animal ride toy cloth text plant = \
    flutter: ~ voltiger
bird -ostrich -penguin -chick -hen / animal ride toy = \
    soar: ~ planer
bird -ostrich -penguin -chick -hen / animal ride toy fish = \
    glide: ~ planer
fish duck swan otter seal frog turtle penguin whale dolphin / animate boat object wood stone \
    food plant aircraft = \
    float: ~ flotter
plant vegetable / place food animate place idea = \
    grow: >~ pousser
plant vegetable / place food idea waters work = \
    spread quickly: se répandre vite
bug / animate plant device drink = \
    die: > mourir; escape: > s'échapper; flee: > s'enfuir; run away: > s'enfuir; move about: ~ \
    bouger; drown: > se noyer; survive: > survivre; starve: ~ mourir de faim
butterfly fly bee wasp dragonfly beetle ladybird mosquito hornet / animate ride toy = \
    have wings: avoir des ailes; fly: ~ voler; fly away: > s'envoler; land on the flower: > se \
    poser sur la fleur; fly into the lamp: > voler dans la lampe; flutter: ~ voltiger
ant termite worm mole beetle cricket / animal plant = \
    live underground: vivre sous terre; dig tunnels: ~ creuser des galeries; carry crumbs: ~ \
    porter des miettes
caterpillar snail slug grasshopper beetle termite cockroach / animate = \
    devour the salad: > dévorer la salade
bug / animal text = \
    lay its eggs: > pondre ses œufs; have antennae: avoir des antennes; be an insect: être un \
    insecte
dog cat puppy kitten horse pony / animate = \
    love children: adorer les enfants; have a kind owner: avoir un gentil maître; be waiting for \
    its master: attendre son maître; recognise its master: > reconnaître son maître; recognize \
    its master: > reconnaître son maître; obey its master: obéir à son maître; miss its mother: \
    chercher sa mère
dog cat rabbit horse mouse bear fox hen goat cow / animate = \
    be looking at the moon: regarder la lune; look hungry: avoir l'air affamé*; look ill: avoir \
    l'air malade*; look frightened: avoir l'air effrayé*; make friends with everyone: se lier \
    avec tout le monde; seem hungry: sembler affamé*; seem tired: sembler fatigué*; seem \
    friendly: sembler gentil*
creature / bug animate = \
    feel hungry: ~ avoir faim; feel thirsty: ~ avoir soif; feel cold: ~ avoir froid; feel tired: \
    se sentir fatigué*; feel happy: se sentir heureux*; want to play outside: vouloir jouer \
    dehors; get tired: >~ se fatiguer; get frightened: > prendre peur; get hungry: > avoir faim; \
    get thirsty: > avoir soif; go blind: > devenir aveugle*; fall ill: > tomber malade*; want \
    water: vouloir de l'eau; have a wound: avoir une blessure; smell food: > sentir de la \
    nourriture; hear thunder: > entendre le tonnerre; see a snake: > voir un serpent; have good \
    hearing: avoir l'ouïe fine; understand everything: comprendre tout; get up early: se lever \
    tôt; want to escape: vouloir s'échapper; gain weight: > prendre du poids
seed bud / plant = \
    germinate: >~ germer; open: > s'ouvrir; sprout: >~ germer
beast bird small / animate = \
    lose its mother: > perdre sa mère
horse pony mare donkey mule bull zebra cow / animate = \
    kick: ~ ruer; buck: ~ ruer
bee wasp ant mosquito / animal people = \
    swarm: ~ pulluler
pig puppy mouse monkey / animate machine = \
    squeal: ~ pousser des cris
chick egg turtle / animal food = \
    hatch: > éclore
dog puppy cat kitten fox lion tiger / animate = \
    curl up: > se rouler en boule; drool on the carpet: ~ baver sur le tapis; sniff around: ~ \
    renifler partout
people / animate = \
    stammer: ~ bégayer; gossip: ~ bavarder; hitchhike: ~ faire du stop; rehearse: ~ répéter; \
    compete: ~ concourir; train: ~ s'entraîner; jog: ~ faire du jogging; flirt: ~ flirter; \
    bargain: ~ marchander; teach: ~ enseigner; paint: ~ peindre; dive: > plonger; snigger: ~ \
    ricaner; faint from the heat: > s'évanouir de chaleur; pay in cash: > payer en espèces; tell \
    stories: ~ raconter des histoires; lose the keys: > perdre les clés; go to church: aller à \
    l'église; quit: > démissionner; phone the police: > appeler la police; forget everything: > \
    oublier tout; win a medal: > gagner une médaille; play football: ~ jouer au football; have \
    children: avoir des enfants; hold a meeting: > tenir une réunion; need a lawyer: avoir \
    besoin d'un avocat; need a doctor: avoir besoin d'un médecin; keep a diary: tenir un \
    journal; disagree: ne pas être d'accord; agree: être d'accord; nod off: > s'assoupir; hum a \
    song: ~ fredonner une chanson; behave badly: se conduire mal; behave well: se conduire bien
"""
