/** What was typed between the palette's key and the moment in which the palette can take it; null when it is not awaited. */
let typed: string | null = null

/** The palette was asked for: what is typed from now on is meant for it, and no key of the page. */
export function awaitPalette(): void {
  typed ??= ''
}

/** Keeps a key that is meant for the palette. @returns whether it was: then the page does nothing with it. */
export function typeAhead(event: KeyboardEvent): boolean {
  const { key, ctrlKey, metaKey, altKey } = event
  // In an open dialog, and be it the palette itself, a key is what it is there.
  if (typed === null || document.querySelector('dialog[open]')) return false
  event.preventDefault()
  if (key === 'Backspace') typed = typed.slice(0, -1)
  else if ([...key].length === 1 && !ctrlKey && !metaKey && !altKey) typed += key
  return true
}

/** @returns what was typed meanwhile. From here on the palette takes keys itself, or is not wanted any more. */
export function takeTyped(): string {
  const text = typed ?? ''
  typed = null
  return text
}
