// Words as running text.

// Words with the spaces that writing has: none before a full stop, none after an apostrophe.
/** @param {string[]} words @param {(word: string, at: number) => Child} make */
export function spacedWords(words, make) {
  return words.flatMap((word, at) => {
    const apart =
      at > 0 && !/^[.,…)]/.test(word) && !/['’]$/.test(words[at - 1]) && words[at - 1] !== "(";
    return [apart ? (/^[;:!?]$/.test(word) ? "\u202f" : " ") : "", make(word, at)];
  });
}
