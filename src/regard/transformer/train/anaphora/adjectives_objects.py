"""Adjectives of clothes, containers, furniture, tools, machines in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

OF_OBJECTS = """\
clothing textile -helmet -wig -parachute / people text container = \
    + shabby: miteux; tattered: !en lambeaux; ragged: !en haillons; frayed: effiloché; \
    discoloured: décoloré; dyed blue: teint* en bleu; dyed black: teint* en noir; mended: \
    raccommodé; starched: amidonné; dry-cleaned: nettoyé* à sec; sewn by hand: cousu* à la \
    main; folded: plié; neatly folded: soigneusement plié*; unfolded: déplié; + soft and warm: \
    doux* et chaud*; + itchy: irritant; + stretchy: extensible; on the clothes line: !sur le \
    fil à linge; dry again: de nouveau sec*; + hard to iron: difficile* à repasser; freshly \
    ironed: fraîchement repassé*; made of the finest wool: !en laine fine; flowered: !à \
    fleurs; + garish: criard; soaked by the rain: trempé* par la pluie; reversible: réversible
coat jacket sweater boot glove cardigan anorak overcoat quilt blanket scarf mitten / cloth animate \
    = \
    warm enough for winter: assez chaud* pour l'hiver; lined: doublé; + thick and warm: épais* \
    et chaud*
clothing -helmet -wig -umbrella / cloth = \
    + trendy: !à la mode; + stylish: élégant; + unfashionable: démodé; a size too small: trop \
    petit* d'une taille; a size too big: trop grand* d'une taille; too small for the child: \
    trop petit* pour l'enfant; bought in a sale: acheté* en solde; on sale: !en solde; tried \
    on: essayé; custom-made: !sur mesure; + becoming: seyant; out of fashion: démodé; too warm \
    for the summer: trop chaud* pour l'été; back from the cleaner's: revenu* du pressing; too \
    short for the girl: trop court* pour la fille
coat jacket shirt cardigan blouse dress / cloth = \
    buttoned up: boutonné; short-sleeved: !à manches courtes; hooded: !à capuche; zipped up: \
    fermé
skirt dress kimono curtain / cloth = \
    pleated: plissé; + flowing: fluide; polka-dot: !à pois
shoe boot sandal / clothing = \
    high-heeled: !à talons hauts; + hard to walk in: inconfortable* pour marcher; + good for \
    walking: bon* pour la marche; untied: défait; resoled: ressemelé
carpet poster map mat blanket newspaper hose / cloth text handy = \
    rolled up: enroulé; unrolled: déroulé
bottle jar barrel thermos jug / container drink = \
    corked: bouché; uncorked: débouché; half drained: à moitié vidé*
container -cage -ashtray -saucer -plate -tray -pocket / object place part ride = \
    emptied: vidé; refilled: de nouveau rempli*; overflowing: plein* à déborder; leaking: \
    percé; stuffed to the top: bourré* jusqu'en haut; turned upside down: retourné; labelled: \
    étiqueté; stackable: empilable; half full: à moitié plein*; bottomless: !sans fond; + \
    roomy: spacieux; + easy to open: facile* à ouvrir; filled with coins: rempli* de pièces; \
    filled with water: rempli* d'eau; filled with stones: rempli* de cailloux; tightly closed: \
    bien fermé*; without a lid: !sans couvercle; + awkward to carry: peu pratique* à porter; + \
    easy to fill: facile* à remplir
box crate parcel suitcase packet gift barrel drawer carton jar bag envelope / container object \
    part = \
    opened: ouvert; unpacked: déballé; + carefully wrapped: soigneusement emballé*; marked \
    fragile: marqué* fragile; tied with string: ficelé; + badly wrapped: mal emballé*
parcel letter postcard packet telegram / object text document container = \
    delivered this morning: livré* ce matin; sent by post: envoyé* par la poste; sent back: \
    renvoyé; lost in the post: perdu* par la poste; sent from Italy: envoyé* d'Italie; \
    addressed to someone else: adressé* à quelqu'un d'autre
cup plate razor lighter glove spoon fork mask / object = \
    disposable: jetable; reusable: réutilisable
bottle carton newspaper jar box bag / object text = \
    recyclable: recyclable
pan saucepan pot / container = \
    non-stick: antiadhésif; too hot to hold: trop chaud* pour être tenu*
suitcase dustbin table chair stretcher / object container = \
    on wheels: !à roulettes
car bottle table boat truck chair vase bucket canoe wheelbarrow cart raft / container ride object \
    = \
    overturned: renversé; tipped over: renversé
plate pan fork glass saucepan bowl spoon cup pot teapot mug / object container handy = \
    rinsed: rincé; dried with a towel: essuyé* avec un torchon; dishwasher-safe: adapté* au \
    lave-vaisselle; + greasy and sticky: gras* et collant*
vase plate cup statue bowl teapot doll jug / object part toy = \
    glued together: recollé; smashed: fracassé; in pieces: !en morceaux; shattered into \
    pieces: brisé* en morceaux; repaired with glue: réparé* avec de la colle; easily damaged: \
    facilement abîmé*; smashed to bits: réduit* en miettes
bed sofa mattress armchair hammock / seat furniture place = \
    + saggy: affaissé; + springy: élastique; + bad for the back: mauvais* pour le dos; + good \
    for the back: bon* pour le dos
seat / ride furniture place = \
    upholstered: capitonné; vacant: libre; + hard to sit on: inconfortable; reserved for \
    guests: réservé* aux invités; reclining: inclinable; reupholstered: retapissé
furniture seat -hammock -mattress -saddle / object container part = \
    lacquered: laqué; + bulky: encombrant; antique: ancien; + handcrafted: fait* à la main; \
    made by a carpenter: fabriqué* par un menuisier; + heavy to move: lourd* à déplacer; \
    bought at an auction: acheté* aux enchères; delivered yesterday: livré* hier; assembled: \
    monté; + easy to assemble: facile* à monter; + hard to assemble: difficile* à monter; + \
    ornate: orné; inlaid: incrusté; + unsteady: instable; propped up: calé
table sofa ladder / object = \
    extendable: extensible
cupboard wardrobe oven fridge shelf / object part = \
    built-in: encastré; screwed to the wall: vissé* au mur
needle nail arrow spear stick pencil steeple screw / handy part stone = \
    + pointed: pointu; + pointy: pointu
sword dagger axe knife sickle razor / handy = \
    double-edged: !à double tranchant; stained with blood: taché* de sang; drawn: dégainé
hose rope wire branch cane ski stick racket belt ruler tube / handy stone animate part = \
    + flexible: souple; + bendy: souple; + rigid: rigide
rope hose wire snake chain string / handy animal = \
    coiled: enroulé; + taut: tendu; + slack: détendu
pen printer typewriter photocopier / handy machine = \
    out of ink: !à court d'encre
tap funnel chimney hose pipe fountain / part handy machine road = \
    clogged: bouché; unclogged: débouché; dripping: !en train de goutter
door drawer window key elevator screw gate shutter ring / part place machine handy animate \
    container = \
    stuck: coincé; + hard to turn: difficile* à tourner; forced open: forcé
screw bolt nail tile plank pole / handy part stone clothing = \
    unscrewed: dévissé; + rusted through: rongé* par la rouille
bicycle chain door pan gate mower / ride part handy = \
    greased: graissé; well oiled: bien huilé*
bomb cannon rocket / handy machine = \
    about to explode: sur le point d'exploser; defused: désamorcé; + explosive: explosif
tool blade -bomb -cannon -pistol -rifle -trap -pipe -chalk / object machine = \
    + user-friendly: facile* à manier; + easy to handle: facile* à manier; kept in the shed: \
    rangé* dans la remise; + hard to handle: difficile* à manier; sold in hardware stores: \
    vendu* en quincaillerie; borrowed from the neighbours: emprunté* aux voisins; out of \
    reach: !hors de portée; within reach: !à portée de main; + well balanced: bien équilibré*; \
    made by a blacksmith: fabriqué* par un forgeron; put back in the drawer: remis* dans le \
    tiroir
umbrella parasol kite / object = \
    blown away by the wind: emporté* par le vent; turned inside out: retourné
machine -clock -bulb -lamp / device = \
    + easy to use: facile* à utiliser; + hard to use: difficile* à utiliser; high-tech: !de \
    haute technologie; + sophisticated: sophistiqué; programmable: programmable; \
    remote-controlled: télécommandé; running: !en marche; out of service: !hors service; under \
    warranty: !sous garantie; under repair: !en réparation; under maintenance: !en \
    maintenance; on standby: !en veille; repaired last week: réparé* la semaine dernière; + \
    well designed: bien conçu*; + badly designed: mal conçu*; assembled in Japan: assemblé* au \
    Japon; made in Germany: fabriqué* en Allemagne; bought on credit: acheté* à crédit; + hard \
    to repair: difficile* à réparer; impossible to repair: impossible* à réparer; returned to \
    the shop: rapporté* au magasin; + energy-efficient: économe* en énergie; stopped: arrêté; \
    patented: breveté; beyond repair: irréparable; controlled by a computer: commandé* par \
    ordinateur; + noisy at night: bruyant* la nuit; sent for repair: envoyé* en réparation; + \
    unreliable: peu fiable*; + reliable: fiable; short-circuited: !en court-circuit; ready for \
    use: prêt* à l'emploi
computer laptop telephone smartphone tablet / machine people = \
    hacked: piraté; offline: !hors ligne; online: !en ligne; on silent: !en mode silencieux; \
    password-protected: protégé* par un mot de passe; out of memory: !à court de mémoire; \
    disconnected: déconnecté; + slow to start: lent* à démarrer
radio robot calculator toy clock flashlight doorbell / machine object = \
    battery-powered: !à piles; wound up: remonté
car calculator lamp generator / device = \
    solar-powered: !à énergie solaire
candle lamp bulb torch fireplace flashlight / device decor = \
    flickering: vacillant; unlit: éteint; bright enough to read: assez lumineux* pour lire; \
    blown out: soufflé
bulb / device = \
    burnt out: grillé
siren whistle flute alarm trumpet / handy machine instrument people animal = \
    + shrill: strident; + high-pitched: aigu
door gate bed cart chair shutter stool wheelbarrow floor tricycle / part wood ride animal = \
    + squeaky: grinçant; in need of oil: !à huiler
instrument / object people work = \
    + tuneful: mélodieux; restrung: remonté; + hard to master: difficile* à maîtriser; + well \
    crafted: bien fabriqué*; made by a famous maker: fabriqué* par un maître; tuned this \
    morning: accordé* ce matin; + hard to tune: difficile* à accorder
guitar / instrument = \
    acoustic: acoustique
jewel / object text picture = \
    + glamorous: élégant; worth a fortune: !d'une valeur inestimable; inherited: hérité; \
    locked in a safe: enfermé* dans un coffre; + sparkly: étincelant; tarnished: terni; bought \
    at the jeweller's: acheté* chez le bijoutier; gaudy: !tape-à-l'œil; polished: poli; \
    pawned: !en gage; + shiny: brillant
jewel vehicle machine instrument picture hotel restaurant house perfume wine coat dress / object \
    ride food place = \
    + expensive: cher; + costly: coûteux; overpriced: !hors de prix; + affordable: abordable; \
    unaffordable: inabordable; reasonably priced: !à un prix raisonnable; half price: !à \
    moitié prix; worth the money: !d'un bon rapport qualité-prix; for sale: !à vendre; sold: \
    vendu; out of stock now: !en rupture de stock; sold at auction: vendu* aux enchères; + \
    imported: importé
toy doll ball puzzle balloon / decor object = \
    + suitable for babies: adapté* aux bébés; dangerous for babies: dangereux* pour les bébés; \
    wind-up: mécanique; tied to a string: attaché* à une ficelle; bought for the children: \
    acheté* pour les enfants; forgotten in the garden: oublié* dans le jardin
ball table plate coin window pie tray balloon mirror pizza cake / object part food stone ride \
    place jewel = \
    + round: rond; oval: ovale; circular: circulaire
box tile table window courtyard cushion tablecloth / object part food stone place = \
    square: carré; rectangular: rectangulaire
cake box balloon biscuit cushion chocolate / object food = \
    heart-shaped: !en forme de cœur; star-shaped: !en forme d'étoile
picture mirror tie hat poster steeple / object part = \
    crooked: !de travers; lopsided: !de travers
statue portrait doll sculpture puppet bust / object part = \
    life-size: !grandeur nature
dictionary calculator flashlight radio mirror / object = \
    pocket-sized: !de poche
clothing textile vehicle door ball balloon flower rose tulip tent umbrella boat / object animate \
    plant food place part stone ride = \
    red: rouge; blue: bleu; yellow: jaune; bright red: !rouge vif; dark blue: !bleu foncé; \
    light green: !vert clair; pink: rose; purple: violet; brown: brun
door wall fence boat bicycle chair gate shutter bench bedroom kitchen / object part ride place = \
    painted blue: peint* en bleu; painted green: peint* en vert; painted red: peint* en rouge; \
    painted black: peint* en noir; unpainted: non peint*
stone / part wood jewel = \
    + heavy to carry: lourd* à porter; split in two: fendu* en deux; rough to the touch: \
    rugueux* au toucher
log coal twig branch / stone wood = \
    + flammable: inflammable; damp and hard to burn: humide* et difficile* à brûler; dry \
    enough to burn: assez sec* pour brûler
vase glass cup plate mirror bulb egg doll aquarium teapot ornament saucer window wristwatch / \
    object part animate plant ride food = \
    + fragile: fragile; + breakable: fragile
shirt sock shoe car plate floor window towel glove pig carpet cup dustbin street pool apron sheet \
    pan bathroom oven fork truck dog bathtub / object place part ride animate cloth water waters \
    food plant = \
    + dirty: sale; + filthy: crasseux; + grimy: crasseux; + grubby: sale; + clean: propre; + \
    spotless: impeccable
suitcase crate piano barrel wardrobe chest log statue parcel sofa dresser anchor bag table box \
    backpack fridge rock beam / object stone wood furniture ride animate part food = \
    + heavy: lourd; + hard to move: difficile* à déplacer
towel shirt sock sheet hay log coat tent shoe / cloth place food animate plant object part ride = \
    soaked: trempé; drenched: trempé; + damp: humide; damp from the rain: humide* de pluie
box hat car egg carton ladybird snail ant sandwich cake tomato / object food bug ride = \
    crushed: écrasé; flattened: aplati
shirt dress skirt sheet curtain bag tent sock flag / cloth text object picture = \
    ripped: déchiré
candle cigarette fireplace cigar lamp torch / object machine part = \
    extinguished: éteint; put out: éteint
computer printer alarm heater oven microwave telephone camera satellite / machine object part = \
    installed: installé; newly installed: nouvellement installé*
telephone pistol toy passport rifle knife ball car cigarette / object ride document = \
    confiscated: confisqué; seized by the police: saisi* par la police
lamp carpet mirror ring sword broom flute mask / object animate place people = \
    + magic: magique; enchanted: enchanté; cursed: maudit
room desk drawer kitchen bedroom wardrobe garage shelf classroom cupboard / place container \
    furniture people object = \
    + tidy: rangé; + neat: rangé; in a mess: !en désordre
tool dictionary map machine bicycle flashlight backpack umbrella compass / object idea animate \
    ride = \
    + useful: utile; + useless: inutile; + necessary: nécessaire
puzzle clock bulb window tap fan heater printer bell / machine part object = \
    replaced: remplacé; + badly made: mal fait*; + well made: bien fait*
carpet window oven pool room kitchen bathroom car fridge chimney mirror aquarium floor / object \
    place ride part = \
    cleaned: nettoyé; cleaned every day: nettoyé* tous les jours; + hard to clean: difficile* \
    à nettoyer; + easy to clean: facile* à nettoyer; freshly cleaned: fraîchement nettoyé*
clothing textile vehicle door ball balloon flower tent umbrella boat bird cat horse rabbit / \
    object animate plant food place part stone ride = \
    white: blanc; black: noir; grey: gris; green: vert; dark red: !rouge foncé; light blue: \
    !bleu clair; multicoloured: multicolore
"""
