/** Characters that change the order of a line or cannot be seen. They can make text look like another. */
const HIDDEN = /(?!\t)[\p{Cc}\p{Cf}]/gu;

const code = (character: string) => (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');

/** Text of a developer with its hidden characters written out. */
export const visibleText = (text: string): string => text.replace(HIDDEN, (character) => `[U+${code(character)}]`);
