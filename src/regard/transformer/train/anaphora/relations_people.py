"""Relations of people: *he* or *she* may stand for either, and the predicate tells which.

A row is `english = french = option = predicates of {a} = predicates of {b}`. A predicate is an
adjective; after > what somebody had done, after ~ what somebody did (`deeds`).
"""

from __future__ import annotations

OF_PEOPLE = """\
{a} thank {b} = remercier {b} = yes = grateful, polite, satisfied, > receive a present \
    = generous, helpful, kind, > mend the roof, > bring flowers, > cook the dinner
{a} help {b} = aider {b} = yes = generous, strong, helpful, > promise to help \
    = injured, lost, in difficulty, ~ need help, > lose the keys
{a} punish {b} = punir {b} = yes = strict, furious, severe, > lose patience \
    = insolent, guilty, disobedient, > tell lies, > damage the car
{a} congratulate {b} = féliciter {b} = yes = impressed, polite \
    = brave, victorious, talented, > win the race, > pass the exam
{a} visit {b} = rendre visite à {b} = yes = worried, free = ill, alone, in hospital, ~ have a fever
{a} envy {b} = envier {b} = yes = jealous, poor, unhappy = rich, famous, lucky
{a} be afraid of {b} = avoir peur de {b} = more = timid, cowardly, nervous \
    = violent, cruel, dangerous
{a} apologise to {b} = s'excuser auprès de {b} = yes = guilty, late, ashamed, \
    > forget the meeting, \
    > damage the car = furious, offended, disappointed, > wait for an hour
{a} hire {b} = engager {b} = yes = overworked, very busy, ~ need help \
    = experienced, qualified, honest, ~ speak three languages
{a} dismiss {b} = renvoyer {b} = yes = strict, dissatisfied \
    = lazy, incompetent, dishonest, > make too many mistakes
{a} trust {b} = faire confiance à {b} = yes = naive, optimistic = honest, sincere, reliable, \
    ~ tell the truth
{a} consult {b} = consulter {b} = yes = unsure, worried, hesitant, ~ need advice \
    = wise, experienced, qualified, ~ know the law
{a} console {b} = consoler {b} = yes = kind, sensitive = sad, desperate, disappointed
{a} arrest {b} = arrêter {b} = past = on duty, vigilant = guilty, dangerous, armed, > rob a bank
{a} wait for {b} = attendre {b} = yes = patient, faithful = late, slow, > miss the bus
{a} admire {b} = admirer {b} = yes = young, modest = brave, talented, famous, > win a medal
{a} insult {b} = insulter {b} = past = furious, jealous, rude = arrogant, insolent
{a} look after {b} = s'occuper de {b} = yes = kind, patient, available \
    = ill, very old, injured, ~ have a fever
{a} question {b} = interroger {b} = past = suspicious, curious, ~ want to know the truth \
    = mysterious, suspect, > see the thief
{a} pay {b} = payer {b} = past = satisfied, rich, generous \
    = efficient, hard-working, > mend the roof
{a} reward {b} = récompenser {b} = past = grateful, generous, pleased, > promise a reward \
    = brave, honest, > find the keys, > save the dog
{a} accuse {b} = accuser {b} = past = suspicious, jealous, > lose a lot of money \
    = guilty, dishonest, > tell lies, > make a mistake
{a} scold {b} = gronder {b} = past = strict, angry, bad-tempered, > lose patience \
    = disobedient, naughty, > arrive late, > forget the keys
{a} invite {b} = inviter {b} = past = generous, sociable, > prepare a big meal \
    = alone, lonely, > win a prize
{a} phone {b} = téléphoner à {b} = past = worried, ~ need advice, ~ need help \
    = absent, ~ know the answer, > miss the meeting
{a} interrupt {b} = interrompre {b} = past = impatient, impolite, ~ be in a hurry \
    = mistaken, ~ speak too loudly, ~ talk too much
{a} believe {b} = croire {b} = more = naive, trusting = sincere, honest, ~ tell the truth
{a} respect {b} = respecter {b} = more = polite, modest, well brought up = wise, experienced, brave
{a} forgive {b} = pardonner à {b} = past = generous, kind, tolerant = sorry, sincere, > apologise
{a} criticise {b} = critiquer {b} = past = severe, jealous, dissatisfied \
    = lazy, disorganised, incompetent, > make a mistake
{a} imitate {b} = imiter {b} = yes = playful, ~ want to become famous = funny, famous, talented
{a} examine {b} = examiner {b} = past = on duty, cautious, > study medicine \
    = ill, injured, feverish, ~ have a fever
{a} comfort {b} = réconforter {b} = past = kind, sensitive, patient \
    = sad, unhappy, ~ be crying, > lose the match
{a} laugh at {b} = se moquer de {b} = past = cruel, rude = clumsy, ridiculous, > fall into the water
{a} smile at {b} = sourire à {b} = past = happy, polite, friendly = charming, > tell a joke
{a} shout at {b} = crier après {b} = past = furious, bad-tempered, stressed, angry \
    = deaf, disobedient, > damage the car, > disobey twice
{a} give lessons to {b} = donner des cours à {b} = yes = qualified, patient, retired \
    = weak in mathematics, ~ want to learn French, > fail the exam
{a} ask {b} for help = demander de l'aide à {b} = past = lost, in difficulty, > miss the train \
    = strong, experienced, available, helpful
{a} borrow money from {b} = emprunter de l'argent à {b} = past \
    = poor, penniless, unemployed, > lose a lot of money \
    = rich, generous, wealthy, > win the lottery
{a} borrow a pen from {b} = emprunter un stylo à {b} = past = absent-minded, > forget the pens \
    = helpful, > buy ten pens
{a} give money to {b} = donner de l'argent à {b} = past = rich, generous, wealthy \
    = poor, jobless, penniless, > lose a wallet
{a} overtake {b} = dépasser {b} = past = fast, athletic, ~ be in a hurry = slow, tired, injured
{a} beat {b} = battre {b} = past = strong, fast, experienced, > train every day \
    = weak, slow, inexperienced, ill
{a} replace {b} = remplacer {b} = past = available, qualified, free = ill, absent, on holiday
{a} guide {b} = guider {b} = past = experienced, ~ know the way = lost, blind, > lose the map
{a} warn {b} = avertir {b} = past = worried, cautious, > see the danger \
    = careless, in danger, > ignore the sign
{a} fire {b} = licencier {b} = past = dissatisfied, strict, ambitious \
    = lazy, incompetent, > make too many mistakes
{a} protect {b} = protéger {b} = yes = strong, brave, armed = weak, afraid, in danger
{a} cheer up {b} = remonter le moral à {b} = past = cheerful, optimistic, kind \
    = sad, depressed, disappointed, > fail the exam
{a} entertain {b} = divertir {b} = yes = funny, talented = tired of waiting, sad
{a} cheat {b} = tromper {b} = past = dishonest, greedy, cunning = naive, trusting, blind
{a} rob {b} = dévaliser {b} = past = poor, dishonest, armed = rich, careless, alone
{a} suspect {b} = soupçonner {b} = more = distrustful, jealous \
    = dishonest, nervous, ~ behave strangely
{a} praise {b} = faire l'éloge de {b} = past = impressed, satisfied \
    = talented, diligent, > work hard, > win a prize
{a} welcome {b} = accueillir {b} = past = polite, friendly, hospitable \
    = > come from far away, > travel all day
{a} correct {b} = corriger {b} = past = strict, ~ know the answer \
    = mistaken, inexperienced, > make a mistake
{a} calm {b} = calmer {b} = past = patient, calm, kind = furious, nervous, frightened, panicked
{a} treat {b} = soigner {b} = yes = qualified, on duty, > study medicine \
    = ill, wounded, hurt, sick, ~ have a fever
{a} annoy {b} = agacer {b} = yes = noisy, rude, ~ talk too much = busy, tired, ~ want to study
{a} impress {b} = impressionner {b} = past = talented, brave, eloquent, > win a medal \
    = young, naive
{a} search for {b} = chercher {b} = past = worried, vigilant = lost, missing, > run away
{a} employ {b} = employer {b} = yes = overworked, rich, ~ need help \
    = experienced, hard-working, diligent, ~ need money
{a} buy a present for {b} = acheter un cadeau pour {b} = past = generous, grateful \
    = ill, > pass the exam, > celebrate a birthday
{a} write to {b} = écrire à {b} = past = lonely, in love, worried = absent, abroad, in prison
{a} vote for {b} = voter pour {b} = past = optimistic, naive = honest, competent, popular
"""
