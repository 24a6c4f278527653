/** Shows a text. Text between backticks is shown as code. */
export function Sentence({ text }: { readonly text: string }) {
  const parts = text.split('`')
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts have no other key and don't move.
  return <bdi>{parts.map((part, index) => (index % 2 === 1 && index < parts.length - 1 ? <code key={index}>{part}</code> : part))}</bdi>
}
