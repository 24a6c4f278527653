/** A sentence of the program, in which commands stand between backticks. */
export function Sentence({ text }: { readonly text: string }) {
  const parts = text.split('`')
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text have no other key, and do not move.
  return <bdi>{parts.map((part, index) => (index % 2 === 1 && index < parts.length - 1 ? <code key={index}>{part}</code> : part))}</bdi>
}
