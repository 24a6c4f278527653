let wasKey = false

/** Listens to every input. Called once, before the page is drawn: parts of it are loaded later. */
export function watchInputs(): void {
  addEventListener('keydown', () => (wasKey = true), { capture: true })
  addEventListener('pointerdown', () => (wasKey = false), { capture: true })
}

/** Whether the last thing that a person did was to press a key. */
export function isByKey(): boolean {
  return wasKey
}
