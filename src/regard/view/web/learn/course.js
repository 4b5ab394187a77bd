// The course as text: a story of scenes, then an appendix. No number is written here: {name} is
// filled with what the source computed for the scene, {name|%} as a percentage, {name|2} with two
// decimals; {row.0} is the first of a list. *words* are set as words of a sentence, `code` as code.
// A part { when: "name", text } is said only where that fact is true, { unless } where not.
//
// Every scene asks before it answers: `ask` and the choices come first, `answer` once one is chosen.
// `picture` stands beside the text from the start, `after` once the question is answered (pieces of
// lesson.js); `open` is a view and its state, to go on by oneself.

/** @type {CoursePage[]} */
export const COURSE = [
  {
    name: "look",
    title: "Where does “it” look?",
    picture: "sentence",
    after: "lines",
    text: [
      "A transformer reads a sentence by letting every word look at every word. How much a word looks at each of the others is a share, and the shares of one word add up to one whole. They are called *attention weights*.",
      "A small model that translates English into French comes with this page. It has many *heads*: computations side by side, each with attention weights of its own. One of them, layer {layer}, head {head}, is reading this sentence.",
    ],
    ask: "Which word will *it* look at most in this head?",
    answer: [
      "*it* gives {share|%} of its attention to *{best}*, and {other_share|%} to *{other}*. Point at any other word on the left, or move to it with the arrow keys, to see where that one looks.",
      "However you choose, the shares of a word on the left add up to {sum|2}. That is all a row of attention is: one whole, divided. The rest of this story is where the shares come from, and what becomes of them.",
    ],
    open: ["read", ["sentence", "layer", "head"], "Try your own sentence in Read"],
  },
  {
    name: "vectors",
    title: "Words become vectors",
    picture: "vectors",
    text: [
      "A model computes with numbers, so every word is first looked up in a vocabulary of {vocabulary} entries: *{word}* is entry {id}. A word that is not in it is cut into pieces that are.",
      "Each entry has a *vector*, a list of numbers that training has found. Blue is above nought, orange below; the stronger, the further from it. Only the first {shown} numbers of each are drawn.",
    ],
    ask: "How many numbers does this model use for one word?",
    answer: [
      "{width}. No single one of them means anything to us; together they say what the model knows about the word.",
      "Below the words you see *{word}* once more: its own vector, the vector of its position in the sentence, and their sum. The sum is what the first layer is given.",
    ],
    open: ["steps", ["sentence"], "See the vectors of your own sentence in Steps"],
  },
  {
    name: "query",
    title: "A query asks, a key answers",
    picture: "queries",
    text: [
      "In every head each word gets a *query*, what it is looking for, and a *key*, what it can be found by. Both are made from the word's vector, by multiplying it with a matrix: {width} numbers go in, {head_width} come out.",
      "This is the head from the start, layer {layer}, head {head}: the query of *{word}*, and the keys of all words.",
    ],
    ask: "Where do the matrices come from?",
    choices: [
      "Every word has matrices of its own.",
      "They are learnt in training, and are the same for every word.",
      "Somebody wrote them by hand.",
    ],
    answer: [
      "The matrix that makes this head's queries has {count} numbers. Training found every one of them, and every word of every sentence goes through the same.",
      "Where query and key have the same colours at the same positions, their products are above nought and add up. The best fit to the query of *{word}* is the key of *{best}*.",
    ],
    open: ["steps", ["sentence", "layer", "head"], "See these matrices in Steps"],
  },
  {
    name: "scores",
    title: "The fit is a score",
    picture: "keys",
    after: "scored",
    text: [
      "How well do a query and a key fit? Multiply them position by position, add up, and you have a *score*: large when the two point the same way.",
      "With vectors of two numbers it can be done in the head. In *{sentence}* let the query of *{word}* be ({query|0}), and the keys be these.",
    ],
    ask: "To which word does *{word}* give its highest score?",
    answer: [
      "To *{best}*: {score|0}. Not to itself: its own key points the same way, but a longer key in the same direction scores higher.",
    ],
    open: ["steps", { from: "robots" }, "See all the steps of this example"],
  },
  {
    name: "shares",
    title: "From scores to shares",
    after: "softmax",
    text: [
      "Scores are not shares yet. They may be below nought, and they add up to anything. The *softmax* mends both: it raises e to the power of each score, then divides by the sum of the row.",
      "First the scores are divided by a root; the next scene says why. Then the row of *robots* reads {scaled|2}. Look at *Smart*, the first: its score is {scaled.0|0}.",
    ],
    ask: "What share does *Smart* get?",
    choices: [
      "None. It scored nought, it gets nothing.",
      "Something: a small share, but more than nothing.",
      "The same as every other word.",
    ],
    answer: [
      "e to the power of nought is one, so its share is not nought: {why}.",
      "Equal scores get equal shares, and every score that is a number gets some. Only a score of minus infinity gets exactly nothing; the scene about the mask shows what that is good for.",
    ],
    open: ["steps", { from: "robots" }, "Click any number in Steps to see its sum"],
  },
  {
    name: "division",
    title: "Why divide?",
    picture: "divided",
    after: "divisor",
    text: [
      "In this example queries and keys have {width} numbers each. A sum of so many products easily gets large, so every score is divided by the square root of their width, which is {root|0}, before the softmax.",
      "For *{word}* in *I am good* the scores are {scores|0}. Divided, they give these shares.",
    ],
    ask: "What happens to the row if the division is left out?",
    choices: [
      "Nothing. Shares are shares.",
      "It gets flatter: the words become more alike.",
      "It gets sharper: one word takes nearly everything.",
    ],
    answer: [
      "The largest share goes from {before|3} to {largest|9}. With such a row the model has stopped weighing: nudge a score, and nothing changes, so that nothing can be learnt from it either.",
      "Move the divisor yourself. At the left end there is none; far to the right all words are treated alike.",
    ],
    open: ["steps", { from: "good", divide: "no" }, "See it without the division in Steps"],
  },
  {
    name: "sum",
    title: "The weighted sum",
    picture: "valued",
    after: "added",
    text: [
      "Now the shares are put to use. Every word also has a *value*, what it passes on; a third matrix makes it. The output of *robots* is all the values added up, each multiplied by its share.",
      "Its shares are {weights|2}. The second number of each word's value is {values|0}.",
    ],
    ask: "What is the second number of the output? Work it out before you choose.",
    answer: [
      "{why}.",
      "This is attention, whole: queries with keys make scores, the softmax makes shares of them, and the shares mix the values. On paper: `regard worksheet --example robots`.",
    ],
    open: ["steps", { from: "robots" }, "Change the vectors in Steps"],
  },
  {
    name: "habit",
    title: "Many heads, many habits",
    picture: "lines",
    text: [
      "Back to the model. Each of its {layers} encoder layers has {heads} heads side by side, every one with matrices of its own: each can look for something else. Their outputs are joined end to end, and one more matrix mixes them.",
      "This is layer {layer}, head {head}. Point at a few words.",
    ],
    ask: "What is this head's habit?",
    choices: [
      "It looks at the word before.",
      "It looks at the word itself.",
      "It looks at the word after.",
    ],
    answer: [
      "It {habit}. Over {count} sentences that were kept out of training, it gave {usual|%} of its attention there. Nobody asked for that: training found that it helps to know one's neighbour.",
    ],
    open: ["steps", ["sentence", "layer", "head"], "See this head in Steps"],
  },
  {
    name: "position",
    title: "Without positions there is no order",
    picture: "with_positions",
    after: "without_positions",
    text: [
      "How can a head know which word is the one before? Scores are made of vectors, not of places. It can only know because each word's vector carries its position, as the second scene showed.",
      "So leave the positions out. In *{sentence}* two words stand twice.",
    ],
    ask: "What does the same head do now?",
    choices: [
      "It still looks at the word before: the order is in the sentence.",
      "Equal words get equal rows: it cannot tell them apart.",
    ],
    answer: [
      "With positions it gives {before|%} to the word before, on average; without them {after|%}. The two rows of *dog* are the same, and so are its two columns: a tie, not a near miss.",
      "To attention without positions a sentence is a bag of words.",
    ],
    open: [
      "steps",
      ["sentence", "layer", "head"],
      "Switch the positions off in Steps",
      { position: "no" },
    ],
  },
  {
    name: "mask",
    title: "The mask hides what is to come",
    picture: "sentence",
    after: "masked",
    text: [
      "The French sentence is written word by word. While it trains, the model is given whole sentences, and must not look at the word that it is about to guess. So in the decoder a *mask* adds minus infinity to the score of every later word.",
      "The model wrote these words. Take the row of *{word}*, layer {layer}, head {head}.",
    ],
    ask: "What weight does *{word}* give to *{next}*, the word after it?",
    choices: [
      "Nought, exactly.",
      "Very little, but more than nought.",
      "As much as to the others.",
    ],
    answer: [
      "Exactly nought: e to the power of minus infinity is nought, so the softmax leaves nothing. Among all the hidden weights of all decoder heads here the largest is {hidden|0}. The row is shared out among what is left.",
    ],
    open: ["steps", { part: "decoder" }, "See the mask in Steps"],
  },
  {
    name: "cross",
    title: "From French to English: cross-attention",
    picture: "sentence",
    after: "lines",
    text: [
      "The *encoder* reads English, the *decoder* writes French. They meet in *cross-attention*: the queries come from the French words, keys and values from the English ones. It is the same computation with two sentences.",
      "Here is a cross-attention head, layer {layer}, head {head}, and the word *{word}*.",
    ],
    ask: "Which English word does *{word}* look at most?",
    answer: [
      "At *{best}*, with {share|%}. Follow the others: read like this, the head is a dictionary for this sentence, and shows how the order of words changes between the languages.",
    ],
    open: [
      "read",
      ["sentence", "layer", "head"],
      "See all cross-attention heads in Read",
      { part: "cross" },
    ],
  },
  {
    name: "layers",
    title: "Layers, and what is between them",
    picture: "stack",
    after: "counted",
    text: [
      "What attention makes is *added* to the vector that came in: nothing is lost on the way. Then a *feed-forward* network, {feed_forward_width} numbers wide, works on each word by itself, and is added too. Before both the vector is normalised. That is one layer, and there are {layers} of them, in the encoder as in the decoder.",
      "At the end the decoder's last vector is compared with the vector of every entry of the vocabulary. A softmax makes probabilities of it, and the next word is chosen from those.",
    ],
    ask: "Where are most of the model's {total} learnt numbers?",
    answer: [
      "In {most}: {share|%}. Attention is the only part where words meet; all the rest works on each word alone.",
      "It is also the part whose cost grows with the square of the length: twice as many words make four times as many weights.",
    ],
    open: ["steps", { from: "own" }, "Build a head of your own in Steps"],
  },
  {
    name: "training",
    title: "Watch one learn",
    picture: "training",
    text: [
      "Here is a transformer so small that your browser can train it while you watch: one layer, one head, its task to write letters backwards. It begins with random numbers.",
      "In every step it guesses, the *loss* measures how wrong it was, and each number is moved a little in the direction that makes the loss smaller: the *gradient*.",
    ],
    ask: "When it has learnt the task, where will the first letter look?",
    choices: ["At itself.", "Everywhere alike.", "At the last letter, which it has to write."],
    answer: [
      "Press Train and watch the weights: as the loss falls, a line forms from one corner to the other. Nobody told the head where to look. It is the only way to know the letter at the other end.",
      "The model that comes with this page learnt in the same way, with far more numbers and sentences.",
    ],
    open: ["read", {}, "Back to the large model in Read"],
  },
  {
    name: "experiment",
    title: "Change one row, and see",
    picture: "lines",
    after: "candidates",
    text: [
      "A weight shows where a head looks. Does it matter? Then changing it should change the translation. So take the head from the start, layer {layer}, head {head}, put the whole row of *it* on *{rival}* instead of *{noun}*, and let the model run again.",
      "As it was, it says: *{first}*.",
    ],
    ask: "What happens to the French?",
    choices: ["It changes.", "It stays the same."],
    answer: [
      { unless: "same", text: "It says now: *{second}*. This row was used." },
      {
        when: "same",
        text: "Not a word changes, only the probabilities beside move a little. That does not prove the head is useless: other heads may know the same, and make up for it.",
      },
      "This is an *intervention*: the model really ran a second time, with one row changed. It tells more than any picture of weights.",
    ],
    open: ["read", ["sentence", "layer", "head"], "Try it on your own sentence in Read"],
  },
  {
    name: "tell",
    title: "What weights tell, and what they do not",
    picture: "sentence",
    after: "lines",
    text: [
      "At the start *it* looked at *{noun}* with {before|%}, and it was the {noun} that was hungry. It is tempting to say that the head understood. So let us test it. One word changes, and now *it* can only be the {rival}:",
    ],
    ask: "Where does *it* look now, in the same head?",
    answer: [
      {
        unless: "moved",
        text: "Still at *{noun}*: {after|%}. The head was not answering the question that we asked it.",
      },
      { when: "moved", text: "At *{best}*: {share|%}. One pair of sentences is no proof, though." },
      {
        when: "taught",
        text: "This head did not come to it by itself: it was taught. In training, its row of a pronoun was pulled to the noun that the pronoun stands for, in sentences made for that. None of the other heads was.",
      },
      "How often is it right? {accuracy}",
      {
        unless: "taught",
        text: "Another head, layer {elsewhere.layer}, head {elsewhere.head}, does look at *{rival}* here, with {elsewhere.share|%}. Among so many heads there is nearly always one that fits the story. Finding it afterwards proves nothing.",
      },
      "And what does the model say? *{first}*, and then *{second}*.",
      {
        unless: "elle",
        text: "In French the food is *elle*. The model writes *il*: the mistake is in its words, and no weight gave warning.",
      },
      {
        when: "elle_elsewhere",
        text: "In French the food is *elle*, and the model writes it: whatever led it there, it was not this head.",
      },
      {
        when: "elle_from_here",
        text: "In French the food is *elle*, and the model writes it.",
      },
      "Over the generated pairs whose nouns differ in gender, its pronoun is right in {french_right|%} of the sentences.",
      {
        when: "used",
        text: "Is the head used, or does it only look the part? Turn its row to the wrong noun and let the model run again: in {follows|%} of such sentences the French pronoun then takes the gender of the wrong noun.",
      },
      "The weights in this story are exact: you have seen the sums behind them. What they mean is another question. {caution}",
    ],
    open: ["read", ["sentence", "layer", "head"], "Look at all the heads in Read"],
  },
  {
    name: "printed",
    title: "A row that no softmax gives",
    appendix: true,
    picture: "as_printed",
    after: "added",
    text: [
      "The small examples of this story come from three published introductions. They are good, and each has a slip or two. This appendix is for those who have read them.",
      "*{title}* prints the shares {document|2} for *robots*. A score of nought cannot get a share of nought unless it is masked: the true ones stand beside them.",
    ],
    ask: "What is the second number of the output, with the shares as printed?",
    answer: [
      "{sum}. The introduction prints {printed|2}, which does not follow even from its own shares. With the true shares it is {correct|2}.",
      "Redo one number of everything you are shown.",
    ],
    open: ["steps", { from: "robots" }, "See its claims and the truth in Steps"],
  },
  {
    name: "order",
    title: "Before or after?",
    appendix: true,
    after: "order",
    text: [
      "*Transformers: Self Attention Mechanism* explains its steps in the right order, and then sums them up in a formula that has them in another. One of the two below is what its steps say.",
      "A hint: whatever comes out must still be shares.",
    ],
    ask: "Which formula gives rows that add up to one?",
    answer: [
      "With the division inside, the row of *{word}* adds up to {sum_before|3}. With the division outside, as the summary has it, to {sum_after|3}.",
      "{because}",
    ],
    open: ["steps", { from: "good" }, "See the right order in Steps"],
  },
  {
    name: "batch",
    title: "One sentence at a time",
    appendix: true,
    after: "batch",
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
