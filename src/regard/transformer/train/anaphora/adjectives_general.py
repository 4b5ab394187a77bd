"""Adjectives of every subject in the anaphora text, each with nouns of its own."""

# english = french = nouns that it fits / nouns that it might fit too; a plus marks what has degrees
# (very, too). French is the masculine; 'avoir' begins an idiom, ! an adverbial that never agrees.
from __future__ import annotations

OF_EVERYTHING = """\
+ hungry = avoir faim = animate
+ thirsty = avoir soif = animate / plant land
+ afraid = avoir peur = animate
+ sleepy = avoir sommeil = animate / town village
+ tired = fatigué = animate
+ exhausted = épuisé = animate
+ ill = malade = animate / plant
injured = blessé = animate
+ angry = !en colère = animate
+ happy = heureux = animate / text picture dish occasion
+ sad = triste = animate / text picture occasion
+ nervous = nerveux = animate -bug / bug
+ curious = curieux = animate / text picture object
+ lazy = paresseux = animate
+ brave = courageux = animate
+ frightened = effrayé = animate
+ shy = timide = animate
+ aggressive = agressif = beast bird wasp people animal
+ intelligent = intelligent = beast bird people rat creature ant bee / animal text machine idea
+ impatient = impatient = animate
+ jealous = jaloux = beast people creature / animate
+ stubborn = têtu = beast people creature / animate
+ restless = agité = animate / water waters
+ obedient = obéissant = beast small bird people dolphin seal / animate
+ starving = affamé = animate
+ playful = joueur = beast -bull -sheep small bird people dolphin seal / animate
+ greedy = gourmand = beast people animal / animate
+ cruel = cruel = people lion tiger wolf panther beast bird shark snake / animate text
+ docile = docile = beast small bird dolphin / animate
blind = aveugle = animate
deaf = sourd = people beast / animate
asleep = endormi = animate / town village
awake = réveillé = animate
alone = seul = animate / plant
tame = apprivoisé = fox wolf bear monkey lion crow squirrel owl beast small bird dolphin / animal
+ delicious = délicieux = food drink seafood chicken turkey / plant bird rabbit lamb
+ tasty = savoureux = food drink seafood chicken turkey / plant bird rabbit lamb
+ ripe = mûr = fruit corn pumpkin bean courgette aubergine cucumber wheat cheese / produce
+ rotten = pourri = produce meat egg ham sausage seafood plank beam log branch floor fence pork \
    beef pole / food wood stone plant part fish tree
+ stale = rassis = bread cake biscuit croissant loaf doughnut muffin waffle pie sandwich popcorn \
    pizza beer tobacco / food drink care
+ sweet = sucré = fruit cake drink pancake waffle jam -water -broth honey dessert pudding doughnut \
    muffin biscuit chocolate syrup pie cream carrot corn -beer -whisky -vodka -gin -garlic -lemon \
    -olive / food animate beer whisky vodka gin garlic lemon olive
+ salty = salé = soup ham cheese meat broth sausage butter bacon sauce stew steak peanut olive \
    rice popcorn seafood meal dinner sea omelette lunch chop curry noodle pizza / food drink water \
    waters
+ spicy = épicé = soup sauce meat sausage rice meal stew curry noodle pizza mustard salad lunch \
    dinner chop bean lentil meatball / food drink
+ bitter = amer = coffee tea beer grapefruit lemon artichoke medicine syrup pill almond chocolate \
    walnut olive cocoa aspirin / food drink water waters care
raw = cru = meat steak egg vegetable seafood beef pork bacon chop sausage ham meatball \
    chicken / food animal
overripe = trop mûr* = fruit / produce
burnt = brûlé = cake meat omelette pizza pie toaster pancake bread -toaster steak biscuit rice \
    sausage bacon chop croissant sauce stew waffle loaf muffin dinner meal lunch popcorn meatball \
    chicken / food wood building stone text
+ fresh = frais = food -jam -honey -rice seafood milk juice water / drink waters cloth plant
+ nourishing = nourrissant = dish produce milk broth smoothie -salt -vinegar -mustard -ketchup / \
    food drink salt vinegar mustard ketchup
+ tasteless = fade = soup sauce melon meal broth dish produce drink -salt -mustard -garlic -whisky \
    -vodka -gin -vinegar / food salt mustard garlic whisky vodka gin vinegar
+ juicy = juteux = fruit steak -banana meat chicken pork beef chop -coconut -almond -walnut \
    -hazelnut -peanut -olive -avocado / food coconut almond walnut hazelnut peanut olive avocado
+ greasy = gras = sausage pizza meal pancake soup hamburger bacon omelette stew meat popcorn plate \
    pan saucepan pot tray bowl oven microwave apron tablecloth fork spoon knife glove towel cloth \
    chain screwdriver counter table / food object part people waters
mouldy = moisi = bread cheese jam fruit vegetable wall ceiling cellar basement bathroom carpet \
    mattress curtain tent cake pie sausage sandwich / food cloth text building wood part seat
cooked = cuit = vegetable meat egg rice pizza ham noodle steak seafood sausage meal dinner lunch \
    chop bacon pork beef chicken turkey stew pancake / food stone animal
+ appetising = appétissant = food seafood chicken turkey drink
frozen solid = complètement gelé* = pond lake canal river stream puddle fountain meat reservoir \
    brook waterfall ditch lawn / water waters food drink
sparkling = pétillant = cider lemonade wine champagne water soda / drink waters
alcoholic = alcoolisé = cider champagne beer wine whisky vodka gin cocktail / drink
+ lukewarm = tiède = drink soup broth stew sauce meal bathtub pool / water waters food
empty = vide = container fridge cupboard wardrobe bookcase house bus train freezer building room \
    tram minibus ferry truck van pool reservoir plane seat / object place ride part
full = plein = container bus train wardrobe / object place ride water waters animate plant
+ watertight = étanche = barrel thermos boat raft bottle bucket jar tank tub bathtub canoe ship \
    rowboat submarine barge yacht ferry tent roof dam boot / container ride clothing part
sealed = scellé = letter jar bottle box crate parcel packet carton envelope tube barrel coffin \
    tomb tank / container text part
locked = fermé* à clé = drawer chest suitcase house door car wardrobe cupboard gate briefcase \
    locker box building room window garage desk van truck cage cell -stadium -market -ruin \
    -pyramid / container place part ride stadium market ruin pyramid
+ comfortable = confortable = seat car hotel shoe slipper cushion pillow train bus bedroom \
    apartment house cottage boot sandal coat sweater cardigan villa plane yacht carriage limousine \
    caravan taxi bra suit office / ride cloth place animate
+ uncomfortable = inconfortable = seat car shoe train boot bus bedroom sandal saddle bra helmet \
    cart tram coat suit plane caravan / ride cloth place animate
+ wobbly = bancal = seat furniture -hammock -mattress ladder staircase bridge bicycle fence pole \
    pillar cart tray shelf scooter tricycle / tool toy part animate
made of oak = !en chêne = wood -hammock -mattress barrel door beam floor staircase plank coffin \
    chest bench stool / tool container part boat stone
varnished = verni = wood -hammock -mattress violin guitar floor staircase cello harp boat piano \
    door plank oar / tool container part shoe
+ fast = rapide = ride horse pony dog cat hare deer gazelle rabbit tiger jaguar panther falcon \
    eagle shark dolphin athlete cyclist swimmer computer laptop -wheelchair -pushchair -cart \
    -barge -raft -tractor -bulldozer -gondola / animate machine drink wheelchair pushchair cart \
    barge raft tractor bulldozer gondola
parked = garé = vehicle -train -tram plane helicopter -subway -locomotive -wheelchair -pushchair \
    -wagon / ride subway locomotive wheelchair pushchair wagon
out of petrol = !en panne d'essence = car truck van tractor motorcycle scooter bus taxi ambulance \
    jeep minibus mower generator limousine ferry yacht chainsaw / ride
+ rusty = rouillé = vehicle blade gate key shovel hammer nail screw bolt chain hook wire anchor \
    fence bucket tank rake spade pickaxe spear cannon pistol bridge ship oven fridge heater \
    barrier tap bell helmet trap pan wheelbarrow pole / ride handy machine part container
second-hand = !d'occasion = car motorcycle piano van guitar computer bicycle scooter truck sofa \
    armchair table wardrobe bookcase book textbook dictionary television laptop camera violin coat \
    jacket pushchair boat fridge / object ride instrument
electric = électrique = car train bicycle guitar scooter oven razor heater fan kettle toaster \
    drill chainsaw bus tram mower lamp fence wheelchair toothbrush tricycle motorcycle / device \
    instrument tool
faulty = défectueux = machine drill vehicle tap doorbell flashlight lighter pump rocket plane \
    -wheelchair / device object part wheelchair
out of order = !en panne = machine car truck bus tractor van tram train motorcycle fountain pump \
    doorbell tap ambulance taxi jeep drill / device
switched on = allumé = machine -clock flashlight / device
switched off = éteint = machine -clock flashlight / device
unplugged = débranché = machine drill -clock guitar / device
+ powerful = puissant = machine vehicle drill -clock ride bomb people lion tiger bear gorilla \
    elephant bull ox buffalo crocodile horse eagle shark whale drug poison detergent medicine \
    -wheelchair -pushchair / animate handy building text care idea wheelchair pushchair
well built = bien construit* = building wall bridge staircase ship boat table bed wardrobe dam / \
    wood ride part people animal
+ modern = moderne = machine building train kitchen bathroom bus tram car painting sofa lamp plane \
    hospital / ride object text
+ sharp = tranchant = blade spear hook needle shell / handy stone
+ blunt = émoussé = blade arrow needle pencil spear / handy
+ handy = pratique = handy thermos backpack calculator tool smartphone tablet microwave bicycle \
    dictionary scooter -bomb -cannon -whip -trap -arrow -spear -shield -pistol -rifle / object \
    machine cloth ride bomb cannon whip trap arrow spear shield pistol rifle
deserted = désert = village street beach island park avenue alley / place road site
haunted = hanté = castle house hotel forest tower villa theatre mansion cemetery inn palace \
    monastery attic cellar dungeon ship chapel lighthouse mill cave hut cottage ruin / place \
    people ride
+ crowded = bondé = beach museum bus restaurant train stadium building tram subway minibus ferry \
    plane park street avenue town city pool canteen classroom corridor platform elevator market \
    station airport campsite cemetery -lighthouse -barn -hut -shed -greenhouse -garage -mill \
    -windmill -pyramid -ruin -villa -cottage / place ride lighthouse barn hut shed greenhouse \
    garage mill windmill pyramid ruin villa cottage
+ sunny = ensoleillé = beach garden balcony valley meadow field street park bedroom kitchen \
    courtyard island hill lawn apartment coast village slope vineyard classroom oasis / place
+ narrow = étroit = road corridor bridge valley staircase bed door window gate tunnel canal stream \
    river strait room bathroom pier ditch canyon cave / place object part ride furniture
+ winding = sinueux = road river stream valley canyon creek corridor / place part
+ slippery = glissant = road staircase bridge floor rock slope bathroom soap fish bathtub pier \
    roof ladder trail / place part stone care
+ noisy = bruyant = road restaurant machine factory school vehicle aircraft bar pub cafe classroom \
    market station airport town city party concert drum trumpet dog parrot rooster goose crow \
    seagull neighbour rattle accordion zoo -lamp -bulb -calculator -thermostat -wheelchair \
    -bicycle -tablet / place device animate toy occasion lamp bulb calculator thermostat \
    wheelchair bicycle tablet
flooded = inondé = cellar field road valley kitchen village room tunnel house garage garden meadow \
    town city region campsite park lawn cave ditch shop museum farm / place part
uninhabited = inhabité = house castle island village villa cottage planet hut apartment desert \
    mansion region valley ruin / place
+ spacious = spacieux = room building wardrobe car suitcase tent bag bus van apartment backpack \
    yacht cupboard limousine / place container ride
+ historic = historique = castle church town palace street bridge monument battle treaty speech \
    theatre station village tower temple election / place text part occasion
for rent = !à louer = house villa garage apartment cottage bedroom boat car bicycle office shop \
    canoe van scooter caravan / place ride object
well heated = bien chauffé* = building bedroom -lighthouse -tower -stadium -hut classroom bathroom \
    apartment train / place ride
+ deep = profond = lake river sea pool ocean pond canal waters ditch cave canyon cellar drawer \
    bowl dungeon -fountain -puddle / place container text water fountain puddle
shallow = peu profond* = river lake pool pond stream lagoon waters bowl plate ditch drawer tray / \
    place container water
+ polluted = pollué = waters beach town city region harbour port coast suburb water / place drink
navigable = navigable = river canal strait lake / water waters
torn = déchiré = cloth letter newspaper poster bag map page book envelope ticket drawing notebook \
    contract net cushion mattress cheque magazine kite tent pocket / text picture container
+ crumpled = froissé = shirt dress letter tie skirt sheet newspaper page ticket map tablecloth \
    jacket suit blouse note poster cheque receipt / cloth text
+ fashionable = !à la mode = hat dress skirt coat boot jacket clothing restaurant bar cafe handbag \
    -helmet -apron -raincoat -wig / cloth place object helmet apron raincoat wig
made of wool = !en laine = sweater scarf sock glove blanket carpet coat cap mitten hat mat quilt \
    cardigan skirt suit / cloth toy
made of silk = !en soie = tie scarf dress shirt ribbon veil kimono blouse cushion sheet curtain \
    handkerchief parachute flag skirt / cloth
+ tight = serré = belt shoe glove dress skirt boot sock jacket sweater ring bracelet swimsuit \
    bikini helmet shirt suit uniform blouse bra hat / cloth jewel
ironed = repassé = shirt skirt dress sheet tablecloth blouse handkerchief suit uniform apron \
    curtain tie jacket / cloth
+ elegant = élégant = dress suit coat hat tie blouse kimono necklace lady duchess countess actress \
    swan mansion palace horse scarf handbag villa gazelle limousine yacht / cloth people place \
    object animal
in bloom = !en fleur = rose lilac orchid tulip cactus flower daisy tree sunflower poppy lily \
    carnation geranium garden meadow orchard bush hedge shrub / plant place
withered = fané = rose tulip flower poppy daisy orchid lilac grass fern lettuce bouquet carnation \
    lily sunflower plant -cactus -moss -bamboo -seed -hay / vegetable cactus moss bamboo seed hay
leafy = feuillu = tree oak hedge bush birch willow fern maple shrub lettuce vine lilac / plant \
    place vegetable food
+ prickly = épineux = bush cactus rose nettle hedge shrub hedgehog / plant animal
out of tune = désaccordé = instrument -drum / machine
+ interesting = intéressant = text museum work occasion idea picture zoo exhibition -funeral -war \
    -strike / reading place people machine funeral war strike
+ boring = ennuyeux = text work occasion idea museum -war -battle / reading people place toy site \
    war battle
well written = bien écrit* = text poem -map -poster song story tale speech comedy tragedy film / \
    reading
+ illegible = illisible = letter contract invoice map notebook text document sketch -legend -law / \
    reading legend law
published = publié = novel poem book essay article biography report review thesis dictionary \
    textbook guidebook comic atlas tale story encyclopedia / reading
illustrated = illustré = book magazine dictionary leaflet textbook fable biography encyclopedia \
    tale bible atlas catalogue guidebook calendar comic story / reading
+ incomprehensible = incompréhensible = contract manual poem letter map essay text idea speech \
    film explanation theory language opera / reading people
handwritten = écrit* à la main = letter recipe poem notebook note message invoice list \
    prescription diary script postcard cheque essay / reading
unsigned = non signé* = contract letter cheque treaty painting petition invoice telegram drawing \
    postcard prescription / reading
unfinished = inachevé = novel letter portrait painting drawing cathedral symphony thesis report \
    song book bridge building puzzle sculpture essay poem tunnel sweater sonata / reading object
translated into French = traduit* en français = novel book poem manual text song story tale opera \
    speech / reading
framed = encadré = picture poster diploma mirror certificate / reading
in black and white = !en noir et blanc = photo film movie television drawing newspaper engraving \
    cartoon / reading machine
inflated = gonflé = balloon ball mattress raft / toy ride
golden = doré = crown ring necklace medal trophy earring bracelet throne mask / jewel object part \
    food animal plant
+ polite = poli = people parrot / animal stone
+ rich = riche = people kingdom country city / place dish idea
+ poor = pauvre = people / animate place
married = marié = people
divorced = divorcé = people
retired = !à la retraite = people
unemployed = !au chômage = people
+ rude = impoli = people parrot / animal
+ busy = occupé = people bee ant / animate place
+ talkative = bavard = people parrot / animate
on holiday = !en vacances = people
+ generous = généreux = people / place
+ honest = honnête = people
+ embarrassed = gêné = people creature / animate
+ worried = inquiet = people / animate
+ proud = fier = people rooster lion creature / animate
made of marble = !en marbre = statue column staircase floor fireplace tomb altar bust sculpture \
    pillar table palace fountain temple bathtub / part building stone furniture
under construction = !en construction = building bridge tunnel motorway road dam stadium pier ship \
    fence tower staircase / place boat part
three storeys high = haut* de trois étages = house school hotel factory museum hospital building \
    tower mansion -hut -shed -stadium -greenhouse -market -farm -garage -zoo -ruin -mill / part \
    hut shed stadium greenhouse market farm garage zoo ruin mill
made of iron = !en fer = gate key axe hammer staircase ladder fence chain hook anchor nail shovel \
    spear shield bed bridge balcony pan pot cannon bolt cage barrier / handy part ride container \
    jewel
made of glass = !en verre = bottle jar bowl marble vase jug plate table door aquarium ornament \
    bulb roof ashtray saucer teapot greenhouse window globe / container part toy object
made of leather = !en cuir = belt shoe boot glove suitcase sofa armchair wallet purse handbag \
    briefcase jacket saddle coat ball whip backpack hat sandal stool / clothing container seat
made of gold = !en or = crown ring bracelet necklace medal coin trophy earring wristwatch mask \
    statue throne / jewel object
half empty = à moitié vide* = container -drawer fridge bus train restaurant theatre stadium plane \
    cinema / object place
full of water = plein* d'eau = bucket bottle jug barrel bowl saucepan cellar boot glass jar vase \
    pool bathtub pot kettle tank boat cup ditch mug reservoir tub dungeon canoe rowboat / \
    container place
full to the brim = plein* à ras bord = container -suitcase -bag -purse / water waters
+ soft to the touch = doux* au toucher = cloth fruit rabbit puppy kitten teddy lamb hamster cat / \
    animal toy seat
threadbare = usé* jusqu'à la corde = carpet coat jacket blanket curtain armchair sofa / cloth seat
made of cotton = !en coton = shirt sheet sock towel dress apron curtain blouse skirt handkerchief \
    tablecloth glove pillow bra hammock / cloth
stained = taché* = tablecloth shirt dress apron carpet tie cloth sofa armchair mattress page \
    notebook / seat text
+ colourful = coloré = scarf kite carpet parrot flag balloon dress skirt shirt bird butterfly \
    flower garden poster tulip bouquet blanket curtain drawing painting peacock / cloth toy \
    picture plant place
insured = assuré = vehicle boat yacht house picture jewel building museum / ride people
badly parked = mal garé* = car van truck motorcycle / ride
well maintained = bien entretenu* = car truck tractor garden park lawn road house machine bicycle \
    boat ship train plane hotel / ride place tool
made of steel = !en acier = blade hammer shovel key spoon fork bridge pot pan door pole gate tower \
    chain tank / handy part container ride
paved = pavé = street path alley avenue / road
badly lit = mal éclairé* = road corridor tunnel staircase room park alley garage platform bar / \
    place part
lined with trees = bordé* d'arbres = road canal river / place
covered with snow = couvert* de neige = land road roof -desert -beach car tree fir pine bus / \
    place part plant ride
+ fertile = fertile = field valley meadow vineyard land garden orchard farm -cemetery -glacier \
    -canyon -cave -port -harbour -volcano -beach -desert -dune -cliff / animate cemetery glacier \
    canyon cave port harbour volcano beach desert dune cliff
wooded = boisé = hill valley island mountain / land
+ windy = venteux = hill beach island mountain coast balcony harbour pier summit cliff desert \
    slope / land
+ clear = limpide = lake stream sea lagoon pool water river brook waterfall / waters drink text \
    road people
padded = rembourré = chair armchair bench stool cushion jacket saddle sofa / seat cloth
folding = pliant = chair table bed stool bench ladder umbrella bicycle knife pushchair parasol \
    ruler / wood tool
+ difficult to play = difficile* à jouer = instrument -drum / text
+ fun = amusant = toy comic game party trip festival cartoon film picnic comedy competition / text \
    machine people occasion
meant for children = destiné* aux enfants = toy comic / text object clothing
cracked = fissuré = wall column statue roof chimney bowl plate cup vase mirror window ceiling \
    floor glass bell dam pillar egg pot jug mug brick tile aquarium / part stone container \
    building
freshly painted = fraîchement repeint* = wall door gate fence bedroom bench boat room shutter \
    house corridor ceiling staircase balcony chair table / part place wood
mossy = couvert* de mousse = rock wall roof log branch plank tomb tree statue fountain brick pier \
    staircase path trail hut / part plant garden
+ smooth = lisse = plank rock marble tile pearl shell table floor crystal coin / wood part \
    waters drink road jewel
sawn in two = scié* en deux = plank log beam branch / wood part
engraved = gravé = ring medal bracelet trophy tomb sword pen wristwatch bell pistol brick / jewel \
    object
made of silver = !en argent = ring necklace bracelet spoon fork coin medal earring plate tray \
    crown trophy teapot cup knife / jewel object
fake = faux = diamond coin medal painting pearl necklace ring gem sapphire ruby certificate wig \
    cheque stamp / jewel text picture people
+ venomous = venimeux = scorpion spider snake wasp cobra hornet jellyfish / animal plant
+ hard-working = travailleur = ant bee people donkey horse ox mule beaver / animate
digital = numérique = clock radio calculator camera wristwatch thermometer television thermostat / \
    machine text
badly ventilated = mal aéré* = room cellar factory prison building office bus garage train / place
tiled = carrelé = kitchen bathroom corridor roof floor wall pool laundry / place part
+ steep = escarpé = path hill mountain staircase slope roof trail cliff lane canyon dune street / \
    place part
+ swampy = marécageux = field valley meadow forest / land
home-made = fait* maison = cake jam pie soup bread pizza yoghurt biscuit lemonade pancake soap \
    cheese sauce stew omelette / food clothing toy
vegetarian = végétarien = meal pizza salad soup sandwich stew curry hamburger omelette / dish \
    people restaurant
censored = censuré = newspaper novel letter book article film song magazine cartoon / reading
automatic = automatique = machine door gate -lamp -tablet rifle elevator / device part
made of brick = !en brique = wall chimney house school tower barn fireplace factory mill / \
    building part
"""
