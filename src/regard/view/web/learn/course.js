// The course as text. No number is written here: {name} is filled with what the source computed for
// the page, {name|%} as a percentage, {name|2} with two decimals; {row.0} is the first of a list.
// *words* are set as words of a sentence, `code` as code. A part { when: "name", text } is said
// only where that fact is true, { unless } where not.
//
// Every page asks before it answers: `ask` and the choices come first, `answer` once one is chosen.
// { show } is a picture of lesson.js among the paragraphs; `open` is a view and its state, to go on
// by oneself.

export const COURSE = [
  {
    name: "look",
    title: "Whom does “it” look at?",
    text: [
      "A transformer reads a sentence by letting every word look at every word. How much a word looks at each of the others is a share, and the shares of one word add up to one whole. They are called attention weights.",
      "A small model that translates English into French comes with this page. It has many heads, pairs of eyes that look side by side. One of them, layer {layer}, head {head}, is reading:",
      { show: "sentence" },
    ],
    ask: "Which word will *it* look at most in this head?",
    answer: [
      "*it* gives {share|%} of its attention to *{best}*, and {other_share|%} to *{other}*. Point at any other word on the left, or move to it with the arrow keys, to see where that one looks.",
      { show: "lines" },
      "However you choose, the shares of a word on the left add up to {sum|2}. That is all a row of attention is: one whole, divided.",
    ],
    open: ["read", ["sentence", "layer", "head"], "Try your own sentence in Read"],
  },
  {
    name: "scores",
    title: "One asks, the others answer",
    text: [
      "Where do the shares come from? Every word has a *query*, what it is looking for, and a *key*, what it has to offer. Both are just lists of numbers. Multiply them place by place, add up, and you have a *score*: large when the two point the same way.",
      "This course follows three published introductions, and puts right what they get wrong. One of them, *{title}*, has an example small enough for the back of an envelope: *{sentence}*. In it the query of *{word}* is ({query|0}), and these are the keys:",
      { show: "keys" },
    ],
    ask: "To which word does *{word}* give its highest score?",
    answer: [
      "To *{best}*: {score|0}. Not to itself: its own key points the same way, but a longer key in the same direction scores higher.",
      { show: "scored" },
    ],
    open: ["steps", { from: "robots" }, "See all its steps"],
  },
  {
    name: "shares",
    title: "From scores to shares",
    text: [
      "Scores are not shares yet. They may be negative, and they add up to anything. The *softmax* mends both: it raises e to the power of each score, then divides by the sum of the row.",
      "First the scores are divided by a root (the reason comes two pages on). Then the row of *robots* reads {scaled|2}. Look at *Smart*, the first: its score is {scaled.0|0}.",
    ],
    ask: "What share does *Smart* get?",
    choices: [
      "None. It scored nothing, it gets nothing.",
      "Something: less than the others, but more than nothing.",
      "The same as every other word.",
    ],
    answer: [
      "e to the power of nought is one, so nobody leaves with empty hands: {why}.",
      "The introduction prints {document.0|0} for *Smart*. No softmax can do that, whatever the scores are. Here is the row it prints, beside the one its own scores lead to:",
      { show: "softmax" },
    ],
    open: ["steps", { from: "robots" }, "Click any number in Steps to see its sum"],
  },
  {
    name: "sum",
    title: "Do the sum yourself",
    text: [
      "Now the shares are put to use. Every word also has a *value*, what it passes on. The output of *robots* is all the values added up, each multiplied by its share.",
      "Take the shares that the introduction prints, wrong as they are: {weights|2}. The second number of each word's value is {values|0}.",
    ],
    ask: "What is the second number of the output? Work it out before you choose.",
    answer: [
      "{sum}. The introduction prints {printed|2}, which does not follow even from its own shares.",
      { show: "added" },
      "With the true shares it is {true|2}: {why}.",
      "Two slips in one small example, in a text that many have read. Redo one number of everything you are shown. On paper: `regard worksheet --example robots`.",
    ],
    open: ["steps", { from: "robots" }, "Change the vectors in Steps"],
  },
  {
    name: "division",
    title: "Why divide?",
    text: [
      "In another of the three, *{title}*, queries and keys have {width} numbers each. A sum of so many products easily gets large, so every score is divided by the square root of their width, which is {root|0}, before the softmax.",
      "For *{word}* in *I am good* the scores are {scores|0}. Divided, they give these shares:",
      { show: "divided" },
    ],
    ask: "What happens to the row if the division is left out?",
    choices: [
      "Nothing. Shares are shares.",
      "It gets flatter: the words become more alike.",
      "It gets sharper: one word takes nearly everything.",
    ],
    answer: [
      "The largest share goes from {before|3} to {largest|9}. With such a row the model has stopped weighing: nudge a score, and nothing changes, so that nothing can be learnt from it either.",
      "Move the divisor yourself. At the left end there is none; far to the right everybody is treated alike.",
      { show: "divisor" },
    ],
    open: ["steps", { from: "good", divide: "no" }, "See it without the division in Steps"],
  },
  {
    name: "order",
    title: "Before or after?",
    text: [
      "The same introduction explains its steps in the right order, and then sums them up in a formula that has them in another. One of the two below is what its steps say.",
      "A hint: whatever comes out must still be shares.",
    ],
    ask: "Which formula gives rows that add up to one?",
    answer: [
      "With the division inside, the row of *{word}* adds up to {sum_before|3}. With the division outside, as the summary has it, to {sum_after|3}.",
      { show: "order" },
      "{because}",
    ],
    open: ["steps", { from: "good" }, "See the right order in Steps"],
  },
  {
    name: "batch",
    title: "One sentence at a time",
    text: [
      "The third, *{title}*, writes attention in code, on an array with an axis for sentences, one for words and one for numbers. It multiplies queries with keys by `np.dot`. With a single sentence the numbers come out right.",
      "Now put {sentences} sentences of {length} words into the array: *{first}*, and *{second}*.",
    ],
    ask: "Which shape should the scores have?",
    answer: [
      "{meant}: for each sentence, every word with every word. But `np.dot` gives {written}: every word of every sentence with every word of every sentence. So *cat* gets a second row of shares, on words it never stood beside.",
      { show: "batch" },
      "{because}",
      "{mend}",
    ],
    open: ["steps", { from: "cat" }, "See its steps, done right"],
  },
  {
    name: "habit",
    title: "Heads have habits",
    text: [
      "Back to the model. Each of its {layers} encoder layers has {heads} heads side by side, every one with queries, keys and values of its own: each can look for something else.",
      "This is layer {layer}, head {head}, reading a sentence that you know. Point at a few words.",
      { show: "lines" },
    ],
    ask: "What is this head's habit?",
    choices: [
      "It looks at the word before.",
      "It looks at the word itself.",
      "It looks at the word after.",
    ],
    answer: [
      "It {habit}. Over {count} sentences that were kept out of training, it gave {usual|%} of its attention there. Nobody asked for that: training found that it helps to know one's neighbour.",
      "It can tell who its neighbour is because a word's vector also carries its place. A switch in Steps takes the places away: watch what becomes of the habit.",
    ],
    open: [
      "steps",
      ["sentence", "layer", "head"],
      "See it without the places in Steps",
      { position: "no" },
    ],
  },
  {
    name: "tell",
    title: "What weights tell, and what they do not",
    text: [
      "On the first page *it* looked at *{noun}* with {before|%}, and the {noun} it was that was hungry. It is tempting to say that the head understood. So let us test it. One word changes, and now *it* can only be the {rival}:",
      { show: "sentence" },
    ],
    ask: "Where does *it* look now, in the same head?",
    answer: [
      {
        unless: "moved",
        text: "Still at *{noun}*: {after|%}. The head was not answering the question that we asked it.",
      },
      { when: "moved", text: "At *{best}*: {share|%}. One pair of sentences is no proof, though." },
      { show: "lines" },
      {
        when: "taught",
        text: "This head did not come to it by itself: it was taught. In training, its row of a pronoun was pulled to the noun that the pronoun stands for, in sentences made for that. None of the other heads was.",
      },
      "Measured on {pairs} such pairs, this head leans to the right noun in {leans|%} of the sentences, where a coin would reach half; the choice turns with the ending in {turns|%} of the pairs.",
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
      "Over all the pairs whose nouns differ in gender, its pronoun is right in {french_right|%} of the sentences.",
      {
        when: "used",
        text: "Is the head used, or does it only look the part? Turn its row to the wrong noun and let the model run again: in {follows|%} of such sentences the French pronoun then takes the gender of the wrong noun.",
      },
      "The weights on these pages are exact: you have seen the sums behind them. What they mean is another question. {caution}",
    ],
    open: ["read", ["sentence", "layer", "head"], "Look at all the heads in Read"],
  },
];
