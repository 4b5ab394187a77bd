"""Relations of people with each other, of texts, ideas and occasions: everyday attitudes."""

from __future__ import annotations

# english = french = option = predicates of {a} = predicates of {b}, as in `OF_PEOPLE`
OF_SOCIETY = """\
{a} tease {b} = taquiner {b} = yes = playful, silly, ~ be bored = shy, naive, clumsy
{a} hug {b} = serrer {b} dans ses bras = past = sympathetic, kind, affectionate \
    = heartbroken, desperate, ~ be crying
{a} obey {b} = obéir à {b} = yes = docile, timid, well brought up = strict, bossy, severe
{a} disobey {b} = désobéir à {b} = past = stubborn, insolent, bold = unfair, incompetent, bossy
{a} mock {b} = se moquer de {b} = past = cruel, arrogant, rude = ridiculous, clumsy, weird
{a} threaten {b} = menacer {b} = past = violent, armed, ruthless, evil = defenceless, timid, unarmed
{a} betray {b} = trahir {b} = past = disloyal, ambitious, cowardly, > accept a bribe \
    = trusting, naive, gullible
{a} deceive {b} = duper {b} = past = cunning, deceitful, hypocritical \
    = gullible, naive, inexperienced
{a} fool {b} = berner {b} = past = clever, cunning, talented = gullible, absent-minded, naive
{a} blame {b} = blâmer {b} = past = furious, frustrated, dissatisfied \
    = guilty, careless, irresponsible, > make a mistake
{a} encourage {b} = encourager {b} = yes = kind, cheerful, patient = hesitant, discouraged, shy
{a} discourage {b} = décourager {b} = past = pessimistic, severe, jealous \
    = hesitant, sensitive, inexperienced
{a} inspire {b} = inspirer {b} = yes = brave, creative, famous, > win a medal = young, ambitious
{a} advise {b} = conseiller {b} = past = wise, experienced, well informed \
    = undecided, hesitant, ~ need advice
{a} interview {b} = interviewer {b} = past = curious, well prepared \
    = famous, popular, > win a prize, > see the thief
{a} recruit {b} = recruter {b} = past = overworked, very busy = motivated, qualified, dependable
{a} promote {b} = promouvoir {b} = past = satisfied, impressed, fair \
    = diligent, responsible, competent, > work hard
{a} elect {b} = élire {b} = past = naive, trusting = popular, honest, eloquent
{a} greet {b} = saluer {b} = past = polite, friendly, well brought up = > come from far away, famous
{a} avoid {b} = éviter {b} = yes = shy, suspicious, unsociable = annoying, violent, contagious
{a} confront {b} = affronter {b} = past = brave, furious, fearless = dangerous, aggressive, violent
{a} hurt {b} = blesser {b} = past = cruel, heartless, clumsy = sensitive, fragile, emotional
{a} spy on {b} = espionner {b} = past = jealous, suspicious, curious \
    = mysterious, famous, ~ behave strangely
{a} report {b} = dénoncer {b} = past = vigilant, honest, > see the danger \
    = guilty, corrupt, > rob a bank
{a} bribe {b} = soudoyer {b} = past = rich, unscrupulous, > lose the match \
    = corrupt, greedy, penniless
{a} judge {b} = juger {b} = past = severe, impartial, strict = guilty, innocent, > rob a bank
{a} release {b} = libérer {b} = past = merciful, fair = innocent, ill, in prison
{a} imprison {b} = emprisonner {b} = past = ruthless, powerful, cruel \
    = guilty, rebellious, > rob a bank
{a} nurse {b} = soigner {b} = past = caring, patient, qualified = feverish, wounded, bedridden
{a} bandage {b} = panser {b} = past = qualified, on duty, caring \
    = wounded, hurt, > fall from a ladder
{a} contradict {b} = contredire {b} = past = stubborn, well informed, bold \
    = mistaken, ignorant, > make a mistake
{a} persuade {b} = persuader {b} = past = eloquent, clever, self-confident \
    = hesitant, undecided, sceptical
{a} beg {b} for help = supplier {b} de venir en aide = past = desperate, helpless, in danger \
    = powerful, rich, available
{a} accompany {b} = accompagner {b} = yes = helpful, kind, available = lost, blind, elderly
{a} escort {b} = escorter {b} = yes = armed, vigilant, on duty = in danger, famous
{a} carry {b} = porter {b} = past = strong, muscular, brave = wounded, exhausted, lame
{a} race against {b} = courir contre {b} = vain = slow, tired, old, inexperienced \
    = fast, athletic, well trained
{a} run after {b} = courir après {b} = vain = slow, tired, fat, out of breath \
    = fast, agile, far away
{a} argue with {b} = se disputer avec {b} = past = bad-tempered, irritated, jealous \
    = unreasonable, annoying, > lose the keys
{a} work for {b} = travailler pour {b} = yes = diligent, penniless, ~ need money \
    = generous, rich, overworked
{a} listen to {b} = écouter {b} = yes = patient, polite, curious = eloquent, wise, ~ know the answer
{a} cook for {b} = cuisiner pour {b} = past = hospitable, generous, caring \
    = hungry, ill, starving, > travel all day
{a} translate for {b} = traduire pour {b} = past = bilingual, helpful, ~ speak three languages \
    = lost, ignorant, ~ want to learn French
{a} hire out a room to {b} = louer une chambre à {b} = past = hospitable, penniless, ~ need money \
    = homeless, on holiday, > travel all day
{a} stare at {b} = fixer {b} = past = curious, rude, fascinated = beautiful, famous, weird
{a} sing for {b} = chanter pour {b} = past = talented, cheerful, kind = sad, ill, unable to move
{a} jostle {b} = bousculer {b} = past = rude, in a hurry, aggressive = in the way, slow, weak
"""

OF_IDEAS = """\
S accept {a} instead of {b} = accepter {a} au lieu de {b} = proposal plan suggestion project \
    = proposal plan suggestion project = yes = reasonable, simple, realistic \
    = absurd, risky, illegal
S reject {a} in favour of {b} = refuser {a} en faveur de {b} = idea plan proposal solution \
    = idea plan proposal solution = yes = absurd, unrealistic, unfair \
    = reasonable, perfect, simple
S believe {a} rather than {b} = croire {a} plutôt que {b} = explanation rumour answer \
    = explanation rumour answer = yes = plausible, true = absurd, false, implausible
S learn {a} before {b} = apprendre {a} avant {b} = poem song rule language \
    = poem song rule language = past = easy, short, simple = complicated, endless
S watch {a} instead of {b} = regarder {a} au lieu de {b} = film documentary comedy match \
    = film documentary comedy match = yes = exciting, funny, wonderful = awful, boring, tedious
S attend {a} instead of {b} = assister à {a} au lieu de {b} = concert wedding lesson meeting \
    = concert wedding lesson meeting = yes = special, unique, exciting \
    = cancelled, boring, optional
S postpone {a} because of {b} = reporter {a} à cause de {b} = picnic trip wedding race \
    = exam funeral trial meeting = past = optional, badly prepared \
    = urgent, unexpected, compulsory
S translate {a} rather than {b} = traduire {a} plutôt que {b} = poem article manual \
    = poem article manual = yes = easy, short, urgent = incomprehensible, endless, untranslatable
S sing {a} instead of {b} = chanter {a} au lieu de {b} = song hymn melody = song hymn melody = yes \
    = catchy, well known, easy = solemn, complicated, boring
S buy {a} rather than {b} = acheter {a} plutôt que {b} = map guidebook dictionary atlas \
    = map guidebook dictionary atlas = yes = detailed, accurate, cheap \
    = outdated, inaccurate, expensive
S choose {a} over {b} = préférer {a} à {b} = remedy method solution = remedy method solution = yes \
    = effective, safe, simple = risky, ineffective, painful
S remember {a} better than {b} = se souvenir de {a} mieux que de {b} = film song poem trip \
    = film song poem trip = more = unique, amazing, moving = ordinary, boring, forgettable
S explain {a} before {b} = expliquer {a} avant {b} = rule method plan = rule method plan = past \
    = simple, fundamental, easy = complicated, optional
"""
