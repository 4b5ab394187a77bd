// The course as text: a story of scenes about one sentence, then an appendix. No number is written
// here: {name} is filled with what the source computed for the scene, {name|%} as a percentage,
// {name|2} with two decimals, {name|e} as a power of ten; {row.0} is the first of a list. *words*
// are set as words of a sentence, `code` as code. A part { when: "name", text } is said only where
// that fact is true, { unless } where not.
//
// Every scene asks before it answers: `ask` and the choices come first, `answer` once one is chosen.
// The stage beside the text shows the scene of the same name (scenes.js); `formula` is one of
// formulas.js; `open` is a view and its state, to go on by oneself.

/** @type {CoursePage[]} */
export const COURSE = [
  {
    name: "look",
    title: "Where does “It” look?",
    text: [
      "*{sentence}* Who was slow? A program that translates into French has to make up its mind: a cat is *il*, a mouse is *elle*.",
      "This page has such a program in it, a *model*. It looks from each word at all the others. How much it looks at each is a share of one whole, and is called an *attention weight*.",
    ],
    ask: "Which word does *It* look at most?",
    answer: [
      "*It* gives {share|%} to *{best}* and {other_share|%} to *{other}*: nearly all, and not quite decided. The shares of a word always add up to one whole.",
      "What you see is one *head*: one of {heads} places in the English half of the model where such shares are computed. This one is called layer {layer}, head {head}; layers come later. Choose another word to look from. Then let us find out where shares come from.",
    ],
    open: ["read", ["sentence", "layer", "head"], "Try your own sentence"],
  },
  {
    name: "ending",
    title: "Guess: one word changes",
    text: [
      "A picture can be chance. So change a single word, the last one, and guess before you look.",
      "Now it says: *It was {ending}.*",
    ],
    ask: "Where does *It* look now, in the same head?",
    answer: [
      "Most at *{best}*, with {share|%}. The word at the end moved the line in the middle, and in the French below it the pronoun goes along. Try the other endings.",
      "Nobody wrote a rule about cats and hunger. The line comes out of a computation that school mathematics is enough for: arrows, sums, and one fraction.",
    ],
    open: ["read", ["sentence", "layer", "head"], "Try endings of your own"],
  },
  {
    name: "arrows",
    title: "Words become arrows",
    formula: "dot",
    text: [
      "The model knows {vocabulary} words and pieces of words. For each it has learnt a *vector*: a list of {width} numbers. Two numbers are an arrow on paper; more numbers are an arrow too, with more directions to point in.",
      "In a head every word gets two new arrows, made from its vector by multiplying and adding: a *query*, what it looks for, and a *key*, what it is found by. Each has {head_width} numbers.",
      "The picture is a sheet of paper laid through those {head_width} directions so that the query of *It* lies in it. How well a key fits is its *shadow* on the query.",
    ],
    ask: "Which key throws the longest shadow on the query?",
    answer: [
      "That of *{best}*. Length of the query times length of the shadow is the *score*: {score|1}. It is the same as multiplying query and key number by number and adding up, the *dot product*. What sticks out of the paper does not count.",
      "Drag the query, or the key of either noun (or focus a ring and use the arrow keys). A longer arrow scores more, one at a right angle scores zero, one that points away less than zero.",
      "The {count} numbers that make the queries of this head were found by practice on many sentences, called *training*, and are the same for every word.",
    ],
    open: ["steps", ["sentence", "layer", "head"], "See all the numbers"],
  },
  {
    name: "shares",
    title: "From scores to shares",
    formula: "share",
    text: [
      "Now every word has a score. Scores are no shares yet: they may lie below zero, and they add up to anything.",
      "So each is divided by a number (the next scene says why), then made the power of e, which is about two point seven: e to any power is above zero, and one step more multiplies it by e. At last each is divided by the sum of all. That is the *softmax*.",
    ],
    ask: "*{low}* has the lowest score, {low_score|1}. What share does it get?",
    choices: ["Less than zero.", "Very little, but more than zero.", "Exactly zero."],
    answer: [
      "Its share is {low_share|e}: next to nothing, yet above zero. A power of e is never zero.",
      "*{best}* and *{other}* lie only {apart|2} apart after the division, so one gets {times|2} times the share of the other. It is the difference between scores that decides, not their size.",
    ],
    open: ["steps", ["sentence", "layer", "head"], "Click any number to see its sum"],
  },
  {
    name: "division",
    title: "Why divide?",
    text: [
      "A score is a sum of {width} products, one for each number of the arrows. Sums of many terms get large. So each is divided by the square root of {width}, which is {root|0}.",
      "With the division, *{best}* gets {best_share|%}.",
    ],
    ask: "What happens to the shares if the division is left out?",
    choices: [
      "Nothing. Shares are shares.",
      "They become more alike.",
      "One word takes nearly everything.",
    ],
    answer: [
      "*{best}* now has a share of {largest|4}. The head has stopped weighing: nudge a score, and nothing moves. Nothing can be learnt from that either.",
      "*Temperature* is the same idea with a knob. Scores are divided by it once more: below one the shares sharpen, above one they even out.",
    ],
    open: ["steps", ["sentence", "layer", "head"], "See it without the division", { divide: "no" }],
  },
  {
    name: "values",
    title: "The shares mix what words pass on",
    formula: "mix",
    text: [
      "What are the shares for? Each word has a third arrow, its *value*: what it passes on to those that look at it. The head takes each value times its share, and adds them up.",
      "To add arrows, put one at the tip of the other. The paper here is laid through the values of *{best}* and *{other}*.",
    ],
    ask: "*It* takes {best_share|%} of the one and {other_share|%} of the other. Whose tip does the sum end nearest to?",
    answer: [
      "*{best}*. The sum is what this head passes on about *It*: mostly *{best}*, with some *{other}* in it. Move the shares and watch the sum travel on the line between both tips.",
      "This is attention, whole: arrows make scores, the softmax makes shares, and the shares mix the values. On paper: `regard worksheet --example robots`.",
    ],
    open: ["steps", ["sentence", "layer", "head"], "See the values and their sum"],
  },
  {
    name: "heads",
    title: "Many heads do not agree",
    text: [
      "The English half of the model works in {layers} rounds, called *layers*. In each there are {per_layer} heads side by side, every one with numbers of its own for queries, keys and values.",
      "Above the words is the head that you know. Below comes another one, layer {other_layer}, head {other_head}, on the same sentence.",
    ],
    ask: "Which word does *It* look at most in that head?",
    answer: [
      "*{best}*, with {share|%}, where the first head said *{noun}*. Among {count} heads only {on_nouns} look most at one of the two nouns. The others look for something else: for the word before, the verb, the end of a sentence.",
      "Step through them with the slider. A head that agrees with you can nearly always be found; keep that in mind for the last scene.",
    ],
    open: ["read", ["sentence", "layer", "head"], "See all the heads"],
  },
  {
    name: "position",
    title: "Shuffle the words",
    text: [
      "This head looks from each word at the word before it. Measured on {count} other sentences, {usual|%} of its shares go there. The picture has one line for each word, to where it looks most.",
      "But an arrow knows nothing about places. The model has to add the place to each word's vector before anything else is computed: a second list of numbers, another for each place.",
    ],
    ask: "Leave those lists out, then shuffle the words. What do the lines do?",
    choices: [
      "Each word looks at its new neighbour.",
      "Every line stays with its two words, wherever they go.",
    ],
    answer: [
      "Without places each pair of words keeps its share, in any order: a sentence is a bag of words then. The word before gets {after|%} on average, with places {before|%}.",
      "Choose an order, with places and without. The two full stops are the same word: without places their lines cannot be told apart.",
    ],
    open: [
      "steps",
      ["sentence", "layer", "head"],
      "Leave the places out, number by number",
      { position: "no" },
    ],
  },
  {
    name: "mask",
    title: "No looking ahead",
    text: [
      "The French half writes word by word, and looks at the words that it has already written. In training it is given whole sentences, so that it could peep at the word it is about to guess.",
      "Therefore a *mask* puts minus infinity in place of the score of every later word, before the softmax. This is layer {layer}, head {head} of the French half.",
    ],
    ask: "What share does *{word}* give to *{next}*, the word after it?",
    choices: ["Exactly zero.", "Very little, but more than zero.", "As much as to the others."],
    answer: [
      "Exactly zero: it is the only way to get one, since e to the power of minus infinity is zero. Of all hidden shares in all heads here the largest is {hidden|0}. What is left is shared out among the words before.",
    ],
    open: ["steps", { part: "decoder" }, "See the mask among the numbers"],
  },
  {
    name: "cross",
    title: "Two languages meet",
    text: [
      "How does the French half know what the English says? By heads whose queries come from French words, and whose keys and values come from English ones. It is the same computation with two sentences, and is called *cross-attention*.",
    ],
    ask: "Which English word does *{word}* look at most, in layer {layer}, head {head}?",
    answer: [
      "At *{best}*, with {share|%}: at the pronoun itself, not at the noun. What *{best}* passes on has the noun in it by now, as you saw when values were mixed.",
      "Choose other French words. Read like this the head is a dictionary for the sentence.",
    ],
    open: [
      "read",
      ["sentence", "layer", "head"],
      "See all heads between the languages",
      { part: "cross" },
    ],
  },
  {
    name: "layers",
    title: "Layers, along one line",
    formula: "residual",
    text: [
      "Follow *It* through the {layers} layers. In each, all heads together make one vector from the words they look at. Then a *feed-forward* network, which knows no other word, makes another one: multiply, set what lies below zero to zero, multiply again.",
    ],
    ask: "What becomes of the vector that *It* came with?",
    choices: ["It is replaced each time.", "What is made is added to it."],
    answer: [
      "Added. The vector runs through the model like a line, the *residual stream*, and each part reads from it and adds to it. So the word itself is never lost on the way.",
      "Here the line is as thick as the vector is long: {start|0} at the start, {end|0} at the end. Each loop is as thick as what it adds. At the end of the French half the line is compared with the vector of every word, and a softmax says how likely each is to come next.",
    ],
    open: ["steps", ["sentence"], "Follow a word through the layers"],
  },
  {
    name: "training",
    title: "Watch one learn",
    text: [
      "Where do all those numbers come from? Here is a model so small that this page can train it while you watch: one layer, one head. It is given a row of letters and has to write them backwards.",
      "It begins with random numbers. In every step it guesses; the *loss* says how wrong it was; and each number moves a little to where the loss gets smaller.",
    ],
    ask: "When it has learnt that, where will the first letter look?",
    choices: ["At itself.", "Everywhere alike.", "At the last letter, which it has to write."],
    answer: [
      "Press Train and watch a line of dark squares form from corner to corner. Nobody told the head where to look. It is the only way to know the letter at the other end.",
      "Then try the other tasks, and letters of your own. To copy, a letter need not look anywhere: the residual stream carries it. To sort is harder: where to look depends on all the letters.",
    ],
    open: ["read", {}, "Back to the large model"],
  },
  {
    name: "experiment",
    title: "Break it",
    text: [
      "A line shows where a head looks. Does that matter for what the model writes? There is one way to know: change it, and let the model run again.",
      "It writes: *{first}* Now take the head from the start, and put all that *It* gives to *{noun}* on *{rival}*.",
    ],
    ask: "What happens to the French?",
    choices: ["It changes.", "It stays the same."],
    answer: [
      { unless: "same", text: "It now says: *{second}* This row was used." },
      { when: "same", text: "Not a word changes; only the chances below move a little." },
      {
        unless: "same_off",
        text: "With the head switched off altogether it says: *{third}* The other heads together do not make up for it.",
      },
      {
        when: "same_off",
        text: "Even with the head switched off altogether it says the same. Others know it too, and make up for it.",
      },
      "The model really ran again for each of these. Such an *experiment* tells more than any picture of weights.",
    ],
    open: ["read", ["sentence", "layer", "head"], "Break it in your own sentence"],
  },
  {
    name: "tell",
    title: "What weights do not prove",
    text: [
      "*It* gives {share|%} to *{best}*. You have seen every step behind that number. What does it prove?",
    ],
    ask: "Which of these follows from it?",
    choices: [
      "The model is that sure of who was slow.",
      "The noun with the largest share was slow.",
      "That share of its value is in what this head passes on.",
    ],
    answer: [
      "Only the last. The sentence does not say who was slow, and a share is no chance of being right.",
      {
        when: "taught",
        text: "This head did not even come to it by itself: in training its pronouns were pulled to their nouns, in sentences made for that. No other head was.",
      },
      "To know what a head is good for, count. {accuracy} Where the nouns differ in gender, the French pronoun is right in {french_right|%} of the generated sentences.",
      {
        when: "used",
        text: "And to know whether it is used, break it: with the row turned to the wrong noun, the French follows in {follows|%} of such sentences.",
      },
      "{caution}",
    ],
    open: ["read", ["sentence", "layer", "head"], "Look at sentences of your own"],
  },
  {
    name: "printed",
    title: "A row that no softmax gives",
    appendix: true,
    text: [
      "Three published introductions to attention have examples small enough to redo. They are good, and each has a slip or two. This appendix is for those who have read them.",
      "*{title}* prints the shares {document|2} for *robots*. A score of zero cannot get a share of zero unless it is masked: the true ones stand beside them.",
    ],
    ask: "What is the second number of the output, with the shares as printed?",
    answer: [
      "{sum}. The introduction prints {printed|2}, which does not follow even from its own shares. With the true shares it is {correct|2}.",
      "Redo one number of everything you are shown.",
    ],
    open: ["steps", { from: "robots" }, "See its claims and the truth"],
  },
  {
    name: "order",
    title: "Before or after?",
    appendix: true,
    text: [
      "*Transformers: Self Attention Mechanism* explains its steps in the right order, and then sums them up in a formula that has them in another. One of the two below is what its steps say.",
      "A hint: whatever comes out must still be shares.",
    ],
    ask: "Which formula gives rows that add up to one?",
    answer: [
      "With the division inside, the row of *{word}* adds up to {sum_before|3}. With the division outside, as the summary has it, to {sum_after|3}.",
      "{because}",
    ],
    open: ["steps", { from: "good" }, "See the right order"],
  },
  {
    name: "batch",
    title: "One sentence at a time",
    appendix: true,
    text: [
      "*{title}* writes attention in code, on an array with an axis for sentences, one for words and one for numbers. It multiplies queries with keys by `np.dot`. With a single sentence the numbers come out right.",
      "Now put {sentences} sentences of {length} words into the array: *{first}*, and *{second}*.",
    ],
    ask: "Which shape should the scores have?",
    answer: [
      "{meant}: for each sentence, every word with every word. But `np.dot` gives {written}: every word of every sentence with every word of every sentence. So *cat* gets a second row of shares, on words it never stood beside.",
      "{because}",
      "{mend}",
    ],
    open: ["steps", { from: "cat" }, "See its steps, done right"],
  },
];
