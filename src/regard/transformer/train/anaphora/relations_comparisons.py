"""Comparisons of two nouns of one kind, light and darkness, sound: more relations."""

from __future__ import annotations

_COMPARISONS = """\
{a} cost less than {b} = coûter moins cher que {b} = jewel clothing toy seat instrument \
    = jewel clothing toy seat instrument = more = second-hand, damaged, common, made of plastic \
    = new, precious, rare
{a} be worth more than {b} = valoir plus que {b} = jewel instrument sculpture portrait \
    = jewel instrument sculpture portrait = more = rare, ancient, genuine = fake, damaged, common
{a} be more ancient than {b} = être plus ancien* que {b} = church temple bridge monastery \
    = church temple bridge monastery = more = built in the Middle Ages, in ruins, medieval \
    = modern, under construction, recently built
{a} be sweeter than {b} = être plus sucré* que {b} = fruit cake lemonade juice \
    = pear cake wine tea = more = ripe, made with honey = bitter, diluted
{a} be softer than {b} = être plus doux* que {b} = cushion scarf pillow quilt sheet \
    = cushion scarf pillow quilt sheet = more = made of silk, made of velvet, fluffy \
    = threadbare, made of straw, rough to the touch
{a} be warmer than {b} = être plus chaud* que {b} = coat sweater glove quilt sock \
    = coat sweater glove quilt sock = more = thick, made of wool, padded \
    = thin, full of holes, damp
{a} be stronger than {b} = être plus solide* que {b} = rope chair bridge table chain \
    = rope chair bridge table chain = more = thick, new, well maintained = thin, damaged, old
{a} be sharper than {b} = être plus tranchant* que {b} = blade = blade = more \
    = new, freshly sharpened, made of steel = blunt, rusty, old
{a} be quieter than {b} = être plus tranquille* que {b} = hotel village cafe avenue \
    = hotel village cafe avenue = more = remote, isolated, empty \
    = crowded, touristy, full of tourists
{a} be tidier than {b} = être mieux rangé* que {b} = kitchen bedroom office attic classroom \
    = kitchen bedroom office attic classroom = more = freshly swept, renovated \
    = dusty, neglected, messy
{a} be stronger than {b} = être plus fort* que {b} = beast = beast = more \
    = muscular, well fed, young, in good shape = old, skinny, ill, lame
{a} grow faster than {b} = pousser plus vite que {b} = plant = plant = more \
    = well watered, in the light, young = in the shade, dried out, badly watered
{a} cook faster than {b} = cuire plus vite que {b} = carrot potato meat egg bean \
    = carrot potato meat egg bean = more = small, tender, cut into slices = big, frozen, hard
{a} float better than {b} = flotter mieux que {b} = raft log canoe plank = raft log canoe plank \
    = more = light, hollow, dry = heavy, soaked, leaky
{a} fly higher than {b} = voler plus haut que {b} = kite balloon plane glider \
    = kite balloon plane glider = more = light, new, powerful = heavy, torn, damaged
{a} weigh less than {b} = peser moins lourd que {b} = container = container = more \
    = empty, hollow, half empty = full of stones, full of water, filled
{a} hold more than {b} = contenir plus que {b} = suitcase barrel box wardrobe bag \
    = suitcase barrel box wardrobe bag = more = big, deep, wide, spacious = small, shallow, narrow
{a} glitter more than {b} = scintiller plus que {b} = ring diamond necklace crown sword \
    = ring diamond necklace crown sword = more = freshly polished, new, made of gold \
    = dusty, dirty, stained
{a} be more dangerous than {b} = être plus dangereux* que {b} = road bridge path staircase \
    = road bridge path staircase = more = icy, narrow, badly lit = wide, well lit, well maintained
{a} be more comfortable than {b} = être plus confortable* que {b} \
    = chair sofa armchair bench mattress = chair sofa armchair bench mattress = more \
    = soft, padded, wide = hard, narrow, rickety
{a} be livelier than {b} = être plus animé* que {b} = party concert festival parade \
    = party concert festival lesson = more = crowded, well organised, noisy \
    = boring, badly prepared
{a} be more obedient than {b} = être plus obéissant* que {b} = beast = beast = more \
    = well trained, docile, faithful = stubborn, wild, young
"""

_LIGHT_AND_SOUND = """\
{a} shine through {b} = briller à travers {b} = lamp candle torch projector \
    = curtain window veil sheet = yes = powerful, dazzling = thin, transparent, see-through
{a} darken {b} = assombrir {b} = tree curtain wall hedge = kitchen garden bedroom courtyard = yes \
    = thick, high, leafy = small, narrow, badly lit
{a} glow in {b} = briller dans {b} = lamp candle diamond torch = cellar cave church tunnel = yes \
    = lit, shiny, dazzling = dark, gloomy, windowless
{a} echo in {b} = résonner dans {b} = drum bell siren whistle trumpet \
    = church cave valley tunnel corridor = yes = noisy, powerful, deafening = empty, vast, deep
{a} be audible from {b} = être audible* depuis {b} = drum siren bell train tractor \
    = house garden bedroom village = more = noisy, powerful, deafening = quiet, badly insulated
{a} dry in {b} = sécher dans {b} = shirt towel sheet sweater = attic bathroom cellar garden = not \
    = thick, soaked, heavy = damp, cold, dark
{a} warm {b} = chauffer {b} = heater fireplace oven candle = room kitchen church barn = unable \
    = small, weak, old = big, cold, draughty
{a} cool {b} = rafraîchir {b} = fan = kitchen courtyard office classroom = unable \
    = small, weak, slow = hot, big, sunny
{a} brighten {b} = égayer {b} = lamp bouquet flower carpet = bedroom kitchen corridor office = yes \
    = colourful, fragrant, new = gloomy, dark, grey
{a} overlook {b} = dominer {b} = castle tower church lighthouse = village valley sea harbour \
    = more = high, three storeys high = low, small
"""
OF_COMPARISONS = _COMPARISONS + _LIGHT_AND_SOUND
