"""Intransitive verbs of things and materials in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

ACTS_OF_THINGS = """\
butter chocolate cheese cream candle wax / food stone waters care land jewel decor = \
    melt: >~ fondre; soften: >~ ramollir
glacier / land = \
    melt: >~ fondre; retreat: >~ reculer
food -salt -sugar -honey -oil -vinegar / drink care plant fish wood part = \
    rot: >~ pourrir; spoil: >~ se gâter; go bad: >~ s'abîmer; go mouldy: >~ moisir; smell \
    bad: sentir mauvais; have an odd taste: avoir un goût étrange; have a bitter taste: \
    avoir un goût amer; have a sweet taste: avoir un goût sucré; cook slowly: ~ cuire \
    lentement; smell delicious: sentir délicieusement bon; have a fishy taste: avoir un goût \
    de poisson; cool down: >~ refroidir; need more salt: manquer de sel; contain nuts: \
    contenir des noix; look delicious: avoir l'air délicieux*; cause indigestion: > donner \
    une indigestion; have a taste of lemon: avoir un goût de citron
fruit vegetable / food plant = \
    ripen: >~ mûrir; go rotten: > pourrir; contain vitamins: contenir des vitamines; have seeds: \
    avoir des pépins; grow in the garden: ~ pousser dans le jardin; have no taste: ne pas \
    avoir de goût
cake bread pie pizza biscuit muffin loaf croissant / food = \
    rise: >~ gonfler; crumble: >~ s'émietter; brown: >~ dorer; go stale: >~ rassir; burn: > \
    brûler; come out of the oven: > sortir du four
milk cream yoghurt / drink food = \
    go sour: > tourner; curdle: > tourner
soup sauce stew water milk broth tea coffee jam / drink food machine container = \
    boil: ~ bouillir; boil over: > déborder; thicken: >~ épaissir; simmer: ~ mijoter; bubble: ~ \
    bouillonner; steam: ~ fumer; cool: >~ refroidir
drink perfume / food waters care = \
    evaporate: >~ s'évaporer; spill: > se renverser; contain sugar: contenir du sucre; have \
    a taste of mint: avoir un goût de menthe; warm the heart: réchauffer le cœur; contain no \
    alcohol: ne pas contenir d'alcool; spurt out: > jaillir
beer champagne cider soda lemonade / drink food = \
    fizz: ~ pétiller; froth: ~ mousser; go flat: > perdre ses bulles; foam: ~ mousser; sparkle: \
    ~ pétiller
wine beer cider whisky vodka gin champagne / drink food = \
    ferment: ~ fermenter; contain a lot of alcohol: contenir beaucoup d'alcool
medicine pill syrup aspirin antibiotic remedy drug vaccine / care food drink idea = \
    work: agir; cure flu: guérir la grippe; lower the fever: faire baisser la fièvre; dissolve: \
    > se dissoudre; have no effect: ne pas avoir d'effet; heal wounds: guérir les blessures; \
    save lives: sauver des vies
perfume soap shampoo toothpaste detergent / care drink food plant = \
    smell of roses: sentir la rose; smell of lavender: sentir la lavande; foam a lot: mousser \
    beaucoup; lather: ~ mousser
ink wax / care drink = \
    dry: >~ sécher
cigarette candle coal log wax twig tobacco / stone decor care food building plant = \
    burn: ~ brûler; smoulder: ~ se consumer; glow: ~ rougeoyer; burn out: > se consumer; go out: \
    > s'éteindre
container -cage -bag -packet -parcel -carton -wallet -pocket / ride part object = \
    be full of water: être plein* d'eau; contain milk: contenir du lait; overflow: > déborder; \
    tip over: > se renverser; leak: ~ fuir
glass bottle vase plate mirror window cup jar bowl bulb / container part toy decor food machine \
    = \
    shatter: > se briser; crack: > se fêler; smash: > se briser
box drawer suitcase chest parcel bag packet backpack / container furniture text = \
    burst open: > s'ouvrir brusquement; contain books: contenir des livres; contain old letters: \
    contenir de vieilles lettres; be full of books: être plein* de livres; be full of toys: être \
    plein* de jouets
kettle / machine container people = \
    whistle: ~ siffler; boil: ~ bouillir
balloon tube / container toy ride device building = \
    pop: > éclater; deflate: >~ se dégonfler
ball marble coin / toy jewel ride stone food = \
    roll away: > rouler au loin; bounce: ~ rebondir; roll: ~ rouler
kite flag curtain / toy textile cloth bird = \
    flutter: ~ flotter au vent; flap: ~ claquer au vent
doll puppet teddy / toy people animal = \
    have glass eyes: avoir des yeux de verre
seat furniture / place part ride handy = \
    wobble: ~ vaciller; collapse: > s'effondrer; creak: ~ grincer
bed sofa armchair chair mattress hammock / wood = \
    sag: ~ s'affaisser; creak: ~ grincer; hurt the back: faire mal au dos
cloth -shoe -boot -sandal -slipper -helmet -wig -belt / clothing seat people = \
    fade: >~ se décolorer; shrink: > rétrécir; tear: > se déchirer; crease: ~ se froisser; \
    unravel: >~ se défaire; need mending: avoir besoin d'être raccommodé*; fray: >~ \
    s'effilocher; dry: >~ sécher; smell of smoke: sentir la fumée; itch: ~ gratter; stretch: >~ \
    se détendre; be made in Italy: être fabriqué* en Italie; come undone: > se défaire
clothing / textile jewel = \
    look elegant: avoir l'air élégant*; go with everything: aller avec tout; go out of fashion: \
    > passer de mode
shoe boot sandal / clothing = \
    squeak: ~ couiner; pinch: faire mal aux pieds; need polishing: avoir besoin d'être ciré*; \
    let in water: prendre l'eau; lose its heel: > perdre son talon
blade nail chain bolt screw anchor bicycle car gate key pan sword bucket / handy part ride \
    container machine = \
    rust: >~ rouiller; need oiling: avoir besoin d'être huilé*
knife axe sword razor scalpel / handy = \
    cut well: couper bien; need sharpening: avoir besoin d'être aiguisé*; become blunt: > \
    s'émousser
pen / handy text = \
    leak: ~ fuir; write badly: écrire mal
rope string wire chain / handy cloth = \
    snap: > rompre; stretch: ~ se tendre
pistol rifle cannon / handy people device = \
    go off: > partir; jam: > s'enrayer; misfire: > s'enrayer; fire: > tirer
bomb rocket / device handy land building = \
    go off: > exploser
volcano / land = \
    erupt: > entrer en éruption; spew ash: ~ cracher des cendres
lamp bulb candle torch flashlight lighthouse / machine decor handy = \
    flash: ~ clignoter; go out: > s'éteindre; glow: ~ luire; flicker: ~ vaciller; dim: > \
    faiblir; shine: ~ briller; burn out: > griller; light the room: éclairer la pièce; shine in \
    the dark: ~ briller dans le noir; blink: ~ clignoter
jewel crystal mirror / object part waters = \
    glitter: ~ scintiller; gleam: ~ luire; sparkle: ~ étinceler; shine: ~ briller; twinkle: ~ \
    scintiller; glint: ~ luire
instrument / machine people animal = \
    sound beautiful: sonner merveilleusement bien; go out of tune: > se désaccorder; have a rich \
    sound: avoir un son riche
siren alarm bell doorbell whistle horn trumpet drum / machine decor part instrument people = \
    sound: > retentir; resound: > retentir; go off: > se déclencher
bell clock doorbell telephone alarm / machine decor part = \
    chime: ~ carillonner; ring: ~ sonner; ring all night: > sonner toute la nuit; jingle: ~ \
    tinter; tinkle: ~ tinter
clock wristwatch / machine jewel people = \
    tick: ~ faire tic-tac; run fast: avancer; run late: retarder; stop at midnight: > s'arrêter \
    à minuit
machine -lamp -bulb -bell / device = \
    beep: ~ biper; run on batteries: marcher avec des piles; vibrate: ~ vibrer; go wrong: > se \
    dérégler; hum: ~ ronronner; smell of burning: sentir le brûlé; use little electricity: \
    consommer peu d'électricité; fail: > tomber en panne; malfunction: ~ fonctionner mal; whir: \
    ~ vrombir; run quietly: fonctionner en silence; consume energy: consommer de l'énergie; need \
    a battery: avoir besoin d'une pile; buzz: ~ bourdonner; heat up: >~ chauffer; have a \
    warranty: avoir une garantie
computer laptop tablet smartphone modem robot printer scanner / device = \
    freeze: > se bloquer; crash: > planter; reboot: > redémarrer; run out of memory: > manquer \
    de mémoire; have a virus: avoir un virus; boot: > démarrer; need updating: avoir besoin \
    d'être mis* à jour; go dead: > s'éteindre; turn itself off: > s'éteindre tout seul*; lose \
    its data: > perdre ses données; have a touch screen: avoir un écran tactile; charge slowly: \
    se recharger lentement; jam: > se bloquer
radio television loudspeaker / machine people = \
    crackle: ~ grésiller; show nothing: ne pas marcher; blare: ~ hurler
fridge freezer fan dryer dishwasher vacuum mower generator / machine = \
    make a lot of noise: faire beaucoup de bruit; drip: ~ goutter; need defrosting: avoir besoin \
    d'être dégivré*
elevator escalator / machine ride people = \
    stop between two floors: > s'arrêter entre deux étages; go up: > monter
medal trophy coin painting statue jewel / object building text part = \
    be worth a million: valoir un million; belong to a museum: appartenir à un musée
idea / reading people animate occasion device text = \
    fail: > échouer
idea / reading people occasion work = \
    succeed: > réussir
building -stadium -zoo -pyramid -ruin / place ride wood text plant object cloth ride = \
    burn: ~ brûler
waters -fountain -puddle -pool / place drink animate plant food = \
    freeze: >~ geler
stone part -door -gate -window -tap -doorbell -shutter / wood food place decor land waters = \
    crack: > se fissurer
bomb rocket car truck plane ship tank factory volcano oven kettle balloon / device handy land \
    building container toy food care = \
    explode: > exploser
bomb rocket / device handy land building container toy = \
    blow up: > exploser
balloon tube / container toy ride device building container food = \
    burst: > éclater
building wall roof bridge tunnel tower chimney dam pillar shed / place part ride furniture wood \
    people animate = \
    collapse: > s'effondrer
building wall roof bridge tunnel tower chimney dam pillar shed / place part ride furniture wood \
    people animate plant object = \
    fall down: > s'écrouler
building wall roof bridge tunnel tower chimney dam pillar shed / place part ride furniture wood \
    people object cloth = \
    fall apart: >~ tomber en ruine
machine -lamp -bulb -bell / device container toy part = \
    rattle: ~ vibrer
volcano / land part building device care people = \
    smoke: ~ fumer
cigarette candle coal log wax twig tobacco / stone decor care food building plant part building \
    device people = \
    smoke: ~ fumer
vehicle -wheelchair -pushchair -tricycle -trailer -caravan / ride people animate = \
    slow down: > ralentir
elevator escalator / machine ride people animate part container cloth furniture = \
    get stuck: > se bloquer
machine -lamp -bulb -bell / device people = \
    stop working: > tomber en panne
seat furniture -sofa -armchair -mattress -hammock -saddle / place part ride handy instrument = \
    need varnishing: avoir besoin d'être verni*
shovel rake spade pickaxe hammer axe broom mop hammer brush / handy container = \
    have a long handle: avoir un long manche; have a plastic handle: avoir un manche en \
    plastique
pen pencil chalk / handy text machine = \
    write well: écrire bien; write in red: écrire en rouge
umbrella parasol tent raincoat / textile clothing decor handy = \
    keep off the rain: protéger de la pluie; turn inside out: > se retourner; dry in the sun: ~ \
    sécher au soleil
umbrella parasol tent hat kite / cloth toy text handy = \
    blow away: > s'envoler
compass / handy machine = \
    point north: indiquer le nord
thermometer barometer / handy machine = \
    show ten degrees: indiquer dix degrés; announce rain: annoncer la pluie
magnet / handy = \
    attract iron: attirer le fer
glue / handy food = \
    stick well: coller bien; dry: >~ sécher; smell strong: sentir fort
needle nail cactus rose / handy plant bug = \
    prick: ~ piquer
sponge mop towel handkerchief / cloth handy plant = \
    absorb water: absorber l'eau
key / handy = \
    open the door: ouvrir la porte; turn in the lock: ~ tourner dans la serrure; unlock the \
    safe: ouvrir le coffre
ladder / handy = \
    slip: > glisser; have ten rungs: avoir dix barreaux; reach the roof: atteindre le toit
brush broom comb toothbrush / handy animal = \
    have soft bristles: avoir des poils souples; lose its bristles: >~ perdre ses poils
arrow spear / handy people ride toy = \
    hit the target: > toucher la cible; miss the target: > manquer la cible; fly through the \
    air: > fendre l'air
ski skateboard / toy handy ride = \
    slide well: glisser bien
telescope microscope camera / handy machine = \
    have a powerful lens: avoir un objectif puissant; magnify: grossir
rope chain anchor net hook / handy = \
    hold firm: > tenir bon
torch lighter flashlight / handy machine decor = \
    light up: > s'allumer; give enough light: éclairer assez
ticket badge card licence passport / document text = \
    give access to the museum: donner accès au musée; need a signature: avoir besoin d'une \
    signature; bear a name: porter un nom
calendar timetable / document text = \
    show the holidays: indiquer les jours fériés
menu / document text = \
    list ten desserts: proposer dix desserts; change every day: changer tous les jours
diploma certificate licence visa passport / document text = \
    bear the minister's signature: porter la signature du ministre; prove nothing: ne pas \
    prouver grand-chose
album / document text container = \
    contain family photos: contenir des photos de famille
puzzle domino chessboard / toy furniture = \
    have a missing piece: avoir une pièce manquante; have a thousand pieces: avoir mille pièces
toy -skateboard -trampoline / object decor = \
    entertain the baby: distraire le bébé; belong to the baby: appartenir au bébé; please the \
    children: plaire aux enfants; lie in the toy box: être dans le coffre à jouets
gift souvenir ornament / decor toy jewel object = \
    please grandmother: plaire à grand-mère; come from Egypt: venir d'Égypte
mirror glass crystal / decor part jewel waters = \
    reflect the light: refléter la lumière; steam up: > s'embuer
globe planet / decor land toy = \
    turn: ~ tourner; show Africa: montrer l'Afrique
sculpture bust statue ornament portrait / decor part picture = \
    represent the king: représenter le roi; decorate the hall: décorer le hall; stand in the \
    museum: être au musée
tent / decor building = \
    have room for four people: avoir de la place pour quatre personnes
planet / land ride = \
    turn around the sun: tourner autour du soleil; have two moons: avoir deux lunes; have an \
    atmosphere: avoir une atmosphère
pool / waters place = \
    have a diving board: avoir un plongeoir; smell of chlorine: sentir le chlore
fountain / waters place part = \
    spout water: ~ cracher de l'eau; stand in the square: être sur la place; stop flowing: > \
    s'arrêter de couler
puddle pool pond / waters place = \
    dry out: >~ s'assécher; reflect the clouds: refléter les nuages
lipstick powder ink / care drink = \
    smudge: > s'étaler; stain the dress: > tacher la robe; stain the carpet: > tacher le tapis
wine coffee juice sauce ketchup tea / drink food care = \
    stain the tablecloth: > tacher la nappe; spill on the floor: > se répandre sur le sol
bandage / care cloth = \
    come off: > se décoller; stop the bleeding: > arrêter le saignement
poison / care food drink animal = \
    work slowly: agir lentement; kill the rats: > tuer les rats; act within minutes: agir en \
    quelques minutes
cigar cigarette tobacco / care food place = \
    smell bad: sentir mauvais; go out: > s'éteindre; harm the health: nuire à la santé
satellite shuttle airship spaceship / ride bird = \
    return to earth: > retourner sur Terre; circle the earth: ~ tourner autour de la Terre; \
    land: > se poser
speech lesson joke story debate / reading occasion people = \
    bore everybody: ennuyer tout le monde; last an hour: durer une heure; inspire the crowd: \
    inspirer la foule
joke comedy cartoon tale story / reading occasion people = \
    amuse the audience: amuser le public; offend people: vexer les gens; end with a surprise: \
    finir par une surprise
tale legend story fable novel film tragedy / reading occasion people = \
    frighten the children: effrayer les enfants; begin with a murder: commencer par un meurtre; \
    tell of a prince: parler d'un prince; have a moral: avoir une morale; have a sad hero: avoir \
    un héros triste
game / occasion work toy = \
    have simple rules: avoir des règles simples; need four players: se jouer à quatre; last \
    until midnight: durer jusqu'à minuit; end in a draw: > se terminer par un match nul
song hymn symphony opera sonata melody / work occasion text instrument = \
    play on the radio: passer à la radio; sound cheerful: avoir un air gai; remind everyone of \
    summer: rappeler l'été à tout le monde; last ten minutes: durer dix minutes
rock brick log branch tile beam / handy part wood toy food = \
    fall from the roof: > tomber du toit; roll down the hill: > dévaler la colline; weigh fifty \
    kilos: peser cinquante kilos; block the path: barrer le sentier
branch twig plank log feather reed / boat object plant = \
    float on the water: ~ flotter sur l'eau; drift down the river: ~ descendre la rivière
branch twig plank beam log / plant part handy wood = \
    snap: > se rompre; crack under the weight: > craquer sous le poids; split: > se fendre; burn \
    in the fire: ~ brûler dans le feu
table desk counter shelf sideboard dresser bookcase / wood part = \
    be covered with dust: être couvert* de poussière; be made by a carpenter: être fabriqué* par \
    un menuisier; have a marble top: avoir un plateau en marbre
piano organ harp cello drum / instrument machine = \
    stand in the church: être dans l'église; need a good musician: avoir besoin d'un bon \
    musicien
instrument / machine people animal = \
    sound terrible: sonner affreusement mal; have a soft sound: avoir un son doux; belong to a \
    musician: appartenir à un musicien
flute clarinet oboe trumpet trombone saxophone horn bassoon / instrument people machine = \
    squeak: ~ couiner
violin guitar harp cello banjo mandolin / instrument = \
    lose a string: > perdre une corde; have four strings: avoir quatre cordes
fence gate barrier wall hedge / part place plant = \
    surround the garden: entourer le jardin; mark the border: marquer la frontière; keep out the \
    animals: arrêter les animaux
bench stool throne chair / wood = \
    have a soft cushion: avoir un coussin moelleux; stand in the hall: être dans le hall
monument tomb altar statue column pier / part place = \
    honour the dead: honorer les morts; honor the dead: honorer les morts; attract visitors: \
    attirer les visiteurs
stage platform / part place = \
    shake: ~ trembler
basement cellar attic dungeon garage / place container ride = \
    be full of spiders: être plein* d'araignées; be full of old furniture: être plein* de vieux \
    meubles; smell of mould: sentir le moisi
theatre cinema stadium / place = \
    seat a thousand people: avoir mille places; be full of spectators: être plein* de \
    spectateurs
school university kindergarten / place people = \
    teach languages: enseigner les langues; have good teachers: avoir de bons professeurs; have \
    a canteen: avoir une cantine
hospital clinic / place people = \
    treat the wounded: soigner les blessés; have a hundred beds: avoir cent lits; need more \
    nurses: avoir besoin de plus d'infirmières
church cathedral chapel mosque temple / place = \
    have stained-glass windows: avoir des vitraux; have a bell: avoir une cloche
mountain hill volcano summit cliff dune glacier slope / place part = \
    overlook the valley: dominer la vallée; disappear in the mist: > disparaître dans la brume; \
    rise above the clouds: se dresser au-dessus des nuages
forest jungle grove park garden / place = \
    be full of flowers: être plein* de fleurs; have tall trees: avoir de grands arbres; be full \
    of mosquitoes: être plein* de moustiques; smell of pine: sentir le pin
beach coast bay island harbour port peninsula / place = \
    attract surfers: attirer les surfeurs; be full of boats: être plein* de bateaux; be full of \
    bathers: être plein* de baigneurs; have white sand: avoir du sable blanc
wallet purse handbag / container clothing = \
    contain ten coins: contenir dix pièces; be full of money: être plein* d'argent
cage dungeon cell / container site furniture = \
    have thick bars: avoir des barreaux épais
aquarium / container waters = \
    contain goldfish: contenir des poissons rouges
ambulance taxi bus wheelchair pushchair tricycle trailer caravan / ride = \
    roll down the street: > dévaler la rue; lose a wheel: > perdre une roue
spoon fork spatula knife toothpick funnel / handy container = \
    be in the kitchen drawer: être dans le tiroir de la cuisine
crutch cane stretcher wheelchair / handy ride = \
    help the wounded: aider les blessés; belong to the hospital: appartenir à l'hôpital
eraser ruler stapler pencil pen chalk / handy text = \
    be in the pencil case: être dans la trousse
wheelbarrow / ride handy container = \
    have only one wheel: avoir une seule roue
shield sword spear helmet dagger / handy clothing decor = \
    date from Roman times: dater de l'époque romaine
envelope / document container text = \
    contain a cheque: contenir un chèque; contain a letter: contenir une lettre
receipt cheque invoice / document text = \
    show the amount: indiquer le montant; show the price: indiquer le prix
trap / handy idea = \
    work well: marcher bien; close on the mouse: > se refermer sur la souris
hood helmet veil wig mask / cloth decor = \
    cover the head: couvrir la tête
pipe cigar jacket coat / care clothing handy room = \
    smell of tobacco: sentir le tabac
racket ball oar ski skateboard trampoline / toy handy ride = \
    be in the gym: être au gymnase
drill chainsaw / handy machine = \
    make a terrible noise: faire un bruit affreux; run on electricity: marcher à l'électricité
screw bolt nail hook lever tap / handy part = \
    come loose: > se desserrer; turn easily: tourner facilement
coat raincoat hat hood jacket boot anorak overcoat cap / cloth building decor handy = \
    keep out the rain: protéger de la pluie
coat jacket apron raincoat skirt suit cardigan overcoat anorak uniform / clothing container = \
    have deep pockets: avoir des poches profondes
shirt dress blouse sweater kimono uniform / clothing = \
    have short sleeves: avoir des manches courtes
rope string net wire hose ribbon chain / handy cloth = \
    get tangled: > s'emmêler
"""
